//! Who copies a key to where others see it.
//!
//! All routes of a virtual host count together: a client that has a key for one of them sends it to its
//! neighbours too. The header in which keys are looked for by default is copied nowhere.

use keyward_filter_core::config::Step;
use keyward_resource::kinds::auth_config::ApiKeyAuth;
use keyward_resource::kinds::options::Source;

use super::super::hosts::{Copying, Use};
use super::super::kind::{AUTH_CONFIG, ROUTE_TABLE};
use super::super::refused::Refused;
use super::{Conflicts, Live, Party, object, service};

/// Whether a key may stand in what is copied.
fn has_key(step: &Step, source: &Source) -> bool {
    match source {
        Source::Header(header) => step.key_headers().any(|name| name == header),
        Source::Parameter(parameter) => step.key_parameters().any(|name| name == parameter),
        Source::Query => step.key_parameters().next().is_some(),
    }
}

fn said(source: &Source) -> String {
    match source {
        Source::Header(header) => format!("header {header}"),
        Source::Parameter(parameter) => format!("query parameter {parameter}"),
        Source::Query => "the query".to_owned(),
    }
}

// === impl Conflicts ===

impl Conflicts<'_> {
    /// Whether a host copies a key.
    pub(super) fn check_copies(&self, live: &Live<'_>, found: &mut Refused) -> bool {
        const WHY: &str = "a key must not get to where clients, logs or other hosts see it";
        let mut any = false;
        for copying in &live.compiled.demand.copies {
            let Copying { source, field, owner, label, tables } = copying;
            let what = |blamed: &Party<'_>| {
                let of = if *owner == blamed.key { String::new() } else { format!(" of {owner}") };
                format!("{field} of {label}{of} copies {}", said(source))
            };
            if *source == Source::Header(ApiKeyAuth::DEFAULT_HEADER.to_owned()) {
                let table = tables.last().filter(|_| owner.kind == ROUTE_TABLE);
                let blamed = table.and_then(|table| self.table(table)).unwrap_or_else(|| service(live));
                let reason = format!("{}, in which keys stand by default: {WHY}", what(&blamed));
                found.refuse(blamed.key, blamed.outdated, reason);
                any = true;
                continue;
            }
            let looks = |used: &&Use| self.steps(&used.auth_config).iter().any(|step| has_key(step, source));
            // Where several demand such a policy, those count first that come there by the same way: the
            // others are neighbours.
            let elsewhere = |used: &&Use| used.tables.iter().filter(|table| !tables.contains(table)).count();
            let Some(used) = live.compiled.demand.uses.iter().filter(looks).min_by_key(elsewhere) else {
                continue;
            };
            let tables = tables.iter().chain(&used.tables).filter_map(|table| self.table(table));
            let parties = tables.chain([service(live)]);
            // A table that goes on with its last good version is less than the whole.
            let blamed = parties.max_by(|a, b| (a.outdated, a).cmp(&(b.outdated, b)));
            let Some(blamed) = blamed else { continue };
            let auth_config = object(AUTH_CONFIG, &used.auth_config);
            let reason = format!("{}, in which {auth_config} looks for a key: {WHY}", what(&blamed));
            found.refuse(blamed.key, blamed.outdated, reason);
            any = true;
        }
        any
    }
}
