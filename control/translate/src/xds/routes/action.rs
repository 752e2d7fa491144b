//! What becomes of a request.

use envoy_types::pb::envoy::config::core::v3::DataSource;
use envoy_types::pb::envoy::config::core::v3::data_source::Specifier;
use envoy_types::pb::envoy::config::route::v3::redirect_action::{
    PathRewriteSpecifier, RedirectResponseCode, SchemeRewriteSpecifier,
};
use envoy_types::pb::envoy::config::route::v3::route::Action as ActionMessage;
use envoy_types::pb::envoy::config::route::v3::{DirectResponseAction, RedirectAction};
use keyward_resource::kinds::route::{DirectResponse, Redirect, RedirectCode, RedirectPath};

use super::super::common;
use super::forward;
use crate::proxy::Action;

pub(super) fn action(action: &Action) -> ActionMessage {
    match action {
        Action::Forward(forward) => ActionMessage::Route(forward::route_action(forward)),
        Action::Redirect(redirect) => ActionMessage::Redirect(redirect_action(redirect)),
        Action::DirectResponse(response) => ActionMessage::DirectResponse(direct_response(response)),
    }
}

fn redirect_action(redirect: &Redirect) -> RedirectAction {
    let path = redirect.path.as_ref().map(|path| match path {
        RedirectPath::Path(path) => PathRewriteSpecifier::PathRedirect(path.clone()),
        RedirectPath::Prefix(prefix) => PathRewriteSpecifier::PrefixRewrite(prefix.clone()),
        RedirectPath::Regex(rewrite) => PathRewriteSpecifier::RegexRewrite(common::regex_rewrite(rewrite)),
    });
    RedirectAction {
        host_redirect: redirect.host.clone().unwrap_or_default(),
        port_redirect: redirect.port.map_or(0, u32::from),
        response_code: code(redirect.code).into(),
        strip_query: redirect.strip_query,
        scheme_rewrite_specifier: redirect.https.then_some(SchemeRewriteSpecifier::HttpsRedirect(true)),
        path_rewrite_specifier: path,
    }
}

fn code(code: RedirectCode) -> RedirectResponseCode {
    match code {
        RedirectCode::MovedPermanently => RedirectResponseCode::MovedPermanently,
        RedirectCode::Found => RedirectResponseCode::Found,
        RedirectCode::SeeOther => RedirectResponseCode::SeeOther,
        RedirectCode::TemporaryRedirect => RedirectResponseCode::TemporaryRedirect,
        RedirectCode::PermanentRedirect => RedirectResponseCode::PermanentRedirect,
    }
}

fn direct_response(response: &DirectResponse) -> DirectResponseAction {
    let body = (!response.body.is_empty()).then(|| DataSource {
        specifier: Some(Specifier::InlineString(response.body.clone())),
        ..DataSource::default()
    });
    DirectResponseAction { status: response.status.into(), body, ..DirectResponseAction::default() }
}
