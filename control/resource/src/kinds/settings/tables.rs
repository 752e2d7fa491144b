//! The fields of `Settings`.

use crate::kind::{API_VERSION, KIND, METADATA, STATUS, spec};
use crate::kinds::upstream::CIRCUIT_BREAKERS;
use crate::schema::{Field, Message, Type};

pub(super) static FIELDS: Message = Message {
    name: "Settings",
    doc: "What holds for the whole installation. Only the object named `default` in the namespace of the \
          installation counts.",
    fields: &[API_VERSION, KIND, METADATA, spec(&SPEC), STATUS],
    unsupported: &[],
};

pub(super) static SPEC: Message = Message {
    name: "SettingsSpec",
    doc: "What holds for the whole installation.",
    fields: &[
        Field::new(
            "devMode",
            Type::Boolean,
            "While it is true, port 10010 of the control server (--dev-admin) shows the objects and what proxies \
             are told. Deprecated, as in the original product: port 9095 shows the same. Default: false.",
        ),
        Field::new(
            "watchNamespaces",
            Type::STRING_LIST,
            "Objects of other namespaces than these and that of the installation have no effect: nothing of \
             them is served, and their keys are not valid. Default: all namespaces count.",
        ),
        Field::new("gloo", Type::Object(&GLOO), "How objects become configuration of proxies."),
        Field::new("gateway", Type::Object(&GATEWAY), "Gateways, and what is refused when it is written."),
        Field::new("extauth", Type::Object(&EXTAUTH), "Authentication."),
        inert(
            "discovery",
            "Accepted, without an effect. Nothing is discovered here. Upstreams are declared.",
        ),
        inert("discoveryNamespace", "Accepted, without an effect. Nothing is discovered here."),
        inert("kubernetes", "Accepted, without an effect. No cluster is spoken to."),
        inert("kubernetesArtifactSource", "Accepted, without an effect. No cluster is spoken to."),
        inert(
            "kubernetesConfigSource",
            "Accepted, without an effect. No cluster is spoken to: objects come in through this API.",
        ),
        inert(
            "kubernetesSecretSource",
            "Accepted, without an effect. No cluster is spoken to: Secrets come in through this API.",
        ),
        inert("linkerd", "Accepted, without an effect. There is no service mesh."),
        inert("observabilityOptions", "Accepted, without an effect. No dashboards are made."),
        inert("ratelimitServer", "Accepted, without an effect. There is no rate limit server to find."),
        inert(
            "refreshRate",
            "Accepted, without an effect. Every change is acted upon at once, so there is nothing to refresh.",
        ),
    ],
    unsupported: &[
        "cachingServer",
        "consoleOptions",
        "consul",
        "consulDiscovery",
        "consulKvArtifactSource",
        "consulKvSource",
        "directoryArtifactSource",
        "directoryConfigSource",
        "directorySecretSource",
        "extProc",
        "extProcEarly",
        "extProcLate",
        "extensions",
        "ipV4Only",
        "knative",
        "namedExtauth",
        "ratelimit",
        "rbac",
        "secretOptions",
        "upstreamOptions",
        "vaultSecretSource",
        "watchNamespaceSelectors",
    ],
};

/// Fields of the original product that mean nothing here and do no harm.
pub(super) const INERT: &[&str] = &[
    "discovery",
    "discoveryNamespace",
    "kubernetes",
    "kubernetesArtifactSource",
    "kubernetesConfigSource",
    "kubernetesSecretSource",
    "linkerd",
    "observabilityOptions",
    "ratelimitServer",
    "refreshRate",
];

pub(super) static GLOO: Message = Message {
    name: "GlooOptions",
    doc: "How objects become configuration of proxies.",
    fields: &[
        Field::new(
            "invalidConfigPolicy",
            Type::Object(&INVALID_CONFIG_POLICY),
            "What becomes of routes whose destination is missing.",
        ),
        Field::new(
            "regexMaxProgramSize",
            Type::Integer(1, 4_294_967_295),
            "Accepted, without an effect. Every proxy takes as large expressions as are accepted here: \
             its bootstrap says so.",
        ),
        Field::new(
            "circuitBreakers",
            Type::Object(&CIRCUIT_BREAKERS),
            "Circuit breakers of upstreams, where an upstream says nothing of its own.",
        ),
        inert("disableGrpcWeb", "Accepted, without an effect. There is no gRPC-Web filter."),
        inert(
            "disableKubernetesDestinations",
            "Accepted, without an effect. There are no destinations in a cluster.",
        ),
        inert(
            "disableProxyGarbageCollection",
            "Accepted, without an effect. Proxies without a gateway go away at once.",
        ),
        inert("enableRestEds", "Accepted, without an effect. Endpoints go to proxies over gRPC."),
        inert(
            "endpointsWarmingTimeout",
            "Accepted, without an effect. Hosts are declared, so there is nothing to wait for.",
        ),
        inert("istioOptions", "Accepted, without an effect. There is no service mesh."),
        inert(
            "proxyDebugBindAddr",
            "Accepted, without an effect. Addresses are given when the server is started.",
        ),
        inert("removeUnusedFilters", "Accepted, without an effect. Filters that nothing uses cost nothing."),
        inert(
            "restXdsBindAddr",
            "Accepted, without an effect. Addresses are given when the server is started.",
        ),
        inert(
            "validationBindAddr",
            "Accepted, without an effect. Addresses are given when the server is started.",
        ),
        inert("xdsBindAddr", "Accepted, without an effect. Addresses are given when the server is started."),
    ],
    unsupported: &[
        "awsOptions",
        "enableAutoWebsocketTransformationPassthrough",
        "failoverUpstreamDnsPollingInterval",
        "logTransformationRequestResponseInfo",
        "transformationEscapeCharacters",
    ],
};

pub(super) const GLOO_INERT: &[&str] = &[
    "regexMaxProgramSize",
    "disableGrpcWeb",
    "disableKubernetesDestinations",
    "disableProxyGarbageCollection",
    "enableRestEds",
    "endpointsWarmingTimeout",
    "istioOptions",
    "proxyDebugBindAddr",
    "removeUnusedFilters",
    "restXdsBindAddr",
    "validationBindAddr",
    "xdsBindAddr",
];

pub(super) static INVALID_CONFIG_POLICY: Message = Message {
    name: "InvalidConfigPolicy",
    doc: "What becomes of routes whose destination is missing or rejected.",
    fields: &[
        Field::new(
            "replaceInvalidRoutes",
            Type::Boolean,
            "Whether they are answered as the two fields below say. Default false: they are answered with 503.",
        ),
        Field::new(
            "invalidRouteResponseCode",
            Type::Integer(200, 599),
            "The status of the answer. Default 404.",
        ),
        Field::new(
            "invalidRouteResponseBody",
            Type::String,
            "The body of the answer. The default says that the route has no valid destination.",
        ),
    ],
    unsupported: &[],
};

pub(super) static GATEWAY: Message = Message {
    name: "GatewayOptions",
    doc: "Gateways, and what is refused when it is written.",
    fields: &[
        Field::new(
            "validation",
            Type::Object(&VALIDATION),
            "What is refused when it is written, beyond what can never be right.",
        ),
        Field::new(
            "delegation",
            Type::Object(&DELEGATION),
            "What a RouteTable may do to which another route delegates.",
        ),
        Field::new(
            "translateEmptyGateways",
            Type::Boolean,
            "Accepted, without an effect. Gateways that serve no VirtualService are always opened, except with \
             TLS, where there would be no certificate to show.",
        ),
        Field::new(
            "readGatewaysFromAllNamespaces",
            Type::Boolean,
            "Accepted, without an effect. Gateways of all namespaces that are watched always count.",
        ),
        Field::new(
            "virtualServiceOptions",
            Type::Object(&VIRTUAL_SERVICE_OPTIONS),
            "What holds for VirtualServices that say nothing of their own.",
        ),
        inert(
            "alwaysSortRouteTableRoutes",
            "Accepted, without an effect. Deprecated in the original product.",
        ),
        inert("compressedProxySpec", "Accepted, without an effect. Proxies are never compressed."),
        inert("enableGatewayController", "Accepted, without an effect. Gateways are always translated."),
        inert(
            "isolateVirtualHostsBySslConfig",
            "Accepted, without an effect. VirtualServices with different TLS are always kept apart.",
        ),
        inert("persistProxySpec", "Accepted, without an effect. Proxies can always be read."),
        inert("validationServerAddr", "Accepted, without an effect. Validation has no server of its own."),
    ],
    unsupported: &[],
};

pub(super) const GATEWAY_INERT: &[&str] = &[
    "translateEmptyGateways",
    "readGatewaysFromAllNamespaces",
    "alwaysSortRouteTableRoutes",
    "compressedProxySpec",
    "enableGatewayController",
    "isolateVirtualHostsBySslConfig",
    "persistProxySpec",
    "validationServerAddr",
];

pub(super) static VALIDATION: Message = Message {
    name: "ValidationOptions",
    doc: "What is refused when it is written. An object that can never be right is refused always.",
    fields: &[
        Field::new(
            "alwaysAccept",
            Type::Boolean,
            "Whether an object is stored that would be rejected beside the other objects, and reported in its \
             status. Default true. With false a change is refused after which this or another object would be \
             rejected that is not yet, whether something is created, changed or deleted, also in a dry run. \
             Keys (Secrets of the type `extauth.keyward.io/apikey`) can be changed and deleted always.",
        ),
        Field::new(
            "allowWarnings",
            Type::Boolean,
            "Whether a change is made after which an object would stand with a warning. Only matters when \
             alwaysAccept is false. Default true.",
        ),
        Field::new(
            "warnMissingTlsSecret",
            Type::Boolean,
            "Accepted, without an effect. Nothing can be served without its certificate, so whoever names a TLS \
             Secret that is missing is always rejected until it is there.",
        ),
        inert(
            "disableTransformationValidation",
            "Accepted, without an effect. There are no transformations.",
        ),
        inert(
            "fullEnvoyValidation",
            "Accepted, without an effect. What is generated is valid by construction.",
        ),
        inert(
            "ignoreGlooValidationFailure",
            "Accepted, without an effect. Validation cannot be unreachable.",
        ),
        inert(
            "proxyValidationServerAddr",
            "Accepted, without an effect. Validation has no server of its own.",
        ),
        inert("serverEnabled", "Accepted, without an effect. Validation has no server of its own."),
        inert(
            "validationServerGrpcMaxSizeBytes",
            "Accepted, without an effect. Validation has no server of its own.",
        ),
        inert("validationWebhookTlsCert", "Accepted, without an effect. There is no webhook."),
        inert("validationWebhookTlsKey", "Accepted, without an effect. There is no webhook."),
        inert(
            "warnRouteShortCircuiting",
            "Accepted, without an effect. Routes that are never reached are always a warning.",
        ),
    ],
    unsupported: &[],
};

pub(super) const VALIDATION_INERT: &[&str] = &[
    "warnMissingTlsSecret",
    "disableTransformationValidation",
    "fullEnvoyValidation",
    "ignoreGlooValidationFailure",
    "proxyValidationServerAddr",
    "serverEnabled",
    "validationServerGrpcMaxSizeBytes",
    "validationWebhookTlsCert",
    "validationWebhookTlsKey",
    "warnRouteShortCircuiting",
];

pub(super) static DELEGATION: Message = Message {
    name: "DelegationOptions",
    doc: "What a RouteTable may do to which another route delegates.",
    fields: &[Field::new(
        "allowAuthOverride",
        Type::Boolean,
        "Whether its routes may switch off or replace the authentication that stands above them. With true \
         that is a warning on both objects, with false such a route is refused. Default true.",
    )],
    unsupported: &[],
};

pub(super) static VIRTUAL_SERVICE_OPTIONS: Message = Message {
    name: "VirtualServiceDefaults",
    doc: "What holds for VirtualServices that say nothing of their own.",
    fields: &[Field::new(
        "oneWayTls",
        Type::Boolean,
        "Whether clients are asked for no certificate, even where there is a root CA. Default false.",
    )],
    unsupported: &[],
};

pub(super) static EXTAUTH: Message = Message {
    name: "ExtAuthSettings",
    doc: "Authentication. It happens in the proxy, so nothing about a server for it has an effect.",
    fields: &[
        Field::new(
            "userIdHeader",
            Type::String,
            "The request header in which the upstream is told who calls. What clients send in it is removed, so \
             headers with another meaning are refused. Default `x-user-id`.",
        ),
        Field::new(
            "failureModeAllow",
            Type::Boolean,
            "Only false is supported: whoever cannot be authenticated is not let in. Default false.",
        ),
        Field::new(
            "preflightNeedsKey",
            Type::Boolean,
            "Whether a CORS preflight (OPTIONS with Origin and Access-Control-Request-Method) needs a key like every \
             other request. Default false: where `cors` is configured and allows the origin, the proxy answers it \
             itself, before authentication; on a secured route none without a key ever reaches an upstream. With \
             true cross-origin requests are treated behind authentication, so what is denied has no CORS headers \
             either. A field of Keyward.",
        ),
        Field::new(
            "usageReportInterval",
            Type::Duration,
            "How often each worker of a proxy reports which keys were used, 1s to 1h. A worker that dies loses what \
             it has not reported. Default 10s. A field of Keyward.",
        ),
        inert("clearRouteCache", "Accepted, without an effect. The route is chosen before authentication."),
        inert("extauthzServerRef", "Accepted, without an effect. There is no server for authentication."),
        inert("grpcService", "Accepted, without an effect. There is no server for authentication."),
        inert("httpService", "Accepted, without an effect. There is no server for authentication."),
        inert("requestBody", "Accepted, without an effect. No body is looked at."),
        inert("requestTimeout", "Accepted, without an effect. There is no server to wait for."),
        inert("statPrefix", "Accepted, without an effect. There is no server for authentication."),
        inert("statusOnError", "Accepted, without an effect. There is no server that could fail."),
        inert("transportApiVersion", "Accepted, without an effect. There is no server for authentication."),
    ],
    unsupported: &[],
};

pub(super) const EXTAUTH_INERT: &[&str] = &[
    "clearRouteCache",
    "extauthzServerRef",
    "grpcService",
    "httpService",
    "requestBody",
    "requestTimeout",
    "statPrefix",
    "statusOnError",
    "transportApiVersion",
];

/// A field of the original product that may stand there, and why it has no effect.
const fn inert(name: &'static str, why: &'static str) -> Field {
    Field::new(name, Type::Any, why)
}
