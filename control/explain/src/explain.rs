//! The whole way of a request, told step by step.

use keyward_filter_core::config::{DEFAULT_KEY_HEADER, FilterConfig, Policy, auth_id_of_route, without_list};
use keyward_filter_core::place::{Place, PlaceRef};

use crate::entry::{self, Connection, Entry, EntryError};
use crate::explanation::{Explanation, Fault, Step, Verdict};
use crate::filters::{self, Stage, Stop};
use crate::headers::Headers;
use crate::host::{self, Found};
use crate::judge::{self, Scene};
use crate::keys::{Keys, Lookups};
use crate::path::{self, Normalised};
use crate::request::Request;
use crate::routing::{self, Selected, Selection};
use crate::served::{Action, Listener, Manager, RouteConfiguration, Served, StringMatcher, Upgrade};
use crate::tell::{
    CLOSED, key_line, meaning, route, say, shown, tell_chain, tell_host, tell_passed_over, tell_route,
    virtual_host,
};
use crate::text::{Fit, matches};
use crate::upstream::{self, End};

/// The virtual host of domains that are served on other connections.
const MISDIRECTED: &str = "misdirected";

/// The way of a request up to where keys count.
pub struct Plan<'a> {
    served: &'a Served,
    listener: &'a Listener,
    filter: Option<FilterConfig>,
    steps: Vec<Step>,
    way: Way<'a>,
}

/// How far it goes without them.
enum Way<'a> {
    /// It ends here.
    Ends { verdict: Verdict, reason: &'static str, status: Option<u16> },
    /// It ends here, for nobody knows what Envoy does.
    Untold,
    /// It ends in a virtual host that has no route for it.
    NoRoute(Found<'a>),
    /// It has a route.
    Goes { manager: Box<Manager>, routes: &'a RouteConfiguration, selection: Selection<'a>, headers: Headers },
}

/// Follows a request as far as one comes without keys.
///
/// # Errors
///
/// When it is not clear where the request enters.
pub fn plan<'a>(served: &'a Served, entry: &Entry, request: &Request) -> Result<Plan<'a>, EntryError> {
    let listener = entry::listener(served, entry, request.tls.is_some())?;
    let mut steps = Vec::new();
    say(&mut steps, "gateway", entry::describe(listener));
    let filter = served.extension_configs.iter().find_map(|extension| extension.filter_config());
    let (filter, unreadable) = match filter.transpose() {
        Ok(filter) => (filter, None),
        Err(error) => (None, Some(error)),
    };
    let way = match unreadable {
        Some(error) => untold(&mut steps, error.to_string()),
        None => follow(served, listener, request, &mut steps),
    };
    Ok(Plan { served, listener, filter, steps, way })
}

fn untold<'a>(steps: &mut Vec<Step>, why: impl Into<String>) -> Way<'a> {
    say(steps, "verdict", format!("cannot be told: {}", why.into()));
    Way::Untold
}

/// Up to the route.
fn follow<'a>(
    served: &'a Served,
    listener: &'a Listener,
    request: &Request,
    steps: &mut Vec<Step>,
) -> Way<'a> {
    let chain = match entry::connection(listener, request.tls.as_deref()) {
        Connection::Chain(chain) => chain,
        Connection::Untold(why) => return untold(steps, why),
        Connection::Closed(why) => {
            say(steps, "verdict", format!("no route: the connection is closed, as {why}"));
            return Way::Ends { verdict: Verdict::NoRoute, reason: "closed-connection", status: None };
        }
    };
    tell_chain(chain, request, steps);
    let manager = match chain.manager() {
        Some(Ok(manager)) => manager,
        _ => return untold(steps, "the filter chain has no connection manager that is known here"),
    };
    let mut headers = headers_of(request);
    if let Err(why) = strip(&manager, &mut headers, steps) {
        return untold(steps, why);
    }
    let host = if manager.strip_trailing_host_dot {
        host::without_trailing_dot(&request.host)
    } else {
        request.host.clone()
    };
    headers.set(":authority", host.as_bytes());
    match path::normalise(&manager, &request.path) {
        Normalised::Path(path) => {
            if path != request.path {
                say(steps, "path", format!("{} is taken for {}", shown(&request.path), shown(&path)));
            }
            headers.set(":path", path.as_bytes());
        }
        Normalised::Redirect(path) => {
            let to = format!("answered: with 307, to {}, as there are escaped slashes in it", shown(&path));
            say(steps, "verdict", to);
            return Way::Ends { verdict: Verdict::Answered, reason: "escaped-slashes", status: Some(307) };
        }
        Normalised::Refused(why) => {
            say(steps, "verdict", format!("denied: bad-path (400): {why}"));
            return Way::Ends { verdict: Verdict::Denied, reason: "bad-path", status: Some(400) };
        }
        Normalised::Untold(why) => return untold(steps, why),
    }
    let name = &manager.rds.route_config_name;
    let Some(routes) = served.routes(name) else {
        return untold(steps, format!("the routes {name} are not served"));
    };
    match routing::select(routes, &headers) {
        Selected::Route(selection) => {
            tell_host(&selection.found, &headers, steps);
            if selection.found.virtual_host.name == MISDIRECTED {
                say(
                    steps,
                    "verdict",
                    "no route (421): the host is served on connections with another server name",
                );
                return Way::Ends { verdict: Verdict::NoRoute, reason: "misdirected", status: Some(421) };
            }
            tell_route(&selection, steps);
            if let Some(protocol) = refused_upgrade(&manager, &selection, &headers) {
                let why = format!(
                    "denied: upgrade-refused (403): the route does not let connections be {protocol}"
                );
                say(steps, "verdict", why);
                return Way::Ends { verdict: Verdict::Denied, reason: "upgrade-refused", status: Some(403) };
            }
            Way::Goes { manager: Box::new(manager), routes, selection, headers }
        }
        Selected::NoHost => {
            say(
                steps,
                "verdict",
                format!("no route (404): nobody has the host {}", headers.text(":authority")),
            );
            Way::Ends { verdict: Verdict::NoRoute, reason: "no-virtual-host", status: Some(404) }
        }
        Selected::NoRoute(found, passed_over) => {
            tell_host(&found, &headers, steps);
            tell_passed_over(&passed_over, steps);
            say(steps, "verdict", "no route (404): none of the virtual host fits");
            Way::NoRoute(found)
        }
        Selected::Untold(found, why) => {
            tell_host(&found, &headers, steps);
            untold(steps, why)
        }
    }
}

/// The protocol that a request asks for and the route does not allow.
fn refused_upgrade(manager: &Manager, selection: &Selection<'_>, headers: &Headers) -> Option<String> {
    let protocol = headers.first("upgrade").map(|_| headers.text("upgrade"))?;
    let connection = headers.text("connection");
    if !connection.split(',').any(|token| token.trim().eq_ignore_ascii_case("upgrade")) {
        return None;
    }
    let by_route = match selection.route.action() {
        Action::Forward(forward) => forward.upgrades_to(&protocol),
        _ => None,
    };
    let allowed = by_route.or_else(|| Upgrade::of(&manager.upgrade_configs, &protocol));
    (allowed != Some(true)).then_some(protocol)
}

/// The headers as Envoy has them before any filter.
fn headers_of(request: &Request) -> Headers {
    let mut headers = Headers::default();
    let scheme = if request.tls.is_some() { "https" } else { "http" };
    for (name, value) in [
        (":method", request.method.as_str()),
        (":scheme", scheme),
        (":authority", &request.host),
        (":path", &request.path),
    ] {
        headers.add(name, value.as_bytes());
    }
    request.headers().for_each(|(name, value)| headers.add(name, value));
    headers.set("x-forwarded-proto", scheme.as_bytes());
    headers
}

/// Takes off what only authentication sets.
fn strip(manager: &Manager, headers: &mut Headers, steps: &mut Vec<Step>) -> Result<(), String> {
    let mut gone = Vec::new();
    for mutation in manager.early_mutations() {
        if let Some(unknown) = mutation.rest.keys().next() {
            return Err(format!("headers are changed before routing by {unknown}"));
        }
        if let Some(name) = &mutation.remove {
            gone.extend(headers.remove(|other| other == name));
        }
        if let Some(on_match) = &mutation.remove_on_match {
            let matcher: &StringMatcher = &on_match.key_matcher;
            if let Fit::Untold(why) = matches(matcher, b"") {
                return Err(why);
            }
            gone.extend(headers.remove(|other| matches(matcher, other.as_bytes()) == Fit::Yes));
        }
    }
    for name in gone {
        say(steps, "headers", format!("{name} is taken off: only authentication sets it"));
    }
    Ok(())
}

// === impl Plan ===

impl Plan<'_> {
    /// The keys that decide, by the tables that decide about them. A table without any is one of which it
    /// counts whether it is there.
    #[must_use]
    pub fn lookups(&self) -> Lookups {
        match (&self.way, self.policy()) {
            (Way::Goes { headers, .. }, Some((_, Some(policy)))) => judge::lookups(policy, headers),
            _ => Lookups::default(),
        }
    }

    /// Where a key would be looked for first.
    #[must_use]
    pub fn key_place(&self) -> Place {
        let usual = || Place::Header { name: DEFAULT_KEY_HEADER.to_owned(), prefix: None };
        let step = self.policy().and_then(|(_, policy)| policy?.steps.first());
        match step.and_then(|step| step.places().next()) {
            None => usual(),
            Some(PlaceRef::Header(name, prefix)) => {
                Place::Header { name: name.to_owned(), prefix: prefix.map(str::to_owned) }
            }
            Some(PlaceRef::Query(name)) => Place::Query(name.to_owned()),
            Some(PlaceRef::Cookie(name)) => Place::Cookie(name.to_owned()),
        }
    }

    /// Where the listener accepts connections.
    #[must_use]
    pub fn address(&self) -> (&str, u16) {
        self.listener.socket()
    }

    /// The auth id of the route, and what it stands for; none where the route asks for no key.
    fn policy(&self) -> Option<(&str, Option<&Policy>)> {
        let Way::Goes { manager, routes, selection, .. } = &self.way else { return None };
        let stage = Stage { served: self.served, manager, routes, selection };
        if !stage.is_secured() {
            return None;
        }
        let id = auth_id_of_route(selection.route.name.as_bytes())?;
        Some((id, self.filter.as_ref().and_then(|filter| filter.policies.get(id))))
    }

    /// Goes the rest of the way. `now` is in milliseconds since 1970.
    #[must_use]
    pub fn explain(self, keys: &Keys, now: u64) -> Explanation {
        let mut told = Explanation {
            kind: "Explanation",
            api_version: "keyward.io/v1",
            role: self.served.role.clone(),
            configuration: self.served.version.clone(),
            verdict: Verdict::Untold,
            reason: None,
            status: None,
            listener: self.listener.name.clone(),
            gateway: self.listener.metadata.origin().map(|origin| origin.to_string()),
            virtual_host: None,
            route: None,
            auth_config: None,
            keys: Vec::new(),
            identity: None,
            faults: Vec::new(),
            upstreams: Vec::new(),
            steps: Vec::new(),
        };
        if let (Some((id, policy)), Way::Goes { headers, .. }) = (self.policy(), &self.way) {
            told.auth_config = (!id.starts_with(CLOSED)).then(|| without_list(id).to_owned());
            told.keys = policy.map(|policy| judge::seen(policy, keys, headers, now)).unwrap_or_default();
        }
        let Self { served, filter, steps, way, .. } = self;
        told.steps = steps;
        match way {
            Way::Untold => {}
            Way::Ends { verdict, reason, status } => told.ends(verdict, reason, status),
            Way::NoRoute(found) => {
                told.virtual_host = Some(virtual_host(&found));
                told.ends(Verdict::NoRoute, "no-route", Some(404));
            }
            Way::Goes { manager, routes, selection, headers } => {
                told.virtual_host = Some(virtual_host(&selection.found));
                told.route = Some(route(&selection));
                let stage = Stage { served, manager: &manager, routes, selection: &selection };
                told.through(&stage, filter.as_ref(), keys, Scene::new(headers, &selection.route.name, now));
            }
        }
        told
    }
}

// === impl Explanation ===

impl Explanation {
    fn ends(&mut self, verdict: Verdict, reason: &'static str, status: Option<u16>) {
        (self.verdict, self.reason, self.status) = (verdict, Some(reason), status);
    }

    fn say(&mut self, about: &'static str, says: impl Into<String>) {
        say(&mut self.steps, about, says);
    }

    fn untold(&mut self, why: &str) {
        self.verdict = Verdict::Untold;
        self.say("verdict", format!("cannot be told: {why}"));
    }

    fn denied(&mut self, reason: &'static str, status: u16, meaning: &str) {
        self.say("verdict", format!("denied: {reason} ({status}){meaning}"));
        self.ends(Verdict::Denied, reason, Some(status));
    }

    /// Through the filters, and out at the end of the route.
    fn through(&mut self, stage: &Stage<'_>, filter: Option<&FilterConfig>, keys: &Keys, mut scene: Scene) {
        let secured = stage.is_secured();
        let id = auth_id_of_route(stage.selection.route.name.as_bytes());
        if let Some(auth_config) = self.auth_config.clone() {
            self.say("auth config", auth_config);
        }
        let lines: Vec<String> = self.keys.iter().map(key_line).collect();
        lines.into_iter().for_each(|line| self.say("key", line));
        let faults = match filters::run(stage, filter, keys, &mut scene) {
            Ok(faults) => faults,
            Err(Stop::Denied(status, reason)) => {
                let meaning = meaning(reason, id, &self.keys);
                return self.denied(reason, status, &meaning);
            }
            Err(Stop::Guarded) => return self.denied("no-identity", 403, ": by the guard behind the filter"),
            Err(Stop::Preflight) => {
                self.say("verdict", "answered: with 200, as it is a preflight of an origin that is allowed");
                return self.ends(Verdict::Answered, "preflight", Some(200));
            }
            Err(Stop::Fault(status)) => {
                return self.denied("fault", status, ": the route makes faults, for tests");
            }
            Err(Stop::Untold(why)) => return self.untold(&why),
        };
        let as_whom = if !secured {
            "allowed: the route asks for no key".to_owned()
        } else if scene.anonymous {
            "allowed without a key".to_owned()
        } else {
            let header = filter.map(|filter| filter.identity_header.as_str()).unwrap_or_default();
            let identity = scene.headers.text(header);
            self.identity = Some(identity.clone());
            format!("allowed as {identity}")
        };
        self.verdict = Verdict::Allowed;
        self.say("verdict", as_whom);
        for Fault { status, percent } in &faults {
            let share = format!(
                "but {percent}% of the requests are answered with {status}, as the route makes faults"
            );
            self.say("verdict", share);
        }
        self.faults = faults;
        self.out(stage, &scene);
    }

    /// Out at the end of the route. What the filter did to headers has Envoy look for it once more.
    fn out(&mut self, stage: &Stage<'_>, scene: &Scene) {
        let selection = match routing::select(stage.routes, &scene.headers) {
            Selected::Route(selection) => selection,
            Selected::Untold(_, why) => return self.untold(&why),
            Selected::NoHost | Selected::NoRoute(..) => {
                self.say("route", "none (404), once authentication has changed headers");
                return self.ends(Verdict::NoRoute, "no-route", Some(404));
            }
        };
        if !std::ptr::eq(selection.route, stage.selection.route) {
            self.say("route", "another one, once authentication has changed headers");
            tell_route(&selection, &mut self.steps);
            self.route = Some(route(&selection));
        }
        match upstream::end(stage.served, selection.route) {
            End::Answer(status, what) => {
                self.say("answer", format!("{status}, a {what} of the route"));
                self.status = Some(status);
            }
            End::Untold(why) => self.untold(&why),
            End::Upstreams(upstreams) => {
                let total = upstreams.iter().map(|upstream| upstream.weight).sum();
                for line in upstreams.iter().map(|one| upstream::describe(one, total)).collect::<Vec<_>>() {
                    self.say("upstream", line);
                }
                if upstreams.iter().all(|upstream| upstream.hosts == 0) {
                    self.say("answer", "503, as there is nobody to send it to");
                    self.status = Some(503);
                    self.reason = Some("no-upstream");
                }
                self.upstreams = upstreams;
            }
        }
    }
}
