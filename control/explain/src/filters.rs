//! The filters of a chain, as far as they decide about a request: in their order, each where its route has it
//! on.

use keyward_filter_core::config::FilterConfig;
use serde_json::Value;

use crate::cors;
use crate::explanation::Fault;
use crate::judge::{Judged, Scene, judge};
use crate::keys::Keys;
use crate::routing::Selection;
use crate::served::{Action, HttpFilter, Manager, RouteConfiguration, Served, type_of};
use crate::text::Fit;

mod guard;
#[cfg(test)]
mod tests;

/// Where the way of a request ends at a filter.
pub(crate) enum Stop {
    /// The filter refuses it, with this status, for this reason.
    Denied(u16, &'static str),
    /// The guard refuses it: the filter let it pass, and gave it no identity.
    Guarded,
    /// It is a preflight, and answered as such.
    Preflight,
    /// It is given this status, for tests.
    Fault(u16),
    /// What would have to be known.
    Untold(String),
}

/// What a filter is on a route.
enum Setting<'a> {
    /// As in the chain.
    Default,
    Off,
    /// On, with a configuration of its own or without.
    On(Option<&'a Value>),
}

/// Where filters stand.
pub(crate) struct Stage<'a> {
    pub(crate) served: &'a Served,
    pub(crate) manager: &'a Manager,
    pub(crate) routes: &'a RouteConfiguration,
    pub(crate) selection: &'a Selection<'a>,
}

/// Runs all of them. Faults that are not sure to happen are noted.
pub(crate) fn run(
    stage: &Stage<'_>,
    filter: Option<&FilterConfig>,
    keys: &Keys,
    scene: &mut Scene,
) -> Result<Vec<Fault>, Stop> {
    let mut faults = Vec::new();
    for http_filter in &stage.manager.http_filters {
        let setting = stage.setting(&http_filter.name);
        let own = match (&setting, http_filter.disabled) {
            (Setting::Off, _) | (Setting::Default, true) => continue,
            (Setting::Default, false) => None,
            (Setting::On(own), _) => *own,
        };
        let config = own.unwrap_or(&http_filter.typed_config);
        match stage.kind(http_filter) {
            "HTTPFault" => faults.extend(fault(config)?),
            // It does nothing on a route that redirects or answers by itself.
            "Cors" if !matches!(stage.selection.route.action(), Action::Forward(_)) => {}
            "Cors" => match own.map(|policy| cors::is_answered(policy, &scene.headers)) {
                Some(Fit::Yes) => return Err(Stop::Preflight),
                Some(Fit::Untold(why)) => return Err(Stop::Untold(why)),
                Some(Fit::No(_)) | None => {}
            },
            "Wasm" => {
                let Some(filter) = filter else {
                    return Err(Stop::Untold(format!("the filter {} is not Keyward's", http_filter.name)));
                };
                if let Judged::Answered(status, why) = judge(filter, keys, scene) {
                    return Err(Stop::Denied(status, why));
                }
            }
            "ExtensionWithMatcher" => guard::pass(own, &http_filter.typed_config, scene)?,
            "HeaderMutation" => {}
            "Router" => return Ok(faults),
            other => return Err(Stop::Untold(format!("the filter {} ({other})", http_filter.name))),
        }
    }
    Ok(faults)
}

/// A fault that every request gets stops it.
fn fault(config: &Value) -> Result<Option<Fault>, Stop> {
    for unknown in ["headers", "upstreamCluster", "downstreamNodes", "headerDelay"] {
        if config.get(unknown).is_some() {
            return Err(Stop::Untold(format!("faults that ask for {unknown}")));
        }
    }
    let Some(abort) = config.get("abort") else { return Ok(None) };
    let Some(status) = abort["httpStatus"].as_u64().and_then(|status| u16::try_from(status).ok()) else {
        return Err(Stop::Untold("a fault without a status".to_owned()));
    };
    let numerator = abort["percentage"]["numerator"].as_f64().unwrap_or_default();
    let share = match abort["percentage"]["denominator"].as_str() {
        None | Some("HUNDRED") => numerator / 100.0,
        Some("TEN_THOUSAND") => numerator / 10_000.0,
        Some("MILLION") => numerator / 1_000_000.0,
        Some(_) => return Err(Stop::Untold("a fault of an unknown share".to_owned())),
    };
    if share >= 1.0 {
        return Err(Stop::Fault(status));
    }
    Ok((share > 0.0).then_some(Fault { status, percent: share * 100.0 }))
}

// === impl Stage ===

impl<'a> Stage<'a> {
    /// What the most specific level says of a filter.
    fn setting(&self, name: &str) -> Setting<'a> {
        let Selection { found, route, .. } = self.selection;
        let levels = [
            &route.typed_per_filter_config,
            &found.virtual_host.typed_per_filter_config,
            &self.routes.typed_per_filter_config,
        ];
        let Some(said) = levels.into_iter().find_map(|level| level.get(name)) else {
            return Setting::Default;
        };
        if type_of(said) != "FilterConfig" {
            return Setting::On(Some(said));
        }
        if said["disabled"] == true {
            return Setting::Off;
        }
        // Present and empty: it is turned on, and nothing else.
        let config =
            said.get("config").filter(|config| !matches!(type_of(config), "StringValue" | "Empty" | ""));
        Setting::On(config)
    }

    fn kind(&self, filter: &'a HttpFilter) -> &'a str {
        if filter.config_discovery.is_none() {
            return type_of(&filter.typed_config);
        }
        self.served.extension(&filter.name).map_or("", |extension| type_of(&extension.typed_config))
    }

    /// Whether keys are asked for.
    pub(crate) fn is_secured(&self) -> bool {
        let verifies = |filter: &&HttpFilter| self.kind(filter) == "Wasm";
        let on = |filter: &HttpFilter| match self.setting(&filter.name) {
            Setting::Off => false,
            Setting::On(_) => true,
            Setting::Default => !filter.disabled,
        };
        self.manager.http_filters.iter().filter(verifies).any(on)
    }
}
