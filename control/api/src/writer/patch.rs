//! Changing parts of objects.

use keyward_resource::ApiStatus;
use serde_json::Value;

use super::{Current, WriteOptions, Writer, Written};
use crate::access::Verb;
use crate::patch::{json_patch, merge_patch, strategic_merge};
use crate::target::{NAMESPACE, Target};

/// A change of parts of an object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Patch {
    /// RFC 6902.
    Json(Value),
    /// RFC 7386.
    Merge(Value),
    /// Kubernetes' own. Only for kinds that it has itself, because only of these it knows the lists.
    Strategic(Value),
}

// === impl Writer ===

impl Writer {
    /// Patches an object.
    pub(crate) async fn patch(
        &self,
        target: &Target,
        patch: &Patch,
        options: &WriteOptions,
    ) -> Result<Written, ApiStatus> {
        patch.check(target)?;
        self.change(target, options, Verb::Patch, |current| {
            let patched = patch.apply(target, current)?;
            let mut proposal = self.replacement(target, current, patched, options)?;
            // What the patch has not touched is no condition.
            if proposal.expected == Some(current.record.revision) {
                proposal.expected = None;
            }
            Ok(proposal)
        })
        .await
    }
}

// === impl Patch ===

impl Patch {
    /// Refuses a type of patch that is not for this kind.
    pub(crate) fn check(&self, target: &Target) -> Result<(), ApiStatus> {
        let is_built_in = matches!(target.kind.name, "Secret" | NAMESPACE);
        match self {
            Self::Strategic(_) if !is_built_in => Err(ApiStatus::unsupported_patch_type(false)),
            _ => Ok(()),
        }
    }

    /// The patched object, as somebody could have sent it.
    pub(crate) fn apply(&self, target: &Target, current: &Current) -> Result<Value, ApiStatus> {
        let stored = current.stored.clone();
        let status = stored.status.clone();
        let shown = stored.shown(target.kind, target.asked, status, Some(current.record.revision));
        match self {
            Self::Json(patch) => json_patch(&shown, patch),
            Self::Merge(patch) if patch.is_object() => {
                let mut patched = shown;
                merge_patch(&mut patched, patch);
                Ok(patched)
            }
            Self::Merge(_) => Err(ApiStatus::bad_request("a merge patch of an object is an object")),
            Self::Strategic(patch) => strategic_merge(&shown, patch),
        }
    }
}
