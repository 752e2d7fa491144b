//! Finds routes that count on a header which never gets there: the host of the upstream is not rewritten
//! then, any endpoint is chosen, and a browser finds nothing to show.

use keyward_resource::ObjectKey;
use keyward_resource::kinds::options::{Cors, HashSource, HeaderManipulation, HostRewrite, RouteOptions};

use super::super::headers::folded;
use super::Compiler;
use super::walk::Place;
use crate::proxy::Auth;

// === impl Compiler ===

impl Compiler<'_> {
    /// Says so of a route that forwards.
    pub(super) fn check_headers(
        &mut self,
        place: &Place<'_>,
        options: &RouteOptions,
        auth: &Auth,
        label: &str,
    ) {
        let rewrite = match &options.host_rewrite {
            Some(HostRewrite::Header(header)) => Some(("hostRewriteHeader".to_owned(), header)),
            _ => None,
        };
        let hashes = options.lb_hash.iter().flatten().enumerate().filter_map(|(index, policy)| {
            let HashSource::Header(header) = &policy.source else { return None };
            Some((format!("lbHash.hashPolicies[{index}]"), header))
        });
        for (what, header) in rewrite.into_iter().chain(hashes) {
            if let Some(why) = self.never_there(header, options.header_manipulation.as_ref(), auth) {
                let reason = format!("{label}: {what} has no effect: header {header} is {why}");
                self.warn(place.owner, reason);
            }
        }
    }

    /// Says so of headers that scripts are to see.
    pub(super) fn check_exposed(&mut self, owner: &ObjectKey, cors: Option<&Cors>, label: &str) {
        let identity = folded(&self.known.settings.identity_header);
        for header in cors.into_iter().flat_map(|cors| &cors.expose_headers) {
            if folded(&header.to_ascii_lowercase()) == identity {
                let why = "it is taken out of every answer";
                let reason = format!("{label}: cors.exposeHeaders has no effect for header {header}: {why}");
                self.warn(owner, reason);
            }
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
