//! Discovery: which groups, versions and resources there are.
//!
//! ```text
//! /api  /apis                    groups, or everything at once where a client takes it aggregated
//! /apis/{group}                  its versions
//! /api/v1  /apis/{group}/{v}     its resources
//! /version  /                    what answers here, and where
//! ```
//!
//! The original product's groups stand behind our own, and have short names and a category of their
//! own: a client that is asked for `vs` or for all of `keyward` meets each object once, under our names;
//! one that is asked for `gvs` or for all of `gloo-gateway` meets it once under the original's; and one
//! that is asked for a bare plural takes the first group that has it.

mod aggregated;
mod catalogue;
mod plain;
mod version;

use std::sync::LazyLock;

use axum::response::Response;
use serde_json::json;

use self::aggregated::Form as Aggregated;
use self::catalogue::Catalogue;
use crate::accept::Accept;
use crate::dispatch::Lookup;
use crate::document::Document;

/// What there is: the kinds are known when the program starts.
static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(Catalogue::new);

/// Answers `/api`, `/apis`, everything below them that is no resource, and `/version`.
pub(crate) fn answer(lookup: &Lookup<'_>) -> Option<Response> {
    let path = lookup.path.trim_end_matches('/');
    let document = document(path, &Accept::of(lookup.headers), lookup.beside)?;
    Some(document.answer(lookup.headers, None))
}

fn document(path: &str, accept: &Accept, beside: &[&str]) -> Option<Document> {
    let catalogue = &*CATALOGUE;
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    let plain = |value| Some(Document::json("application/json", &value));
    match segments.as_slice() {
        [] => plain(json!({ "paths": paths(catalogue, beside) })),
        ["version"] => plain(version::value()),
        ["api"] => match Aggregated::wanted(accept) {
            Some(form) => Some(form.document(catalogue.core())),
            None => plain(plain::core_versions()),
        },
        ["apis"] => match Aggregated::wanted(accept) {
            Some(form) => Some(form.document(catalogue.named())),
            None => plain(plain::groups(catalogue.named())),
        },
        ["api", version] => plain(plain::resources(catalogue.version("", version)?)),
        ["apis", group] => plain(plain::group(catalogue.group(group)?)),
        ["apis", group, version] => plain(plain::resources(catalogue.version(group, version)?)),
        _ => None,
    }
}

/// Every path that answers something of its own.
fn paths(catalogue: &Catalogue, beside: &[&str]) -> Vec<String> {
    let groups = catalogue.named().iter().map(|group| format!("/apis/{}", group.name));
    let versions = catalogue.versions().map(|version| format!("/{}", version.path()));
    let mut paths: Vec<String> = groups.chain(versions).collect();
    paths.extend(
        ["/api", "/apis", "/healthz", "/openapi/v2", "/openapi/v3", "/readyz", "/version"].map(str::to_owned),
    );
    paths.extend(beside.iter().map(|path| (*path).to_owned()));
    paths.sort_unstable();
    paths
}

#[cfg(test)]
mod tests;
