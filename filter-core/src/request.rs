//! One request, from its headers to an outcome, and its response.

use crate::config::{FilterConfig, MetadataHeader, auth_id_of_route, without_list};
use crate::decide::{
    Denial, Facts, Foregone, Grant, OpenRoute, Permit, Tables, Verdict, decide_by, demanded,
};
use crate::decisions::Row;
use crate::host::{HostError, Note, Reply, RequestHost};
use crate::key;
use crate::life::Lapse;
use crate::metric::Metric;
use crate::place::PlaceRef;
use crate::wire::Digest;

#[cfg(test)]
mod tests;

/// The answer to a request without a valid key. Envoy adds `content-length: 0`; over HTTP/2 and later
/// it takes the header off even if it is given, since there the end of the stream says so.
pub const UNAUTHORIZED: Reply =
    Reply { status: 401, headers: &[("www-authenticate", "API key is missing or invalid")] };
/// The answer to a request whose key does not help, or that no key would help.
pub const FORBIDDEN: Reply = Reply { status: 403, headers: &[] };
/// Tells operators that a key is valid and not allowed on the route.
pub const NOT_ALLOWED: &str = "not-allowed";
/// What the access log is told of a request on a route of which nobody knows what it demands.
pub const NO_POLICY: &str = "no-policy";
/// What the access log is told of a request that could not be decided on.
pub const NO_KEYS: &str = "unavailable";
/// The answer when the keys are not there, in seconds until it is worth to try again.
pub const UNAVAILABLE: Reply = Reply { status: 503, headers: &[("retry-after", "1")] };

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It goes on to the next filter.
    Forward(Forwarded),
    /// It was answered; nothing more happens to it here.
    Answered,
    /// It waits until keys arrive.
    Wait,
}

/// Proof that a permit was spent on the request in hand: its identity is set, and the key is off.
/// An adapter lets a request continue for one of these, and for nothing else.
#[derive(Debug, PartialEq, Eq)]
pub struct Forwarded(());

/// A request as its host tells of it.
struct Told<'a, H> {
    host: &'a mut H,
    /// The last key of it that stands in a table.
    found: Option<Digest>,
}

/// Whom a decision is told to besides the client: it is counted, and an access log may show it.
struct Teller<'a> {
    row: Row,
    /// The AuthConfig, where an access log shows what was decided.
    log: Option<&'a str>,
    key: Option<Digest>,
    /// Who passes.
    identity: Option<&'a [u8]>,
}

/// Decides on a request and carries the decision out.
pub fn on_request_headers(
    config: &FilterConfig,
    tables: &impl Tables,
    host: &mut impl RequestHost,
) -> Outcome {
    // First of all, since changing a header would make the proxy select a route again.
    let route_name = host.route_name();
    let route_name = route_name.as_deref();
    let policy = match demanded(config, route_name) {
        Ok(policy) => policy,
        Err(Foregone::Open(route)) => {
            let teller = Teller { log: None, row: Row::NONE, key: None, identity: None };
            return match pass(config, &route, host) {
                Ok(forwarded) => Outcome::Forward(forwarded),
                Err(HostError) => teller.unavailable(host),
            };
        }
        Err(Foregone::Forbidden(_)) => {
            let teller = Teller::without_policy(config, route_name, host);
            return teller.answer(&FORBIDDEN, NO_POLICY, Metric::Forbidden, host);
        }
    };
    let mut told = Told { host, found: None };
    let verdict = decide_by(policy, tables, &mut told);
    let Told { host, found: key } = told;
    let teller = Teller { row: policy.row, log: logged(config, route_name), key, identity: None };
    match verdict {
        Verdict::Allow(permit) => {
            permit.grants().for_each(|grant| tables.used(&grant.step.table, &grant.digest));
            let identity = permit.identity();
            let passed = identity.map_or(Metric::Anonymous, |_| Metric::Allowed);
            match forward(config, permit, host) {
                Ok(forwarded) => {
                    Teller { identity, ..teller }.tell(passed, host);
                    Outcome::Forward(forwarded)
                }
                Err(HostError) => teller.unavailable(host),
            }
        }
        Verdict::Deny(why) => teller.answer(&UNAUTHORIZED, why.word(), why.metric(), host),
        Verdict::Forbid(_) => teller.answer(&FORBIDDEN, NOT_ALLOWED, Metric::DeniedNotAllowed, host),
        Verdict::Wait => Outcome::Wait,
        // Only a route without a policy is open.
        Verdict::Open(_) => teller.unavailable(host),
    }
}

/// Tells a client to come back: there are no keys to decide by.
pub fn unavailable(config: &FilterConfig, host: &mut impl RequestHost) -> Outcome {
    let route_name = host.route_name();
    let teller = match demanded(config, route_name.as_deref()) {
        Ok(policy) => {
            let log = logged(config, route_name.as_deref());
            Teller { row: policy.row, log, key: None, identity: None }
        }
        Err(_) => Teller::without_policy(config, route_name.as_deref(), host),
    };
    teller.unavailable(host)
}

/// The same, where not even the configuration is there.
pub fn unconfigured(host: &mut impl RequestHost) -> Outcome {
    Teller { row: Row::NONE, log: None, key: None, identity: None }.unavailable(host)
}

/// The AuthConfig of a route, if an access log shows it.
fn logged<'r>(config: &FilterConfig, route_name: Option<&'r [u8]>) -> Option<&'r str> {
    if !config.access_log {
        return None;
    }
    Some(route_name.and_then(auth_id_of_route).map_or("", without_list))
}

/// Takes the identity header off a response: what an upstream says there is nobody's business.
///
/// # Errors
///
/// When the proxy refuses.
pub fn on_response_headers(config: &FilterConfig, host: &mut impl RequestHost) -> Result<(), HostError> {
    host.remove_response_header(&config.identity_header)
}

fn forward(
    config: &FilterConfig,
    permit: Permit<'_>,
    host: &mut impl RequestHost,
) -> Result<Forwarded, HostError> {
    take_own_headers(config, host)?;
    // Also of steps that were not looked at: what stands there is a key that nobody has verified.
    for step in &permit.policy().steps {
        for place in step.places() {
            let forwards =
                |grant: &Grant<'_>| grant.step.forward_key && grant.step.places().any(|other| other == place);
            if !permit.grants().any(forwards) {
                place.clear(host)?;
            }
        }
        for MetadataHeader { header, .. } in &step.headers {
            host.remove_request_header(header)?;
        }
    }
    for grant in permit.grants() {
        if grant.step.forward_key
            && let PlaceRef::Header(name, None) = grant.place
        {
            host.set_request_header(name, &grant.key)?;
        }
        for MetadataHeader { header, entry } in &grant.step.headers {
            if let Some(value) = grant.record.metadata(entry) {
                host.set_request_header(header, value)?;
            }
        }
    }
    // Last, so that it stands even if a policy names the identity header as its key header.
    match permit.identity() {
        Some(identity) => host.set_request_header(&config.identity_header, identity)?,
        None => {
            host.remove_request_header(&config.identity_header)?;
            host.pass_anonymously()?;
        }
    }
    Ok(Forwarded(()))
}

/// Lets a request pass that belongs to nobody.
fn pass(config: &FilterConfig, _: &OpenRoute, host: &mut impl RequestHost) -> Result<Forwarded, HostError> {
    take_own_headers(config, host)?;
    host.pass_anonymously()?;
    Ok(Forwarded(()))
}

/// Takes off what a client sent in the headers that the filter sets, of all policies: without a control
/// server nobody else may have done so.
fn take_own_headers(config: &FilterConfig, host: &mut impl RequestHost) -> Result<(), HostError> {
    let Some(standalone) = &config.standalone else { return Ok(()) };
    for header in standalone.own_headers() {
        // Hardly anybody sends one, and a removal makes the proxy select a route again.
        if host.request_header(header).is_some() {
            host.remove_request_header(header)?;
        }
    }
    Ok(())
}

// === impl Teller ===

impl<'a> Teller<'a> {
    /// Where a route demands a policy that is not there, it is told under the name of that.
    fn without_policy(
        config: &FilterConfig,
        route_name: Option<&'a [u8]>,
        host: &mut impl RequestHost,
    ) -> Self {
        let auth_id = route_name.filter(|_| config.standalone.is_none()).and_then(auth_id_of_route);
        let row = auth_id.map_or(Row::NONE, |auth_id| host.row(without_list(auth_id)));
        Self { row, log: logged(config, route_name), key: None, identity: None }
    }

    fn tell(&self, reason: Metric, host: &mut impl RequestHost) {
        host.count(self.row, reason);
        let Some(auth_config) = self.log else { return };
        host.note(Note::Reason, reason.reason().unwrap_or_default().as_bytes());
        if !auth_config.is_empty() {
            host.note(Note::AuthConfig, auth_config.as_bytes());
        }
        if let Some(identity) = self.identity {
            host.note(Note::Identity, identity);
        }
        if let Some(key) = &self.key {
            host.note(Note::KeyId, &key::id(key));
        }
    }

    fn unavailable(&self, host: &mut impl RequestHost) -> Outcome {
        self.answer(&UNAVAILABLE, NO_KEYS, Metric::Unavailable, host)
    }

    /// A reply that the proxy refuses leaves the request paused: it ends by the proxy's own timeouts.
    fn answer(
        &self,
        reply: &Reply,
        why: &'static str,
        reason: Metric,
        host: &mut impl RequestHost,
    ) -> Outcome {
        self.tell(reason, host);
        let _ = host.reply(reply, why);
        Outcome::Answered
    }
}

// === impl Told ===

impl<H: RequestHost> Facts for Told<'_, H> {
    fn values(&mut self, header: &str) -> Vec<Vec<u8>> {
        self.host.request_values(header)
    }

    fn joined_values(&mut self, header: &str) -> Option<Vec<u8>> {
        self.host.joined_values(header)
    }

    fn now(&mut self) -> Option<u64> {
        self.host.wall_clock()
    }

    fn found(&mut self, digest: &Digest) {
        self.found = Some(*digest);
    }
}

// === impl Denial ===

impl Denial {
    fn metric(self) -> Metric {
        match self {
            Self::Missing => Metric::DeniedMissing,
            Self::Ambiguous => Metric::DeniedAmbiguous,
            Self::Unknown => Metric::DeniedUnknown,
            Self::Lapsed(Lapse::Disabled) => Metric::DeniedDisabled,
            Self::Lapsed(Lapse::Expired) => Metric::DeniedExpired,
            Self::Lapsed(Lapse::NotYetValid) => Metric::DeniedNotYetValid,
        }
    }
}
