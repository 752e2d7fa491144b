//! Cross-origin requests: what a route says, and what it inherits from its virtual host.

use keyward_resource::kinds::options::{Cors, CorsMerge};

use super::Compiler;
use super::walk::Place;

/// What holds of a route that says something of its own: what it leaves open is as its virtual host
/// says, part by part. Tells what is not inherited.
fn filled(own: &Cors, host: &Cors, merge: CorsMerge) -> (Cors, Option<&'static str>) {
    let mut cors = own.clone();
    // Both are about origins: a route that names some does not allow others by expression.
    if !own.allows_any() {
        cors.allow_origin.clone_from(&host.allow_origin);
        cors.allow_origin_regex.clone_from(&host.allow_origin_regex);
    }
    for (list, of_host) in [
        (&mut cors.allow_methods, &host.allow_methods),
        (&mut cors.allow_headers, &host.allow_headers),
        (&mut cors.expose_headers, &host.expose_headers),
    ] {
        if list.is_empty() {
            list.clone_from(of_host);
        }
    }
    if merge.union_of_expose_headers {
        let more = cors.expose_headers.iter().filter(|name| !host.expose_headers.contains(name));
        cors.expose_headers = host.expose_headers.iter().chain(more).cloned().collect();
    }
    cors.max_age = own.max_age.or(host.max_age);
    let inherits = own.allow_credentials.is_none() && host.allow_credentials == Some(true);
    if inherits && own.allows_all() {
        // Each was right where it was written; together they would give away what visitors may see.
        let why = "cors.allowCredentials of the virtual host is not inherited: this route allows all origins";
        return (cors, Some(why));
    }
    cors.allow_credentials = own.allow_credentials.or(host.allow_credentials);
    (cors, None)
}

// === impl Compiler ===

impl Compiler<'_> {
    /// How cross-origin requests of a route are answered; none if they are not treated.
    pub(super) fn cors(&mut self, place: &Place<'_>, own: Option<&Cors>, label: &str) -> Option<Cors> {
        let host = self.options.cors.as_ref();
        let Some(own) = own else { return host.cloned() };
        if own.disable_for_route {
            return None;
        }
        let merge = self.options.cors_merge.unwrap_or_default();
        let (cors, problem) = host.map_or_else(|| (own.clone(), None), |host| filled(own, host, merge));
        self.check_exposed(place.owner, Some(own), label);
        if let Some(problem) = problem {
            self.warn(place.owner, format!("{label}: {problem}"));
        }
        if !cors.allows_any() {
            let what = "cors allows no origin: give allowOrigin or allowOriginRegex";
            self.warn(place.owner, format!("{label}: {what}"));
        }
        Some(cors)
    }
}
