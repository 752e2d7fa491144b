//! The filter module, as proxies are told to run it.

use std::collections::BTreeMap;

use bytes::Bytes;
use keyward_translate::FilterCode;
use sha2::{Digest as _, Sha256};

/// The module, and under which VM each role runs it.
#[derive(Debug)]
pub(crate) struct Filter {
    wasm: Bytes,
    /// Names the code.
    hash: String,
    roles: BTreeMap<String, Role>,
}

#[derive(Debug)]
struct Role {
    code: FilterCode,
    /// The configuration that this VM was first told.
    config_version: u64,
    /// How many VMs of this role were given up.
    given_up: u32,
    /// A proxy refused the extension: the next configuration gets a new VM.
    refused: bool,
}

// === impl Filter ===

impl Filter {
    /// A module from the bytes of its `.wasm` file.
    pub(crate) fn new(wasm: Bytes) -> Self {
        let hash = Sha256::digest(&wasm).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Self { wasm, hash, roles: BTreeMap::new() }
    }

    /// The code for a role that is told this configuration.
    ///
    /// The VM stays the same as long as the code does. After a refusal the next configuration gets
    /// a new one: Envoy refuses everything in a VM that failed once. The refused configuration
    /// itself is not tried again.
    pub(crate) fn code_for(&mut self, role: &str, config_version: u64) -> &FilterCode {
        let (wasm, hash) = (&self.wasm, &self.hash);
        let code = |given_up: u32| FilterCode {
            wasm: wasm.clone(),
            vm_id: if given_up == 0 {
                format!("keyward-{hash}")
            } else {
                format!("keyward-{hash}-{given_up}")
            },
        };
        let role = self.roles.entry(role.to_owned()).or_insert_with(|| Role {
            code: code(0),
            config_version,
            given_up: 0,
            refused: false,
        });
        if role.config_version != config_version {
            role.config_version = config_version;
            if std::mem::take(&mut role.refused) {
                role.given_up += 1;
                role.code = code(role.given_up);
            }
        }
        &role.code
    }

    /// A proxy of this role refused the extension.
    pub(crate) fn refused(&mut self, role: &str) {
        if let Some(role) = self.roles.get_mut(role) {
            role.refused = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_vm_is_given_up_with_the_next_configuration_and_not_before() {
        let mut filter = Filter::new(Bytes::from_static(b"module"));
        let first = filter.code_for("a", 1).vm_id.clone();
        assert_eq!(filter.code_for("a", 2).vm_id, first, "a new configuration alone keeps the VM");
        filter.refused("a");
        assert_eq!(filter.code_for("a", 2).vm_id, first, "the refused configuration is not sent again");
        let second = filter.code_for("a", 3).vm_id.clone();
        assert_ne!(second, first, "the next configuration gets a new VM");
        assert_eq!(filter.code_for("a", 4).vm_id, second, "which then stays");
        assert_eq!(filter.code_for("b", 1).vm_id, first, "other roles are not touched");
    }
}
