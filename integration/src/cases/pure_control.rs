//! The pure crates of the control server put together without the server: resources in, plugin
//! configuration, routes and key tables out.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use envoy_types::pb::envoy::config::core::v3::TypedExtensionConfig;
use envoy_types::pb::envoy::extensions::filters::http::wasm::v3::Wasm;
use envoy_types::pb::envoy::extensions::wasm::v3::plugin_config::Vm;
use envoy_types::pb::google::protobuf::StringValue;
use keyward_filter_core::config::{DEFAULT_MAX_TABLE_BYTES, DEFAULT_USAGE_REPORT_MS};
use keyward_keys::{Change, KeyIndex, KeyView};
use keyward_resource::kinds::route::PathMatcher;
use keyward_resource::kinds::secret::ApiKeySecret;
use keyward_resource::kinds::upstream::CircuitBreakers;
use keyward_resource::{ObjectKey, ObjectRef, Reports, Resource, admit, decode, kind};
use keyward_translate::proxy::{Listener, Route, allow_lists};
use keyward_translate::{FilterCode, Input, LastGood, Output, Routing, Settings, translate, xds};
use prost::Message as _;
use serde_json::Value;

/// The role of the proxy that gets what Gateways say when they name none.
const ROLE: &str = "keyward-system~gateway-proxy";

/// Resources and what follows from them.
pub struct PureControl {
    settings: Settings,
    input: Input,
    index: KeyIndex,
    last_good: LastGood,
    output: Output,
    revision: u64,
    /// The revisions with which keys came into their Secrets.
    held_since: BTreeMap<ObjectRef, BTreeMap<[u8; 32], u64>>,
}

/// The plugin as Envoy is told of it.
pub struct Plugin {
    /// The plugin configuration.
    pub config: Vec<u8>,
    /// The capabilities that the module gets.
    pub capabilities: BTreeSet<String>,
}

// === impl PureControl ===

impl PureControl {
    /// A control server that holds nothing yet.
    #[must_use]
    pub fn new(wait_for_keys_ms: u32) -> Self {
        let settings = Settings {
            system_namespace: "keyward-system".to_owned(),
            identity_header: "x-user-id".to_owned(),
            wait_for_keys_ms,
            usage_report_ms: DEFAULT_USAGE_REPORT_MS,
            max_table_bytes: DEFAULT_MAX_TABLE_BYTES,
            preflight_needs_key: false,
            default_gateway: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            control_cluster: "keyward-control".to_owned(),
            own_ports: Vec::new(),
            default_tls_gateway: SocketAddr::from((Ipv4Addr::LOCALHOST, 8443)),
            one_way_tls: false,
            tls_files: None,
            log_files: None,
            access_log: None,
            watch_namespaces: BTreeSet::new(),
            circuit_breakers: CircuitBreakers::default(),
            routing: Routing::default(),
        };
        let (input, last_good) = (Input::default(), LastGood::default());
        let output = translate(&input, &settings, &last_good);
        Self {
            settings,
            input,
            index: KeyIndex::new(),
            last_good,
            output,
            revision: 0,
            held_since: BTreeMap::new(),
        }
    }

    /// Admits an object as the REST API does, and takes it over.
    ///
    /// # Errors
    ///
    /// When it is refused.
    pub fn apply(&mut self, object: &Value) -> anyhow::Result<()> {
        let text = |pointer: &str| {
            object.pointer(pointer).and_then(Value::as_str).with_context(|| format!("no {pointer}"))
        };
        let (kind, _) = kind::by_type(text("/apiVersion")?, text("/kind")?).context("unknown kind")?;
        let namespace = text("/metadata/namespace")?;
        let listed = |errors: Vec<keyward_resource::FieldError>| {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            anyhow::anyhow!("refused: {}", errors.join("; "))
        };
        let mut stored = admit(kind, namespace, None, object.clone()).map_err(listed)?;
        self.revision += 1;
        stored["metadata"]["resourceVersion"] = self.revision.to_string().into();
        let resource = decode(kind, &stored).map_err(listed)?;
        let id = resource.meta().object_ref();
        let change = match resource {
            Resource::ApiKeySecret(secret) => Some(Change::PutSecret(self.holding(secret))),
            Resource::TlsSecret(_) | Resource::OtherSecret(_) => Some(Change::DeleteSecret(id)),
            Resource::AuthConfig(config) => {
                self.input.auth_configs.insert(id, Arc::new(config.clone()));
                Some(Change::PutAuthConfig(config))
            }
            Resource::Upstream(upstream) => {
                self.input.upstreams.insert(id, Arc::new(upstream));
                None
            }
            Resource::VirtualService(service) => {
                self.input.virtual_services.insert(id, Arc::new(service));
                None
            }
            Resource::RouteTable(table) => {
                self.input.route_tables.insert(id, Arc::new(table));
                None
            }
            Resource::VirtualHostOption(option) => {
                self.input.virtual_host_options.insert(id, Arc::new(option));
                None
            }
            Resource::RouteOption(option) => {
                self.input.route_options.insert(id, Arc::new(option));
                None
            }
            Resource::Gateway(gateway) => {
                self.input.gateways.insert(id, Arc::new(gateway));
                None
            }
            Resource::Namespace(_)
            | Resource::UpstreamGroup(_)
            | Resource::Settings(_)
            | Resource::RateLimitConfig(_)
            | Resource::Proxy(_) => None,
        };
        self.follow(change);
        Ok(())
    }

    /// A Secret that says since when it holds its keys, as a store has it said.
    fn holding(&mut self, mut secret: ApiKeySecret) -> ApiKeySecret {
        let held = self.held_since.entry(secret.meta.object_ref()).or_default();
        let before = std::mem::take(held);
        let since = |key: &[u8; 32]| before.get(key).copied().unwrap_or(self.revision);
        if let Ok(key) = &secret.key {
            secret.held_since = since(key);
            held.insert(*key, secret.held_since);
        }
        if let Some(previous) = &mut secret.previous {
            previous.held_since = since(&previous.key);
            held.insert(previous.key, previous.held_since);
        }
        secret
    }

    /// Deletes an object.
    ///
    /// # Errors
    ///
    /// When there can be none of this kind.
    pub fn delete(&mut self, kind: &str, namespace: &str, name: &str) -> anyhow::Result<()> {
        let id = ObjectRef::new(namespace, name);
        let change = match kind {
            "Secret" => {
                self.held_since.remove(&id);
                Some(Change::DeleteSecret(id))
            }
            "AuthConfig" => {
                self.input.auth_configs.remove(&id);
                Some(Change::DeleteAuthConfig(id))
            }
            "VirtualService" => {
                self.input.virtual_services.remove(&id);
                None
            }
            _ => bail!("cases delete no {kind}"),
        };
        self.revision += 1;
        self.follow(change);
        Ok(())
    }

    /// What is said of an object.
    ///
    /// # Errors
    ///
    /// When nothing is.
    pub fn status(&self, kind: &str, namespace: &str, name: &str) -> anyhow::Result<(String, String)> {
        let kind = kind::by_name(kind).context("unknown kind")?.name;
        let mut reports = Reports::default();
        reports.merge(&self.index.reports());
        reports.merge(&self.output.reports);
        let report = reports.get(&ObjectKey::new(kind, namespace, name)).context("no report")?;
        Ok((report.state.as_str().to_owned(), report.reasons.join("; ")))
    }

    /// The filter as xDS describes it.
    ///
    /// # Errors
    ///
    /// When translation made something else of it.
    pub fn plugin(&self) -> anyhow::Result<Plugin> {
        let proxy = self.output.proxies.get(ROLE).context("no proxy")?;
        let code = FilterCode { wasm: Vec::new().into(), vm_id: "test".to_owned() };
        let resources = xds(proxy, &code, &self.settings);
        let [extension] = resources.extensions.as_slice() else { bail!("not one extension") };
        let extension = TypedExtensionConfig::decode(extension.bytes.clone())?;
        let any = extension.typed_config.context("no configuration")?;
        let plugin = Wasm::decode(any.value.as_slice())?.config.context("no plugin")?;
        let Some(Vm::VmConfig(vm)) = plugin.vm else { bail!("no VM") };
        let restriction = vm.capability_restriction_config.context("no capabilities")?;
        let any = plugin.configuration.context("no plugin configuration")?;
        Ok(Plugin {
            config: StringValue::decode(any.value.as_slice())?.value.into_bytes(),
            capabilities: restriction.allowed_capabilities.into_keys().collect(),
        })
    }

    /// The route that a request takes.
    #[must_use]
    pub fn route(&self, host: &str, path: &str) -> Option<&Route> {
        let proxy = self.output.proxies.get(ROLE)?;
        let mut hosts = proxy.listeners.iter().flat_map(Listener::virtual_hosts);
        let found = hosts.find(|found| found.domains.iter().any(|domain| domain == host))?;
        let prefix = |route: &&Route| match &route.matcher.path {
            PathMatcher::Prefix(prefix) => path.starts_with(prefix.as_str()),
            PathMatcher::Exact(_) | PathMatcher::Regex(_) => false,
        };
        found.routes.iter().find(prefix)
    }

    /// The key tables of the proxy.
    #[must_use]
    pub fn keys(&self) -> KeyView {
        let wanted: BTreeMap<String, BTreeSet<String>> =
            self.output.proxies.iter().map(|(role, proxy)| (role.clone(), proxy.tables.clone())).collect();
        self.index.view(wanted)
    }

    fn follow(&mut self, change: Option<Change>) {
        self.index.apply(self.revision, change);
        self.output = translate(&self.input, &self.settings, &self.last_good);
        self.last_good = self.output.last_good.clone();
        let lists = allow_lists(self.output.proxies.values());
        self.index.apply(self.revision, [Change::Allow(lists)]);
    }
}
