//! The mark on requests to what may be the REST API.

use envoy_types::pb::envoy::config::common::mutation_rules::v3::HeaderMutation;
use envoy_types::pb::envoy::config::common::mutation_rules::v3::header_mutation::Action;
use envoy_types::pb::envoy::config::core::v3::header_value_option::HeaderAppendAction;
use envoy_types::pb::envoy::config::core::v3::{HeaderValue, HeaderValueOption};
use envoy_types::pb::envoy::extensions::filters::http::header_mutation::v3::{
    HeaderMutation as HeaderMutationFilter, Mutations,
};
use envoy_types::pb::envoy::extensions::filters::http::upstream_codec::v3::UpstreamCodec;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::HttpFilter;

use super::super::{encode, http_filters};
use crate::own::GATEWAY_MARK;

/// A name of its own: what a route says to filters, it says by their names.
const MARK_NAME: &str = "keyward.gateway_mark";
const CODEC_NAME: &str = "envoy.filters.http.upstream_codec";

/// Filters that run behind the router, and so behind everything that a route does to headers: what they
/// set cannot be taken away. Envoy wants the codec last.
pub(super) fn filters() -> Vec<HttpFilter> {
    let header =
        HeaderValue { key: GATEWAY_MARK.to_owned(), value: "1".to_owned(), ..HeaderValue::default() };
    let set = HeaderValueOption {
        header: Some(header),
        append_action: HeaderAppendAction::OverwriteIfExistsOrAdd.into(),
        ..HeaderValueOption::default()
    };
    let mutations = Mutations {
        request_mutations: vec![HeaderMutation { action: Some(Action::Append(set)) }],
        ..Mutations::default()
    };
    let mark = HeaderMutationFilter { mutations: Some(mutations), ..HeaderMutationFilter::default() };
    vec![
        http_filters::native(MARK_NAME, encode::any(&mark)),
        http_filters::native(CODEC_NAME, encode::any(&UpstreamCodec {})),
    ]
}
