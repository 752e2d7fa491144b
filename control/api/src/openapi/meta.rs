//! What Kubernetes has beside objects: the parts of its API that no kind is.

use keyward_resource::schema::{Field, Message, Type};

/// What the names of these schemas begin with, in every server of the kind.
pub(super) const PREFIX: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";

/// Whether a message is one of these.
pub(super) fn is_of_kubernetes(message: &'static Message) -> bool {
    let all = [&LIST_META, &STATUS, &STATUS_DETAILS, &STATUS_CAUSE, &DELETE_OPTIONS, &PRECONDITIONS, &PATCH];
    all.into_iter().any(|known| std::ptr::eq(known, message))
}

const API_VERSION: Field = Field::new("apiVersion", Type::String, "The version of this form: `v1`.");

pub(super) static LIST_META: Message = Message {
    name: "ListMeta",
    doc: "What belongs to every list.",
    fields: &[
        Field::new(
            "resourceVersion",
            Type::String,
            "The version of the store that the list shows; a watch goes on from there.",
        ),
        Field::new(
            "continue",
            Type::String,
            "Present when there is more: the token that asks for the next page.",
        ),
        Field::new(
            "remainingItemCount",
            Type::Integer(0, i64::MAX),
            "About how many objects come after this page.",
        ),
    ],
    unsupported: &[],
};

pub(super) static STATUS: Message = Message {
    name: "Status",
    doc: "The answer where there is no object to answer with: an error, or a deletion.",
    fields: &[
        API_VERSION,
        Field::new("kind", Type::String, "`Status`."),
        Field::new("metadata", Type::Object(&LIST_META), "Empty."),
        Field::new("status", Type::Enum(&["Success", "Failure"]), "How it went."),
        Field::new("message", Type::String, "What happened, in a sentence for people."),
        Field::new("reason", Type::String, "What happened, in one word for programs: `NotFound`."),
        Field::new("details", Type::Object(&STATUS_DETAILS), "What it is about."),
        Field::new("code", Type::Integer(100, 599), "The status code of the HTTP answer."),
    ],
    unsupported: &[],
};

static STATUS_DETAILS: Message = Message {
    name: "StatusDetails",
    doc: "What a status is about.",
    fields: &[
        Field::new("name", Type::String, "The name of the object."),
        Field::new("group", Type::String, "The group of the object."),
        Field::new("kind", Type::String, "The kind of the object, or its name in paths."),
        Field::new("uid", Type::String, "The id of the object."),
        Field::new("causes", Type::List(&Type::Object(&STATUS_CAUSE)), "Every mistake that was found."),
        Field::new("retryAfterSeconds", Type::COUNT, "When to try again, in seconds."),
    ],
    unsupported: &[],
};

static STATUS_CAUSE: Message = Message {
    name: "StatusCause",
    doc: "One mistake.",
    fields: &[
        Field::new("reason", Type::String, "The sort of mistake, in one word: `FieldValueInvalid`."),
        Field::new("message", Type::String, "What is wrong and what would be right."),
        Field::new("field", Type::String, "Where it stands: `spec.virtualHost.domains[0]`."),
    ],
    unsupported: &[],
};

pub(super) static DELETE_OPTIONS: Message = Message {
    name: "DeleteOptions",
    doc: "How an object is deleted. No object here has dependents or takes time to end, so what is said \
          about those changes nothing.",
    fields: &[
        API_VERSION,
        Field::new("kind", Type::String, "`DeleteOptions`."),
        Field::new(
            "preconditions",
            Type::Object(&PRECONDITIONS),
            "What has to hold for the deletion to take place.",
        ),
        Field::new(
            "dryRun",
            Type::List(&Type::Enum(&["All"])),
            "`All`: everything is checked and nothing is deleted.",
        ),
        Field::new("gracePeriodSeconds", Type::Integer(0, i64::MAX), "Without effect."),
        Field::new("orphanDependents", Type::Boolean, "Without effect."),
        Field::new("propagationPolicy", Type::String, "Without effect."),
    ],
    unsupported: &[],
};

static PRECONDITIONS: Message = Message {
    name: "Preconditions",
    doc: "What has to hold for a deletion to take place.",
    fields: &[
        Field::new("uid", Type::String, "The id that the object has to have."),
        Field::new("resourceVersion", Type::String, "The version that the object has to have."),
    ],
    unsupported: &[],
};

pub(super) static PATCH: Message = Message {
    name: "Patch",
    doc: "A change, in the form that its content type names.",
    fields: &[],
    unsupported: &[],
};
