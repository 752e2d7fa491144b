//! Retries.

use envoy_types::pb::envoy::config::route::v3::RetryPolicy;
use envoy_types::pb::envoy::config::route::v3::retry_policy::{
    RateLimitedRetryBackOff, ResetHeader as ResetHeaderMessage, ResetHeaderFormat, RetryBackOff,
    RetryPriority, retry_priority,
};
use envoy_types::pb::envoy::extensions::retry::priority::previous_priorities::v3::PreviousPrioritiesConfig;
use envoy_types::pb::google::protobuf::UInt32Value;
use keyward_resource::kinds::options::{BackOff, RateLimitedBackOff, Retries};

use super::super::{common, encode};

const PREVIOUS_PRIORITIES: &str = "envoy.retry_priorities.previous_priorities";

pub(super) fn retry_policy(retries: &Retries) -> RetryPolicy {
    RetryPolicy {
        retry_on: retries.retry_on.clone(),
        num_retries: retries.num_retries.map(|value| UInt32Value { value }),
        per_try_timeout: retries.per_try_timeout.map(common::duration),
        retry_back_off: retries.back_off.as_ref().map(back_off),
        retriable_status_codes: retries.retriable_status_codes.iter().map(|code| u32::from(*code)).collect(),
        retry_priority: retries.previous_priorities.map(previous_priorities),
        rate_limited_retry_back_off: retries.rate_limited_back_off.as_ref().map(rate_limited),
        ..RetryPolicy::default()
    }
}

fn back_off(back_off: &BackOff) -> RetryBackOff {
    RetryBackOff {
        base_interval: Some(common::duration(back_off.base)),
        // Envoy refuses a longest wait that is shorter than the first.
        max_interval: back_off.max.map(|max| common::duration(max.max(back_off.base))),
    }
}

fn previous_priorities(update_frequency: u32) -> RetryPriority {
    let frequency = i32::try_from(update_frequency).unwrap_or(i32::MAX);
    let config = PreviousPrioritiesConfig { update_frequency: frequency };
    RetryPriority {
        name: PREVIOUS_PRIORITIES.to_owned(),
        config_type: Some(retry_priority::ConfigType::TypedConfig(encode::any(&config))),
    }
}

fn rate_limited(back_off: &RateLimitedBackOff) -> RateLimitedRetryBackOff {
    let headers = back_off.reset_headers.iter().map(|header| {
        let format =
            if header.unix_timestamp { ResetHeaderFormat::UnixTimestamp } else { ResetHeaderFormat::Seconds };
        ResetHeaderMessage { name: header.name.clone(), format: format.into() }
    });
    RateLimitedRetryBackOff {
        reset_headers: headers.collect(),
        max_interval: back_off.max.map(common::duration),
    }
}
