//! The fields of a status.

use crate::schema::{Field, Message, Type};

pub(crate) static STATUS: Message = Message {
    name: "Status",
    doc: "What the control server says of an object.",
    fields: &[
        Field::new("state", Type::Enum(STATES), "The worst of the states below."),
        Field::new("reason", Type::String, "Why, in sentences for people; empty when all is well."),
        Field::new(
            "observedGeneration",
            Type::Integer(0, i64::MAX),
            "The generation of the object that this status is about.",
        ),
        Field::new(
            "statuses",
            Type::Map(&Type::Object(&REPORTED)),
            "The state by the namespace of the installation that reports it.",
        ),
        Field::new(
            "conditions",
            Type::List(&Type::Object(&CONDITION)),
            "The same as conditions, for tools that wait for them: `kubectl wait --for=condition=Accepted`.",
        ),
    ],
    unsupported: &[],
};

static REPORTED: Message = Message {
    name: "ReportedStatus",
    doc: "What one installation says of an object.",
    fields: &[
        Field::new("state", Type::Enum(STATES), "`Pending`, `Accepted`, `Warning` or `Rejected`."),
        Field::new("reason", Type::String, "Why, in sentences for people."),
        Field::new("reportedBy", Type::String, "Who says so: `keyward`."),
        Field::new(
            "subresourceStatuses",
            Type::Map(&Type::Object(&SUBRESOURCE)),
            "The state of what was made of the object, such as a proxy.",
        ),
    ],
    unsupported: &[],
};

static SUBRESOURCE: Message = Message {
    name: "SubresourceStatus",
    doc: "The state of something that was made of an object.",
    fields: &[
        Field::new("state", Type::Enum(STATES), "`Pending`, `Accepted`, `Warning` or `Rejected`."),
        Field::new("reason", Type::String, "Why, in sentences for people."),
        Field::new("reportedBy", Type::String, "Who says so."),
    ],
    unsupported: &[],
};

static CONDITION: Message = Message {
    name: "Condition",
    doc: "One aspect of the state of an object, as Kubernetes has it.",
    fields: &[
        Field::required("type", Type::String, "The aspect: `Accepted`, `Programmed`."),
        Field::required("status", Type::Enum(&["True", "False", "Unknown"]), "Whether it holds."),
        Field::required("reason", Type::String, "Why, in one word for programs."),
        Field::required("message", Type::String, "Why, in sentences for people."),
        Field::required("lastTransitionTime", Type::Time, "When the condition took its status."),
        Field::new(
            "observedGeneration",
            Type::Integer(0, i64::MAX),
            "The generation of the object that the condition is about.",
        ),
    ],
    unsupported: &[],
};

const STATES: &[&str] = &["Pending", "Accepted", "Warning", "Rejected"];
