//! Finds routes that take the host from a header which never gets there: the client's host would stay.

use keyward_resource::kinds::options::{HeaderManipulation, HostRewrite, RouteOptions};

use super::super::headers::folded;
use super::Compiler;
use super::walk::Place;
use crate::proxy::Auth;

// === impl Compiler ===

impl Compiler<'_> {
    /// Says so of a route that forwards.
    pub(super) fn check_host_header(
        &mut self,
        place: &Place<'_>,
        options: &RouteOptions,
        auth: &Auth,
        label: &str,
    ) {
        let Some(HostRewrite::Header(header)) = &options.host_rewrite else { return };
        if let Some(why) = self.never_there(header, options.header_manipulation.as_ref(), auth) {
            let what = "hostRewriteHeader has no effect";
            self.warn(place.owner, format!("{label}: {what}: header {header} is {why}"));
        }
    }

    /// Why a header is not in any request that is forwarded.
    fn never_there(
        &self,
        header: &str,
        own: Option<&HeaderManipulation>,
        auth: &Auth,
    ) -> Option<&'static str> {
        let steps = self.known.auth_configs.steps(auth);
        let identity = &self.known.settings.identity_header;
        let told = || steps.iter().flat_map(|step| &step.headers).map(|told| &told.header);
        let secured = matches!(auth, Auth::Secured { .. });
        let sets_it = secured && told().chain([identity]).any(|set| set == header);
        if told().chain([identity]).any(|set| folded(set) == folded(header)) && !sets_it {
            return Some("taken out of every request, and authentication does not set it here");
        }
        if steps.iter().any(|step| !step.forward_key && step.key_header == header) {
            return Some("taken out of a request with a valid key");
        }
        let lists = || own.into_iter().chain(&self.options.header_manipulation);
        let removed = lists().any(|headers| headers.request_remove.iter().any(|name| name == header));
        let added = lists().any(|headers| headers.request_add.iter().any(|add| add.name == header));
        (removed && !added).then_some("removed by headerManipulation before")
    }
}
