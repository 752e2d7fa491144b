//! What is wrong with an installation, found from what its API shows.
//!
//! Pure: no IO, no clock. It knows nothing of HTTP and sends no request: whoever calls it brings the
//! objects with their statuses, what the server says of its proxies, and the time.
//!
//! ```text
//! objects with statuses ─▶ World ─┐
//! components, proxies   ─▶ State ─┼─▶ check() ─▶ Outcome: sections in order, findings in each
//! what is asked for     ─▶ Choice ┘                 └─▶ text, or the JSON of the original product
//! ```
//!
//! Each finding has a stable [`Code`], names the object and whatever it leads to, and says what to do.
//! `docs/check.md` lists all codes.

mod choice;
mod code;
mod components;
mod finding;
mod outcome;
mod pods;
mod proxies;
mod references;
mod secret;
mod section;
mod state;
mod statuses;
mod tables;
mod world;

pub use choice::{Choice, PodSelector, SelectorError};
pub use code::{CODES, Code, Severity};
pub use finding::{Finding, Named};
pub use outcome::{Checked, Outcome, Verdict};
pub use section::{SECTIONS, Section};
pub use state::State;
pub use world::World;

/// Looks at everything. `now` is in milliseconds since 1970; without `state` nothing is said of the
/// components and proxies themselves.
#[must_use]
pub fn check(world: &World, state: Option<&State>, choice: &Choice, now: u64) -> Outcome {
    let mut outcome = Outcome::default();
    if !choice.watches_any(world) {
        outcome.note(format!(
            "No namespaces specified are currently being watched (defaulting to '{}' namespace)",
            choice.namespace
        ));
    }
    for section in SECTIONS.iter().copied().filter(|section| !choice.excludes(*section)) {
        let looked = Looked { world, state, choice, now };
        outcome.push(section, looked.at(section));
    }
    if world.secrets.more && !choice.excludes(Section::Secrets) {
        let looked_at = world.secrets.len();
        outcome.note(format!(
            "Only {looked_at} secrets were looked at, there are more: --all-secrets reads all"
        ));
    }
    if state.is_none() {
        outcome.note("Warning: checking proxies with port forwarding is disabled");
        outcome.note("Warning: checking xds with port forwarding is disabled");
    }
    outcome
}

/// What a section looks at.
#[derive(Clone, Copy)]
struct Looked<'a> {
    world: &'a World,
    state: Option<&'a State>,
    choice: &'a Choice,
    now: u64,
}

// === impl Looked ===

impl Looked<'_> {
    fn at(self, section: Section) -> Checked {
        let mut findings = match section {
            Section::Deployments => components::findings(self),
            Section::Pods => pods::findings(self),
            Section::Secrets => secret::findings(self),
            Section::Proxies => proxies::findings(self),
            Section::XdsMetrics => {
                return match proxies::out_of_sync(self) {
                    Some(findings) => Checked::Found(findings),
                    None => Checked::Nothing,
                };
            }
            _ => Vec::new(),
        };
        let mut said = statuses::findings(self, section);
        references::explain(self, &mut said);
        findings.extend(said);
        findings.extend(references::findings(self, section));
        findings.extend(tables::findings(self, section));
        Checked::Found(findings)
    }
}
