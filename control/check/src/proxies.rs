//! What proxies make of what they are told, each by itself and all together.

use std::collections::BTreeSet;

use keyward_resource::ObjectRef;

use crate::Looked;
use crate::code;
use crate::finding::Finding;
use crate::state::{OneType, ProxyState, Stands};

const POD: &str = "Pod";

/// Each by itself.
pub(crate) fn findings(looked: Looked<'_>) -> Vec<Finding> {
    let Some(state) = looked.state else { return Vec::new() };
    if !state.any_connected() {
        let message = "Keyward installation is incomplete: no active gateway-proxy pods exist in cluster";
        return vec![Finding::new(&code::NO_PROXIES, message)];
    }
    let of = |proxy: &ProxyState| {
        let namespace = match proxy.proxy() {
            ("", _) => looked.choice.namespace.as_str(),
            (namespace, _) => namespace,
        };
        of(proxy, &ObjectRef::new(namespace, &proxy.node))
    };
    state.proxies.iter().flat_map(of).collect()
}

fn of(proxy: &ProxyState, id: &ObjectRef) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (stands, code) in [(Stands::Nacked, &code::NACKED), (Stands::Stale, &code::OUT_OF_SYNC)] {
        let types: Vec<_> = proxy.types.iter().filter(|of| of.state == stands).map(line).collect();
        if !types.is_empty() {
            let message = format!(
                "Your {} is out of sync with the Keyward control plane and is not receiving valid keyward config.\n\
                 You may want to try using the `keyward proxy logs` or `keyward debug logs` commands.\n  \
                 Proxy: {} {}\n{}",
                proxy.proxy().1,
                id.namespace,
                id.name,
                types.concat()
            );
            findings.push(Finding::new(code, message).of(POD, id));
        }
    }
    let workers = &proxy.workers;
    if workers.synced < workers.total {
        let lacks: String = workers.lacks.iter().map(|lack| format!("  {lack}\n")).collect();
        let message = format!(
            "Proxy is behind on keys: {} of {} workers hold everything that is published\n  Proxy: {} {}\n{lacks}",
            workers.synced, workers.total, id.namespace, id.name
        );
        findings.push(Finding::new(&code::KEYS_BEHIND, message).of(POD, id));
    }
    findings
}

fn line(of: &OneType) -> String {
    let what = match (&of.error, &of.since) {
        (Some(error), _) => error.clone(),
        (None, Some(since)) => format!("not answered since {since}"),
        (None, None) => "not answered".to_owned(),
    };
    format!("  {}: {what}\n", of.name)
}

/// All together; none where there is nobody to ask.
pub(crate) fn out_of_sync(looked: Looked<'_>) -> Option<Vec<Finding>> {
    let state = looked.state.filter(|state| state.any_connected())?;
    let differs = |of: &&OneType| matches!(of.state, Stands::Nacked | Stands::Stale);
    let types = state.proxies.iter().flat_map(|proxy| &proxy.types).filter(differs);
    let types: BTreeSet<&str> = types.map(|of| of.name.as_str()).collect();
    if types.is_empty() {
        return Some(Vec::new());
    }
    let types = types.into_iter().collect::<Vec<_>>().join(", ");
    let message = format!(
        "Keyward has detected that the data plane is out of sync. The following types of resources have not been \
         accepted: {types}. Proxies go on with what they have accepted before until these errors are resolved."
    );
    Some(vec![Finding::new(&code::DATA_PLANE, message)])
}
