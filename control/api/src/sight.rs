//! What somebody may be told of others: whoever may look at some namespaces alone is told of no object in
//! another one, not even by its name in a sentence about their own.

use std::borrow::Cow;
use std::sync::Arc;

use keyward_resource::ApiStatus;
use serde_json::Value;

/// Stands for the name of an object that somebody may not look at.
pub const ELSEWHERE: &str = "[of another namespace]";

/// The namespaces in which somebody may look at objects. Clones are the same.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sight(Option<Arc<[String]>>);

/// Whether a text may be the name of a namespace.
fn is_namespace(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.len() <= 63 && text.bytes().all(inner)
}

/// What names of objects are made of, with the `/` between both parts, and with what key tables have behind it.
fn belongs_to_name(char: char) -> bool {
    char.is_ascii_alphanumeric() || "-._/@~!".contains(char)
}

// === impl Sight ===

impl Sight {
    /// That of somebody who may look everywhere.
    pub const EVERYWHERE: Self = Self(None);

    /// That of somebody who may look at these namespaces; at all if there are none.
    #[must_use]
    pub fn of(namespaces: &[String]) -> Self {
        Self(Some(namespaces).filter(|namespaces| !namespaces.is_empty()).map(Arc::from))
    }

    /// Whether there is nothing that they may not look at.
    #[must_use]
    pub fn is_everywhere(&self) -> bool {
        self.0.is_none()
    }

    /// Whether they may look at the objects of a namespace.
    #[must_use]
    pub fn sees(&self, namespace: &str) -> bool {
        self.0.as_ref().is_none_or(|seen| seen.iter().any(|seen| seen == namespace))
    }

    /// Whether they may look at what is called `<namespace>/<name>`, such as a key table.
    #[must_use]
    pub fn sees_named(&self, name: &str) -> bool {
        self.sees(name.split_once('/').map_or("", |(namespace, _)| namespace))
    }

    /// A sentence, with [`ELSEWHERE`] in place of each `<namespace>/<name>` that they may not look at.
    #[must_use]
    pub fn words<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.is_everywhere() {
            return text.into();
        }
        let mut told = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(belongs_to_name) {
            let (before, from) = rest.split_at(start);
            let (word, behind) =
                from.split_at(from.find(|char| !belongs_to_name(char)).unwrap_or(from.len()));
            told.push_str(before);
            let name = word.trim_start_matches('!');
            let hidden = name
                .split_once('/')
                .is_some_and(|(namespace, _)| is_namespace(namespace) && !self.sees(namespace));
            told.push_str(if hidden { ELSEWHERE } else { word });
            rest = behind;
        }
        told.push_str(rest);
        told.into()
    }

    /// An answer to a request of theirs.
    #[must_use]
    pub fn status(&self, status: ApiStatus) -> ApiStatus {
        if self.is_everywhere() { status } else { status.reworded(|text| self.words(text).into_owned()) }
    }

    /// What is said of an object of theirs: all texts in it, at any depth.
    pub(crate) fn value(&self, value: &mut Value) {
        match value {
            _ if self.is_everywhere() => {}
            Value::String(text) => *text = self.words(text).into_owned(),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.value(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_of_other_namespaces_are_left_out_of_sentences() {
        let sight = Sight::of(&["team".to_owned()]);
        for (said, told) in [
            ("Upstream other/web is not found: 503", "Upstream [of another namespace] is not found: 503"),
            ("Upstream team/web is not found", "Upstream team/web is not found"),
            ("which VirtualService other/a, in use by other/b.c, has", {
                "which VirtualService [of another namespace], in use by [of another namespace], has"
            }),
            (
                "table other/keys@0a1b (and !other/x)",
                "table [of another namespace] (and [of another namespace])",
            ),
            ("routes[0] (prefix /a/b): 5 s / 2", "routes[0] (prefix /a/b): 5 s / 2"),
            ("type extauth.keyward.io/apikey, v1", "type extauth.keyward.io/apikey, v1"),
            ("\"other/web\"", "\"[of another namespace]\""),
            ("", ""),
        ] {
            assert_eq!(sight.words(said), told);
            assert_eq!(Sight::EVERYWHERE.words(said), said);
        }
    }

    #[test]
    fn who_is_restricted_sees_theirs_and_who_is_not_sees_all() {
        let sight = Sight::of(&["team".to_owned(), "more".to_owned()]);
        let seen = |name| sight.sees_named(name);
        assert_eq!(
            ["team/a", "more/a", "other/a", "team", "teams/a"].map(seen),
            [true, true, false, false, false]
        );
        assert!(Sight::of(&[]).is_everywhere() && Sight::of(&[]).sees_named("other/a"));
        let mut status = json!({ "state": 2, "reasons": ["see other/a", { "deep": "team/a" }] });
        sight.value(&mut status);
        assert_eq!(
            status,
            json!({ "state": 2, "reasons": ["see [of another namespace]", { "deep": "team/a" }] })
        );
    }
}
