//! Reads options of virtual hosts.

use super::{Context, cors, extauth, headers, retries};
use crate::kinds::options::VirtualHostOptions;
use crate::reader::Node;
use crate::schema::{Field, Message, Type};

pub(crate) static OPTIONS: Message = Message {
    name: "VirtualHostOptions",
    doc: "What holds of all routes of a virtual host, unless a route says otherwise.",
    fields: &[
        extauth::FIELD,
        retries::FIELD,
        headers::FIELD,
        cors::FIELD,
        cors::MERGE,
        Field::new(
            "includeRequestAttemptCount",
            Type::Boolean,
            "Whether the upstream is told in `x-envoy-attempt-count` which attempt it sees. Default false.",
        ),
        Field::new(
            "includeAttemptCountInResponse",
            Type::Boolean,
            "Whether the client is told in `x-envoy-attempt-count` how many attempts there were. Default \
             false.",
        ),
    ],
    unsupported: &[
        "bufferPerRoute",
        "csrf",
        "dlp",
        "extProc",
        "extProcEarly",
        "extProcLate",
        "extensions",
        "jwt",
        "jwtStaged",
        "rateLimitConfigs",
        "rateLimitEarlyConfigs",
        "rateLimitRegularConfigs",
        "ratelimit",
        "ratelimitBasic",
        "ratelimitEarly",
        "ratelimitRegular",
        "rbac",
        "stagedTransformations",
        "stats",
        "transformations",
        "waf",
    ],
};

/// Reads `options` of a virtual host.
pub(crate) fn read(node: Node<'_>, context: &mut Context<'_>) -> Option<VirtualHostOptions> {
    let options = node.object(&OPTIONS)?;
    let extauth = extauth::read(&options, context.meta);
    let retries = retries::read(&options, context);
    let header_manipulation = headers::read(&options);
    let cors = cors::of_host(&options, context);
    let cors_merge = cors::merge(&options);
    let request_count = options.maybe("includeRequestAttemptCount", |node| node.boolean());
    let response_count = options.maybe("includeAttemptCountInResponse", |node| node.boolean());
    let (extauth, allowed) = extauth?;
    Some(VirtualHostOptions {
        extauth,
        allowed,
        retries: retries?,
        header_manipulation: header_manipulation?,
        cors: cors?,
        cors_merge: cors_merge?,
        include_request_attempt_count: request_count?,
        include_attempt_count_in_response: response_count?,
    })
}
