//! Deployments: the control server, and each proxy that it has a configuration for.

use keyward_resource::ObjectRef;

use crate::Looked;
use crate::code;
use crate::finding::Finding;

const DEPLOYMENT: &str = "Deployment";

pub(crate) fn findings(looked: Looked<'_>) -> Vec<Finding> {
    let Looked { world, choice, .. } = looked;
    let mut findings = Vec::new();
    if let Some(namespaces) = world.namespaces()
        && !namespaces.contains(choice.namespace.as_str())
    {
        let message = format!("Keyward namespace does not exist: {}", choice.namespace);
        findings.push(Finding::new(&code::NO_NAMESPACE, message));
        return findings;
    }
    let Some(state) = looked.state else { return findings };
    for (id, _) in world.of_kind("Proxy") {
        let ObjectRef { namespace, name } = id;
        let role = format!("{namespace}~{name}");
        if !state.serves(&role) {
            let message = format!(
                "Deployment {name} in namespace {namespace} is not available! Message: no proxy is connected whose \
                 role is {role}"
            );
            findings.push(Finding::new(&code::NOT_AVAILABLE, message).of(DEPLOYMENT, id));
        }
    }
    findings
}
