//! Reads how cross-origin requests are answered.

use super::{Context, all, matcher, names};
use crate::kinds::options::Cors;
use crate::reader::{Node, Object};
use crate::schema::{Field, Message, Type};

/// `cors`.
pub(crate) const FIELD: Field = Field::new(
    "cors",
    Type::Object(&CORS),
    "How cross-origin requests are answered. Preflight requests are answered before authentication. A \
     route's own stands in place of its virtual host's.",
);

static CORS: Message = Message {
    name: "CorsPolicy",
    doc: "How cross-origin requests of browsers are answered.",
    fields: &[
        Field::new(
            "allowOrigin",
            Type::STRING_LIST,
            "Origins whose scripts may read answers, such as `https://example.com`; `*` for all.",
        ),
        Field::new(
            "allowOriginRegex",
            Type::STRING_LIST,
            "Regular expressions (RE2) for origins. All of the origin must match one.",
        ),
        Field::new("allowMethods", Type::STRING_LIST, "Methods that may be used; `*` for all."),
        Field::new("allowHeaders", Type::STRING_LIST, "Request headers that may be sent; `*` for all."),
        Field::new(
            "exposeHeaders",
            Type::STRING_LIST,
            "Response headers that scripts may read; `*` for all.",
        ),
        Field::new(
            "maxAge",
            Type::String,
            "For how many seconds a browser may remember the answer to a preflight request, in digits.",
        ),
        Field::new(
            "allowCredentials",
            Type::Boolean,
            "Whether requests may carry cookies and the like. Default false.",
        ),
        Field::new(
            "disableForRoute",
            Type::Boolean,
            "On a route: cross-origin requests are not treated at all, whatever the virtual host says. \
             Default false.",
        ),
    ],
    unsupported: &[],
};

/// Reads `cors` of these options.
pub(crate) fn read(options: &Object<'_>, context: &mut Context<'_>) -> Option<Option<Cors>> {
    options.maybe("cors", |node| cors(node, context))
}

fn cors(node: Node<'_>, context: &mut Context<'_>) -> Option<Cors> {
    let fields = node.object(&CORS)?;
    let allow_origin = fields.or("allowOrigin", Vec::new(), |list| all(list, origin));
    let allow_origin_regex = fields.or("allowOriginRegex", Vec::new(), |list| {
        all(list, |item| matcher::regex(item).map(|(text, _)| text))
    });
    let allow_methods = fields.or("allowMethods", Vec::new(), |list| all(list, names::method));
    let allow_headers = fields.or("allowHeaders", Vec::new(), |list| all(list, names::header));
    let expose_headers = fields.or("exposeHeaders", Vec::new(), |list| all(list, names::header));
    let max_age = fields.or("maxAge", None, max_age);
    let allow_credentials = fields.flag("allowCredentials", false);
    let disable_for_route = fields.flag("disableForRoute", false);
    let cors = Cors {
        allow_origin: allow_origin?,
        allow_origin_regex: allow_origin_regex?,
        allow_methods: allow_methods?,
        allow_headers: allow_headers?,
        expose_headers: expose_headers?,
        max_age: max_age?,
        allow_credentials: allow_credentials?,
        disable_for_route: disable_for_route?,
    };
    let place = node.place();
    if cors.allow_origin.is_empty() && cors.allow_origin_regex.is_empty() && !cors.disable_for_route {
        context.warnings.push(format!("{place}: allows no origin: give allowOrigin or allowOriginRegex"));
    }
    if cors.allow_credentials && cors.allow_origin.iter().any(|origin| origin == "*") {
        context.warnings.push(format!(
            "{place}: every site in the world may send requests with the credentials of its visitors: name \
             the origins, or leave allowCredentials out"
        ));
    }
    Some(cors)
}

fn origin(node: Node<'_>) -> Option<String> {
    let text = node.string()?;
    let right = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    if !right {
        node.invalid("must be an origin such as \"https://example.com\", or \"*\"");
        return None;
    }
    Some(text.to_owned())
}

/// Seconds in digits, as the header has them. Empty counts as unset.
fn max_age(node: Node<'_>) -> Option<Option<String>> {
    let text = node.string()?;
    if text.is_empty() {
        return Some(None);
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) || text.len() > 10 {
        node.invalid("must be a number of seconds in digits, such as \"600\"");
        return None;
    }
    Some(Some(text.to_owned()))
}
