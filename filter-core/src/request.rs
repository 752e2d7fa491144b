//! One request, from its headers to an outcome, and its response.

use crate::config::{FilterConfig, MetadataHeader};
use crate::decide::{Denial, Facts, Forbidden, Grant, OpenRoute, Permit, Tables, Verdict, decide};
use crate::host::{HostError, Reply, RequestHost};
use crate::life::Lapse;
use crate::metric::Metric;
use crate::place::PlaceRef;

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
struct Told<'a, H>(&'a mut H);

/// Decides on a request and carries the decision out.
pub fn on_request_headers(
    config: &FilterConfig,
    tables: &impl Tables,
    host: &mut impl RequestHost,
) -> Outcome {
    // First of all, since changing a header would make the proxy select a route again.
    let route_name = host.route_name();
    let verdict = decide(config, tables, route_name.as_deref(), &mut Told(host));
    match verdict {
        Verdict::Allow(permit) => {
            permit.grants().for_each(|grant| tables.used(&grant.step.table, &grant.digest));
            let passed = permit.identity().map_or(Metric::Anonymous, |_| Metric::Allowed);
            match forward(config, permit, host) {
                Ok(forwarded) => {
                    host.count(passed);
                    Outcome::Forward(forwarded)
                }
                Err(HostError) => unavailable(host),
            }
        }
        Verdict::Open(route) => match pass(config, &route, host) {
            Ok(forwarded) => Outcome::Forward(forwarded),
            Err(HostError) => unavailable(host),
        },
        Verdict::Deny(why) => answer(&UNAUTHORIZED, why.word(), why.metric(), host),
        Verdict::Forbid(Forbidden::NotAllowed) => {
            answer(&FORBIDDEN, NOT_ALLOWED, Metric::DeniedNotAllowed, host)
        }
        Verdict::Forbid(_) => answer(&FORBIDDEN, NO_POLICY, Metric::Forbidden, host),
        Verdict::Wait => Outcome::Wait,
    }
}

/// Tells a client to come back: there are no keys to decide by.
pub fn unavailable(host: &mut impl RequestHost) -> Outcome {
    answer(&UNAVAILABLE, NO_KEYS, Metric::Unavailable, host)
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

/// A reply that the proxy refuses leaves the request paused: it ends by the proxy's own timeouts.
fn answer(reply: &Reply, why: &'static str, metric: Metric, host: &mut impl RequestHost) -> Outcome {
    host.count(metric);
    let _ = host.reply(reply, why);
    Outcome::Answered
}

// === impl Told ===

impl<H: RequestHost> Facts for Told<'_, H> {
    fn first_value(&mut self, header: &str) -> Option<Vec<u8>> {
        self.0.request_header(header)
    }

    fn now(&mut self) -> Option<u64> {
        self.0.wall_clock()
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
