//! Whose a key is: asked by its digest, as the key itself is known to nobody here.

use keyward_filter_core::life::Life;
use keyward_filter_core::record::Record;
use keyward_filter_core::wire::{DIGEST_LEN, Digest};
use keyward_resource::ObjectRef;

use super::KeyIndex;

/// A Secret that holds a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The Secret. Its name is the identity.
    pub id: ObjectRef,
    /// It is the key before its present one.
    pub is_previous: bool,
    /// When it is valid.
    pub life: Life,
    /// The `AuthConfig`s that accept the key as this Secret's, whatever the time is.
    pub accepted_by: Vec<ObjectRef>,
}

// === impl KeyIndex ===

impl KeyIndex {
    /// The Secrets that hold the key of this SHA-256, who held it first in front. Costs time in the number of
    /// `AuthConfig`s.
    #[must_use]
    pub fn holders(&self, sha256: &[u8; 32]) -> Vec<Holder> {
        let mut digest = Digest::default();
        digest.copy_from_slice(&sha256[..DIGEST_LEN]);
        let holders = self.secrets.holders(&digest).map(|secret| {
            let configs = self.configs.iter().filter(|(_, config)| {
                config.holders(&self.secrets, &digest).next().is_some_and(|first| first.id == secret.id)
            });
            let mut accepted_by: Vec<_> = configs.map(|((id, _), _)| id.clone()).collect();
            accepted_by.dedup();
            Holder {
                id: secret.id.clone(),
                is_previous: secret.key != Ok(digest),
                life: Record::parse(secret.bare(&digest)).map(Record::life).unwrap_or_default(),
                accepted_by,
            }
        });
        holders.collect()
    }
}
