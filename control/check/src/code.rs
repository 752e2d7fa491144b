//! The problems that there are, each with a code that stays the same.

use serde::Serialize;

/// How bad a problem is. Both make a check fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something does not work.
    Error,
    /// Something works, and will not, or not as somebody means it.
    Warning,
}

/// A sort of problem.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    /// The code: `KW3001`. It is never given to another sort.
    pub id: &'static str,
    /// The same for people: `unknown-upstream`.
    pub name: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What has happened.
    pub meaning: &'static str,
    /// What to do.
    pub hint: &'static str,
    /// It may be over in a moment: whoever sees it looks once more.
    pub passes: bool,
}

macro_rules! codes {
    ($($(#[$passes:ident])? $konst:ident = $id:literal $name:literal $severity:ident $meaning:literal, $hint:literal;)+) => {
        $(pub(crate) static $konst: Code = Code {
            id: $id,
            name: $name,
            severity: Severity::$severity,
            meaning: $meaning,
            hint: $hint,
            passes: codes!(@passes $($passes)?),
        };)+
        /// All codes, in order.
        pub static CODES: &[&Code] = &[$(&$konst),+];
    };
    (@passes) => { false };
    (@passes passes) => { true };
}

codes! {
    NOT_AVAILABLE = "KW1001" "deployment-not-available" Error
        "Nobody is connected of a proxy that the server has a configuration for.",
        "start an Envoy with this role (`keyward serve --envoy PATH` runs one), and read its log if there is one";
    #[passes]
    NOT_READY = "KW1002" "pod-not-ready" Error
        "A proxy has streams for keys, and none for its configuration.",
        "`keyward proxy status` shows its streams; its log says why it does not come back";
    #[passes]
    NOT_INITIALIZED = "KW1003" "pod-not-initialized" Error
        "A proxy is connected, and nothing is served to its role.",
        "compare node.metadata.role of its bootstrap with spec.proxyNames of the Gateways";
    #[passes]
    NOT_ALL_READY = "KW1004" "workers-not-ready" Error
        "Workers of a proxy have lost their streams for keys and are not back.",
        "they serve on with what they hold, and try again every two seconds; the log of the proxy says what fails";
    NO_PODS = "KW1005" "no-pods-selected" Warning
        "The selector of -p matches no component and no proxy.",
        "leave -p out, or select by keyward=NAME, role=ROLE or node=NODE";
    NO_NAMESPACE = "KW1006" "no-namespace" Error
        "There is no such namespace as the one named for the installation.",
        "check -n; an installation is in keyward-system unless --system-namespace said something else";
    NOT_LISTED = "KW1007" "not-listed" Error
        "The objects of a kind could not be read, so nothing is known of them.",
        "ask for a token that may read them, or leave them out with --exclude";
    NOT_READABLE = "KW1008" "not-readable" Error
        "An object cannot be understood: another version of Keyward may have stored it.",
        "write it anew; `keyward version` tells which versions there are";
    NO_PROXIES = "KW1009" "no-proxies" Error
        "No proxy is connected at all.",
        "`keyward serve --envoy PATH` runs one; proxies elsewhere need --xds to be reachable";

    REJECTED = "KW2001" "rejected" Error
        "The server rejects an object: its last good version serves, if there was one.",
        "the reason says which field is wrong; `keyward get KIND NAME -o yaml` shows it";
    WARNINGS = "KW2002" "warnings" Warning
        "An object is served, and something about it is not as its author means it.",
        "the reason says what; an object without a mistake has the state Accepted";
    #[passes]
    NO_STATUS = "KW2003" "no-status" Error
        "The server has not looked at an object, or not at its newest version.",
        "wait a moment and check again; the log of the server says what keeps it";
    REFUSED = "KW2004" "refused-by-proxy" Error
        "A proxy refuses what was made of an object: its last good version serves.",
        "the reason quotes the proxy; change the field that it complains of";

    UNKNOWN_UPSTREAM = "KW3001" "unknown-upstream" Error
        "Something leads to an Upstream that is not there.",
        "create the Upstream, or correct the name or the namespace of the reference; requests get 503 until then";
    UNKNOWN_GROUP = "KW3002" "unknown-upstream-group" Error
        "Something leads to an UpstreamGroup that is not there.",
        "create the UpstreamGroup, or correct the reference; requests get 503 until then";
    UNKNOWN_AUTH_CONFIG = "KW3003" "unknown-auth-config" Error
        "Something is secured by an AuthConfig that is not there.",
        "create the AuthConfig, or correct the reference; every request is denied with 403 until then";
    UNKNOWN_HOST_OPTION = "KW3004" "unknown-virtual-host-option" Error
        "A VirtualService asks for a VirtualHostOption that is not there.",
        "create it, or take it out of optionsConfigRefs";
    UNKNOWN_ROUTE_OPTION = "KW3005" "unknown-route-option" Error
        "A route asks for a RouteOption that is not there.",
        "create it, or take it out of optionsConfigRefs";
    UNKNOWN_TABLE = "KW3006" "unknown-route-table" Error
        "A route delegates to a RouteTable that is not there.",
        "create the RouteTable, or correct delegateAction.ref";
    UNKNOWN_SERVICE = "KW3007" "unknown-virtual-service" Error
        "A Gateway names a VirtualService that is not there.",
        "create the VirtualService, or take it out of the Gateway";
    REJECTED_REFERENCE = "KW3008" "rejected-reference" Error
        "Something leads to an object that is rejected.",
        "mend the object that is rejected: its own line says what is wrong with it";
    SELECTS_NO_TABLE = "KW3009" "selects-no-route-table" Warning
        "The selector of a delegating route matches no RouteTable.",
        "compare the selector with the labels and the namespaces of the RouteTables";
    SELECTS_NO_SERVICE = "KW3010" "selects-no-virtual-service" Warning
        "The selector of a Gateway matches no VirtualService.",
        "compare the selector with the labels and the namespaces of the VirtualServices";
    UNUSED_TABLE = "KW3011" "unused-route-table" Warning
        "No VirtualService leads to a RouteTable: nothing of it is served.",
        "delegate to it from a VirtualService, by name or by its labels, or delete it";

    DUPLICATE_KEYS = "KW4001" "duplicate-keys" Warning
        "Several Secrets hold the same key: it is whose it was first.",
        "give each its own key: `keyward secret apikey rotate NAME`";
    SELECTS_NO_SECRET = "KW4002" "selects-no-secret" Error
        "An AuthConfig selects no Secret: every request is denied.",
        "compare labelSelector with the labels of the Secrets: `keyward secret apikey list`";
    NO_USABLE_KEY = "KW4003" "no-usable-key" Error
        "Secrets are selected, and none of them holds a usable key: every request is denied.",
        "the lines of the Secrets say what is wrong with each";
    WRONG_TYPE = "KW4004" "wrong-secret-type" Error
        "A Secret holds a key and is not of the type of API keys: nobody looks at it.",
        "create it anew with type extauth.keyward.io/apikey";
    NOT_SELECTED = "KW4005" "key-not-selected" Warning
        "No AuthConfig selects a Secret with a key: it opens nothing.",
        "correct its labels, or delete it";
    EXPIRES_SOON = "KW4006" "key-expires-soon" Warning
        "A key expires within seven days.",
        "`keyward secret apikey rotate NAME` makes a new one while the old one is still valid";
    UNUSABLE_KEY = "KW4007" "unusable-key" Error
        "A Secret of the type of API keys holds no usable key, and is skipped.",
        "correct the entry that the reason names; a key that cannot be understood is never valid";

    #[passes]
    OUT_OF_SYNC = "KW5001" "proxy-out-of-sync" Error
        "A proxy has not answered to what is newer.",
        "`keyward proxy status` shows since when; the log of the proxy says what it is doing";
    NACKED = "KW5002" "proxy-refuses" Error
        "A proxy refuses a part of what it is told, and what it was told before is in force.",
        "the object that it is made of has a line of its own; `keyward proxy status` has the whole message";
    #[passes]
    KEYS_BEHIND = "KW5003" "proxy-behind-on-keys" Error
        "Workers of a proxy lack keys that are published: what was revoked may still be valid there.",
        "`keyward proxy status` shows each worker; if one refuses keys for want of room, raise --max-table-bytes";
    #[passes]
    DATA_PLANE = "KW5004" "data-plane-out-of-sync" Error
        "Types of configuration have not been accepted by all proxies.",
        "the lines of the proxies say who lacks or refuses what";
}

#[cfg(test)]
mod tests;
