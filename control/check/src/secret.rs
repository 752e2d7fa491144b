//! Secrets: keys of the wrong type, that nobody selects, or that end soon.
//!
//! What several Secrets have in common, such as the same key, stands in the statuses of `AuthConfig`s: the
//! server knows it of a million Secrets, and nothing confidential is kept here.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use keyward_resource::kinds::auth_config::ApiKeyAuth;
use keyward_resource::kinds::secret::{DIGEST_FIELD, KEY_FIELD};
use keyward_resource::{Kind, ObjectRef, Resource, decode, summary};
use serde_json::Value;

use crate::Looked;
use crate::code::{self, Code};
use crate::finding::Finding;
use crate::statuses::{NO_API_KEY, of_status};
use crate::world::{Status, World};

const SECRET: &str = "Secret";
/// A key that ends within this is told of, in milliseconds: seven days.
const SOON: u64 = 7 * 24 * 60 * 60 * 1000;
/// So many Secrets with the same problem are named; the rest is counted.
const MANY: usize = 20;
/// What the server says of a Secret whose key another one holds too; it says it of the `AuthConfig` as well.
const SHARED: &str = "hold the same key";

/// All Secrets that were taken in.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    items: BTreeMap<ObjectRef, Secret>,
    /// There are more.
    pub(crate) more: bool,
}

/// What is kept of a Secret.
#[derive(Debug)]
struct Secret {
    holds: Holds,
    labels: BTreeMap<String, String>,
    status: Status,
}

#[derive(Debug)]
enum Holds {
    /// A key, until then.
    Key { expires_at: Option<u64> },
    /// A key, and the type is this one.
    KeyInVain { of_type: String },
    /// No key.
    Other,
    /// It cannot be understood.
    Unreadable(String),
}

/// Findings of which no more than some are told by name.
#[derive(Default)]
struct Told {
    findings: Vec<Finding>,
    counts: BTreeMap<&'static str, (usize, &'static Code, &'static str)>,
}

pub(crate) fn findings(looked: Looked<'_>) -> Vec<Finding> {
    let Looked { world, choice, now, .. } = looked;
    let selectors = selectors(world);
    let mut told = Told::default();
    let chosen = world.secrets.items.iter().filter(|(id, _)| choice.includes(&id.namespace));
    for (id, secret) in chosen {
        for finding in of_status(SECRET, "secret", id, &secret.status) {
            if !finding.message.contains(SHARED) {
                told.add("secrets with a status like these", finding);
            }
        }
        if world.watches(&id.namespace) {
            secret.look(id, &selectors, now, &mut told);
        }
    }
    told.finish()
}

/// What each step of each `AuthConfig` selects.
fn selectors(world: &World) -> Vec<(&ObjectRef, &ApiKeyAuth)> {
    let steps = world.of_kind("AuthConfig").filter_map(|(id, item)| match item.says()? {
        Resource::AuthConfig(config) => Some(config.steps.iter().map(move |step| (id, &step.api_key_auth))),
        _ => None,
    });
    steps.flatten().collect()
}

fn has_key(object: &Value) -> bool {
    [KEY_FIELD, DIGEST_FIELD].iter().any(|field| object["data"].get(field).is_some())
}

fn time(milliseconds: u64) -> String {
    let time = i64::try_from(milliseconds).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    time.map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()).unwrap_or_default()
}

/// Labels as selectors write them.
struct Labels<'a>(&'a BTreeMap<String, String>);

impl fmt::Display for Labels<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (index, (name, value)) in self.0.iter().enumerate() {
            write!(f, "{}{name}={value}", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

// === impl Secrets ===

impl Secrets {
    pub(crate) fn take(&mut self, kind: &'static Kind, id: ObjectRef, object: &Value, status: Status) {
        let (holds, labels) = match decode(kind, object) {
            Ok(Resource::ApiKeySecret(secret)) => {
                (Holds::Key { expires_at: secret.life.expires_at }, secret.meta.labels)
            }
            Ok(other) if has_key(object) => {
                let of_type = object["type"].as_str().unwrap_or_default().to_owned();
                (Holds::KeyInVain { of_type }, other.meta().labels.clone())
            }
            Ok(other) => (Holds::Other, other.meta().labels.clone()),
            Err(errors) => (Holds::Unreadable(summary(&errors)), BTreeMap::new()),
        };
        self.items.insert(id, Secret { holds, labels, status });
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }
}

// === impl Secret ===

impl Secret {
    fn look(&self, id: &ObjectRef, selectors: &[(&ObjectRef, &ApiKeyAuth)], now: u64, told: &mut Told) {
        let ObjectRef { namespace, name } = id;
        let new = |code, message: String| Finding::new(code, message).of(SECRET, id);
        match &self.holds {
            Holds::Key { expires_at } => {
                if let Some(at) = expires_at.filter(|at| (now..=now.saturating_add(SOON)).contains(at)) {
                    let message =
                        format!("Found secret whose key expires soon: {namespace} {name} (at {})", time(at));
                    told.add("secrets whose keys expire soon", new(&code::EXPIRES_SOON, message));
                }
                if !selectors.is_empty() && !selectors.iter().any(|(_, auth)| self.is_selected(id, auth)) {
                    let labels = Labels(&self.labels);
                    let mut message = format!(
                        "Found secret that no auth config selects: {namespace} {name} (its labels: {labels}"
                    );
                    let nearest = self.nearest(selectors);
                    if let Some((config, selector)) = nearest {
                        let ObjectRef { namespace, name } = config;
                        message.push_str(&format!(
                            "; auth config {namespace} {name} selects {}",
                            Labels(selector)
                        ));
                    }
                    message.push(')');
                    let finding = new(&code::NOT_SELECTED, message);
                    let finding = match nearest {
                        Some((config, _)) => finding.leading_to("AuthConfig", config),
                        None => finding,
                    };
                    told.add("secrets that no auth config selects", finding);
                }
            }
            // The status says it, once the server has looked at the Secret.
            Holds::KeyInVain { .. } if self.status.says(NO_API_KEY) => {}
            Holds::KeyInVain { of_type } => {
                let message = format!(
                    "Found secret with a key and the wrong type: {namespace} {name} (its type: {of_type})"
                );
                told.add("secrets with a key and the wrong type", new(&code::WRONG_TYPE, message));
            }
            Holds::Unreadable(problem) => {
                let message = format!("Could not read secret: {namespace} {name} ({problem})");
                told.add("secrets that could not be read", new(&code::NOT_READABLE, message));
            }
            Holds::Other => {}
        }
    }

    fn is_selected(&self, id: &ObjectRef, auth: &ApiKeyAuth) -> bool {
        let wanted = &auth.label_selector;
        let by_labels =
            !wanted.is_empty() && wanted.iter().all(|(name, value)| self.labels.get(name) == Some(value));
        by_labels || auth.secret_refs.contains(id)
    }

    /// The `AuthConfig` that its author may have meant: the one with most labels of the same names.
    fn nearest<'a>(
        &self,
        selectors: &[(&'a ObjectRef, &'a ApiKeyAuth)],
    ) -> Option<(&'a ObjectRef, &'a BTreeMap<String, String>)> {
        let likeness = |wanted: &BTreeMap<String, String>| {
            let same = |(name, value): (&String, &String)| match self.labels.get(name) {
                Some(own) if own == value => 2,
                Some(_) => 1,
                None => 0_usize,
            };
            wanted.iter().map(same).sum::<usize>()
        };
        let candidates = selectors.iter().map(|(id, auth)| (*id, &auth.label_selector));
        let likely =
            candidates.map(|(id, wanted)| (likeness(wanted), id, wanted)).filter(|(like, ..)| *like > 0);
        // The first of those that are equally likely.
        likely.rev().max_by_key(|(like, ..)| *like).map(|(_, id, wanted)| (id, wanted))
    }
}

// === impl Told ===

impl Told {
    fn add(&mut self, what: &'static str, finding: Finding) {
        let (count, ..) = self.counts.entry(finding.code.id).or_insert((0, finding.code, what));
        *count += 1;
        if *count <= MANY {
            self.findings.push(finding);
        }
    }

    fn finish(mut self) -> Vec<Finding> {
        for (count, code, what) in self.counts.into_values().filter(|(count, ..)| *count > MANY) {
            self.findings.push(Finding::new(code, format!("Found {} more {what}", count - MANY)));
        }
        self.findings
    }
}
