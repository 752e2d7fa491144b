//! Reads which route tables decide.

use std::collections::BTreeMap;

use super::{Context, all, alternative};
use crate::kinds::route::{Delegate, Expression, Namespaces, Operator, RouteTableSelector};
use crate::meta::{Meta, ObjectRef};
use crate::metadata::{self, REFERENCE};
use crate::reader::{Node, Object};
use crate::schema::{Field, Message, Type};
use crate::syntax;

pub(crate) static DELEGATE: Message = Message {
    name: "DelegateAction",
    doc: "RouteTables decide: `ref` or `selector`.",
    fields: &[
        Field::new(
            "ref",
            Type::Object(&REFERENCE),
            "The RouteTable. While it is missing, no request matches here and later routes decide.",
        ),
        Field::new("selector", Type::Object(&SELECTOR), "All RouteTables that are selected, by weight."),
        Field::new("name", Type::String, "Deprecated: the name in `ref`."),
        Field::new("namespace", Type::String, "Deprecated: the namespace in `ref`."),
    ],
    unsupported: &[],
};

static SELECTOR: Message = Message {
    name: "RouteTableSelector",
    doc: "Selects RouteTables. All its parts must hold; without labels and expressions all tables of the \
          namespaces are selected.",
    fields: &[
        Field::new(
            "namespaces",
            Type::STRING_LIST,
            "Where to look; `*` for everywhere. None means the namespace of the object that selects.",
        ),
        Field::new("labels", Type::STRINGS, "Labels that a table must have."),
        Field::new(
            "expressions",
            Type::List(&Type::Object(&EXPRESSION)),
            "Conditions on the labels of a table. All must hold.",
        ),
    ],
    unsupported: &[],
};

/// A condition on labels, here and wherever objects are selected.
pub(crate) static EXPRESSION: Message = Message {
    name: "SelectorExpression",
    doc: "A condition on a label.",
    fields: &[
        Field::required("key", Type::String, "The label."),
        Field::new(
            "operator",
            Type::Enum(&[
                "Equals",
                "DoubleEquals",
                "NotEquals",
                "In",
                "NotIn",
                "Exists",
                "DoesNotExist",
                "GreaterThan",
                "LessThan",
            ]),
            "What must hold of the label. Default `Equals`. `NotEquals` and `NotIn` hold of an object without \
             the label too.",
        ),
        Field::new(
            "values",
            Type::STRING_LIST,
            "What the label is compared with: one value; for `In` and `NotIn` one or more; for `Exists` and \
             `DoesNotExist` none; for `GreaterThan` and `LessThan` one whole number.",
        ),
    ],
    unsupported: &[],
};

const OPERATORS: &[(&str, Operator)] = &[
    ("Equals", Operator::Equals),
    ("DoubleEquals", Operator::Equals),
    ("NotEquals", Operator::NotEquals),
    ("In", Operator::In),
    ("NotIn", Operator::NotIn),
    ("Exists", Operator::Exists),
    ("DoesNotExist", Operator::DoesNotExist),
    ("GreaterThan", Operator::GreaterThan),
    ("LessThan", Operator::LessThan),
];

/// Reads `delegateAction`.
pub(crate) fn read(node: Node<'_>, context: &Context<'_>) -> Option<Delegate> {
    let fields = node.object(&DELEGATE)?;
    let delegate = alternative(&fields, &["ref", "selector", "name"], |kind, node| match kind {
        "ref" => metadata::reference(node, context.meta).map(Delegate::Ref),
        "selector" => selector(node, context.meta).map(Delegate::Selector),
        _ => by_name(&fields, &node, context.meta).map(Delegate::Ref),
    })?;
    if delegate.is_none() {
        fields.choice("ref", "a delegate action needs a ref or a selector");
    }
    delegate
}

/// The deprecated form.
fn by_name(fields: &Object<'_>, name: &Node<'_>, meta: &Meta) -> Option<ObjectRef> {
    let name = metadata::word(name, syntax::subdomain);
    let namespace = match fields.optional("namespace") {
        Some(namespace) if namespace.string() != Some("") => metadata::word(&namespace, syntax::label),
        _ => Some(meta.namespace.clone()),
    };
    Some(ObjectRef::new(namespace?, name?))
}

fn selector(node: Node<'_>, meta: &Meta) -> Option<RouteTableSelector> {
    let fields = node.object(&SELECTOR)?;
    let namespaces = fields.or("namespaces", Vec::new(), |list| all(list, namespace));
    let labels = fields.or("labels", BTreeMap::new(), metadata::labels);
    let expressions = fields.or("expressions", Vec::new(), expressions);
    let mut namespaces = namespaces?;
    let namespaces = if namespaces.iter().any(|namespace| namespace == "*") {
        Namespaces::All
    } else {
        if namespaces.is_empty() {
            namespaces.push(meta.namespace.clone());
        }
        namespaces.sort_unstable();
        namespaces.dedup();
        Namespaces::These(namespaces)
    };
    Some(RouteTableSelector { namespaces, labels: labels?, expressions: expressions? })
}

fn namespace(node: Node<'_>) -> Option<String> {
    metadata::word(&node, |text| if text == "*" { Ok(()) } else { syntax::label(text) })
}

/// Reads conditions on labels.
pub(crate) fn expressions(node: Node<'_>) -> Option<Vec<Expression>> {
    all(node, expression)
}

fn expression(node: Node<'_>) -> Option<Expression> {
    let fields = node.object(&EXPRESSION)?;
    let key = fields.required("key", "an expression needs the key of a label");
    let key = key.and_then(|key| metadata::word(&key, syntax::qualified_name));
    let operator = fields.or("operator", Operator::Equals, |operator| operator.one_of(OPERATORS));
    let values =
        fields.or("values", Vec::new(), |list| all(list, |item| metadata::word(&item, syntax::label_value)));
    let (operator, values) = (operator?, values?);
    let wrong = match operator {
        Operator::Equals | Operator::NotEquals if values.len() != 1 => Some("must be one value"),
        Operator::In | Operator::NotIn if values.is_empty() => Some("must be at least one value"),
        Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
            Some("must be left out: nothing is compared")
        }
        Operator::GreaterThan | Operator::LessThan
            if values.len() != 1 || values.iter().any(|value| value.parse::<i64>().is_err()) =>
        {
            Some("must be one whole number, in quotes")
        }
        _ => None,
    };
    if let Some(wrong) = wrong {
        if let Some(node) = fields.required("values", wrong) {
            node.invalid(wrong);
        }
        return None;
    }
    Some(Expression { key: key?, operator, values })
}
