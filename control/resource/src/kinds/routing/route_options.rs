//! Reads options of routes.

use super::{Context, alternative, balance, cors, extauth, faults, headers, names, retries, rewrite};
use crate::kinds::options::{MaxStreamDuration, RouteOptions};
use crate::reader::{Node, Object};
use crate::schema::{Field, Message, Type};

pub(crate) static OPTIONS: Message = Message {
    name: "RouteOptions",
    doc: "How the requests of a route are treated on the way.",
    fields: &[
        extauth::FIELD,
        rewrite::HOST,
        rewrite::AUTO_HOST,
        rewrite::HOST_HEADER,
        rewrite::HOST_PATH_REGEX,
        Field::new(
            "appendXForwardedHost",
            Type::Boolean,
            "Whether the client's host is added to `x-forwarded-host` where the host is rewritten. Default \
             false.",
        ),
        Field::new(
            "prefixRewrite",
            Type::String,
            "Stands in place of the prefix that was matched; in place of the whole path where `exact` or \
             `regex` matched. Begins with '/'; empty says nothing. Excludes `regexRewrite`.",
        ),
        Field::new(
            "regexRewrite",
            Type::Object(&rewrite::REGEX_REWRITE),
            "Replaces what an expression matches in the path. Excludes `prefixRewrite`.",
        ),
        Field::new(
            "timeout",
            Type::Duration,
            "How long the whole answer may take, retries included. Default 15s; `0s` for no limit.",
        ),
        Field::new(
            "idleTimeout",
            Type::Duration,
            "How long a stream may be silent. Default 5m; `0s` for no limit.",
        ),
        Field::new("maxStreamDuration", Type::Object(&MAX_STREAM_DURATION), "How long a stream may live."),
        retries::FIELD,
        headers::FIELD,
        cors::FIELD,
        Field::new("faults", Type::Object(&faults::FAULTS), "Faults, to see how clients bear them."),
        Field::new("shadowing", Type::Object(&faults::SHADOWING), "Copies of requests go elsewhere."),
        Field::new("upgrades", balance::UPGRADES, "Protocols that a request may change to."),
        Field::new(
            "lbHash",
            Type::Object(&balance::LB_HASH),
            "What an upstream with the load balancer `ringHash` or `maglev` chooses an endpoint by.",
        ),
    ],
    unsupported: &[
        "ai",
        "bufferPerRoute",
        "csrf",
        "dlp",
        "envoyMetadata",
        "extProc",
        "extProcEarly",
        "extProcLate",
        "extensions",
        "jwt",
        "jwtProvidersStaged",
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
        "tracing",
        "transformations",
        "waf",
    ],
};

static MAX_STREAM_DURATION: Message = Message {
    name: "MaxStreamDuration",
    doc: "How long a stream may live.",
    fields: &[
        Field::new("maxStreamDuration", Type::Duration, "Of any stream. `0s` for no limit."),
        Field::new(
            "grpcTimeoutHeaderMax",
            Type::Duration,
            "The most that a client may ask for by the header `grpc-timeout`. `0s`: as much as it likes.",
        ),
        Field::new(
            "grpcTimeoutHeaderOffset",
            Type::Duration,
            "Taken off what the client asked for, so that the proxy gives up before the client does.",
        ),
    ],
    unsupported: &[],
};

/// Reads `options` of a route.
pub(crate) fn read(node: Node<'_>, context: &mut Context<'_>) -> Option<RouteOptions> {
    let options = node.object(&OPTIONS)?;
    let extauth = extauth::read(&options, context.meta);
    let host_rewrite = rewrite::host(&options);
    let append_x_forwarded_host = options.maybe("appendXForwardedHost", |node| node.boolean());
    let path = alternative(&options, &["prefixRewrite", "regexRewrite"], |_, _| Some(()));
    let prefix_rewrite = options.or("prefixRewrite", None, names::new_prefix);
    let regex_rewrite = options.maybe("regexRewrite", rewrite::regex);
    let timeout = options.maybe("timeout", |node| node.duration());
    let idle_timeout = options.maybe("idleTimeout", |node| node.duration());
    let max_stream_duration = options.maybe("maxStreamDuration", max_stream_duration);
    let retries = retries::read(&options, context);
    let header_manipulation = headers::read(&options);
    let cors = cors::of_route(&options, context);
    let faults = options.maybe("faults", |node| faults::read(node, context));
    let shadowing = options.maybe("shadowing", |node| faults::shadowing(node, context));
    let upgrades = options.maybe("upgrades", balance::upgrades);
    let lb_hash = options.maybe("lbHash", balance::lb_hash);
    path?;
    let (extauth, allowed) = extauth?;
    Some(RouteOptions {
        extauth,
        allowed,
        host_rewrite: host_rewrite?,
        append_x_forwarded_host: append_x_forwarded_host?,
        prefix_rewrite: prefix_rewrite?,
        regex_rewrite: regex_rewrite?,
        timeout: timeout?,
        idle_timeout: idle_timeout?,
        max_stream_duration: max_stream_duration?,
        retries: retries?,
        header_manipulation: header_manipulation?,
        cors: cors?,
        faults: faults?,
        shadowing: shadowing?,
        upgrades: upgrades?,
        lb_hash: lb_hash?,
    })
}

fn max_stream_duration(node: Node<'_>) -> Option<MaxStreamDuration> {
    let fields: Object<'_> = node.object(&MAX_STREAM_DURATION)?;
    let duration = |key| fields.maybe(key, |node| node.duration());
    let max_stream_duration = duration("maxStreamDuration");
    let grpc_timeout_header_max = duration("grpcTimeoutHeaderMax");
    let grpc_timeout_header_offset = duration("grpcTimeoutHeaderOffset");
    Some(MaxStreamDuration {
        max_stream_duration: max_stream_duration?,
        grpc_timeout_header_max: grpc_timeout_header_max?,
        grpc_timeout_header_offset: grpc_timeout_header_offset?,
    })
}
