//! What the `Settings` say, and which objects are looked at.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use keyward_resource::kinds::route::DirectResponse;
use keyward_resource::kinds::settings::{SETTINGS_NAME, Settings as SettingsObject};
use keyward_resource::kinds::upstream::CircuitBreakers;
use keyward_resource::{ObjectKey, ObjectRef, Reports};

use super::kind::SETTINGS;
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

/// The objects that are looked at. Those of other namespaces count as absent, and nothing is said of them.
pub(super) fn watched<'i>(input: &'i Input, settings: &Settings) -> Cow<'i, Input> {
    if settings.watch_namespaces.is_empty() {
        return Cow::Borrowed(input);
    }
    let looked_at = |namespace: &str| {
        namespace == settings.system_namespace || settings.watch_namespaces.contains(namespace)
    };
    fn kept<T>(
        all: &BTreeMap<ObjectRef, Arc<T>>,
        keep: impl Fn(&str) -> bool,
    ) -> BTreeMap<ObjectRef, Arc<T>> {
        let kept = all.iter().filter(|(reference, _)| keep(&reference.namespace));
        kept.map(|(reference, object)| (reference.clone(), Arc::clone(object))).collect()
    }
    let withheld = input.withheld.iter().filter(|object| looked_at(&object.namespace));
    Cow::Owned(Input {
        gateways: kept(&input.gateways, looked_at),
        virtual_services: kept(&input.virtual_services, looked_at),
        route_tables: kept(&input.route_tables, looked_at),
        virtual_host_options: kept(&input.virtual_host_options, looked_at),
        route_options: kept(&input.route_options, looked_at),
        upstreams: kept(&input.upstreams, looked_at),
        upstream_groups: kept(&input.upstream_groups, looked_at),
        auth_configs: kept(&input.auth_configs, looked_at),
        settings: kept(&input.settings, looked_at),
        tls_secrets: kept(&input.tls_secrets, looked_at),
        withheld: withheld.cloned().collect(),
    })
}
