//! What can be done at which path, whatever the version of OpenAPI.

use keyward_resource::schema::Type;
use keyward_resource::{GroupVersion, Kind};
use serde_json::{Map, Value};

use super::meta;
use super::schema::{kind_name, list_name, message_name};

/// A path and what can be done there.
#[derive(Debug)]
pub(super) struct Place {
    /// The path: `/api/v1/namespaces/{namespace}/secrets/{name}`.
    pub(super) path: String,
    /// The parts of the path in braces.
    pub(super) variables: Vec<Parameter>,
    /// What can be done.
    pub(super) operations: Vec<Operation>,
}

/// Something that can be done.
#[derive(Debug)]
pub(super) struct Operation {
    /// The method, in lower case.
    pub(super) method: &'static str,
    /// A name for it that nothing else has.
    pub(super) id: String,
    /// Kubernetes' word for it.
    pub(super) action: &'static str,
    /// What it does, in a sentence.
    pub(super) doc: String,
    /// What the query may say.
    pub(super) query: Vec<Parameter>,
    /// What is sent.
    pub(super) body: Option<Body>,
    /// What is answered: statuses, and the name of the schema.
    pub(super) answers: (&'static [u16], Content),
}

/// A parameter of a path or of a query.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) ty: Type,
    pub(super) doc: &'static str,
}

/// What is sent.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) media_types: &'static [&'static str],
    pub(super) content: Content,
    pub(super) required: bool,
}

/// What stands in a body.
#[derive(Debug)]
pub(super) enum Content {
    /// What this schema says.
    Named(String),
    /// `Status`.
    Status,
    /// `DeleteOptions`.
    DeleteOptions,
    /// `Patch`.
    Patch,
}

/// The forms in which objects are sent.
const OBJECTS: &[&str] = &["application/json", "application/yaml"];
/// The forms in which changes are sent.
const PATCHES: &[&str] =
    &["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];
/// The same for kinds that clients know without asking. They send strategic merge patches for those, and
/// must not do so for others, so that this list has to be right.
const PATCHES_OF_CORE: &[&str] = &[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

const NAMESPACE: Parameter = Parameter { name: "namespace", ty: Type::String, doc: "The namespace." };
const NAME: Parameter = Parameter { name: "name", ty: Type::String, doc: "The name of the object." };

const SELECTION: &[Parameter] = &[
    Parameter { name: "labelSelector", ty: Type::String, doc: "Selects by labels: `team=a,stage in (x,y)`." },
    Parameter {
        name: "fieldSelector",
        ty: Type::String,
        doc: "Selects by `metadata.name` or `metadata.namespace`.",
    },
];
const LIST: &[Parameter] = &[
    Parameter { name: "limit", ty: Type::COUNT, doc: "How many objects a page may have." },
    Parameter { name: "continue", ty: Type::String, doc: "The token of the page before, for the next one." },
    Parameter { name: "resourceVersion", ty: Type::String, doc: "The version to read, or to watch from." },
    Parameter { name: "resourceVersionMatch", ty: Type::String, doc: "`Exact` or `NotOlderThan`." },
    Parameter { name: "watch", ty: Type::Boolean, doc: "Follows changes instead of listing." },
    Parameter {
        name: "allowWatchBookmarks",
        ty: Type::Boolean,
        doc: "Lets a watch say from time to time how far it is.",
    },
    Parameter { name: "sendInitialEvents", ty: Type::Boolean, doc: "Lets a watch begin with all there is." },
    Parameter { name: "timeoutSeconds", ty: Type::COUNT, doc: "When a watch ends, in seconds." },
];
const DRY_RUN: Parameter = Parameter {
    name: "dryRun",
    ty: Type::String,
    doc: "`All`: everything is checked and nothing is stored.",
};
const WAIT: Parameter = Parameter {
    name: "wait",
    ty: Type::String,
    doc: "How long the answer may wait until every connected worker has confirmed the change: `5s`, `500ms`. The headers Keyward-Synced, Keyward-Workers, Keyward-Confirmed and Keyward-Milliseconds say what came of it.",
};
const CHANGE: &[Parameter] = &[
    DRY_RUN,
    WAIT,
    Parameter { name: "fieldManager", ty: Type::String, doc: "Who changes fields, for server-side apply." },
    Parameter {
        name: "fieldValidation",
        ty: Type::String,
        doc: "What becomes of unknown and duplicate fields: `Strict` refuses them, `Warn` warns, `Ignore` drops them.",
    },
];
const FORCE: Parameter =
    Parameter { name: "force", ty: Type::Boolean, doc: "Takes fields over that others apply." };

/// Everything that can be done with a kind in a group.
pub(super) fn of_kind(place: GroupVersion, kind: &'static Kind) -> Vec<Place> {
    let root = if place.group.is_empty() { "api" } else { "apis" };
    let base = format!("/{root}/{place}");
    let subject = Subject { place, kind };
    let mut places = Vec::new();
    let (collection, variables) = if kind.is_namespaced() {
        places.push(Place {
            path: format!("{base}/{}", kind.plural),
            variables: Vec::new(),
            operations: vec![subject.list("AllNamespaces")],
        });
        (format!("{base}/namespaces/{{namespace}}/{}", kind.plural), vec![NAMESPACE])
    } else {
        (format!("{base}/{}", kind.plural), Vec::new())
    };
    let item = format!("{collection}/{{name}}");
    let item_variables: Vec<Parameter> = variables.iter().copied().chain([NAME]).collect();
    let read_only = kind.is_written_by_server();
    let mut of_collection = vec![subject.list("")];
    if !read_only {
        of_collection.extend([subject.create(), subject.delete_collection()]);
    }
    places.push(Place { path: collection, variables, operations: of_collection });
    let has_status = kind.fields.field("status").is_some() && !read_only;
    for (suffix, part) in [("", ""), ("/status", "Status")] {
        if part.is_empty() || has_status {
            let mut operations = vec![subject.read(part)];
            match (read_only, part) {
                (true, _) => operations.push(subject.no_patch()),
                (false, "") => operations.extend([subject.replace(), subject.patch(), subject.delete()]),
                (false, _) => {}
            }
            let path = format!("{item}{suffix}");
            places.push(Place { path, variables: item_variables.clone(), operations });
        }
    }
    places
}

/// A path item, whatever the version of OpenAPI writes parameters and operations like.
pub(super) fn path_item(
    place: &Place,
    parameter: impl Fn(&Parameter, &str) -> Value,
    operation: impl Fn(&Operation) -> Value,
) -> Value {
    let operations = place.operations.iter().map(|found| (found.method.to_owned(), operation(found)));
    let mut item: Map<String, Value> = operations.collect();
    if !place.variables.is_empty() {
        let variables: Vec<Value> = place.variables.iter().map(|found| parameter(found, "path")).collect();
        item.insert("parameters".to_owned(), variables.into());
    }
    item.into()
}

fn query(parts: &[&[Parameter]]) -> Vec<Parameter> {
    parts.concat()
}

/// A kind as it is served in a group.
#[derive(Clone, Copy)]
struct Subject {
    place: GroupVersion,
    kind: &'static Kind,
}

// === impl Content ===

impl Content {
    /// The name of its schema.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Named(name) => name.clone(),
            Self::Status => message_name(&meta::STATUS),
            Self::DeleteOptions => message_name(&meta::DELETE_OPTIONS),
            Self::Patch => message_name(&meta::PATCH),
        }
    }
}

// === impl Subject ===

impl Subject {
    /// `replaceGatewayKeywardIoV1VirtualServiceStatus`.
    fn id(self, verb: &str, part: &str) -> String {
        let place = self.place.to_string();
        let words = place.split(['.', '/', '-']).map(|word| {
            let mut letters = word.chars();
            let first = letters.next().map(|letter| letter.to_ascii_uppercase());
            first.into_iter().chain(letters).collect::<String>()
        });
        format!("{verb}{}{}{part}", words.collect::<String>(), self.kind.name)
    }

    fn operation(self, method: &'static str, action: &'static str, verb: &str, part: &str) -> Operation {
        let of = if part == "Status" { "the status of " } else { "" };
        let what =
            if matches!(action, "list" | "deletecollection") { self.kind.plural } else { self.kind.name };
        Operation {
            method,
            id: self.id(verb, part),
            action,
            doc: format!("{verb} {of}{what}").replace("Collection", ""),
            query: Vec::new(),
            body: None,
            answers: (&[200], Content::Named(kind_name(self.kind))),
        }
    }

    fn object(self) -> Option<Body> {
        let content = Content::Named(kind_name(self.kind));
        Some(Body { media_types: OBJECTS, content, required: true })
    }

    fn list(self, part: &str) -> Operation {
        Operation {
            query: query(&[SELECTION, LIST]),
            answers: (&[200], Content::Named(list_name(self.kind))),
            ..self.operation("get", "list", "list", part)
        }
    }

    fn create(self) -> Operation {
        Operation {
            query: query(&[CHANGE]),
            body: self.object(),
            answers: (&[200, 201], Content::Named(kind_name(self.kind))),
            ..self.operation("post", "post", "create", "")
        }
    }

    fn read(self, part: &str) -> Operation {
        self.operation("get", "get", "read", part)
    }

    fn replace(self) -> Operation {
        Operation {
            query: query(&[CHANGE]),
            body: self.object(),
            ..self.operation("put", "put", "replace", "")
        }
    }

    fn patch(self) -> Operation {
        let media_types = if self.place.group.is_empty() { PATCHES_OF_CORE } else { PATCHES };
        Operation {
            query: query(&[CHANGE, &[FORCE]]),
            body: Some(Body { media_types, content: Content::Patch, required: true }),
            answers: (&[200, 201], Content::Named(kind_name(self.kind))),
            ..self.operation("patch", "patch", "patch", "")
        }
    }

    /// Of a kind that nobody may write. kubectl reads here whether the server checks fields before it
    /// sends an object, and sends none of a kind without; what it shows then says nothing of the reason.
    fn no_patch(self) -> Operation {
        let answers = (&[405][..], Content::Status);
        Operation {
            doc: format!("refused: {} is written by the server alone", self.kind.name),
            answers,
            ..self.patch()
        }
    }

    fn delete(self) -> Operation {
        Operation {
            query: query(&[&[DRY_RUN, WAIT]]),
            body: Some(Body { media_types: OBJECTS, content: Content::DeleteOptions, required: false }),
            answers: (&[200], Content::Status),
            ..self.operation("delete", "delete", "delete", "")
        }
    }

    fn delete_collection(self) -> Operation {
        Operation {
            query: query(&[SELECTION, &[DRY_RUN, WAIT]]),
            body: Some(Body { media_types: OBJECTS, content: Content::DeleteOptions, required: false }),
            answers: (&[200], Content::Status),
            ..self.operation("delete", "deletecollection", "deleteCollection", "")
        }
    }
}
