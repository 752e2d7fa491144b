//! The one control loop: follows the store, translates, publishes, reports.
//!
//! ```text
//! store ─events▶ Objects ─▶ translate ─▶ key view   ─▶ key streams
//!                   └─────▶ KeyIndex ──┘ xDS cache  ─▶ ADS streams
//! ADS streams ─refusals▶ reports ◀─ translate, KeyIndex      ─▶ Published (statuses)
//! Reviewer ─what if?▶ translate ─▶ objections
//! ```
//!
//! It owns all mutable state; others read what it publishes.

mod answers;
mod binding;
mod handover;
mod in_force;
mod lagging;
mod publish;
mod report;
mod review;
mod start;
#[cfg(test)]
mod tests;

pub(crate) use report::words;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLockWriteGuard};
use std::time::Duration;

use anyhow::Context as _;
use keyward_keys::{Change, KeyIndex, KeyView, Missing};
use keyward_resource::{ObjectKey, Reports, State};
use keyward_store::{Event, Revision, Store};
use keyward_translate::{Encoder, LastGood, Settings, Translator, XdsResources};
use keyward_xds::StreamEvent;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::filter::Filter;
use crate::metrics::Metrics;
use crate::objects::{Effect, Objects};
use crate::proxies::Proxies;
use crate::published::{Published, SharedIndex};
use crate::remembered::Remembered;
use crate::retries::Retries;
use crate::review::Question;
use crate::rollout::Rollouts;
use crate::workers::WorkersHandle;

use self::in_force::InForce;

/// How often a rollout is looked at while one is under way.
const ROLLOUT_STEP: Duration = Duration::from_millis(50);
/// What proxies say, and statuses that were stored, make news together within this time.
const REPORT_STEP: Duration = Duration::from_millis(10);
/// A store that fails is asked again after this.
const STORE_RETRY: Duration = Duration::from_millis(500);

/// Where the control loop publishes.
pub(crate) struct Outlets {
    /// The key tables.
    pub(crate) keys: watch::Sender<KeyView>,
    /// What each proxy is told.
    pub(crate) xds: keyward_xds::Cache,
    /// What each proxy said to it.
    pub(crate) ads: keyward_xds::AdsService,
    /// What the workers hold.
    pub(crate) workers: WorkersHandle,
    /// What is said of each object.
    pub(crate) published: watch::Sender<Arc<Published>>,
}

/// The control loop.
pub(crate) struct ControlLoop {
    store: Arc<dyn Store>,
    settings: Settings,
    filter: Filter,
    outlets: Outlets,
    objects: Objects,
    index: SharedIndex,
    rollouts: Rollouts,
    in_force: InForce,
    translator: Translator,
    encoders: BTreeMap<String, Encoder>,
    last_good: LastGood,
    /// The last good versions that all proxies have accepted: what to go back to when one refuses.
    confirmed: LastGood,
    /// Proxies have accepted something since the start.
    is_confirmed: bool,
    remembered: Remembered,
    revision: Revision,
    /// What the index is to be told: once it is clear which namespaces are watched.
    key_changes: Vec<Change>,
    /// What is to be answered once the changes are known that it is about.
    questions: Vec<Question>,
    /// What each role was told last: whom to blame for a refusal.
    told: BTreeMap<String, Told>,
    proxies: Arc<Proxies>,
    /// There may be other last good versions to keep than before.
    remember_due: bool,
    /// When what is new is said, if anything is.
    report_at: Option<Instant>,
    /// When a key may be somebody else's although nothing changes, if one will be.
    hand_over_at: Option<Instant>,
    /// The reports of the last translation, without refusals.
    translated: Reports,
    /// The same, with what there is to say of objects that it does not read.
    reports: Reports,
    /// Addresses that could not be bound, to be tried again.
    retries: Retries,
    /// Why the port for developers is not open although it should be.
    dev_mode_problem: watch::Receiver<Option<String>>,
    metrics: Metrics,
}

/// What a role was told last.
struct Told {
    resources: XdsResources,
    config_version: u64,
    /// The identity header by which they were made.
    identity_header: String,
}

// === impl ControlLoop ===

impl ControlLoop {
    pub(crate) fn new(store: Arc<dyn Store>, settings: Settings, filter: Filter, outlets: Outlets) -> Self {
        Self {
            remembered: Remembered::new(Arc::clone(&store)),
            store,
            settings,
            filter,
            outlets,
            objects: Objects::default(),
            index: SharedIndex::default(),
            rollouts: Rollouts::default(),
            in_force: InForce::starting(Instant::now()),
            translator: Translator::default(),
            encoders: BTreeMap::new(),
            last_good: LastGood::default(),
            confirmed: LastGood::default(),
            is_confirmed: false,
            revision: Revision::default(),
            key_changes: Vec::new(),
            questions: Vec::new(),
            told: BTreeMap::new(),
            proxies: Arc::default(),
            remember_due: false,
            report_at: None,
            hand_over_at: None,
            translated: Reports::default(),
            reports: Reports::default(),
            retries: Retries::default(),
            dev_mode_problem: watch::channel(None).1,
            metrics: Metrics::default(),
        }
    }

    /// Says in the status of the `Settings` what is wrong with the port for developers.
    pub(crate) fn noticing(mut self, dev_mode_problem: watch::Receiver<Option<String>>) -> Self {
        self.dev_mode_problem = dev_mode_problem;
        self
    }

    /// Measures what it does.
    pub(crate) fn measured_by(mut self, metrics: Metrics) -> Self {
        self.metrics = metrics;
        self
    }

    /// Runs until cancelled. A store that fails is retried; what was published stays.
    ///
    /// # Errors
    ///
    /// When the store cannot be read at the start.
    pub(crate) async fn run(
        mut self,
        mut xds_events: mpsc::Receiver<StreamEvent>,
        mut questions: mpsc::Receiver<Question>,
        cancelled: CancellationToken,
    ) -> anyhow::Result<()> {
        let mut changes = self.start().await.context("the store could not be read")?;
        self.publish_change();
        let mut acknowledged = self.outlets.workers.changes();
        loop {
            if self.remember_due {
                self.remember().await;
            }
            self.answer();
            tokio::select! {
                () = cancelled.cancelled() => return Ok(()),
                batch = changes.next() => match batch {
                    Some(Ok(events)) => self.on_events(&events),
                    Some(Err(error)) => {
                        tracing::error!("the store cannot be followed, trying again: {:#}", anyhow::Error::new(error));
                        changes = self.restart(&cancelled).await?;
                    }
                    None => changes = self.restart(&cancelled).await?,
                },
                Some(question) = questions.recv() => self.questions.push(question),
                Some(event) = xds_events.recv() => self.on_xds_event(&event),
                Ok(()) = self.dev_mode_problem.changed() => self.report_soon(),
                () = sleep_until(self.retries.next().unwrap_or_else(Instant::now)), if self.retries.next().is_some() => self.try_again(),
                () = sleep(ROLLOUT_STEP), if self.rollouts.pending() => self.roll_out(),
                Ok(()) = acknowledged.changed(), if self.rollouts.holds_any() => self.roll_out(),
                () = sleep_until(self.in_force.next().unwrap_or_else(Instant::now)), if self.in_force.next().is_some() => self.look_in_force(),
                () = sleep_until(self.report_at.unwrap_or_else(Instant::now)), if self.report_at.is_some() => self.report(),
                () = sleep_until(self.hand_over_at.unwrap_or_else(Instant::now)), if self.hand_over_at.is_some() => self.hand_over(),
            }
        }
    }

    fn on_events(&mut self, events: &[Event]) {
        let (mut changed, mut translated) = (false, false);
        let mut key_changes = Vec::new();
        for event in events {
            self.revision = self.revision.max(event.revision());
            if let Effect::Changed { keys, content, translates } = self.objects.apply(event) {
                changed = true;
                translated |= translates;
                key_changes.extend(keys);
                if let Some(content) = content {
                    self.remembered.saw(&content);
                }
            }
        }
        self.report_soon();
        if !changed {
            let revision = self.revision.0;
            self.index_mut().pass(revision);
            self.outlets.workers.change(|workers, _| workers.on_reached(revision));
            self.pass_in_force();
            return;
        }
        self.key_changes.extend(key_changes);
        if translated {
            self.publish_change();
        } else {
            self.publish_keys();
        }
    }

    /// Keeps the last good versions that are needed beyond a restart.
    async fn remember(&mut self) {
        let Self { remembered, last_good, confirmed, objects, reports, .. } = self;
        let is_rejected =
            |object: &ObjectKey| reports.get(object).is_some_and(|report| report.state == State::Rejected);
        remembered.settle(last_good, confirmed, |object| objects.revision_of(object), is_rejected).await;
        self.remember_due = false;
    }

    /// Tells everybody of changed resources.
    fn publish_change(&mut self) {
        self.rollouts.restart(Instant::now());
        self.publish();
        // Where there is no worker, there is nobody to wait for.
        if self.rollouts.holds_any() {
            self.roll_out();
        }
    }

    /// Takes back what nobody uses any more.
    fn roll_out(&mut self) {
        let lagging = self.lagging_roles();
        let accepted = |role: &str| !lagging.contains(role);
        let told = &self.told;
        let held = |role: &str, tables: &BTreeSet<String>| {
            self.outlets.workers.read(|workers, now| {
                // Any state of a table will do: what is newer follows anyway. Other tables are no matter of theirs.
                let lacks = |missing: &Missing<'_>| missing.held.is_none() && tables.contains(missing.table);
                let mut of_role = workers.standings(now).filter(|standing| standing.worker.role == role);
                of_role.all(|one| one.config_wanted.is_none() && !one.missing.iter().any(lacks))
            })
        };
        let applied = |role: &str| {
            let Some(told) = told.get(role) else { return true };
            self.outlets.workers.read(|workers, _| {
                let mut of_role = workers.iter().filter(|(_, worker)| worker.role == role);
                of_role.all(|(_, worker)| worker.config_version == told.config_version)
            })
        };
        if self.rollouts.advance(Instant::now(), held, accepted, applied) {
            self.publish();
        }
    }

    /// The index, for a moment: nobody holds it across an await, and readers look at one object.
    fn index_mut(&self) -> RwLockWriteGuard<'_, KeyIndex> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }
}
