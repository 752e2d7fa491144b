//! The Gateways that are there without being declared, as if they were objects of the namespace of the
//! installation: all virtual services, with TLS and without.
//!
//! Whoever may write Gateways in that namespace decides about them. A Gateway of another namespace adds an
//! address; it takes a default's place only where both ask for the same one.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use keyward_resource::kinds::gateway::{Gateway, Selection};
use keyward_resource::{ObjectRef, Reports};

use super::{Binding, address, key, overlap, proxies};
use crate::input::{Input, Settings};
use crate::proxy::names;
use crate::translate::kind::GATEWAY;

/// The proxy that has them.
const PROXY: &str = names::DEFAULT_PROXY;

/// Adds those in whose place there is nothing else, and tells the Gateways of other namespaces how they
/// stand to them.
pub(super) fn add(
    all: &mut Vec<Binding>,
    input: &Input,
    settings: &Settings,
    last_good: &BTreeMap<ObjectRef, Arc<Gateway>>,
    reports: &mut Reports,
) {
    if are_declared(input, settings, last_good) {
        return;
    }
    let both = [default(settings.default_gateway, false), default(settings.default_tls_gateway, true)];
    let declared = all.len();
    for default in both {
        let mut taken = false;
        for binding in all.iter().take(declared).filter(|binding| clash(binding, &default)) {
            report_replaced(binding, &default, reports);
            taken = true;
        }
        if !taken {
            all.push(default);
        }
    }
    let (declared, added) = all.split_at(declared);
    for binding in declared.iter().filter(|binding| binding.proxy == PROXY && !binding.outdated) {
        report_beside(binding, added, settings, reports);
    }
}

/// Whether the namespace of the installation declares a Gateway for the proxy, right or wrong: what it
/// declares stands in their place.
fn are_declared(input: &Input, settings: &Settings, last_good: &BTreeMap<ObjectRef, Arc<Gateway>>) -> bool {
    let of_system = |reference: &ObjectRef| reference.namespace == settings.system_namespace;
    let is_for = |gateway: &Gateway| proxies(gateway).contains(PROXY);
    let mut readable = input.gateways.iter().filter(|(reference, _)| of_system(reference));
    let unreadable = input.withheld.iter().filter(|object| object.kind == GATEWAY);
    let unreadable = unreadable.map(keyward_resource::ObjectKey::object_ref);
    let mut unreadable =
        unreadable.filter(|reference| of_system(reference) && !input.gateways.contains_key(reference));
    readable.any(|(_, gateway)| is_for(gateway))
        || unreadable.any(|reference| last_good.get(&reference).is_none_or(|good| is_for(good)))
}

fn default(address: SocketAddr, ssl: bool) -> Binding {
    Binding {
        proxy: PROXY.to_owned(),
        address,
        ssl,
        gateway: None,
        outdated: false,
        selection: Selection::all(),
    }
}

/// Whether only one of the two can be listened on.
fn clash(binding: &Binding, default: &Binding) -> bool {
    binding.proxy == default.proxy
        && binding.address.port() == default.address.port()
        && overlap(binding.address.ip(), default.address.ip())
}

/// What the default would have served there may be served nowhere now.
fn report_replaced(binding: &Binding, default: &Binding, reports: &mut Reports) {
    let Some(gateway) = &binding.gateway else { return };
    let key = key(&gateway.meta.object_ref());
    let name = name(default);
    let what = format!("{} stands in the place of {name}", address(gateway));
    if binding.ssl == default.ssl && binding.selection == default.selection {
        reports.note(key, what);
    } else {
        let serves = if default.ssl { "with TLS" } else { "without TLS" };
        reports.warn(key, format!("{what}, which serves every VirtualService {serves}: this one does not"));
    }
}

fn report_beside(binding: &Binding, defaults: &[Binding], settings: &Settings, reports: &mut Reports) {
    let Some(gateway) = &binding.gateway else { return };
    let alike = |default: &&Binding| default.ssl == binding.ssl;
    if let Some(default) = defaults.iter().find(alike) {
        let (address, name, system) = (address(gateway), name(default), &settings.system_namespace);
        let who = format!("a Gateway in namespace {system:?} would stand in its place");
        reports.note(key(&gateway.meta.object_ref()), format!("{address} is opened beside {name}: {who}"));
    }
}

fn name(default: &Binding) -> String {
    let tls = if default.ssl { " with TLS" } else { "" };
    format!("the default Gateway{tls}, {}", default.address)
}
