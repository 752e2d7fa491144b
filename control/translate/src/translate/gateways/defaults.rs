//! The Gateways that are there without being declared, as if they were objects of the namespace of the
//! installation: all virtual services, with TLS and without.
//!
//! Whoever may write Gateways in that namespace decides about them. A Gateway of another namespace adds an
//! address; it takes a default's place only where both ask for the same one.

use std::net::SocketAddr;
use std::sync::Arc;

use keyward_resource::Reports;
use keyward_resource::kinds::gateway::{Gateway, Selection};

use super::{Binding, address, key, overlap};
use crate::input::Settings;
use crate::proxy::names;

/// The proxy that has them.
const PROXY: &str = names::DEFAULT_PROXY;

/// Adds those in whose place there is nothing else, and tells the Gateways how they stand to them.
pub(super) fn add(all: &mut Vec<Binding>, settings: &Settings, reports: &mut Reports) {
    let both = [default(settings.default_gateway, false), default(settings.default_tls_gateway, true)];
    let declared = all.len();
    let of_system: Vec<&Binding> = all.iter().filter(|binding| is_declared(binding, settings)).collect();
    if !of_system.is_empty() {
        of_system.into_iter().for_each(|binding| report_instead(binding, &both, reports));
        return;
    }
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

/// Whether the namespace of the installation declares it for the proxy: what it declares stands in their
/// place. Only what is served counts: a Gateway that is of no use must not close the addresses on which
/// everybody is served.
fn is_declared(binding: &Binding, settings: &Settings) -> bool {
    let of_system = |gateway: &Arc<Gateway>| gateway.meta.namespace == settings.system_namespace;
    binding.proxy == PROXY && binding.gateway.as_ref().is_some_and(of_system)
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

/// Neither default is opened, wherever this one listens.
fn report_instead(binding: &Binding, defaults: &[Binding], reports: &mut Reports) {
    let Some(gateway) = &binding.gateway else { return };
    let names: Vec<String> = defaults.iter().map(name).collect();
    let what = format!("{} stands in the place of {}", address(gateway), names.join(" and "));
    reports.note(key(&gateway.meta.object_ref()), what);
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
