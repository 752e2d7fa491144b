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
    /// The configuration that was told last.
    config_version: u64,
    /// How many VMs of this role were given up.
    given_up: u32,
    /// How many of these in a row, without one that was accepted in between.
    in_a_row: u32,
    /// The last VM was refused and not given up.
    refused: bool,
}

/// So many VMs are tried with one configuration. The first may have been spoilt by an earlier
/// configuration; if fresh ones are refused too, it is the configuration or the module.
const MAX_IN_A_ROW: u32 = 2;

// === impl Filter ===

impl Filter {
    /// A module from the bytes of its `.wasm` file.
    pub(crate) fn new(wasm: Bytes) -> Self {
        let hash = Sha256::digest(&wasm).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Self { wasm, hash, roles: BTreeMap::new() }
    }

    /// The code for a role that is told this configuration. The VM stays the same as long as the
    /// code does, unless a proxy refuses it: Envoy refuses everything in a VM that failed once.
    pub(crate) fn code_for(&mut self, role: &str, config_version: u64) -> &FilterCode {
        let (wasm, hash) = (&self.wasm, &self.hash);
        let role = self.roles.entry(role.to_owned()).or_insert_with(|| Role {
            code: FilterCode { wasm: wasm.clone(), vm_id: format!("keyward-{hash}") },
            config_version,
            given_up: 0,
            in_a_row: 0,
            refused: false,
        });
        if role.config_version != config_version {
            role.config_version = config_version;
            if std::mem::take(&mut role.refused) {
                role.in_a_row = 0;
                role.give_up(hash);
            }
        }
        &role.code
    }

    /// A proxy of this role refused the extension. Says whether to offer it again, in another VM.
    pub(crate) fn refused(&mut self, role: &str) -> bool {
        let Some(role) = self.roles.get_mut(role) else { return false };
        if role.in_a_row >= MAX_IN_A_ROW {
            role.refused = true;
            return false;
        }
        role.in_a_row += 1;
        role.give_up(&self.hash);
        true
    }

    /// A proxy of this role accepted the extension.
    pub(crate) fn accepted(&mut self, role: &str) {
        if let Some(role) = self.roles.get_mut(role) {
            (role.in_a_row, role.refused) = (0, false);
        }
    }
}

// === impl Role ===

impl Role {
    fn give_up(&mut self, hash: &str) {
        self.given_up += 1;
        self.code.vm_id = format!("keyward-{hash}-{}", self.given_up);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vm(filter: &mut Filter, config_version: u64) -> String {
        filter.code_for("a", config_version).vm_id.clone()
    }

    #[test]
    fn a_refused_vm_is_given_up_a_bounded_number_of_times() {
        let mut filter = Filter::new(Bytes::from_static(b"module"));
        let first = vm(&mut filter, 1);
        assert_eq!(vm(&mut filter, 2), first, "a new configuration alone keeps the VM");
        let mut tried = vec![first];
        while filter.refused("a") {
            let next = vm(&mut filter, 2);
            assert!(!tried.contains(&next), "{next} was refused already");
            tried.push(next);
            assert!(tried.len() < 10, "it does not end");
        }
        assert_eq!(tried.len(), 1 + MAX_IN_A_ROW as usize);
        assert_eq!(Some(&vm(&mut filter, 2)), tried.last(), "the refused configuration is not offered again");
        let next = vm(&mut filter, 3);
        assert!(!tried.contains(&next), "another configuration gets a fresh VM");
        assert!(filter.refused("a"), "and as many tries as the first");
    }

    #[test]
    fn an_accepted_vm_stays_and_other_roles_are_not_touched() {
        let mut filter = Filter::new(Bytes::from_static(b"module"));
        let first = vm(&mut filter, 1);
        assert!(filter.refused("a"));
        let second = vm(&mut filter, 1);
        filter.accepted("a");
        assert_eq!(vm(&mut filter, 2), second);
        assert_eq!(filter.code_for("b", 1).vm_id, first);
    }
}
