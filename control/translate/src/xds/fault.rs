//! Faults for tests.

use envoy_types::pb::envoy::extensions::filters::common::fault::v3::FaultDelay;
use envoy_types::pb::envoy::extensions::filters::common::fault::v3::fault_delay::FaultDelaySecifier;
use envoy_types::pb::envoy::extensions::filters::http::fault::v3::fault_abort::ErrorType;
use envoy_types::pb::envoy::extensions::filters::http::fault::v3::{FaultAbort, HttpFault};
use keyward_resource::kinds::options::Faults;

use super::common;

pub(super) fn fault(faults: &Faults) -> HttpFault {
    let abort = faults.abort.as_ref().map(|abort| FaultAbort {
        percentage: Some(common::per_million(abort.per_million)),
        error_type: Some(ErrorType::HttpStatus(abort.http_status.into())),
        ..FaultAbort::default()
    });
    let delay = faults.delay.as_ref().map(|delay| FaultDelay {
        percentage: Some(common::per_million(delay.per_million)),
        fault_delay_secifier: Some(FaultDelaySecifier::FixedDelay(common::duration(delay.fixed_delay))),
    });
    HttpFault { delay, abort, ..HttpFault::default() }
}
