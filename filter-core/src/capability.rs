//! What the filter's module asks of its proxy, for Envoy's `capability_restriction_config`.
//!
//! That list is an allow list as soon as it is not empty, for what the module imports and for the
//! callbacks that it exports alike. A callback that is not listed is not called, which saves an
//! entry into the VM for every request: the route configuration takes the identity header off responses,
//! so the filter is not called for them. (By itself, without such a list, it is.) An import that is not
//! listed fails when it is called. So the list is exactly what is used, no more and no less; a test
//! compares it with the imports of the built module.

/// The filter state by which the filter tells the guard behind it that a request may pass without an
/// identity: no client can set it. It holds [`ANONYMOUS`].
pub const ANONYMOUS_STATE: &str = "wasm.keyward_anonymous";
/// See [`ANONYMOUS_STATE`].
pub const ANONYMOUS: &str = "yes";

/// The filter states that an access log may show, where the configuration says that one does: the reason of
/// the decision, the AuthConfig, who passed, and the id of the key, if it is one that is known. The header with
/// the identity would not do: of a request that is refused as it comes, it is what the client says.
pub const REASON_STATE: &str = "wasm.keyward_reason";
/// See [`REASON_STATE`].
pub const AUTH_CONFIG_STATE: &str = "wasm.keyward_auth_config";
/// See [`REASON_STATE`].
pub const IDENTITY_STATE: &str = "wasm.keyward_identity";
/// See [`REASON_STATE`]. The first eight digits of the key's SHA-256.
pub const KEY_ID_STATE: &str = "wasm.keyward_key_id";

/// Names as Envoy knows them: callbacks, host calls and WASI functions.
pub const CAPABILITIES: &[&str] = &[
    // Callbacks. A request belongs to a root. That one is gone must be known at once: what waits for keys
    // must not be resumed when it is no more.
    "proxy_on_context_create",
    "proxy_on_delete",
    // Metrics are defined once a VM.
    "proxy_on_vm_start",
    // The plugin configuration.
    "proxy_on_configure",
    // Opens and reopens the key stream, ends the wait of parked requests.
    "proxy_on_tick",
    // The key stream.
    "proxy_on_grpc_receive_initial_metadata",
    "proxy_on_grpc_receive",
    "proxy_on_grpc_close",
    // The decision.
    "proxy_on_request_headers",
    // Host calls: what the filter reads.
    "proxy_get_buffer_bytes",
    "proxy_get_current_time_nanoseconds",
    "proxy_get_header_map_value",
    // Only where a comma leaves open whether a header stands once or several times.
    "proxy_get_header_map_pairs",
    "proxy_get_property",
    // What it does to a request or a response.
    "proxy_replace_header_map_value",
    "proxy_remove_header_map_value",
    "proxy_send_local_response",
    // That it has no identity, for the guard; what was decided, for an access log that shows it.
    "proxy_set_property",
    "proxy_continue_stream",
    "proxy_set_effective_context",
    // The key stream.
    "proxy_grpc_stream",
    "proxy_grpc_send",
    "proxy_grpc_cancel",
    "proxy_set_tick_period_milliseconds",
    // What people see.
    "proxy_define_metric",
    "proxy_increment_metric",
    "proxy_record_metric",
    "proxy_log",
    // WASI, imported by Rust's standard library. It has a panic handler even if nothing panics.
    "environ_get",
    "environ_sizes_get",
    "fd_write",
    "proc_exit",
    // What a worker is called, and how long it waits between attempts.
    "random_get",
];
