//! The status of an object: its fields, and how it is made of what there is to say.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::report::{Report, State};
use crate::schema::{Field, Message, Type};

/// What there is to say of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saying<'a> {
    /// The namespace of the installation that says it.
    pub system_namespace: &'a str,
    /// The generation of the object that it is about.
    pub generation: i64,
    /// The report. Without one the object has not been looked at yet.
    pub report: Option<&'a Report>,
    /// What each proxy that serves the object makes of it, by the proxy's name.
    pub proxies: &'a BTreeMap<String, Report>,
}

/// Longer reasons are cut in a status, as the original product does.
const MAX_REASON_LEN: usize = 1024;
/// What reports a status.
const REPORTED_BY: &str = "keyward";
/// The condition that tells whether an object is served.
const ACCEPTED: &str = "Accepted";

pub(crate) static STATUS: Message = Message {
    name: "Status",
    doc: "What the control server says of an object.",
    fields: &[
        Field::new("state", Type::Enum(STATES), "The worst of the states below."),
        Field::new(
            "reason",
            Type::String,
            "Why, in sentences for people. When all is well it is empty, or says what is good to know.",
        ),
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

/// The reasons as one sentence, not too long.
fn cut(reasons: &[String]) -> String {
    let mut text = String::new();
    for (index, reason) in reasons.iter().enumerate() {
        if index > 0 && text.len() + reason.len() > MAX_REASON_LEN {
            text.push_str(&format!("; and {} more", reasons.len() - index));
            break;
        }
        if index > 0 {
            text.push_str("; ");
        }
        text.push_str(reason);
    }
    text
}

fn said(report: &Report) -> Value {
    json!({ "state": report.state.as_str(), "reason": cut(&report.reasons), "reportedBy": REPORTED_BY })
}

/// When a condition took the status that it has now.
fn since<'a>(previous: Option<&'a Value>, status: &str, now: &'a str) -> &'a str {
    let conditions = previous.and_then(|previous| previous.get("conditions")?.as_array());
    let before = conditions.into_iter().flatten().find(|condition| condition["type"] == ACCEPTED);
    before
        .filter(|condition| condition["status"] == status)
        .and_then(|condition| condition["lastTransitionTime"].as_str())
        .unwrap_or(now)
}

// === impl Saying ===

impl Saying<'_> {
    /// What is said of an object without a report.
    pub const NOT_YET: &'static str = "the control server has not looked at it yet";

    /// The status that says it: the original product's form, with the state in front, and conditions
    /// beside it. `previous` is the status before, `now` the time, RFC 3339: they tell since when a
    /// condition is as it is.
    #[must_use]
    pub fn status(&self, previous: Option<&Value>, now: &str) -> Value {
        let Self { system_namespace, generation, report, proxies } = self;
        let state = report.map_or("Pending", |report| report.state.as_str());
        let reason = report.map_or_else(|| Self::NOT_YET.to_owned(), |report| cut(&report.reasons));
        let mut one = json!({ "state": state, "reason": reason, "reportedBy": REPORTED_BY });
        if !proxies.is_empty() {
            let name = |proxy: &str| format!("*v1.Proxy.{proxy}_{system_namespace}");
            let all: Map<_, _> = proxies.iter().map(|(proxy, report)| (name(proxy), said(report))).collect();
            one["subresourceStatuses"] = all.into();
        }
        let (holds, word) = match report.map(|report| report.state) {
            None | Some(State::Pending) => ("Unknown", "Pending"),
            Some(State::Accepted) => ("True", "Accepted"),
            Some(State::Warning) => ("True", "AcceptedWithWarnings"),
            Some(State::Rejected) => ("False", "Rejected"),
        };
        let condition = json!({
            "type": ACCEPTED,
            "status": holds,
            "reason": word,
            "message": reason,
            "lastTransitionTime": since(previous, holds, now),
            "observedGeneration": generation,
        });
        json!({
            "state": state,
            "reason": reason,
            "observedGeneration": generation,
            "statuses": { *system_namespace: one },
            "conditions": [condition],
        })
    }
}

#[cfg(test)]
mod tests;
