//! What the filter counts, as it appears among Envoy's statistics.
//!
//! Envoy keeps one value of a metric for all workers. Counters add up. Of a gauge the last worker to
//! write wins, which is right for what all workers agree on in the end; what they need not agree on
//! (is the stream up?) is added and subtracted instead. A VM that traps leaves what it added behind;
//! Envoy counts those itself, in `wasm.<name>.vm_reload_success`.

/// A metric of the filter. The first ones are the reasons of decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Requests that passed with a valid key.
    Allowed,
    /// Requests that passed without a key, where that is enough.
    Anonymous,
    /// Requests denied with 401 because there was no key in them, or an empty one.
    DeniedMissing,
    /// Requests denied with 401 because there were two keys in them.
    DeniedAmbiguous,
    /// Requests denied with 401 because nobody has the key.
    DeniedUnknown,
    /// Requests denied with 401 because the time of the key is over.
    DeniedExpired,
    /// Requests denied with 401 because the key is switched off.
    DeniedDisabled,
    /// Requests denied with 401 because the time of the key has not come.
    DeniedNotYetValid,
    /// Requests denied with 403 because the route does not allow whose key it is.
    DeniedNotAllowed,
    /// Requests denied with 403 because no key would have helped.
    Forbidden,
    /// Requests answered with 503: the keys did not arrive in time, or too many waited for them.
    Unavailable,
    /// Requests that wait for keys.
    Parked,
    /// Snapshots and changes of key tables that were applied.
    ChangesApplied,
    /// Snapshots and changes of key tables that were refused.
    ChangesRefused,
    /// Those of them that were refused because the worker has no room for them.
    NoRoom,
    /// Keys held by the worker that changed last.
    Keys,
    /// Newest revision of any key table of the worker that changed last.
    TablesRevision,
    /// Version of the plugin configuration that came into force last.
    ConfigVersion,
    /// Workers whose key stream is up. The main thread counts as one: it runs the filter, too.
    StreamsConnected,
    /// Uses of keys that could not be counted: too many different keys were used while the control server
    /// took no reports.
    UsesLost,
}

/// How a metric behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
}

// === impl Metric ===

impl Metric {
    /// So many of them are reasons of decisions: each request is counted under one of these.
    pub const REASONS: usize = 11;

    /// The reasons of decisions with the word for each.
    pub fn reasons() -> impl Iterator<Item = (Self, &'static str)> {
        Self::ALL.into_iter().filter_map(|metric| Some((metric, metric.reason()?)))
    }

    /// The word for it, if it is the reason of a decision.
    #[must_use]
    pub fn reason(self) -> Option<&'static str> {
        Some(match self {
            Self::Allowed => "allowed",
            Self::Anonymous => "anonymous",
            Self::DeniedMissing => "missing",
            Self::DeniedAmbiguous => "ambiguous",
            Self::DeniedUnknown => "unknown",
            Self::DeniedExpired => "expired",
            Self::DeniedDisabled => "disabled",
            Self::DeniedNotYetValid => "not_yet_valid",
            Self::DeniedNotAllowed => "not_allowed",
            Self::Forbidden => "no_policy",
            Self::Unavailable => "unavailable",
            _ => return None,
        })
    }

    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 20] = [
        Self::Allowed,
        Self::Anonymous,
        Self::DeniedMissing,
        Self::DeniedAmbiguous,
        Self::DeniedUnknown,
        Self::DeniedExpired,
        Self::DeniedDisabled,
        Self::DeniedNotYetValid,
        Self::DeniedNotAllowed,
        Self::Forbidden,
        Self::Unavailable,
        Self::Parked,
        Self::ChangesApplied,
        Self::ChangesRefused,
        Self::NoRoom,
        Self::Keys,
        Self::TablesRevision,
        Self::ConfigVersion,
        Self::StreamsConnected,
        Self::UsesLost,
    ];

    /// Its name; Envoy puts `wasmcustom.` before it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Allowed => "keyward.allowed",
            Self::Anonymous => "keyward.anonymous",
            Self::DeniedMissing => "keyward.denied.missing",
            Self::DeniedAmbiguous => "keyward.denied.ambiguous",
            Self::DeniedUnknown => "keyward.denied.unknown",
            Self::DeniedExpired => "keyward.denied.expired",
            Self::DeniedDisabled => "keyward.denied.disabled",
            Self::DeniedNotYetValid => "keyward.denied.not_yet_valid",
            Self::DeniedNotAllowed => "keyward.denied.not_allowed",
            Self::Forbidden => "keyward.denied.forbidden",
            Self::Unavailable => "keyward.unavailable",
            Self::Parked => "keyward.parked",
            Self::ChangesApplied => "keyward.changes.applied",
            Self::ChangesRefused => "keyward.changes.refused",
            Self::NoRoom => "keyward.changes.no_room",
            Self::Keys => "keyward.keys",
            Self::TablesRevision => "keyward.tables_revision",
            Self::ConfigVersion => "keyward.config_version",
            Self::StreamsConnected => "keyward.streams_connected",
            Self::UsesLost => "keyward.uses_lost",
        }
    }

    /// How it behaves.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::Allowed
            | Self::Anonymous
            | Self::DeniedMissing
            | Self::DeniedAmbiguous
            | Self::DeniedUnknown
            | Self::DeniedExpired
            | Self::DeniedDisabled
            | Self::DeniedNotYetValid
            | Self::DeniedNotAllowed
            | Self::Forbidden
            | Self::Unavailable
            | Self::ChangesApplied
            | Self::ChangesRefused
            | Self::NoRoom
            | Self::UsesLost => Kind::Counter,
            Self::Parked
            | Self::Keys
            | Self::TablesRevision
            | Self::ConfigVersion
            | Self::StreamsConnected => Kind::Gauge,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_the_list() {
        for (number, metric) in Metric::ALL.into_iter().enumerate() {
            assert_eq!(metric as usize, number, "{metric:?}");
            assert!(metric.name().starts_with("keyward."), "{metric:?}");
            assert_eq!(metric.reason().is_some(), number < Metric::REASONS, "{metric:?}");
        }
        assert_eq!(Metric::reasons().count(), Metric::REASONS);
    }
}
