//! What the `Settings` say, and which objects are looked at.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyward_resource::kinds::route::DirectResponse;
use keyward_resource::kinds::settings::{SETTINGS_NAME, Settings as SettingsObject};
use keyward_resource::kinds::upstream::CircuitBreakers;
use keyward_resource::{ObjectKey, ObjectRef, Reports};

use super::kind::{
    AUTH_CONFIG, GATEWAY, ROUTE_OPTION, ROUTE_TABLE, SECRET, SETTINGS, UPSTREAM, UPSTREAM_GROUP,
    VIRTUAL_HOST_OPTION, VIRTUAL_SERVICE,
};
use crate::input::{Input, LastGood, Routing, Settings};

/// What holds, with what the `Settings` say: those named `default` in the namespace of the installation
/// and no others.
pub(super) fn effective(
    input: &Input,
    settings: &Settings,
    last_good: &LastGood,
    remembered: &mut LastGood,
    reports: &mut Reports,
) -> Settings {
    let counts = ObjectRef::new(&settings.system_namespace, SETTINGS_NAME);
    for (reference, object) in &input.settings {
        let key = key(reference);
        reports.accept(key.clone());
        object.warnings.iter().for_each(|warning| reports.warn(key.clone(), warning.clone()));
        if reference.name == counts.name && reference.namespace != counts.namespace {
            let reason = format!("only the Settings in namespace {:?} have an effect", counts.namespace);
            reports.warn(key, reason);
        }
    }
    let withheld = input.withheld.contains(&key(&counts));
    let object = if withheld { last_good.settings.as_ref() } else { input.settings.get(&counts) };
    remembered.settings = object.cloned();
    match object {
        Some(object) => with(settings, object),
        None => settings.clone(),
    }
}

fn key(reference: &ObjectRef) -> ObjectKey {
    ObjectKey::new(SETTINGS, &reference.namespace, &reference.name)
}

fn with(settings: &Settings, object: &SettingsObject) -> Settings {
    let policy = &object.invalid_config_policy;
    let breakers = &object.circuit_breakers;
    let unset = *breakers == CircuitBreakers::default();
    Settings {
        identity_header: object.user_id_header.clone().unwrap_or_else(|| settings.identity_header.clone()),
        one_way_tls: object.one_way_tls,
        preflight_needs_key: object.preflight_needs_key,
        usage_report_ms: object.usage_report_ms.unwrap_or(settings.usage_report_ms),
        watch_namespaces: object.watch_namespaces.iter().cloned().collect(),
        circuit_breakers: if unset { settings.circuit_breakers.clone() } else { breakers.clone() },
        routing: Routing {
            allow_auth_override: object.allow_auth_override,
            invalid_routes: policy
                .replace_invalid_routes
                .then(|| DirectResponse { status: policy.response_code, body: policy.response_body.clone() }),
        },
        ..settings.clone()
    }
}

/// The objects that are looked at. Those of other namespaces count as absent; of them it is said why.
pub(super) fn watched<'i>(input: &'i Input, settings: &Settings, reports: &mut Reports) -> Cow<'i, Input> {
    let Some(namespaces) = settings.watched_namespaces() else { return Cow::Borrowed(input) };
    let mut watch = Watch { namespaces, system: &settings.system_namespace, reports };
    Cow::Owned(Input {
        gateways: watch.kept(GATEWAY, &input.gateways),
        virtual_services: watch.kept(VIRTUAL_SERVICE, &input.virtual_services),
        route_tables: watch.kept(ROUTE_TABLE, &input.route_tables),
        virtual_host_options: watch.kept(VIRTUAL_HOST_OPTION, &input.virtual_host_options),
        route_options: watch.kept(ROUTE_OPTION, &input.route_options),
        upstreams: watch.kept(UPSTREAM, &input.upstreams),
        upstream_groups: watch.kept(UPSTREAM_GROUP, &input.upstream_groups),
        auth_configs: watch.kept(AUTH_CONFIG, &input.auth_configs),
        tls_secrets: watch.kept(SECRET, &input.tls_secrets),
        settings: input.settings.clone(),
        withheld: input.withheld.iter().filter(|object| watch.looks_at(&object.namespace)).cloned().collect(),
    })
}

/// Which namespaces are looked at.
struct Watch<'a> {
    namespaces: BTreeSet<String>,
    system: &'a str,
    reports: &'a mut Reports,
}

// === impl Watch ===

impl Watch<'_> {
    fn looks_at(&self, namespace: &str) -> bool {
        self.namespaces.contains(namespace)
    }

    fn kept<T>(
        &mut self,
        kind: &'static str,
        all: &BTreeMap<ObjectRef, Arc<T>>,
    ) -> BTreeMap<ObjectRef, Arc<T>> {
        let mut kept = BTreeMap::new();
        for (reference, object) in all {
            if self.looks_at(&reference.namespace) {
                kept.insert(reference.clone(), Arc::clone(object));
                continue;
            }
            let ObjectRef { namespace, name } = reference;
            let system = self.system;
            let reason = format!(
                "its namespace is not watched: spec.watchNamespaces of Settings {system}/{SETTINGS_NAME} does \
                 not name {namespace:?}"
            );
            self.reports.pend(ObjectKey::new(kind, namespace, name), reason);
        }
        kept
    }
}
