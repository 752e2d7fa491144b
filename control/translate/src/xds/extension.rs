//! The filter: its code and its configuration, delivered as an extension.

use envoy_types::pb::envoy::config::core::v3::async_data_source::Specifier as AsyncSpecifier;
use envoy_types::pb::envoy::config::core::v3::data_source::Specifier;
use envoy_types::pb::envoy::config::core::v3::{
    AsyncDataSource, BackoffStrategy, DataSource, TypedExtensionConfig,
};
use envoy_types::pb::envoy::extensions::filters::http::wasm::v3::Wasm;
use envoy_types::pb::envoy::extensions::wasm::v3::plugin_config::Vm;
use envoy_types::pb::envoy::extensions::wasm::v3::{
    CapabilityRestrictionConfig, FailurePolicy, PluginConfig, ReloadConfig, SanitizationConfig, VmConfig,
};
use envoy_types::pb::google::protobuf::{Duration, StringValue};
use keyward_filter_core::capability::CAPABILITIES;
use keyward_filter_core::config::FilterConfig;
use sha2::{Digest, Sha256};

use super::http_filters::FILTER_NAME;
use super::{FilterCode, access_logs, encode};
use crate::input::Settings;
use crate::proxy::Proxy;

const RUNTIME: &str = "envoy.wasm.runtime.v8";
/// A version fits a double without loss, so that it survives metrics and JSON.
const VERSION_BITS: u32 = 53;
/// How soon a VM that died is replaced: the requests of its worker get 503 until then. Envoy waits a
/// second unless told otherwise.
const RELOAD_AFTER: Duration = Duration { seconds: 0, nanos: 100_000_000 };

/// The configuration of the filter for this proxy. Its version names its content: it is what the
/// filter reports on the key stream once the configuration is in force.
#[must_use]
pub fn filter_config(proxy: &Proxy, settings: &Settings) -> FilterConfig {
    let mut logs = proxy.listeners.iter().flat_map(|listener| &listener.access_logs);
    let mut config = FilterConfig {
        version: 0,
        role: proxy.role.clone(),
        control_cluster: settings.control_cluster.clone(),
        identity_header: settings.identity_header.clone(),
        wait_for_keys_ms: settings.wait_for_keys_ms,
        usage_report_ms: settings.usage_report_ms,
        max_table_bytes: settings.max_table_bytes,
        access_log: logs.any(access_logs::asks_filter),
        policies: proxy.policies.clone(),
        standalone: None,
    };
    let hash = Sha256::digest(json(&config).as_bytes());
    let first = hash.iter().take(8).fold(0_u64, |word, byte| (word << 8) | u64::from(*byte));
    config.version = first & ((1 << VERSION_BITS) - 1);
    config
}

/// The filter as a resource of its own.
pub(super) fn extension(config: &FilterConfig, code: &FilterCode) -> TypedExtensionConfig {
    let source =
        DataSource { specifier: Some(Specifier::InlineBytes(code.wasm.to_vec())), ..DataSource::default() };
    let vm = VmConfig {
        vm_id: code.vm_id.clone(),
        runtime: RUNTIME.to_owned(),
        code: Some(AsyncDataSource { specifier: Some(AsyncSpecifier::Local(source)) }),
        capability_restriction_config: Some(capabilities()),
        ..VmConfig::default()
    };
    let backoff = BackoffStrategy { base_interval: Some(RELOAD_AFTER), ..BackoffStrategy::default() };
    let plugin = PluginConfig {
        name: FILTER_NAME.to_owned(),
        root_id: FILTER_NAME.to_owned(),
        configuration: Some(encode::any(&StringValue { value: json(config) })),
        failure_policy: FailurePolicy::FailReload.into(),
        reload_config: Some(ReloadConfig { backoff: Some(backoff) }),
        vm: Some(Vm::VmConfig(vm)),
        ..PluginConfig::default()
    };
    TypedExtensionConfig {
        name: FILTER_NAME.to_owned(),
        typed_config: Some(encode::any(&Wasm { config: Some(plugin) })),
    }
}

fn capabilities() -> CapabilityRestrictionConfig {
    let allowed = CAPABILITIES.iter().map(|name| ((*name).to_owned(), SanitizationConfig {}));
    CapabilityRestrictionConfig { allowed_capabilities: allowed.collect() }
}

fn json(config: &FilterConfig) -> String {
    serde_json::to_string(config).unwrap_or_else(|_| unreachable!("strings, numbers and maps by string"))
}
