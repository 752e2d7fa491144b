//! Reads options of routes.

use crate::kinds::options::{HostRewrite, RouteOptions};
use crate::kinds::routing::extauth;
use crate::meta::Meta;
use crate::reader::Node;
use crate::schema::{Field, Message, Type};

pub(crate) static OPTIONS: Message = Message {
    name: "RouteOptions",
    doc: "How the requests of a route are treated on the way.",
    fields: &[
        Field::new(
            "autoHostRewrite",
            Type::Boolean,
            "Whether the upstream sees the host name of the endpoint that was chosen, in place of the \
             client's.",
        ),
        extauth::FIELD,
    ],
    unsupported: &[
        "ai",
        "appendXForwardedHost",
        "bufferPerRoute",
        "cors",
        "csrf",
        "dlp",
        "envoyMetadata",
        "extProc",
        "extProcEarly",
        "extProcLate",
        "extensions",
        "faults",
        "headerManipulation",
        "hostRewrite",
        "hostRewriteHeader",
        "hostRewritePathRegex",
        "idleTimeout",
        "jwt",
        "jwtProvidersStaged",
        "jwtStaged",
        "lbHash",
        "maxStreamDuration",
        "prefixRewrite",
        "rateLimitConfigs",
        "rateLimitEarlyConfigs",
        "rateLimitRegularConfigs",
        "ratelimit",
        "ratelimitBasic",
        "ratelimitEarly",
        "ratelimitRegular",
        "rbac",
        "regexRewrite",
        "retries",
        "shadowing",
        "stagedTransformations",
        "timeout",
        "tracing",
        "transformations",
        "upgrades",
        "waf",
    ],
};

pub(crate) fn read(node: Node<'_>, meta: &Meta, _warnings: &mut Vec<String>) -> Option<RouteOptions> {
    let options = node.object(&OPTIONS)?;
    let auto_host_rewrite = options.or("autoHostRewrite", None, |node| node.boolean().map(Some));
    let extauth = extauth::read(&options, meta);
    Some(RouteOptions {
        extauth: extauth?,
        host_rewrite: auto_host_rewrite?.map(HostRewrite::Auto),
        ..RouteOptions::default()
    })
}
