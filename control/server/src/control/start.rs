//! How the loop begins: with a state of the past and what has happened since.
//!
//! What is published is the present. But key tables that have gone the last steps know them, so a
//! worker that missed a change while the server was away is sent that change and not its whole
//! table: a server that comes back is not a flood of snapshots.

use keyward_keys::{Change, KeyIndex};
use keyward_resource::kinds::settings::SETTINGS_NAME;
use keyward_resource::{KINDS, ObjectRef};
use keyward_store::{Revision, Selector, StoreError, Watch};
use keyward_translate::Settings;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{ControlLoop, STORE_RETRY, handover};
use crate::objects::{Effect, Objects};

/// How many of the last changes are gone through again, as far as the store has them: some tenths of a
/// second of work, and the store keeps those of five minutes at least.
const REPLAYED: u64 = 16_384;
/// So many objects are read at once: of a million Secrets what is stored, and what it says, would be several
/// times what is kept of them.
const PAGE: usize = 8_192;

// === impl ControlLoop ===

impl ControlLoop {
    /// Reads everything, and follows from there.
    pub(super) async fn start(&mut self) -> Result<Watch, StoreError> {
        self.last_good = self.remembered.load().await?;
        self.confirmed = self.last_good.clone();
        self.is_confirmed = false;
        let head = self.store.revision().await?;
        let mut past = Revision(head.0.saturating_sub(REPLAYED));
        loop {
            match self.replay(past, head).await {
                // That is not kept any more, or was forgotten meanwhile.
                Err(StoreError::Compacted { oldest, .. }) if oldest > past => past = oldest,
                outcome => return outcome,
            }
        }
    }

    /// Starts anew when the store failed, as often as it takes.
    pub(super) async fn restart(&mut self, cancelled: &CancellationToken) -> anyhow::Result<Watch> {
        loop {
            tokio::select! {
                () = cancelled.cancelled() => anyhow::bail!("stopped while the store was failing"),
                () = sleep(STORE_RETRY) => {}
            }
            match self.start().await {
                Ok(watch) => {
                    self.publish_change();
                    return Ok(watch);
                }
                Err(error) => {
                    tracing::error!("the store cannot be read, trying again: {:#}", anyhow::Error::new(error))
                }
            }
        }
    }

    /// Reads everything as it was, and goes on until `head`.
    async fn replay(&mut self, past: Revision, head: Revision) -> Result<Watch, StoreError> {
        self.objects = Objects::default();
        let mut index = KeyIndex::new();
        let mut changes: Vec<Change> = Vec::new();
        for kind in KINDS {
            let mut after = None;
            loop {
                let page = self.store.list_at(Selector::kind(kind.name), after, Some(PAGE), past).await?;
                let mut secrets = Vec::new();
                for record in &page.records {
                    let effect = self.objects.put(record);
                    match self.take_note(effect) {
                        Some(secret @ Change::PutSecret(_)) => secrets.push(secret),
                        other => changes.extend(other),
                    }
                }
                // As long as nobody selects them they are just taken in: tables are made once.
                index.apply(past.0, secrets);
                after = page.records.last().map(|record| record.key.clone()).filter(|_| page.more);
                if after.is_none() {
                    break;
                }
            }
        }
        changes.extend([self.watched_now(), handover::now()]);
        index.apply(past.0, changes);
        let mut watch = self.store.watch(past).await?;
        let mut reached = past;
        while reached < head {
            let Some(events) = watch.next().await else { return self.store.watch(reached).await };
            for event in events? {
                reached = reached.max(event.revision());
                let effect = self.objects.apply(&event);
                // One by one: each state was one that a worker may hold.
                let changes: Vec<Change> =
                    self.take_note(effect).into_iter().chain([self.watched_now()]).collect();
                index.apply(event.revision().0, changes);
            }
        }
        self.revision = reached;
        *self.index_mut() = index;
        Ok(watch)
    }

    /// What a change means for the key index. Versions that may be needed later are kept.
    fn take_note(&mut self, effect: Effect) -> Option<Change> {
        let Effect::Changed { keys, content, .. } = effect else { return None };
        if let Some(content) = content {
            self.remembered.saw(&content);
        }
        keys
    }

    /// The namespaces that count, by the Settings as they are among the objects now. Costs nothing where
    /// they are the same as before.
    fn watched_now(&self) -> Change {
        let reference = ObjectRef::new(&self.settings.system_namespace, SETTINGS_NAME);
        let settings = self.objects.input().settings.get(&reference);
        let namespaces = settings.map(|settings| settings.watch_namespaces.as_slice()).unwrap_or_default();
        let watch_namespaces = namespaces.iter().cloned().collect();
        Change::Watch(Settings { watch_namespaces, ..self.settings.clone() }.watched_namespaces())
    }
}
