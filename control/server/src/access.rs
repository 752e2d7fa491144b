//! Access to the REST API: the rules of [`keyward_access`], put to requests.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{AUTHORIZATION, CONNECTION, HOST, UPGRADE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use jiff::Timestamp;
use keyward_access::{
    Action, Attempt as Attempted, Caller, Change as Changed, Credential, Identity, Look, Rules, Through,
    TokenFile, authenticate, authorize,
};
use keyward_api::{Attempt, Audit, Authorizer, Change, Identity as Named, Sight, Verb};
use keyward_resource::ApiStatus;
use keyward_translate::GATEWAY_MARK;

mod looks;
#[cfg(test)]
mod tests;

pub(crate) use self::looks::Port;

/// Decides who may do what over REST.
#[derive(Debug, Clone)]
pub(crate) struct Gatekeeper {
    rules: Rules,
    tokens: Arc<TokenFile>,
    now: fn() -> Timestamp,
}

/// Writes the audit log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AuditLog;

/// An API with everything of access around it but the decisions, which it asks for itself.
pub(crate) fn guarded(api: Router, gatekeeper: &Gatekeeper, port: Port) -> Router {
    api.layer(from_fn_with_state((gatekeeper.clone(), port), note_attempts))
}

/// The middleware: attempts that changed nothing are in the audit log as well, looks by tokens at what is secret
/// too, and a client that has
/// to say who it is is told how. Nobody speaks after a gateway on its connection.
async fn note_attempts(
    State((gatekeeper, port)): State<(Gatekeeper, Port)>,
    mut request: Request,
    next: Next,
) -> Response {
    name_host(&mut request);
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let dry_run =
        request.uri().query().unwrap_or_default().split('&').any(|pair| pair.starts_with("dryRun="));
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| *peer);
    let changes = matches!(method, Method::POST | Method::PUT | Method::PATCH | Method::DELETE);
    let looks = port.shows(&method, &path);
    let who = (changes || looks).then(|| gatekeeper.identify(request.headers(), peer).ok()).flatten();
    let is_last = is_last_of_its_connection(request.headers());
    let mut response = next.run(request).await;
    if is_last {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let code = response.status();
    if let (true, Some(who @ Identity::Token { .. })) = (looks, &who) {
        let (who, method, code) = (who.to_string(), method.as_str(), code.as_u16());
        Look { who: &who, peer, method, path: &path, code }.log();
    }
    // What was changed has a line of its own, with what came of it.
    if changes && !looks && (dry_run || !code.is_success()) {
        let who = who.map(|identity| identity.to_string());
        let (who, method, code) = (who.as_deref(), method.as_str(), code.as_u16());
        Attempted { who, peer, method, path: &path, dry_run, code }.log();
    }
    if code == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// Whether what follows on a connection could be from somebody else than this request says: a gateway sends
/// on whatever a client says after it asked for an upgrade, and there is no mark on that.
fn is_last_of_its_connection(headers: &HeaderMap) -> bool {
    through(headers) == Through::Gateway || headers.contains_key(UPGRADE)
}

/// Puts the authority of a request into its `Host`, where it has one: HTTP/2 has no other, and a proxy's
/// form of HTTP/1.1 means this one.
fn name_host(request: &mut Request) {
    let Some(authority) = request.uri().authority() else { return };
    let host = HeaderValue::from_str(authority.as_str()).unwrap_or(HeaderValue::from_static("?"));
    request.headers_mut().insert(HOST, host);
}

/// Who sent a request on. Proxies say so, and the mark of our own gateway cannot be taken away.
fn through(headers: &HeaderMap) -> Through {
    if headers.contains_key(GATEWAY_MARK) {
        return Through::Gateway;
    }
    let is_of_proxy = |name: &str| {
        matches!(name, "via" | "forwarded" | "x-real-ip")
            || name.starts_with("x-forwarded-")
            || name.starts_with("x-envoy-")
    };
    if headers.keys().any(|name| is_of_proxy(name.as_str())) { Through::Proxy } else { Through::Nobody }
}

/// Whether a `Host` header, after [`name_host`], names this machine. Without one it was no browser.
fn is_local_name(host: Option<&HeaderValue>) -> bool {
    let Some(host) = host else { return true };
    let Ok(authority) = host.to_str().unwrap_or("?").parse::<axum::http::uri::Authority>() else {
        return false;
    };
    let name = authority.host().trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn verb(verb: Verb) -> keyward_access::Verb {
    use keyward_access::Verb as Known;
    match verb {
        Verb::Get => Known::Get,
        Verb::List => Known::List,
        Verb::Watch => Known::Watch,
        Verb::Create => Known::Create,
        Verb::Update => Known::Update,
        Verb::Patch => Known::Patch,
        Verb::Delete => Known::Delete,
        Verb::DeleteCollection => Known::DeleteCollection,
    }
}

// === impl Gatekeeper ===

impl Gatekeeper {
    pub(crate) fn new(rules: Rules, tokens: TokenFile) -> Self {
        Self { rules, tokens: Arc::new(tokens), now: Timestamp::now }
    }

    pub(crate) fn identify(
        &self,
        headers: &HeaderMap,
        peer: Option<SocketAddr>,
    ) -> Result<Identity, ApiStatus> {
        let mut values = headers.get_all(AUTHORIZATION).iter().map(HeaderValue::as_bytes);
        let credential = match (values.next(), values.next()) {
            (value, None) => Credential::of_header(value),
            // Who is two is nobody.
            (_, Some(_)) => Credential::Other,
        };
        let book = self.tokens.book().map_err(|error| {
            tracing::error!("the tokens could not be read: {:#}", anyhow::Error::new(error));
            ApiStatus::internal("the tokens cannot be read; the log of the control server says why")
        })?;
        // Who comes from nowhere comes from elsewhere.
        let peer = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.ip());
        let (by_local_name, through) = (is_local_name(headers.get(HOST)), through(headers));
        let caller = Caller { peer, by_local_name, through, credential };
        authenticate(self.rules, &book, &caller, (self.now)())
    }
}

impl Authorizer for Gatekeeper {
    fn authorize(&self, attempt: &Attempt<'_>) -> Result<Named, ApiStatus> {
        let identity = self.identify(attempt.headers, attempt.peer)?;
        let action = match attempt.kind {
            None => Action::Discover,
            Some(kind) => Action::Objects {
                verb: verb(attempt.verb),
                kind,
                namespace: attempt.namespace,
                name: attempt.name,
            },
        };
        let permit = authorize(identity, &action)?;
        let name = permit.identity().to_string().into();
        let sight = match permit.identity() {
            Identity::Token { namespaces, .. } => Sight::of(namespaces),
            Identity::Loopback | Identity::Anonymous => Sight::EVERYWHERE,
        };
        Ok(Named { name, peer: attempt.peer, sight })
    }
}

// === impl AuditLog ===

impl Audit for AuditLog {
    fn changed(&self, change: &Change<'_>) {
        let changed = Changed {
            who: &change.identity.name,
            peer: change.identity.peer,
            verb: change.verb.as_str(),
            kind: &change.key.kind,
            namespace: &change.key.namespace,
            name: &change.key.name,
            resource_version: change.revision.0,
        };
        changed.log();
    }
}
