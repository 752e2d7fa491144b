//! The guard behind the filter: rules that deny everybody, and conditions that leave them out.

use keyward_filter_core::capability::{ANONYMOUS, ANONYMOUS_STATE};
use serde_json::{Value, json};

use super::{Scene, Stop, type_of};

/// What fits any value that is there.
const ANYTHING: &str = r"\C*";

/// Nobody passes the guard without an identity, but for whom the filter says so.
pub(super) fn pass(own: Option<&Value>, default: &Value, scene: &Scene) -> Result<(), Stop> {
    let unknown = || Stop::Untold("the rules of the guard are not known".to_owned());
    let rules = &default["extensionConfig"]["typedConfig"];
    if type_of(rules) != "RBAC" || rules["rules"] != json!({}) {
        return Err(unknown());
    }
    let conditions = &own.unwrap_or(default)["xdsMatcher"]["matcherList"]["matchers"];
    for condition in conditions.as_array().ok_or_else(unknown)? {
        if type_of(&condition["onMatch"]["action"]["typedConfig"]) != "SkipFilter" {
            return Err(unknown());
        }
        let asked = &condition["predicate"]["singlePredicate"];
        let (input, value) = (&asked["input"]["typedConfig"], &asked["valueMatch"]);
        let holds = match type_of(input) {
            "HttpRequestHeaderMatchInput" if value["safeRegex"]["regex"] == ANYTHING => {
                let name = input["headerName"].as_str().ok_or_else(unknown)?;
                scene.headers.first(name).is_some()
            }
            "FilterStateInput" if input["key"] == ANONYMOUS_STATE => {
                scene.anonymous && value["exact"] == ANONYMOUS
            }
            _ => return Err(unknown()),
        };
        if holds {
            return Ok(());
        }
    }
    Err(Stop::Guarded)
}
