//! The query of a request. A parameter that is not known is refused: it might ask for a selection,
//! and a deletion without it would take everything.

use std::time::Duration;

use keyward_resource::ApiStatus;
use keyward_store::Revision;

use crate::confirm;
use crate::selector::{FieldSelector, LabelSelector};
use crate::writer::FieldValidation;

/// What a query asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Query {
    pub(crate) label_selector: LabelSelector,
    pub(crate) field_selector: FieldSelector,
    pub(crate) limit: Option<usize>,
    pub(crate) continue_token: Option<String>,
    pub(crate) version: Version,
    pub(crate) version_match: Option<VersionMatch>,
    pub(crate) watch: bool,
    pub(crate) bookmarks: bool,
    pub(crate) send_initial_events: Option<bool>,
    pub(crate) timeout_seconds: Option<u64>,
    pub(crate) dry_run: bool,
    pub(crate) force: bool,
    pub(crate) field_manager: Option<String>,
    pub(crate) field_validation: FieldValidation,
    /// How long the answer to a change may wait for those who have to take it.
    pub(crate) wait: Option<Duration>,
}

/// What `resourceVersion` says of a read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Version {
    /// Nothing: the latest.
    #[default]
    Unset,
    /// `0`: any will do.
    Any,
    /// This one.
    At(Revision),
}

/// What `resourceVersionMatch` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VersionMatch {
    Exact,
    NotOlderThan,
}

/// How long the name of a field manager may be.
const MAX_MANAGER_LEN: usize = 128;

/// Parameters that may be passed over: they change how an answer looks, say what is done anyway, or
/// are about dependents and grace, which no object here has.
const HARMLESS: &[&str] = &[
    "pretty",
    "timeout",
    "includeObject",
    "gracePeriodSeconds",
    "orphanDependents",
    "propagationPolicy",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
];

const KNOWN: &[&str] = &[
    "allowWatchBookmarks",
    "continue",
    "dryRun",
    "fieldManager",
    "fieldSelector",
    "fieldValidation",
    "force",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "wait",
    "watch",
];

/// Splits a query and undoes its encoding.
fn pairs(query: &str) -> impl Iterator<Item = Result<(String, String), ApiStatus>> + '_ {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Ok((decode(name)?, decode(value)?))
    })
}

fn decode(text: &str) -> Result<String, ApiStatus> {
    let spaced = text.replace('+', " ");
    let decoded = percent_encoding::percent_decode_str(&spaced).decode_utf8();
    decoded
        .map(std::borrow::Cow::into_owned)
        .map_err(|_| ApiStatus::bad_request("the query of the request is not UTF-8 text"))
}

fn invalid(name: &str, must: &str) -> ApiStatus {
    ApiStatus::bad_request(format!("{name}: Invalid value: must be {must}"))
}

fn boolean(name: &str, value: &str) -> Result<bool, ApiStatus> {
    match value {
        "" | "1" | "true" | "True" | "TRUE" | "t" | "T" => Ok(true),
        "0" | "false" | "False" | "FALSE" | "f" | "F" => Ok(false),
        _ => Err(invalid(name, "true or false")),
    }
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, ApiStatus> {
    value.parse().map_err(|_| invalid(name, "a whole number, not negative"))
}

/// Reads a revision as clients give it back.
pub(crate) fn revision(version: &str) -> Result<Revision, ApiStatus> {
    version
        .parse()
        .map(Revision)
        .map_err(|_| ApiStatus::bad_request("resourceVersion: must be the one that was read, a number"))
}

// === impl Query ===

impl Query {
    /// Reads a query.
    pub(crate) fn parse(query: Option<&str>) -> Result<Self, ApiStatus> {
        let mut parsed = Self::default();
        for pair in pairs(query.unwrap_or_default()) {
            let (name, value) = pair?;
            parsed.set(&name, value)?;
        }
        parsed.check()?;
        Ok(parsed)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), ApiStatus> {
        match name {
            "labelSelector" => self.label_selector = LabelSelector::parse(&value)?,
            "fieldSelector" => self.field_selector = FieldSelector::parse(&value)?,
            "limit" => self.limit = Some(number(name, &value)?).filter(|limit| *limit > 0),
            "continue" => self.continue_token = Some(value).filter(|token| !token.is_empty()),
            "resourceVersion" => {
                self.version = match value.as_str() {
                    "" => Version::Unset,
                    "0" => Version::Any,
                    _ => Version::At(revision(&value)?),
                }
            }
            "resourceVersionMatch" => {
                self.version_match = match value.as_str() {
                    "" => None,
                    "Exact" => Some(VersionMatch::Exact),
                    "NotOlderThan" => Some(VersionMatch::NotOlderThan),
                    _ => return Err(invalid(name, "\"Exact\" or \"NotOlderThan\"")),
                }
            }
            "watch" => self.watch = boolean(name, &value)?,
            "allowWatchBookmarks" => self.bookmarks = boolean(name, &value)?,
            "sendInitialEvents" => self.send_initial_events = Some(boolean(name, &value)?),
            "timeoutSeconds" => self.timeout_seconds = Some(number(name, &value)?).filter(|s| *s > 0),
            "dryRun" if value == "All" => self.dry_run = true,
            "dryRun" if value.is_empty() => {}
            "dryRun" => return Err(invalid(name, "\"All\"")),
            "force" => self.force = boolean(name, &value)?,
            "fieldManager" => self.field_manager = manager(value)?,
            "fieldValidation" => {
                self.field_validation = match value.as_str() {
                    "" | "Strict" => FieldValidation::Strict,
                    "Warn" => FieldValidation::Warn,
                    "Ignore" => FieldValidation::Ignore,
                    _ => return Err(invalid(name, "\"Strict\", \"Warn\" or \"Ignore\"")),
                }
            }
            "wait" => self.wait = confirm::wait(&value)?,
            _ if HARMLESS.contains(&name) => {}
            _ => {
                let known = KNOWN.join(", ");
                let message = format!("the query parameter {name:?} is not served; there are: {known}");
                return Err(ApiStatus::bad_request(message));
            }
        }
        Ok(())
    }

    /// What does not go together.
    fn check(&self) -> Result<(), ApiStatus> {
        let refuse = |why: &str| Err(ApiStatus::bad_request(why));
        if self.watch {
            if self.limit.is_some() && self.continue_token.is_some() {
                return refuse("continue: Forbidden: a watch has no pages");
            }
            return match (self.send_initial_events, self.version_match) {
                (Some(_), Some(VersionMatch::NotOlderThan)) | (None, None) => Ok(()),
                (Some(_), _) => refuse(
                    "resourceVersionMatch: Forbidden: sendInitialEvents requires it to be \"NotOlderThan\"",
                ),
                (None, Some(_)) => {
                    refuse("resourceVersionMatch: Forbidden: it is for a watch with sendInitialEvents alone")
                }
            };
        }
        if self.send_initial_events.is_some() {
            return refuse("sendInitialEvents: Forbidden: it is for a watch alone");
        }
        if self.continue_token.is_some() && self.version_match.is_some() {
            return refuse("resourceVersionMatch: Forbidden: it cannot be set with continue");
        }
        if self.continue_token.is_some() && matches!(self.version, Version::At(_)) {
            return refuse("resourceVersion: Forbidden: the continue token says which version is read");
        }
        match (self.version_match, self.version) {
            (Some(_), Version::Unset) => {
                refuse("resourceVersionMatch: Forbidden: it needs a resourceVersion")
            }
            (Some(VersionMatch::Exact), Version::Any) => {
                refuse("resourceVersionMatch: Forbidden: \"Exact\" needs a resourceVersion that is not 0")
            }
            _ => Ok(()),
        }
    }
}

fn manager(name: String) -> Result<Option<String>, ApiStatus> {
    if name.len() > MAX_MANAGER_LEN {
        return Err(invalid("fieldManager", "at most 128 bytes long"));
    }
    if name.chars().any(char::is_control) {
        return Err(invalid("fieldManager", "printable"));
    }
    Ok(Some(name).filter(|name| !name.is_empty()))
}

#[cfg(test)]
mod tests;
