//! Pods: the components that run, and the Envoys that are connected, with their workers.

use std::collections::BTreeMap;

use keyward_resource::ObjectRef;

use crate::Looked;
use crate::choice::PodSelector;
use crate::code;
use crate::finding::Finding;
use crate::state::{Component, ProxyState};

const POD: &str = "Pod";

pub(crate) fn findings(looked: Looked<'_>) -> Vec<Finding> {
    let Looked { choice, state: Some(state), .. } = looked else { return Vec::new() };
    let component = |component: &&Component| {
        choice.pods.selects(&BTreeMap::from([(PodSelector::DEFAULT, component.name.as_str())]))
    };
    let mut selected = state.components.iter().filter(component).count();
    let mut findings = Vec::new();
    for proxy in &state.proxies {
        let (namespace, name) = proxy.proxy();
        let labels =
            BTreeMap::from([(PodSelector::DEFAULT, name), ("role", &proxy.role), ("node", &proxy.node)]);
        if choice.pods.selects(&labels) {
            selected += 1;
            let namespace = if namespace.is_empty() { &choice.namespace } else { namespace };
            findings.extend(of(proxy, &ObjectRef::new(namespace, &proxy.node)));
        }
    }
    if selected == 0 {
        let message =
            format!("Warning: The provided label selector ({}) applies to no pods", choice.pods.as_str());
        findings.push(Finding::new(&code::NO_PODS, message));
    }
    findings
}

fn of(proxy: &ProxyState, id: &ObjectRef) -> Option<Finding> {
    let ObjectRef { namespace, name } = id;
    let (code, message) = if !proxy.connected {
        let message = format!(
            "Pod {name} in namespace {namespace} is not ready! Message: it has a stream for keys and none for its \
             configuration"
        );
        (&code::NOT_READY, message)
    } else if proxy.is_new() {
        let message = format!(
            "Pod {name} in namespace {namespace} is not yet initialized! Message: nothing was sent to its role, {:?}",
            proxy.role
        );
        (&code::NOT_INITIALIZED, message)
    } else if proxy.workers.away > 0 {
        let message = format!(
            "Not all containers in pod {name} in namespace {namespace} are ready! Message: {} of {} workers have no \
             stream for keys",
            proxy.workers.away, proxy.workers.total
        );
        (&code::NOT_ALL_READY, message)
    } else {
        return None;
    };
    Some(Finding::new(code, message).of(POD, id))
}
