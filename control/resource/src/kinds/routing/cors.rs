//! Reads how cross-origin requests are answered.

use super::{Context, all, matcher, names};
use crate::kinds::options::{Cors, CorsMerge};
use crate::reader::{Node, Object, parse_long_duration};
use crate::schema::{Field, Message, Type};

/// `cors`.
pub(crate) const FIELD: Field = Field::new(
    "cors",
    Type::Object(&CORS),
    "How cross-origin requests are answered. Preflight requests are answered before authentication, but not on a \
     route with redirectAction or directResponseAction: the proxy answers them on routes to upstreams only, and \
     elsewhere a preflight is a request like any other, which needs a key where the route is secured. What a \
     route leaves open is as its virtual host says.",
);

/// `corsPolicyMergeSettings`.
pub(crate) const MERGE: Field = Field::new(
    "corsPolicyMergeSettings",
    Type::Object(&MERGE_SETTINGS),
    "What becomes of those parts of `cors` that a route says as well.",
);

static MERGE_SETTINGS: Message = Message {
    name: "CorsPolicyMergeSettings",
    doc: "What becomes of what both a virtual host and its route say of cross-origin requests.",
    fields: &[Field::new(
        "exposeHeaders",
        Type::Enum(&["DEFAULT", "UNION"]),
        "`UNION`: scripts may read the response headers of both. `DEFAULT`: those of the route.",
    )],
    unsupported: &[],
};

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
            "For how long a browser may remember the answer to a preflight request: seconds in digits, or a \
             span of time such as `10m`, `12h` or `1d`, which browsers are told in seconds.",
        ),
        Field::new(
            "allowCredentials",
            Type::Boolean,
            "Whether requests may carry cookies and the like. Default false; on a route, as its virtual host \
             says, unless all origins are allowed there.",
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

/// Longer than browsers remember anything: ten years.
const MAX_AGE: u64 = 10 * 365 * 24 * 60 * 60;

/// Reads `cors` of a virtual host.
pub(crate) fn of_host(options: &Object<'_>, context: &mut Context<'_>) -> Option<Option<Cors>> {
    options.maybe("cors", |node| {
        let cors = read(node, context)?;
        if !cors.allows_any() {
            let place = node.place();
            context.warnings.push(format!("{place}: allows no origin: give allowOrigin or allowOriginRegex"));
        }
        if cors.disable_for_route {
            context.warnings.push(format!("{}: disableForRoute has no effect but on a route", node.place()));
        }
        Some(cors)
    })
}

/// Reads `cors` of a route, which inherits what it leaves open.
pub(crate) fn of_route(options: &Object<'_>, context: &mut Context<'_>) -> Option<Option<Cors>> {
    options.maybe("cors", |node| read(node, context))
}

/// Reads `corsPolicyMergeSettings`.
pub(crate) fn merge(options: &Object<'_>) -> Option<Option<CorsMerge>> {
    options.maybe("corsPolicyMergeSettings", |node| {
        let fields = node.object(&MERGE_SETTINGS)?;
        let strategies = [("DEFAULT", false), ("UNION", true)];
        let union_of_expose_headers = fields.or("exposeHeaders", false, |node| node.one_of(&strategies))?;
        Some(CorsMerge { union_of_expose_headers })
    })
}

fn read(node: Node<'_>, context: &mut Context<'_>) -> Option<Cors> {
    let fields = node.object(&CORS)?;
    let allow_origin = fields.or("allowOrigin", Vec::new(), |list| all(list, origin));
    let allow_origin_regex = fields.or("allowOriginRegex", Vec::new(), |list| {
        all(list, |item| matcher::regex(item).map(|(text, _)| text))
    });
    let allow_methods = fields.or("allowMethods", Vec::new(), |list| all(list, names::method));
    let allow_headers = fields.or("allowHeaders", Vec::new(), |list| all(list, names::header));
    let expose_headers = fields.or("exposeHeaders", Vec::new(), |list| all(list, names::header));
    let max_age = fields.or("maxAge", None, max_age);
    let allow_credentials = fields.maybe("allowCredentials", |node| node.boolean());
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
    if cors.allow_credentials == Some(true) && cors.allows_all() {
        context.warnings.push(format!(
            "{}: every site in the world may send requests with the credentials of its visitors: name the \
             origins, or leave allowCredentials out",
            node.place()
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

/// Seconds in digits, as the header has them, or a span of time. Empty counts as unset.
fn max_age(node: Node<'_>) -> Option<Option<u64>> {
    let text = node.string()?;
    if text.is_empty() {
        return Some(None);
    }
    let seconds = match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => text.parse().ok(),
        false => parse_long_duration(text).filter(|age| age.subsec_nanos() == 0).map(|age| age.as_secs()),
    };
    match seconds {
        Some(seconds) if seconds <= MAX_AGE => Some(Some(seconds)),
        Some(_) => {
            node.invalid("must be at most ten years");
            None
        }
        None => {
            node.invalid(
                "must be a number of seconds in digits, or a span of time such as \"10m\" or \"1d\"",
            );
            None
        }
    }
}
