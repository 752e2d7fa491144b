//! Where a route leads.

use crate::explanation::Upstream;
use crate::served::{Action, Route, Served};

/// What is at the end of a route.
pub(crate) enum End {
    /// One of these gets the request.
    Upstreams(Vec<Upstream>),
    /// The gateway answers itself.
    Answer(u16, &'static str),
    /// That is not known.
    Untold(String),
}

/// Where a route leads.
pub(crate) fn end(served: &Served, route: &Route) -> End {
    let forward = match route.action() {
        Action::Redirect(status) => return End::Answer(status, "redirect"),
        Action::Respond(status) => return End::Answer(status, "direct response"),
        Action::Unknown => return End::Untold("what the route does is not known".to_owned()),
        Action::Forward(forward) => forward,
    };
    let Some(clusters) = forward.clusters() else {
        return End::Untold("to where the route leads is not known".to_owned());
    };
    let upstreams = clusters.into_iter().map(|(name, weight)| {
        let cluster = served.cluster(name);
        Upstream {
            cluster: name.to_owned(),
            upstream: cluster.and_then(|cluster| cluster.metadata.origin()).map(|origin| origin.to_string()),
            weight,
            hosts: cluster.map_or(0, |cluster| served.hosts(cluster)),
        }
    });
    End::Upstreams(upstreams.collect())
}

/// An upstream in words.
pub(crate) fn describe(upstream: &Upstream, total: u32) -> String {
    let Upstream { cluster, upstream, weight, hosts } = upstream;
    let share = if total > *weight { format!("{weight} of {total}: ") } else { String::new() };
    match (upstream, hosts) {
        (None, _) => format!("{share}there is no upstream {cluster}"),
        (Some(upstream), 0) => format!("{share}{upstream} ({cluster}), which has no hosts"),
        (Some(upstream), 1) => format!("{share}{upstream} ({cluster}, 1 host)"),
        (Some(upstream), hosts) => format!("{share}{upstream} ({cluster}, {hosts} hosts)"),
    }
}
