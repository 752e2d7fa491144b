//! Reads `options.extauth`.

use crate::kinds::options::{AllowList, Allowed, ExtAuth};
use crate::meta::Meta;
use crate::metadata::{self, REFERENCE};
use crate::reader::{Node, Object};
use crate::schema::{Field, Message, Type};
use crate::syntax;

/// `extauth` of a virtual host or of a route.
pub(crate) const FIELD: Field = Field::new(
    "extauth",
    Type::Object(&EXT_AUTH),
    "Authentication. A route inherits it from its virtual host, or from the route that delegates to it, and \
     overrides or disables it. Without any, every request is allowed.",
);

static EXT_AUTH: Message = Message {
    name: "ExtAuth",
    doc: "Authentication: who decides, and whose keys count. Each of both is inherited by itself.",
    fields: &[
        Field::new(
            "disable",
            Type::Boolean,
            "`true` lets every request through without authentication. `false` says nothing: what is above \
             is inherited.",
        ),
        Field::new(
            "configRef",
            Type::Object(&REFERENCE),
            "The AuthConfig that decides. While it is missing or rejected every request is denied with 403.",
        ),
        Field::new(
            "allowed",
            Type::Object(&ALLOWED),
            "Whose keys count, of those that are valid: with any other valid key a request is denied with 403. \
             Without it everybody's do, or whose the virtual host or the delegating route allows. Where no \
             AuthConfig decides, such a list denies every request with 403. With it nobody passes without a \
             key, even if the AuthConfig has `anonymous`. A field of Keyward.",
        ),
    ],
    unsupported: &["customAuth"],
};

static ALLOWED: Message = Message {
    name: "AllowedIdentities",
    doc: "Whose keys count: those of the identities and those of the Secrets with the labels, together. What \
          counts is the identity that the upstream would be told.",
    fields: &[
        Field::new(
            "identities",
            Type::STRING_LIST,
            "Identities: the names of the Secrets that hold their keys.",
        ),
        Field::new(
            "labels",
            Type::STRINGS,
            "Those whose Secret has all these labels, in whichever namespace. A changed label counts at once.",
        ),
        Field::new(
            "everyone",
            Type::Boolean,
            "`true` stands alone: everybody with a valid key, whatever list would be inherited. Default false.",
        ),
    ],
    unsupported: &[],
};

/// Reads `extauth`: who decides and whose keys count. `disable: false` alone says nothing: what is above is
/// inherited.
pub(crate) fn read(options: &Object<'_>, meta: &Meta) -> Option<(Option<ExtAuth>, Option<Allowed>)> {
    let Some(node) = options.optional("extauth") else { return Some((None, None)) };
    let fields = node.object(&EXT_AUTH)?;
    let disable = fields.or("disable", None, |disable| disable.boolean().map(Some));
    let config = fields.or("configRef", None, |config| metadata::reference(config, meta).map(Some));
    let list = fields.maybe("allowed", allowed);
    let (disable, config, list) = (disable?, config?, list?);
    if disable == Some(true) && config.is_some() {
        fields.node().invalid("disable and configRef exclude each other: leave one of them out");
        return None;
    }
    if disable == Some(true) && list.is_some() {
        fields.node().invalid("disable and allowed exclude each other: leave one of them out");
        return None;
    }
    if disable.is_none() && config.is_none() && list.is_none() {
        // Nothing at all is more likely a slip than the wish to inherit.
        fields.choice("configRef", "must have configRef, or disable: true");
        return None;
    }
    let decides = if disable == Some(true) { Some(ExtAuth::Disable) } else { config.map(ExtAuth::ConfigRef) };
    Some((decides, list))
}

fn allowed(node: Node<'_>) -> Option<Allowed> {
    let fields = node.object(&ALLOWED)?;
    let everyone = fields.flag("everyone", false);
    let identities = fields.or("identities", Vec::new(), |node| {
        // All are read before the first failure counts, so that every mistake is found.
        let names: Vec<_> =
            node.list()?.iter().map(|item| metadata::word(&item, syntax::subdomain)).collect();
        names.into_iter().collect::<Option<Vec<_>>>()
    });
    let labels = fields.or("labels", Default::default(), metadata::labels);
    let list = AllowList { identities: identities?.into_iter().collect(), labels: labels? };
    let is_empty = list == AllowList::default();
    match everyone? {
        true if is_empty => Some(Allowed::Everyone),
        true => {
            fields.node().invalid("everyone stands alone: leave identities and labels out");
            None
        }
        false if is_empty => {
            fields
                .node()
                .required("must name identities or labels, or everyone: true; else nobody would be allowed");
            None
        }
        false => Some(Allowed::Only(list)),
    }
}
