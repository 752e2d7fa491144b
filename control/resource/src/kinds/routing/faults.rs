//! Reads faults for tests, and where copies of requests go.

use super::{Context, names, per_million};
use crate::kinds::options::{Abort, Delay, Faults, Shadowing};
use crate::metadata::{self, REFERENCE};
use crate::reader::{Node, Object};
use crate::schema::{Field, Message, Type};

pub(crate) static FAULTS: Message = Message {
    name: "RouteFaults",
    doc: "Faults, to see how clients bear them.",
    fields: &[
        Field::new("abort", Type::Object(&ABORT), "The proxy answers in place of the upstream."),
        Field::new("delay", Type::Object(&DELAY), "The proxy waits before it forwards a request."),
    ],
    unsupported: &[],
};

static ABORT: Message = Message {
    name: "RouteAbort",
    doc: "The proxy answers in place of the upstream.",
    fields: &[
        PERCENTAGE,
        Field::required("httpStatus", Type::Integer(200, 599), "The status of the answer."),
    ],
    unsupported: &[],
};

static DELAY: Message = Message {
    name: "RouteDelay",
    doc: "The proxy waits before it forwards a request.",
    fields: &[PERCENTAGE, Field::required("fixedDelay", Type::Duration, "How long, at least 1ms.")],
    unsupported: &[],
};

const PERCENTAGE: Field =
    Field::new("percentage", Type::Number, "Of how many requests in a hundred, 0 to 100. Default 0.");

pub(crate) static SHADOWING: Message = Message {
    name: "RouteShadowing",
    doc: "Copies of requests go elsewhere. Nobody waits for their answers.",
    fields: &[
        Field::required("upstream", Type::Object(&REFERENCE), "The Upstream that gets the copies."),
        PERCENTAGE,
        Field::new(
            "disableShadowHostSuffixAppend",
            Type::Boolean,
            "Whether the host of a copy stays as it is. Otherwise `-shadow` is put behind it. Default false.",
        ),
        Field::new("hostRewriteLiteral", Type::String, "The host of a copy."),
    ],
    unsupported: &[],
};

/// Reads `faults`.
pub(crate) fn read(node: Node<'_>, context: &mut Context<'_>) -> Option<Faults> {
    let fields = node.object(&FAULTS)?;
    let abort = fields.maybe("abort", |node| {
        let fields = node.object(&ABORT)?;
        let per_million = percentage(&fields, context);
        let status = fields.required("httpStatus", "an abort needs a status");
        let status = status.and_then(|status| u16::try_from(status.integer(200..=599)?).ok());
        Some(Abort { per_million: per_million?, http_status: status? })
    });
    let delay = fields.maybe("delay", |node| {
        let fields = node.object(&DELAY)?;
        let per_million = percentage(&fields, context);
        let fixed_delay = fields.required("fixedDelay", "a delay needs a span of time");
        let fixed_delay = fixed_delay.and_then(|delay| delay.positive_duration());
        Some(Delay { per_million: per_million?, fixed_delay: fixed_delay? })
    });
    Some(Faults { abort: abort?, delay: delay? })
}

/// Reads `shadowing`.
pub(crate) fn shadowing(node: Node<'_>, context: &mut Context<'_>) -> Option<Shadowing> {
    let fields = node.object(&SHADOWING)?;
    let upstream = fields.required("upstream", "shadowing needs an upstream");
    let upstream = upstream.and_then(|upstream| metadata::reference(upstream, context.meta));
    let per_million = percentage(&fields, context);
    let disable_host_suffix = fields.flag("disableShadowHostSuffixAppend", false);
    let host_rewrite = fields.maybe("hostRewriteLiteral", names::host_word);
    Some(Shadowing {
        upstream: upstream?,
        per_million: per_million?,
        disable_host_suffix: disable_host_suffix?,
        host_rewrite: host_rewrite?,
    })
}

fn percentage(fields: &Object<'_>, context: &mut Context<'_>) -> Option<u32> {
    if fields.optional("percentage").is_none() {
        let place = fields.node().place();
        context.warnings.push(format!("{place}: percentage is not set: no request is affected"));
    }
    fields.or("percentage", 0, per_million)
}
