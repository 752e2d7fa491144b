//! Reads retries.

use super::{Context, all, names};
use crate::kinds::options::{BackOff, RateLimitedBackOff, ResetHeader, Retries};
use crate::reader::{Node, Object};
use crate::schema::{Field, Message, Type};

/// `retries`.
pub(crate) const FIELD: Field = Field::new(
    "retries",
    Type::Object(&RETRIES),
    "When and how often a request is sent once more. A route's own stand in place of its virtual host's.",
);

static RETRIES: Message = Message {
    name: "RetryPolicy",
    doc: "When and how often a request is sent once more.",
    fields: &[
        Field::new(
            "retryOn",
            Type::String,
            "What is retried, in Envoy's words, comma separated: `5xx,connect-failure`. Empty: nothing.",
        ),
        Field::new("numRetries", Type::COUNT, "How often, at most. Default 1."),
        Field::new(
            "perTryTimeout",
            Type::Duration,
            "How long one attempt may take. Default, and `0s`: as long as the whole request.",
        ),
        Field::new(
            "retryBackOff",
            Type::Object(&BACK_OFF),
            "The wait between attempts. Default 25ms to 250ms.",
        ),
        Field::new(
            "retriableStatusCodes",
            Type::List(&Type::Integer(100, 599)),
            "The statuses that `retriable-status-codes` in `retryOn` stands for.",
        ),
        Field::new(
            "previousPriorities",
            Type::Object(&PREVIOUS_PRIORITIES),
            "Attempts go to other priorities of the upstream than those that failed before.",
        ),
        Field::new(
            "rateLimitedRetryBackOff",
            Type::Object(&RATE_LIMITED),
            "The wait that the upstream asks for in a header of its answer.",
        ),
    ],
    unsupported: &[],
};

static BACK_OFF: Message = Message {
    name: "RetryBackOff",
    doc: "The wait between attempts. It doubles, with chance, from attempt to attempt.",
    fields: &[
        Field::required("baseInterval", Type::Duration, "The first wait, at least 1ms."),
        Field::new(
            "maxInterval",
            Type::Duration,
            "The longest wait, not less than the first. Default ten times the first.",
        ),
    ],
    unsupported: &[],
};

static PREVIOUS_PRIORITIES: Message = Message {
    name: "PreviousPriorities",
    doc: "Attempts go to other priorities than those that failed before.",
    fields: &[Field::new(
        "updateFrequency",
        Type::Integer(1, u32::MAX as i64),
        "After how many attempts the priorities are looked at anew. Default 2.",
    )],
    unsupported: &[],
};

static RATE_LIMITED: Message = Message {
    name: "RateLimitedRetryBackOff",
    doc: "The wait that the upstream asks for.",
    fields: &[
        Field::required(
            "resetHeaders",
            Type::List(&Type::Object(&RESET_HEADER)),
            "Headers that may say how long to wait, at least one. The first that does decides.",
        ),
        Field::new(
            "maxInterval",
            Type::Duration,
            "A header that asks for more is passed over. Default 300s.",
        ),
    ],
    unsupported: &[],
};

static RESET_HEADER: Message = Message {
    name: "ResetHeader",
    doc: "A header that says how long to wait.",
    fields: &[
        Field::required("name", Type::String, "The name of the header."),
        Field::new(
            "format",
            Type::Enum(&["SECONDS", "UNIX_TIMESTAMP"]),
            "Whether the header holds seconds (the default) or the time until which to wait.",
        ),
    ],
    unsupported: &[],
};

/// The words of `retryOn`.
const CONDITIONS: &[&str] = &[
    "5xx",
    "cancelled",
    "connect-failure",
    "deadline-exceeded",
    "envoy-ratelimited",
    "gateway-error",
    "http3-post-connect-failure",
    "internal",
    "refused-stream",
    "reset",
    "reset-before-request",
    "resource-exhausted",
    "retriable-4xx",
    "retriable-headers",
    "retriable-status-codes",
    "unavailable",
];
/// After how many attempts priorities are looked at anew unless told otherwise.
const UPDATE_FREQUENCY: u32 = 2;

/// Reads `retries` of these options.
pub(crate) fn read(options: &Object<'_>, context: &mut Context<'_>) -> Option<Option<Retries>> {
    options.maybe("retries", |node| {
        let fields = node.object(&RETRIES)?;
        let retry_on = retry_on(&fields, context);
        let num_retries = fields.maybe("numRetries", |count| count.unsigned(0..=u32::MAX));
        let per_try_timeout = fields.maybe("perTryTimeout", |timeout| timeout.duration());
        let back_off = fields.maybe("retryBackOff", back_off);
        let retriable_status_codes = fields.or("retriableStatusCodes", Vec::new(), |list| {
            all(list, |code| u16::try_from(code.integer(100..=599)?).ok())
        });
        let previous_priorities = fields.maybe("previousPriorities", |node| {
            let fields = node.object(&PREVIOUS_PRIORITIES)?;
            fields.or("updateFrequency", UPDATE_FREQUENCY, |count| count.unsigned(1..=u32::MAX))
        });
        let rate_limited_back_off = fields.maybe("rateLimitedRetryBackOff", rate_limited);
        Some(Retries {
            retry_on: retry_on?,
            num_retries: num_retries?,
            per_try_timeout: per_try_timeout?,
            back_off: back_off?,
            retriable_status_codes: retriable_status_codes?,
            previous_priorities: previous_priorities?,
            rate_limited_back_off: rate_limited_back_off?,
        })
    })
}

/// The words of `retryOn` in one form. Words that nobody knows do nothing in the proxy.
fn retry_on(fields: &Object<'_>, context: &mut Context<'_>) -> Option<String> {
    let Some(node) = fields.optional("retryOn") else {
        let place = fields.node().place();
        context.warnings.push(format!("{place}: retryOn is not set: nothing is retried"));
        return Some(String::new());
    };
    let text = node.string()?;
    if !text.is_ascii() || text.bytes().any(|byte| byte.is_ascii_control()) {
        node.invalid("must be words such as \"5xx,connect-failure\"");
        return None;
    }
    let words: Vec<_> = text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    for word in words.iter().filter(|word| !CONDITIONS.contains(word)) {
        context.warnings.push(format!("{}: {word:?} is not known and does nothing", node.place()));
    }
    Some(words.join(","))
}

fn back_off(node: Node<'_>) -> Option<BackOff> {
    let fields = node.object(&BACK_OFF)?;
    let base = fields.required("baseInterval", "a back-off needs a base interval");
    let base = base.and_then(|base| base.positive_duration());
    let max = fields.maybe("maxInterval", |max| max.positive_duration());
    let (base, max) = (base?, max?);
    if max.is_some_and(|max| max < base)
        && let Some(node) = fields.optional("maxInterval")
    {
        node.invalid("must not be less than baseInterval");
        return None;
    }
    Some(BackOff { base, max })
}

fn rate_limited(node: Node<'_>) -> Option<RateLimitedBackOff> {
    const NO_HEADER: &str = "must name at least one header";
    let fields = node.object(&RATE_LIMITED)?;
    let headers = fields.required("resetHeaders", NO_HEADER).and_then(|list| {
        let headers = all(list, reset_header)?;
        if headers.is_empty() {
            list.required(NO_HEADER);
            return None;
        }
        Some(headers)
    });
    let max = fields.maybe("maxInterval", |max| max.positive_duration());
    Some(RateLimitedBackOff { reset_headers: headers?, max: max? })
}

fn reset_header(node: Node<'_>) -> Option<ResetHeader> {
    let fields = node.object(&RESET_HEADER)?;
    let name = fields.required("name", "a header needs a name").and_then(names::header);
    let unix_timestamp =
        fields.or("format", false, |format| format.one_of(&[("SECONDS", false), ("UNIX_TIMESTAMP", true)]));
    Some(ResetHeader { name: name?, unix_timestamp: unix_timestamp? })
}
