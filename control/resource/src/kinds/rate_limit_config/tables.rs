//! The fields of `RateLimitConfig`.

use crate::kind::{API_VERSION, KIND, METADATA, STATUS, spec};
use crate::schema::{Field, Message, Type};

pub(super) static FIELDS: Message = Message {
    name: "RateLimitConfig",
    doc: "Limits on how many requests are let through. It is stored and checked, and takes effect in a later \
          version.",
    fields: &[API_VERSION, KIND, METADATA, spec(&SPEC), STATUS],
    unsupported: &[],
};

pub(super) static SPEC: Message = Message {
    name: "RateLimitConfigSpec",
    doc: "The limits.",
    fields: &[Field::required("raw", Type::Object(&RAW), "The limits in terms of descriptors.")],
    unsupported: &[],
};

pub(super) static RAW: Message = Message {
    name: "RateLimitRaw",
    doc: "How requests become descriptors, which are pairs of key and value, and the limits on descriptors.",
    fields: &[
        Field::new(
            "descriptors",
            Type::List(&Type::Object(&DESCRIPTOR)),
            "Limits as a tree: the first key of a request is looked for here, the next one below it. Filled by \
             `actions`.",
        ),
        Field::new(
            "setDescriptors",
            Type::List(&Type::Object(&SET_DESCRIPTOR)),
            "Limits by sets: the first whose pairs a request has all, in any order, counts. Filled by \
             `setActions`.",
        ),
        Field::new(
            "rateLimits",
            Type::List(&Type::Object(&RATE_LIMIT_ACTIONS)),
            "How requests become descriptors. Each entry makes one for itself.",
        ),
    ],
    unsupported: &[],
};

pub(super) static DESCRIPTOR: Message = Message {
    name: "RateLimitDescriptor",
    doc: "A place in the tree of limits.",
    fields: &[
        Field::required("key", Type::String, "The key that a request must have at this place."),
        Field::new(
            "value",
            Type::String,
            "The value that it must have. Without it every value matches and is counted for itself.",
        ),
        Field::new("rateLimit", Type::Object(&RATE_LIMIT), "The limit for requests that end at this place."),
        Field::new(
            "descriptors",
            Type::List(&Type::Object(&DESCRIPTOR)),
            "What the next key must be. At most 10 levels in all.",
        ),
        Field::new(
            "weight",
            Type::COUNT,
            "Of all limits that a request meets, only those of the highest weight count. Default 0.",
        ),
        Field::new(
            "alwaysApply",
            Type::Boolean,
            "Whether the limit counts whatever its weight. Default false.",
        ),
    ],
    unsupported: &[],
};

pub(super) static SET_DESCRIPTOR: Message = Message {
    name: "RateLimitSetDescriptor",
    doc: "A limit on requests that have a set of pairs.",
    fields: &[
        Field::new(
            "simpleDescriptors",
            Type::List(&Type::Object(&SIMPLE_DESCRIPTOR)),
            "The pairs that a request must have, in any order. None means every request.",
        ),
        Field::new("rateLimit", Type::Object(&RATE_LIMIT), "The limit. Without it requests are let through."),
        Field::new(
            "alwaysApply",
            Type::Boolean,
            "Whether the limit counts even if an earlier one counts already. Default false.",
        ),
    ],
    unsupported: &[],
};

pub(super) static SIMPLE_DESCRIPTOR: Message = Message {
    name: "RateLimitSimpleDescriptor",
    doc: "A pair that a request must have.",
    fields: &[
        Field::required("key", Type::String, "The key."),
        Field::new(
            "value",
            Type::String,
            "The value. Without it every value matches and is counted for itself.",
        ),
    ],
    unsupported: &[],
};

pub(super) static RATE_LIMIT: Message = Message {
    name: "RateLimit",
    doc: "So many requests in so much time.",
    fields: &[
        Field::required(
            "unit",
            Type::Enum(&["SECOND", "MINUTE", "HOUR", "DAY"]),
            "The time in which requests are counted.",
        ),
        Field::new(
            "requestsPerUnit",
            Type::COUNT,
            "So many requests are let through in that time, and the others are answered with 429. Default 0: \
             none is let through.",
        ),
    ],
    unsupported: &[],
};

pub(super) static RATE_LIMIT_ACTIONS: Message = Message {
    name: "RateLimitActions",
    doc: "What is done with a request. If every action finds something, together they make a descriptor.",
    fields: &[
        Field::new("actions", Type::List(&Type::Object(&ACTION)), "Makes a descriptor for `descriptors`."),
        Field::new("setActions", Type::List(&Type::Object(&ACTION)), "Makes a set for `setDescriptors`."),
        Field::new("limit", Type::Object(&OVERRIDE), "Another limit than the one that is written."),
    ],
    unsupported: &[],
};

pub(super) static OVERRIDE: Message = Message {
    name: "RateLimitOverride",
    doc: "Another limit than the one that is written.",
    fields: &[Field::required("dynamicMetadata", Type::Object(&DYNAMIC_METADATA), "It stands in metadata.")],
    unsupported: &[],
};

pub(super) static DYNAMIC_METADATA: Message = Message {
    name: "RateLimitDynamicMetadata",
    doc: "A limit in metadata of the request.",
    fields: &[Field::required("metadataKey", Type::Object(&METADATA_KEY), "Where it stands.")],
    unsupported: &[],
};

pub(super) static ACTION: Message = Message {
    name: "RateLimitAction",
    doc: "Makes one pair of a descriptor: exactly one of its fields.",
    fields: &[
        Field::new(
            "sourceCluster",
            Type::Object(&EMPTY_ACTION),
            "`source_cluster`: the cluster of the proxy.",
        ),
        Field::new("destinationCluster", Type::Object(&EMPTY_ACTION), "`destination_cluster`: the upstream."),
        Field::new("requestHeaders", Type::Object(&REQUEST_HEADERS), "The value of a header."),
        Field::new(
            "remoteAddress",
            Type::Object(&EMPTY_ACTION),
            "`remote_address`: the address of the client.",
        ),
        Field::new("genericKey", Type::Object(&GENERIC_KEY), "`generic_key` with a fixed value."),
        Field::new(
            "headerValueMatch",
            Type::Object(&HEADER_VALUE_MATCH),
            "`header_match` with a fixed value, if headers are as they should be.",
        ),
        Field::new("metadata", Type::Object(&METADATA_ACTION), "A value in metadata."),
    ],
    unsupported: &[],
};

pub(super) static EMPTY_ACTION: Message =
    Message { name: "RateLimitEmptyAction", doc: "Has no fields.", fields: &[], unsupported: &[] };

pub(super) static REQUEST_HEADERS: Message = Message {
    name: "RateLimitRequestHeaders",
    doc: "The value of a header. A request without the header makes no descriptor.",
    fields: &[
        Field::required("headerName", Type::String, "The header. `x-user-id` is the identity of the caller."),
        Field::required("descriptorKey", Type::String, "The key of the pair."),
    ],
    unsupported: &[],
};

pub(super) static GENERIC_KEY: Message = Message {
    name: "RateLimitGenericKey",
    doc: "A fixed value.",
    fields: &[Field::required("descriptorValue", Type::String, "The value of the pair.")],
    unsupported: &[],
};

pub(super) static HEADER_VALUE_MATCH: Message = Message {
    name: "RateLimitHeaderValueMatch",
    doc: "A fixed value, if headers are as they should be.",
    fields: &[
        Field::required("descriptorValue", Type::String, "The value of the pair."),
        Field::new(
            "expectMatch",
            Type::Boolean,
            "Whether all conditions must hold; with false, not all of them may. Default true.",
        ),
        Field::required(
            "headers",
            Type::List(&Type::Object(&HEADER_MATCHER)),
            "The conditions on headers, at least one.",
        ),
    ],
    unsupported: &[],
};

pub(super) static HEADER_MATCHER: Message = Message {
    name: "RateLimitHeaderMatcher",
    doc: "A condition on a header. At most one of the fields that end in Match; none means that it is there.",
    fields: &[
        Field::required("name", Type::String, "The header."),
        Field::new("exactMatch", Type::String, "It is this."),
        Field::new("regexMatch", Type::String, "All of it matches this regular expression (RE2)."),
        Field::new("rangeMatch", Type::Object(&RANGE), "It is a whole number in this range."),
        Field::new("presentMatch", Type::Boolean, "Whether it is there."),
        Field::new("prefixMatch", Type::String, "It begins with this."),
        Field::new("suffixMatch", Type::String, "It ends with this."),
        Field::new("invertMatch", Type::Boolean, "Whether the condition must not hold. Default false."),
    ],
    unsupported: &[],
};

pub(super) static RANGE: Message = Message {
    name: "RateLimitRange",
    doc: "Whole numbers from the start to before the end.",
    fields: &[
        Field::new("start", Type::Long(i64::MIN, i64::MAX), "The first number. Default 0."),
        Field::new("end", Type::Long(i64::MIN, i64::MAX), "The number behind the last one. Default 0."),
    ],
    unsupported: &[],
};

pub(super) static METADATA_ACTION: Message = Message {
    name: "RateLimitMetadata",
    doc: "A value in metadata.",
    fields: &[
        Field::required("descriptorKey", Type::String, "The key of the pair."),
        Field::required("metadataKey", Type::Object(&METADATA_KEY), "Where the value stands."),
        Field::new(
            "defaultValue",
            Type::String,
            "The value where none stands. Without it such a request makes no descriptor.",
        ),
        Field::new(
            "source",
            Type::Enum(&["DYNAMIC", "ROUTE_ENTRY"]),
            "Whose metadata: those of the request or those of the route. Default `DYNAMIC`.",
        ),
    ],
    unsupported: &[],
};

pub(super) static METADATA_KEY: Message = Message {
    name: "RateLimitMetadataKey",
    doc: "Where a value stands in metadata.",
    fields: &[
        Field::required("key", Type::String, "The namespace of the metadata."),
        Field::required(
            "path",
            Type::List(&Type::Object(&PATH_SEGMENT)),
            "The way from there to the value, at least one step.",
        ),
    ],
    unsupported: &[],
};

pub(super) static PATH_SEGMENT: Message = Message {
    name: "RateLimitPathSegment",
    doc: "A step of the way.",
    fields: &[Field::required("key", Type::String, "The key that is looked up.")],
    unsupported: &[],
};
