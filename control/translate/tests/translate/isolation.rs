//! Whatever is broken, everything else is served exactly as without it.

use std::collections::BTreeMap;

use keyward_filter_core::config::without_list;
use keyward_resource::kinds::options::AllowList;
use keyward_resource::kinds::ssl::SslSource;
use keyward_resource::{Meta, ObjectKey, Report, State};
use keyward_translate::proxy::{Auth, Cluster, Listener, VirtualHost};
use keyward_translate::{Input, LastGood, Output, translate};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::changes::{
    CONFIGS, Change, GATEWAYS, GROUPS, NAMESPACES, OPTIONS, SECRETS, SERVICES, TABLES, UPSTREAMS, any_change,
    apply, built, gateways, remove,
};
use crate::support::{Put, settings};

/// How an object breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Break {
    /// It is gone.
    Goes,
    /// A proxy has refused it.
    Withheld,
    /// It cannot be read.
    Unreadable,
}

/// What is served of an object.
#[derive(Debug, PartialEq)]
enum Thing<'o> {
    Host(&'o VirtualHost),
    /// Without what is served there.
    Listener(Box<Listener>),
    Cluster(&'o Cluster),
}

/// A proxy, a listener or none, and the name of what is there.
type Place<'o> = (&'o str, &'o str, &'o str);

/// The objects that there may be.
const KINDS: [(&str, &[&str], &[&str]); 10] = [
    ("AuthConfig", &["default"], &CONFIGS),
    ("Gateway", &NAMESPACES, &GATEWAYS),
    ("RouteOption", &["default"], &OPTIONS),
    ("RouteTable", &["default"], &TABLES),
    ("Secret", &["default"], &SECRETS),
    ("Settings", &NAMESPACES, &["default", "other"]),
    ("Upstream", &["default"], &UPSTREAMS),
    ("UpstreamGroup", &["default"], &GROUPS),
    ("VirtualHostOption", &["default"], &OPTIONS),
    ("VirtualService", &["default"], &SERVICES),
];

/// All of them.
fn all_objects() -> Vec<ObjectKey> {
    let of = |(kind, namespaces, names): (&'static str, &[&str], &[&str])| -> Vec<ObjectKey> {
        let names = |namespace: &&str| -> Vec<ObjectKey> {
            names.iter().map(|name| ObjectKey::new(kind, *namespace, *name)).collect()
        };
        namespaces.iter().flat_map(names).collect()
    };
    KINDS.into_iter().flat_map(of).collect()
}

fn exists(object: &ObjectKey, input: &Input) -> bool {
    let mut without = input.clone();
    remove(object, &mut without);
    without != *input
}

fn shatter(object: &ObjectKey, how: Break, input: &mut Input) {
    if how != Break::Withheld {
        remove(object, input);
    }
    if how != Break::Goes {
        input.withheld.insert(object.clone());
    }
}

/// The kind and the metadata of the object in a change.
fn meta_of(change: &mut Change) -> Option<(&'static str, &mut Meta)> {
    Some(match change {
        Change::Service(one) => ("VirtualService", &mut one.meta),
        Change::Table(one) => ("RouteTable", &mut one.meta),
        Change::HostOption(one) => ("VirtualHostOption", &mut one.meta),
        Change::RouteOption(one) => ("RouteOption", &mut one.meta),
        Change::Auth(one) => ("AuthConfig", &mut one.meta),
        Change::Gateway(one) => ("Gateway", &mut one.meta),
        Change::Group(one) => ("UpstreamGroup", &mut one.meta),
        Change::Settings(one) => ("Settings", &mut one.meta),
        Change::Upstream(_) | Change::Secrets(_) | Change::Gone(..) | Change::Withhold(..) => return None,
    })
}

/// Puts another content into an object that is there. It stays as old as it is.
fn edit(mut change: Change, input: &mut Input) -> Option<ObjectKey> {
    let (kind, meta) = meta_of(&mut change)?;
    let one = meta.object_ref();
    let known = match kind {
        "VirtualService" => &input.virtual_services.get(&one)?.meta,
        "RouteTable" => &input.route_tables.get(&one)?.meta,
        "VirtualHostOption" => &input.virtual_host_options.get(&one)?.meta,
        "RouteOption" => &input.route_options.get(&one)?.meta,
        "AuthConfig" => &input.auth_configs.get(&one)?.meta,
        "Gateway" => &input.gateways.get(&one)?.meta,
        "UpstreamGroup" => &input.upstream_groups.get(&one)?.meta,
        _ => &input.settings.get(&one)?.meta,
    };
    let labels = std::mem::take(&mut meta.labels);
    *meta = Meta { labels, resource_version: 1_000, generation: 2, ..known.clone() };
    apply(&change, input);
    Some(ObjectKey::new(kind, one.namespace, one.name))
}

/// Objects none of which is rejected, and what is served of them.
fn valid(mut input: Input) -> (Input, Output) {
    input.withheld.clear();
    loop {
        let output = translate(&input, &settings(), &LastGood::default());
        let rejected = output.reports.iter().filter(|(_, report)| report.state == State::Rejected);
        let rejected: Vec<ObjectKey> = rejected.map(|(object, _)| object.clone()).collect();
        if rejected.is_empty() {
            return (input, output);
        }
        rejected.iter().for_each(|object| remove(object, &mut input));
    }
}

/// Everything that is served and has to do with an object only where that is said.
fn things(output: &Output) -> BTreeMap<Place<'_>, Thing<'_>> {
    let mut things = BTreeMap::new();
    for (role, proxy) in &output.proxies {
        for listener in &proxy.listeners {
            let alone = Listener { chains: Vec::new(), ..listener.clone() };
            things.insert((role.as_str(), listener.name.as_str(), ""), Thing::Listener(Box::new(alone)));
            for host in listener.virtual_hosts() {
                things.insert((role.as_str(), listener.name.as_str(), host.name.as_str()), Thing::Host(host));
            }
        }
        let clusters = proxy.clusters.iter();
        things.extend(
            clusters.map(|(name, cluster)| ((role.as_str(), "", name.as_str()), Thing::Cluster(cluster))),
        );
    }
    things
}

/// The listeners that come from no object.
fn defaults(output: &Output) -> Vec<&str> {
    let listeners = output.proxies.values().flat_map(|proxy| &proxy.listeners);
    listeners.filter(|one| one.gateway.is_none()).map(|one| one.name.as_str()).collect()
}

/// Whether a virtual host is served with an object.
fn is_made_of(host: &VirtualHost, object: &ObjectKey, input: &Input) -> bool {
    let reference = object.object_ref();
    let cluster = format!("{}_{}", reference.name, reference.namespace);
    let service = input.virtual_services.get(&host.virtual_service);
    let ssl = service.and_then(|service| service.ssl_config.as_ref());
    host.made_from.contains(object)
        // A route is closed for what it asks for together with another object.
        || host.routes.iter().any(|route| matches!(&route.auth, Auth::Denied { auth_id, .. } if auth_id.starts_with('!')))
        || match object.kind {
            "VirtualService" => host.virtual_service == reference,
            "Secret" => ssl.is_some_and(|ssl| ssl.source == SslSource::Secret(reference.clone())),
            "Upstream" => host.routes.iter().any(|route| route.action.clusters().any(|to| to == cluster)),
            "AuthConfig" => host.auth_ids().any(|auth_id| without_list(auth_id) == reference.to_string()),
            _ => false,
        }
}

/// Whether what is served at a place comes from an object.
fn is_of(place: &Place<'_>, thing: &Thing<'_>, object: &ObjectKey, before: &Output, input: &Input) -> bool {
    let reference = object.object_ref();
    let listeners = &before.proxies[place.0].listeners;
    let listener = listeners.iter().find(|listener| listener.name == place.1);
    // There is no proxy without a gateway.
    let mut all = listeners.iter().filter(|one| place.1.is_empty() || one.name == place.1);
    let of_gateway = object.kind == "Gateway" && all.all(|one| one.gateway.as_ref() == Some(&reference));
    of_gateway
        || match thing {
            Thing::Host(host) => is_made_of(host, object, input),
            // Without a certificate to show there is no listener with TLS.
            Thing::Listener(_) => listener.is_some_and(|one| {
                one.chains.iter().all(|chain| chain.tls.is_some())
                    && one.virtual_hosts().all(|host| is_made_of(host, object, input))
            }),
            Thing::Cluster(cluster) => object.kind == "Upstream" && cluster.upstream == reference,
        }
}

/// Whether it decides about everything.
fn counts(object: &ObjectKey) -> bool {
    object.kind == "Settings" && object.namespace == "keyward-system" && object.name == "default"
}

fn is_rejected(output: &Output, object: &ObjectKey) -> bool {
    output.reports.get(object).is_some_and(|report| report.state == State::Rejected)
}

/// Whether it is rejected for what policies and routes say of headers, or for overriding authentication:
/// there it is not asked who was served before.
fn is_by_rule(report: &Report) -> bool {
    const RULES: [&str; 4] =
        ["what a policy sets", "what authentication adds", "a key must not get", "stays in force"];
    let by_rule = |reason: &String| RULES.iter().any(|rule| reason.contains(rule));
    report.state == State::Rejected && report.reasons.iter().any(by_rule)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever valid objects there are, of any age, and whatever of them turns bad or goes: who is not
    /// served with it is served as before, to the last byte, whether or not it is remembered what was good
    /// before.
    ///
    /// Two objects concern others by what they are. The Settings that count hold for everybody, so without
    /// them other rules hold; where it is remembered what they said, nothing changes. And where the last
    /// Gateway goes that stood in the place of a default one, that one comes back and serves everybody: who
    /// does not go together there is rejected, and goes on elsewhere if it is remembered that it was served.
    #[test]
    fn a_broken_object_of_any_kind_changes_only_what_is_made_of_it(
        changes in prop::collection::vec(any_change(), 1..30), broken in any::<Index>(),
        how in select(&[Break::Goes, Break::Withheld, Break::Unreadable][..]), remembers in any::<bool>(),
    ) {
        let (input, output) = valid(built(&changes));
        let there: Vec<ObjectKey> = all_objects().into_iter().filter(|object| exists(object, &input)).collect();
        prop_assume!(!there.is_empty());
        let broken = broken.get(&there);
        let mut shattered = input.clone();
        shatter(broken, how, &mut shattered);
        let last_good = if remembers { output.last_good.clone() } else { LastGood::default() };
        let after = translate(&shattered, &settings(), &last_good);
        if counts(broken) {
            if remembers && how != Break::Goes {
                prop_assert_eq!(&output.proxies, &after.proxies);
            }
            return Ok(());
        }
        let known = defaults(&output);
        let is_back = defaults(&after).iter().any(|name| !known.contains(name));
        let more = after.reports.iter().any(|(object, report)| object != broken && report.state == State::Rejected);
        let by_rule = after.reports.iter().any(|(_, report)| is_by_rule(report));
        if broken.kind == "Gateway" && is_back && more && (by_rule || !remembers) {
            return Ok(());
        }
        let served = things(&after);
        for (place, thing) in things(&output).iter().filter(|(place, thing)| !is_of(place, thing, broken, &output, &input)) {
            prop_assert_eq!(Some(thing), served.get(place), "{} is broken", broken);
        }
    }

    /// One that cannot be read and was never served changes nothing but what asks for it.
    #[test]
    fn an_unreadable_newcomer_changes_only_what_asks_for_it(
        changes in prop::collection::vec(any_change(), 1..30), broken in select(all_objects()), remembers in any::<bool>(),
    ) {
        let (input, output) = valid(built(&changes));
        prop_assume!(!exists(&broken, &input));
        let mut shattered = input.clone();
        shatter(&broken, Break::Unreadable, &mut shattered);
        let last_good = if remembers { output.last_good.clone() } else { LastGood::default() };
        let after = translate(&shattered, &settings(), &last_good);
        // Who asks for options that nobody can read is closed, or lets nobody pass who is not on their list.
        let asks = |host: &VirtualHost| host.routes.iter().any(|route| match &route.auth {
            Auth::Denied { auth_id, .. } => auth_id.starts_with('!'),
            Auth::Secured { allowed, .. } => *allowed == Some(AllowList::default()),
            _ => false,
        });
        let served = things(&after);
        let before = things(&output);
        prop_assert_eq!(before.keys().collect::<Vec<_>>(), served.keys().collect::<Vec<_>>());
        for (place, thing) in &before {
            let named = match served.get(place) {
                Some(Thing::Host(host)) => asks(host) || is_made_of(host, &broken, &input),
                _ => false,
            };
            prop_assert!(named || Some(thing) == served.get(place), "{}: {:?}", broken, served.get(place));
        }
    }

    /// Whatever an object of whatever age is changed to: if that is rejected, everything is served as before,
    /// what is served of the object itself included. Only a policy denies then, and a table that may not
    /// override authentication is served without that. And if it is not rejected, nobody else is for it but
    /// such a table, and where policies and headers do not go together: there age decides, also when the
    /// older one was changed.
    #[test]
    fn a_change_that_is_rejected_changes_nothing(
        changes in prop::collection::vec(any_change(), 1..30), edits in prop::collection::vec(any_change(), 12),
    ) {
        let (input, output) = valid(built(&changes));
        let mut changed = input.clone();
        // The first of them that changes something.
        let edited = edits.into_iter().find_map(|change| edit(change, &mut changed));
        let Some(edited) = edited else { return Err(TestCaseError::reject("nothing is changed")) };
        let after = translate(&changed, &settings(), &output.last_good);
        if counts(&edited) {
            return Ok(());
        }
        let is_by_rule = after.reports.iter().any(|(_, report)| is_by_rule(report));
        let is_rejected = is_rejected(&after, &edited);
        let denies = edited.kind == "AuthConfig" || is_by_rule;
        let (known, stays) = (defaults(&output), defaults(&after));
        let served = things(&after);
        for (place, thing) in &things(&output) {
            let made_of_it = match served.get(place) {
                Some(Thing::Host(host)) => is_made_of(host, &edited, &changed),
                _ => false,
            } || is_of(place, thing, &edited, &output, &input);
            let own = (!is_rejected || denies) && made_of_it;
            let by_rule = !is_rejected && is_by_rule;
            // By another Gateway in its place.
            let is_default = known.contains(&place.1) && !stays.contains(&place.1);
            let replaced = edited.kind == "Gateway" && !is_rejected && is_default;
            let is_same = Some(thing) == served.get(place);
            prop_assert!(own || by_rule || replaced || is_same, "{}: {:?}", edited, served.get(place));
        }
        let others = after.reports.iter().filter(|(object, _)| **object != edited && edited.kind != "Gateway");
        for (object, report) in others.filter(|(_, report)| report.state == State::Rejected) {
            prop_assert!(self::is_by_rule(report), "{} for {}: {:?}", object, edited, report);
        }
    }

    /// A Gateway that asks for what another one has, or for a port of ours, changes nothing, however old it
    /// is if it is known who had what before.
    #[test]
    fn a_rejected_gateway_changes_nothing(
        changes in prop::collection::vec(any_change(), 1..30), mut gateway in gateways(), remembers in any::<bool>(),
    ) {
        let (mut input, output) = valid(built(&changes));
        gateway.meta.name = "newcomer".to_owned();
        if !remembers {
            (gateway.meta.created, gateway.meta.creation_timestamp) = (1_000, String::new());
            for known in input.gateways.values_mut() {
                let meta = &mut std::sync::Arc::make_mut(known).meta;
                meta.created = meta.created.max(1);
            }
        }
        let before = translate(&input, &settings(), &LastGood::default());
        let key = ObjectKey::new("Gateway", &gateway.meta.namespace, &gateway.meta.name);
        gateway.put(&mut input);
        let last_good = if remembers { output.last_good } else { LastGood::default() };
        let after = translate(&input, &settings(), &last_good);
        if is_rejected(&after, &key) {
            prop_assert_eq!(before.proxies, after.proxies);
        } else {
            let others = after.reports.iter().filter(|(object, _)| object.kind == "Gateway" && **object != key);
            for (object, report) in others {
                prop_assert!(report.state != State::Rejected, "{}: {:?}", object, report);
            }
        }
    }
}
