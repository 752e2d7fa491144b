//! `spec.outlierDetection`: judges the hosts by their answers.

use std::time::Duration;

use crate::reader::Node;
use crate::schema::{Field, Message, Type};

/// Judges hosts by their answers. What is unset is left to the proxy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutlierDetection {
    /// The time from one judgement to the next.
    pub interval: Option<Duration>,
    /// How long a host is ejected the first time.
    pub base_ejection_time: Option<Duration>,
    /// At most this share of the hosts is ejected, in percent.
    pub max_ejection_percent: Option<u32>,
    /// So many 5xx in a row.
    pub consecutive_5xx: Option<u32>,
    /// How often that ejects, in percent.
    pub enforcing_consecutive_5xx: Option<u32>,
    /// So many 502, 503 and 504 in a row.
    pub consecutive_gateway_failure: Option<u32>,
    /// How often that ejects, in percent.
    pub enforcing_consecutive_gateway_failure: Option<u32>,
    /// How often a low success rate ejects, in percent.
    pub enforcing_success_rate: Option<u32>,
    /// So many hosts must have enough requests.
    pub success_rate_minimum_hosts: Option<u32>,
    /// So many requests in an interval are enough.
    pub success_rate_request_volume: Option<u32>,
    /// How far below the mean a success rate is low, in thousandths of the standard deviation.
    pub success_rate_stdev_factor: Option<u32>,
    /// Counts failures to reach a host apart.
    pub split_external_local_origin_errors: bool,
    /// So many failures to reach a host in a row.
    pub consecutive_local_origin_failure: Option<u32>,
    /// How often that ejects, in percent.
    pub enforcing_consecutive_local_origin_failure: Option<u32>,
    /// How often a low rate of reaching the host ejects, in percent.
    pub enforcing_local_origin_success_rate: Option<u32>,
}

pub(super) static OUTLIER_DETECTION: Message = Message {
    name: "OutlierDetection",
    doc: "Judges hosts by their answers to requests, and ejects those that fail for a while.",
    fields: &[
        Field::new("interval", Type::Duration, "The time from one judgement to the next. Default 10s."),
        Field::new(
            "baseEjectionTime",
            Type::Duration,
            "How long a host is ejected, times how often it was ejected. Default 30s.",
        ),
        Field::new(
            "maxEjectionPercent",
            PERCENT,
            "At most this share of the hosts is ejected, but one always can be. Default 10.",
        ),
        Field::new("consecutive5xx", Type::COUNT, "So many 5xx in a row eject a host. Default 5."),
        Field::new("enforcingConsecutive5xx", PERCENT, "How often consecutive5xx ejects. Default 100."),
        Field::new(
            "consecutiveGatewayFailure",
            Type::COUNT,
            "So many answers of 502, 503 or 504 in a row eject a host. Default 5.",
        ),
        Field::new(
            "enforcingConsecutiveGatewayFailure",
            PERCENT,
            "How often consecutiveGatewayFailure ejects. Default 0.",
        ),
        Field::new(
            "enforcingSuccessRate",
            PERCENT,
            "How often a success rate far below the mean of all hosts ejects. Default 100.",
        ),
        Field::new(
            "successRateMinimumHosts",
            Type::COUNT,
            "Success rates are compared when at least so many hosts have enough requests. Default 5.",
        ),
        Field::new(
            "successRateRequestVolume",
            Type::COUNT,
            "So many requests in an interval are enough for a success rate. Default 100.",
        ),
        Field::new(
            "successRateStdevFactor",
            Type::COUNT,
            "How far below the mean is far, in thousandths of the standard deviation. Default 1900.",
        ),
        Field::new(
            "splitExternalLocalOriginErrors",
            Type::Boolean,
            "Whether failures to reach a host are counted apart from its answers. Default false.",
        ),
        Field::new(
            "consecutiveLocalOriginFailure",
            Type::COUNT,
            "So many failures to reach a host in a row eject it, if they are counted apart. Default 5.",
        ),
        Field::new(
            "enforcingConsecutiveLocalOriginFailure",
            PERCENT,
            "How often consecutiveLocalOriginFailure ejects. Default 100.",
        ),
        Field::new(
            "enforcingLocalOriginSuccessRate",
            PERCENT,
            "How often a low rate of reaching a host ejects it, if failures are counted apart. Default 100.",
        ),
    ],
    unsupported: &[],
};

const PERCENT: Type = Type::Integer(0, 100);

/// Reads `outlierDetection`.
pub(super) fn read(node: Node<'_>) -> Option<OutlierDetection> {
    let fields = node.object(&OUTLIER_DETECTION)?;
    let span = |key: &'static str| fields.maybe(key, |node| node.positive_duration());
    let count = |key: &'static str| fields.maybe(key, |node| node.unsigned(0..=u32::MAX));
    let percent = |key: &'static str| fields.maybe(key, |node| node.unsigned(0..=100));
    let interval = span("interval");
    let base_ejection_time = span("baseEjectionTime");
    let max_ejection_percent = percent("maxEjectionPercent");
    let consecutive_5xx = count("consecutive5xx");
    let enforcing_consecutive_5xx = percent("enforcingConsecutive5xx");
    let gateway_failure = count("consecutiveGatewayFailure");
    let enforcing_gateway_failure = percent("enforcingConsecutiveGatewayFailure");
    let enforcing_success_rate = percent("enforcingSuccessRate");
    let minimum_hosts = count("successRateMinimumHosts");
    let request_volume = count("successRateRequestVolume");
    let stdev_factor = count("successRateStdevFactor");
    let split = fields.flag("splitExternalLocalOriginErrors", false);
    let local_origin = count("consecutiveLocalOriginFailure");
    let enforcing_local_origin = percent("enforcingConsecutiveLocalOriginFailure");
    let enforcing_local_rate = percent("enforcingLocalOriginSuccessRate");
    Some(OutlierDetection {
        interval: interval?,
        base_ejection_time: base_ejection_time?,
        max_ejection_percent: max_ejection_percent?,
        consecutive_5xx: consecutive_5xx?,
        enforcing_consecutive_5xx: enforcing_consecutive_5xx?,
        consecutive_gateway_failure: gateway_failure?,
        enforcing_consecutive_gateway_failure: enforcing_gateway_failure?,
        enforcing_success_rate: enforcing_success_rate?,
        success_rate_minimum_hosts: minimum_hosts?,
        success_rate_request_volume: request_volume?,
        success_rate_stdev_factor: stdev_factor?,
        split_external_local_origin_errors: split?,
        consecutive_local_origin_failure: local_origin?,
        enforcing_consecutive_local_origin_failure: enforcing_local_origin?,
        enforcing_local_origin_success_rate: enforcing_local_rate?,
    })
}
