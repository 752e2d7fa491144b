//! `spec.httpGateway`: which virtual services a gateway serves.

use std::collections::BTreeMap;

use super::http::HTTP_LISTENER_OPTIONS;
use crate::kinds::route::{Expression, Namespaces};
use crate::kinds::routing::delegate::{self, EXPRESSION};
use crate::meta::{Meta, ObjectRef};
use crate::metadata::{self, REFERENCE};
use crate::reader::{Node, Object};
use crate::schema::{Field, Message, Type};
use crate::syntax;

/// Which virtual services are served. All parts must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// How they are chosen.
    pub by: SelectBy,
    /// Where to look for them. Has no meaning where they are named.
    pub namespaces: Namespaces,
}

/// How virtual services are chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SelectBy {
    /// All.
    All,
    /// These; at least one.
    Refs(Vec<ObjectRef>),
    /// Those with all these labels; at least one label.
    Labels(BTreeMap<String, String>),
    /// Those of which all these conditions hold; at least one condition.
    Expressions(Vec<Expression>),
}

static EXPRESSIONS: Message = Message {
    name: "VirtualServiceSelectorExpressions",
    doc: "Conditions on the labels of VirtualServices.",
    fields: &[Field::new(
        "expressions",
        Type::List(&Type::Object(&EXPRESSION)),
        "The conditions. All must hold.",
    )],
    unsupported: &[],
};

pub(super) static HTTP_GATEWAY: Message = Message {
    name: "HttpGateway",
    doc: "Which VirtualServices are served, and how. An empty object serves all.",
    fields: &[
        Field::new(
            "virtualServices",
            Type::List(&Type::Object(&REFERENCE)),
            "The VirtualServices that are served. None means all, unless a selector stands beside it.",
        ),
        Field::new(
            "virtualServiceSelector",
            Type::STRINGS,
            "Serves the VirtualServices with all these labels. Wins over virtualServices.",
        ),
        Field::new(
            "virtualServiceExpressions",
            Type::Object(&EXPRESSIONS),
            "Serves the VirtualServices of whose labels these conditions hold. Wins over \
             virtualServiceSelector.",
        ),
        Field::new(
            "virtualServiceNamespaces",
            Type::STRING_LIST,
            "Serves VirtualServices of these namespaces only; `*` or none means all. Has no effect on \
             VirtualServices that are named.",
        ),
        Field::new("options", Type::Object(&HTTP_LISTENER_OPTIONS), "How HTTP is spoken with clients."),
    ],
    unsupported: &[],
};

/// Reads which virtual services are served.
pub(super) fn read(http: &Object<'_>, meta: &Meta, warnings: &mut Vec<String>) -> Option<Selection> {
    let refs = http.or("virtualServices", Vec::new(), |list| metadata::references(&list.list()?, meta));
    let labels = http.or("virtualServiceSelector", BTreeMap::new(), metadata::labels);
    let expressions = http.or("virtualServiceExpressions", Vec::new(), |node| {
        node.object(&EXPRESSIONS)?.or("expressions", Vec::new(), delegate::expressions)
    });
    let namespaces = http.or("virtualServiceNamespaces", Namespaces::All, namespaces);
    let (refs, labels, expressions, namespaces) = (refs?, labels?, expressions?, namespaces?);
    let given = [
        ("virtualServiceExpressions", !expressions.is_empty()),
        ("virtualServiceSelector", !labels.is_empty()),
        ("virtualServices", !refs.is_empty()),
    ];
    let mut given = given.into_iter().filter_map(|(name, given)| given.then_some(name));
    if let Some(winner) = given.next() {
        for loser in given {
            warnings.push(format!("spec.httpGateway.{loser} has no effect beside {winner}"));
        }
        if winner == "virtualServices" && namespaces != Namespaces::All {
            warnings.push(
                "spec.httpGateway.virtualServiceNamespaces has no effect beside virtualServices".to_owned(),
            );
        }
    }
    let by = if !expressions.is_empty() {
        SelectBy::Expressions(expressions)
    } else if !labels.is_empty() {
        SelectBy::Labels(labels)
    } else if !refs.is_empty() {
        SelectBy::Refs(refs)
    } else {
        SelectBy::All
    };
    Some(Selection { by, namespaces })
}

fn namespaces(node: Node<'_>) -> Option<Namespaces> {
    let list = node.list()?;
    let word =
        |item: Node<'_>| metadata::word(&item, |text| if text == "*" { Ok(()) } else { syntax::label(text) });
    let found: Vec<_> = list.iter().map(word).collect();
    let mut found = found.into_iter().collect::<Option<Vec<_>>>()?;
    if found.is_empty() || found.iter().any(|namespace| namespace == "*") {
        return Some(Namespaces::All);
    }
    found.sort_unstable();
    found.dedup();
    Some(Namespaces::These(found))
}

// === impl Selection ===

impl Selection {
    /// All virtual services.
    #[must_use]
    pub fn all() -> Self {
        Self { by: SelectBy::All, namespaces: Namespaces::All }
    }

    /// These virtual services; all if there are none.
    #[must_use]
    pub fn of(refs: Vec<ObjectRef>) -> Self {
        let by = if refs.is_empty() { SelectBy::All } else { SelectBy::Refs(refs) };
        Self { by, namespaces: Namespaces::All }
    }

    /// Whether a virtual service with this metadata is served.
    #[must_use]
    pub fn selects(&self, meta: &Meta) -> bool {
        let right = match &self.by {
            SelectBy::Refs(refs) => {
                return refs.iter().any(|one| one.namespace == meta.namespace && one.name == meta.name);
            }
            SelectBy::All => true,
            SelectBy::Labels(labels) => labels.iter().all(|(key, value)| meta.labels.get(key) == Some(value)),
            SelectBy::Expressions(expressions) => {
                expressions.iter().all(|expression| expression.holds(&meta.labels))
            }
        };
        right && self.namespaces.include(&meta.namespace)
    }

    /// The virtual services that are named.
    #[must_use]
    pub fn refs(&self) -> &[ObjectRef] {
        match &self.by {
            SelectBy::Refs(refs) => refs,
            _ => &[],
        }
    }
}
