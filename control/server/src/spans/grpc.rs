//! Streams and calls on the gRPC port, counted.

use http::Request;
use keyward_filter_core::wire;
use keyward_trace::{Calls, Meter, Method};
use tonic::body::Body;

/// What is served there beside the key stream.
const METHODS: [&str; 2] = [
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources",
];
/// What stands for a method that is none of ours.
const OTHER: &str = "other";

/// Counts the calls of a gRPC server.
pub(crate) fn metered(calls: &Calls) -> Meter<Body> {
    Meter::new(calls.clone(), method, Body::new)
}

fn method(request: &Request<Body>) -> Method {
    Method { side: "grpc", name: name(request.uri().path()).into() }
}

fn name(path: &str) -> String {
    let keys = format!("/{}/{}", wire::SERVICE, wire::METHOD);
    let known = METHODS.into_iter().chain([keys.as_str()]).find(|known| *known == path);
    known.unwrap_or(OTHER).trim_start_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_served_has_a_name() {
        assert_eq!(name(METHODS[1]), &METHODS[1][1..]);
        assert_eq!(name("/keyward.keys.v1.KeyDistribution/Stream"), "keyward.keys.v1.KeyDistribution/Stream");
        assert_eq!(name("/s3cret"), "other");
    }
}
