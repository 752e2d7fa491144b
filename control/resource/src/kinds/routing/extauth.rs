//! Reads `options.extauth`.

use crate::kinds::options::ExtAuth;
use crate::meta::Meta;
use crate::metadata::{self, REFERENCE};
use crate::reader::Object;
use crate::schema::{Field, Message, Type};

/// `extauth` of a virtual host or of a route.
pub(crate) const FIELD: Field = Field::new(
    "extauth",
    Type::Object(&EXT_AUTH),
    "Authentication. A route inherits it from its virtual host, or from the route that delegates to it, and \
     overrides or disables it. Without any, every request is allowed.",
);

static EXT_AUTH: Message = Message {
    name: "ExtAuth",
    doc: "Authentication: one of its fields.",
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
    ],
    unsupported: &["customAuth"],
};

/// Reads `extauth`. `disable: false` alone says nothing: what is above is inherited.
pub(crate) fn read(options: &Object<'_>, meta: &Meta) -> Option<Option<ExtAuth>> {
    let Some(node) = options.optional("extauth") else { return Some(None) };
    let fields = node.object(&EXT_AUTH)?;
    let disable = fields.or("disable", None, |disable| disable.boolean().map(Some));
    let config = fields.or("configRef", None, |config| metadata::reference(config, meta).map(Some));
    match (disable?, config?) {
        (Some(true), Some(_)) => {
            fields.node().invalid("disable and configRef exclude each other: leave one of them out");
            None
        }
        (Some(true), None) => Some(Some(ExtAuth::Disable)),
        (_, Some(config)) => Some(Some(ExtAuth::ConfigRef(config))),
        (Some(false), None) => Some(None),
        (None, None) => {
            // Nothing at all is more likely a slip than the wish to inherit.
            fields.choice("configRef", "must have configRef, or disable: true");
            None
        }
    }
}
