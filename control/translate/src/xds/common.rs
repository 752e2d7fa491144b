//! Pieces that several resources share.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use envoy_types::pb::envoy::config::core::v3::{
    Address, AggregatedConfigSource, ApiVersion, ConfigSource, Metadata, SocketAddress, address,
    config_source::ConfigSourceSpecifier, socket_address::PortSpecifier,
};
use envoy_types::pb::envoy::r#type::matcher::v3::{RegexMatchAndSubstitute, RegexMatcher};
use envoy_types::pb::envoy::r#type::v3::FractionalPercent;
use envoy_types::pb::envoy::r#type::v3::fractional_percent::DenominatorType;
use envoy_types::pb::google::protobuf::{BoolValue, Duration, Struct, UInt32Value, Value, value};
use keyward_resource::ObjectRef;
use keyward_resource::kinds::options::RegexRewrite;

/// The key in `filter_metadata` under which everything generated says where it comes from.
const ORIGIN: &str = "keyward.io";

/// Everything dynamic comes from here. There is one function because Envoy takes two config sources
/// that differ in any byte for two subscriptions, and the second of them never gets an answer.
///
/// No timeout: a listener that stops waiting for its routes or for its filter would start to answer
/// with errors, or without the filter; until then the port is closed, which every client understands.
pub(super) fn ads() -> ConfigSource {
    ConfigSource {
        initial_fetch_timeout: Some(Duration { seconds: 0, nanos: 0 }),
        resource_api_version: ApiVersion::V3.into(),
        config_source_specifier: Some(ConfigSourceSpecifier::Ads(AggregatedConfigSource {})),
        ..ConfigSource::default()
    }
}

/// Where something comes from.
pub(super) fn origin(kind: &str, object: &ObjectRef) -> Metadata {
    let text = |text: &str| Value { kind: Some(value::Kind::StringValue(text.to_owned())) };
    let fields = HashMap::from([
        ("kind".to_owned(), text(kind)),
        ("namespace".to_owned(), text(&object.namespace)),
        ("name".to_owned(), text(&object.name)),
    ]);
    Metadata {
        filter_metadata: HashMap::from([(ORIGIN.to_owned(), Struct { fields })]),
        ..Metadata::default()
    }
}

/// A TCP address to listen on or to connect to.
pub(super) fn tcp(host: String, port: u16) -> Address {
    let address = SocketAddress {
        address: host,
        port_specifier: Some(PortSpecifier::PortValue(port.into())),
        ..SocketAddress::default()
    };
    Address { address: Some(address::Address::SocketAddress(address)) }
}

/// An address to listen on: `::` takes IPv4 as well.
pub(super) fn bind(address: SocketAddr) -> Address {
    let mut bind = tcp(address.ip().to_string(), address.port());
    if let (IpAddr::V6(ip), Some(address::Address::SocketAddress(socket))) = (address.ip(), &mut bind.address)
    {
        socket.ipv4_compat = ip.is_unspecified();
    }
    bind
}

/// `true`, where Envoy tells it from "not said".
pub(super) fn yes() -> Option<BoolValue> {
    Some(BoolValue { value: true })
}

/// `false`, where Envoy tells it from "not said".
pub(super) fn no() -> Option<BoolValue> {
    Some(BoolValue { value: false })
}

/// A duration.
pub(super) fn seconds(seconds: i64) -> Option<Duration> {
    Some(Duration { seconds, nanos: 0 })
}

/// A number, where Envoy tells it from "not said".
pub(super) fn count(value: u32) -> Option<UInt32Value> {
    Some(UInt32Value { value })
}

/// A duration; one that Envoy cannot hold is as long as it can.
pub(super) fn duration(duration: std::time::Duration) -> Duration {
    /// The longest of a protobuf duration: 10,000 years.
    const MAX_SECONDS: i64 = 315_576_000_000;
    let seconds = i64::try_from(duration.as_secs()).unwrap_or(MAX_SECONDS).min(MAX_SECONDS);
    let nanos = i32::try_from(duration.subsec_nanos()).unwrap_or(0);
    Duration { seconds, nanos }
}

/// A regular expression; it has to match all of the text.
///
/// Validation has seen to its size. How large it may be Envoy reads in its runtime, which the bootstrap
/// sets: what an expression could say itself is deprecated, and Envoy warns of each that does.
pub(super) fn regex(regex: &str) -> RegexMatcher {
    RegexMatcher { regex: regex.to_owned(), engine_type: None }
}

/// What a regular expression matches is replaced.
pub(super) fn regex_rewrite(rewrite: &RegexRewrite) -> RegexMatchAndSubstitute {
    RegexMatchAndSubstitute {
        pattern: Some(regex(&rewrite.regex)),
        substitution: rewrite.substitution.clone(),
    }
}

/// A share in millionths.
pub(super) fn per_million(numerator: u32) -> FractionalPercent {
    FractionalPercent { numerator, denominator: DenominatorType::Million.into() }
}
