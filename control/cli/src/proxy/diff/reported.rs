//! What a proxy reports, out of its configuration dump.

use std::collections::BTreeMap;

use serde_json::Value;

/// What it says of one resource.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct State {
    /// What it runs with.
    pub(super) content: Value,
    /// Why it refused what is newer.
    pub(super) error: Option<String>,
}

/// Everything that came over xDS, by type and name.
#[derive(Debug, Default)]
pub(super) struct Reported(BTreeMap<(&'static str, String), State>);

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

fn each<'a>(config: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    config[list].as_array().map(Vec::as_slice).unwrap_or_default().iter()
}

// === impl Reported ===

impl Reported {
    pub(super) fn read(dump: &Value) -> Self {
        let mut reported = Self::default();
        for config in each(dump, "configs") {
            reported.listeners(config);
            for list in ["dynamic_warming_clusters", "dynamic_active_clusters"] {
                for of in each(config, list) {
                    reported.add("clusters", &of["cluster"]["name"], &of["cluster"], of);
                }
            }
            for of in each(config, "dynamic_route_configs") {
                reported.add("routes", &of["route_config"]["name"], &of["route_config"], of);
            }
            for of in each(config, "ecds_filters") {
                reported.add("extensionConfigs", &of["ecds_filter"]["name"], &of["ecds_filter"], of);
            }
            for of in each(config, "dynamic_endpoint_configs") {
                let content = &of["endpoint_config"];
                reported.add("endpoints", &content["cluster_name"], content, of);
            }
            for list in ["dynamic_warming_secrets", "dynamic_active_secrets"] {
                for of in each(config, list) {
                    reported.add("secrets", &of["name"], &of["secret"], of);
                }
            }
        }
        reported
    }

    fn listeners(&mut self, config: &Value) {
        for of in each(config, "dynamic_listeners") {
            // The one that is warming is newer; one that only drains is gone.
            let content = &of["active_state"]["listener"];
            if !content.is_null() || !of["error_state"].is_null() {
                self.add("listeners", &of["name"], content, of);
            }
        }
    }

    fn add(&mut self, of: &'static str, name: &Value, content: &Value, entry: &Value) {
        let Some(name) = text(name) else { return };
        let error = text(&entry["error_state"]["details"]);
        self.0.insert((of, name), State { content: content.clone(), error });
    }

    /// What it says of a resource.
    pub(super) fn get(&self, of: &'static str, name: &str) -> Option<&State> {
        self.0.get(&(of, name.to_owned()))
    }

    /// The names of a type.
    pub(super) fn names(&self, of: &'static str) -> impl Iterator<Item = String> {
        self.0.keys().filter(move |(known, _)| *known == of).map(|(_, name)| name.clone())
    }
}
