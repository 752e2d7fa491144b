//! The fields of `healthChecks`.

use crate::schema::{Field, Message, Type};

pub(in crate::kinds::upstream) static HEALTH_CHECK: Message = Message {
    name: "HealthCheck",
    doc: "Asks every host from time to time how it is. A host that fails gets no requests until it recovers.",
    fields: &[
        Field::required("timeout", Type::Duration, "How long an answer may take. More than 0s."),
        Field::required("interval", Type::Duration, "The time from one check to the next. More than 0s."),
        Field::new(
            "initialJitter",
            Type::Duration,
            "The first check waits for a random time up to this. Default 0s.",
        ),
        Field::new(
            "intervalJitter",
            Type::Duration,
            "A random time up to this is added to every interval. Default 0s.",
        ),
        Field::new(
            "intervalJitterPercent",
            Type::COUNT,
            "A random part of the interval up to this many percent is added to it. Default 0.",
        ),
        Field::new(
            "unhealthyThreshold",
            THRESHOLD,
            "So many failures in a row make a host unhealthy. An answer of 503 does so at once. Default 3.",
        ),
        Field::new(
            "healthyThreshold",
            THRESHOLD,
            "So many successes in a row make a host healthy again; at the start one is enough. Default 2.",
        ),
        Field::new(
            "reuseConnection",
            Type::Boolean,
            "Whether the connection is kept from one check to the next. Default true.",
        ),
        Field::new(
            "httpHealthCheck",
            Type::Object(&HTTP),
            "Checks by an HTTP request. Exactly one of httpHealthCheck, tcpHealthCheck and grpcHealthCheck.",
        ),
        Field::new("tcpHealthCheck", Type::Object(&TCP), "Checks by a TCP connection."),
        Field::new(
            "grpcHealthCheck",
            Type::Object(&GRPC),
            "Checks by the health service of gRPC. Needs useHttp2 on the upstream.",
        ),
        Field::new(
            "noTrafficInterval",
            Type::Duration,
            "The interval while no request has gone to the upstream yet. Default 60s.",
        ),
        Field::new(
            "unhealthyInterval",
            Type::Duration,
            "The interval for unhealthy hosts. The default is interval.",
        ),
        Field::new(
            "unhealthyEdgeInterval",
            Type::Duration,
            "The first interval after a host became unhealthy. The default is unhealthyInterval.",
        ),
        Field::new(
            "healthyEdgeInterval",
            Type::Duration,
            "The first interval after a host became healthy. The default is interval.",
        ),
        Field::new(
            "alwaysLogHealthCheckFailures",
            Type::Boolean,
            "Whether every failure is logged and not only the first in a row. Default false.",
        ),
    ],
    unsupported: &["customHealthCheck", "eventLogPath", "redisHealthCheck"],
};

pub(super) static HTTP: Message = Message {
    name: "HttpHealthCheck",
    doc: "A check by an HTTP request.",
    fields: &[
        Field::required("path", Type::String, "The path that is asked for, such as `/healthz`."),
        Field::new("host", Type::String, "The host header. The default is the name of the cluster."),
        Field::new(
            "method",
            Type::Enum(&[
                "METHOD_UNSPECIFIED",
                "GET",
                "HEAD",
                "POST",
                "PUT",
                "DELETE",
                "OPTIONS",
                "TRACE",
                "PATCH",
            ]),
            "The method. Default `GET`.",
        ),
        Field::new("useHttp2", Type::Boolean, "Whether HTTP/2 is spoken. Default false."),
        Field::new(
            "serviceName",
            Type::String,
            "A host is healthy only if its answer names a service with this prefix in the header \
             `x-envoy-upstream-healthchecked-cluster`.",
        ),
        Field::new(
            "requestHeadersToAdd",
            Type::List(&Type::Object(&HEADER_OPTION)),
            "Headers of the request, at most 1000.",
        ),
        Field::new(
            "requestHeadersToRemove",
            Type::STRING_LIST,
            "Headers that the request would have and must not.",
        ),
        Field::new(
            "expectedStatuses",
            Type::List(&Type::Object(&STATUS_RANGE)),
            "The statuses of a healthy host. Default: 200 alone.",
        ),
    ],
    unsupported: &["responseAssertions"],
};

pub(super) static HEADER_OPTION: Message = Message {
    name: "HealthCheckHeader",
    doc: "A header of a health check.",
    fields: &[
        Field::required("header", Type::Object(&HEADER), "Name and value."),
        Field::new(
            "append",
            Type::Boolean,
            "Whether it is added to a header of the same name. Default true.",
        ),
    ],
    unsupported: &[],
};

pub(super) static HEADER: Message = Message {
    name: "HealthCheckHeaderValue",
    doc: "Name and value of a header.",
    fields: &[
        Field::required("key", Type::String, "The name."),
        Field::new("value", Type::String, "The value. Default empty."),
    ],
    unsupported: &[],
};

pub(super) static STATUS_RANGE: Message = Message {
    name: "HealthCheckStatusRange",
    doc: "A range of statuses.",
    fields: &[
        Field::required("start", Type::Integer(100, 599), "The first status of the range."),
        Field::required("end", Type::Integer(101, 600), "The status behind the last one of the range."),
    ],
    unsupported: &[],
};

pub(super) static TCP: Message = Message {
    name: "TcpHealthCheck",
    doc: "A check by a TCP connection. Without payloads a host is healthy when the connection is made.",
    fields: &[
        Field::new("send", Type::Object(&PAYLOAD), "What is sent."),
        Field::new(
            "receive",
            Type::List(&Type::Object(&PAYLOAD)),
            "What must come back: each of these, in this order, with anything between.",
        ),
    ],
    unsupported: &[],
};

pub(super) static PAYLOAD: Message = Message {
    name: "HealthCheckPayload",
    doc: "Bytes.",
    fields: &[Field::required("text", Type::String, "The bytes as hexadecimal digits: `000000FF`.")],
    unsupported: &["binary"],
};

pub(super) static GRPC: Message = Message {
    name: "GrpcHealthCheck",
    doc: "A check by the health service of gRPC.",
    fields: &[
        Field::new(
            "serviceName",
            Type::String,
            "The service that is asked about. Default: the whole server.",
        ),
        Field::new("authority", Type::String, "The authority. The default is the name of the cluster."),
    ],
    unsupported: &["initialMetadata"],
};

const THRESHOLD: Type = Type::Integer(1, 4_294_967_295);
