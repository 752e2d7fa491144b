//! Who somebody is, and what they may do. Pure: the list of tokens and the time come in.

use std::fmt;
use std::net::IpAddr;

use jiff::Timestamp;
use keyward_resource::{ApiStatus, Kind};

use crate::book::{TokenBook, TokenName};
use crate::role::{Role, Verb};
use crate::token::Token;

#[cfg(test)]
mod tests;

/// Who needs a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// Everybody but who is on this machine, and they too as soon as there is a token: roles would mean
    /// nothing if whoever reaches a loopback address were an admin. The rule.
    OffLoopback,
    /// Everybody.
    Everybody,
    /// Nobody: somebody said in so many words that the network is trusted.
    Nobody,
}

/// What a request shows of who sends it.
#[derive(Debug, Clone, Copy)]
pub struct Caller<'a> {
    /// The other end of the connection.
    pub peer: IpAddr,
    /// Whether the request calls this server by a name of its own machine. A web page that points
    /// its own name at a loopback address does not.
    pub by_local_name: bool,
    /// Who sent it on.
    pub through: Through,
    /// The `Authorization` header.
    pub credential: Credential<'a>,
}

/// Who sent a request on to this server: then the other end of the connection says nothing of who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Through {
    /// Nobody, as far as it shows.
    Nobody,
    /// A proxy.
    Proxy,
    /// A gateway of Keyward's: everybody may be behind it.
    Gateway,
}

/// What stands in an `Authorization` header.
#[derive(Clone, Copy)]
pub enum Credential<'a> {
    /// There is none.
    None,
    /// A bearer token, or what is meant to be one.
    Bearer(&'a str),
    /// Something else.
    Other,
}

/// Who sends a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// Somebody on this machine, without a token.
    Loopback,
    /// Anybody, as nobody needs a token.
    Anonymous,
    /// The holder of a token.
    Token {
        /// The name of the token.
        name: TokenName,
        /// What it is for.
        role: Role,
        /// Where it is for, everywhere when empty.
        namespaces: Vec<String>,
    },
}

/// What a request would do.
#[derive(Debug, Clone, Copy)]
pub enum Action<'a> {
    /// It asks what there is: kinds, their documentation, the version.
    Discover,
    /// It does something with objects.
    Objects {
        /// What.
        verb: Verb,
        /// Their kind.
        kind: &'a Kind,
        /// Their namespace; none when it is all of them, or the kind has none.
        namespace: Option<&'a str>,
        /// The name, when it is one object.
        name: Option<&'a str>,
    },
    /// It looks at how the server and its proxies are doing, in all namespaces.
    Look,
    /// It looks at everything that the server holds, in all namespaces, or changes how the server works.
    Operate,
}

/// A request was let through. There is no other way to have one than [`authorize`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permit {
    identity: Identity,
}

/// The kind whose objects only an admin sees.
const SECRET: &str = "Secret";
/// The kind whose objects are named as what restricts a token.
const NAMESPACE: &str = "Namespace";

/// Finds out who sends a request.
///
/// A token that is sent counts, wherever it comes from: a bad one is refused even where none is
/// needed, so that nobody believes to be somebody else than they are.
///
/// # Errors
///
/// 401 when it remains unclear; the message says what is missing.
pub fn authenticate(
    rules: Rules,
    book: &TokenBook,
    caller: &Caller<'_>,
    now: Timestamp,
) -> Result<Identity, ApiStatus> {
    let text = match caller.credential {
        Credential::Bearer(text) => text,
        Credential::Other => {
            return Err(unauthorized("the Authorization header must be `Bearer` and a token".to_owned()));
        }
        Credential::None => return without_token(rules, book, caller),
    };
    let token = Token::parse(text).map_err(|error| unauthorized(format!("the token is refused: {error}")))?;
    let record = book.find(&token.digest()).ok_or_else(|| {
        unauthorized("the token is unknown: it was deleted, or made for another server".to_owned())
    })?;
    if record.is_expired(now) {
        return Err(unauthorized(format!("the token {:?} has expired", record.name.as_str())));
    }
    Ok(Identity::Token {
        name: record.name.clone(),
        role: record.role,
        namespaces: record.namespaces.clone(),
    })
}

fn without_token(rules: Rules, book: &TokenBook, caller: &Caller<'_>) -> Result<Identity, ApiStatus> {
    let local = caller.peer.to_canonical().is_loopback();
    let is_here = local && caller.by_local_name && caller.through == Through::Nobody;
    let missing = match rules {
        // Who may reach the gateway is another question than who may reach this port.
        _ if caller.through == Through::Gateway => "a token is needed through a gateway",
        Rules::Nobody if is_here => return Ok(Identity::Loopback),
        Rules::Nobody => return Ok(Identity::Anonymous),
        Rules::OffLoopback if is_here && book.records().is_empty() => return Ok(Identity::Loopback),
        Rules::OffLoopback if is_here => "a token is needed, also on this machine, as there are tokens",
        Rules::OffLoopback if local && caller.through == Through::Proxy => {
            "a token is needed when a proxy passes the request on"
        }
        Rules::OffLoopback if local => {
            "a token is needed when this server is not called 127.0.0.1, [::1] or localhost"
        }
        Rules::OffLoopback => "a token is needed from another machine",
        Rules::Everybody => "a token is needed",
    };
    Err(unauthorized(format!(
        "{missing}: send `Authorization: Bearer <token>` (`keyward token create` makes one; kubectl sends it \
         only over TLS: `keyward serve --tls`)"
    )))
}

/// Decides whether somebody may do something.
///
/// # Errors
///
/// 403 when not; the message says what is missing.
pub fn authorize(identity: Identity, action: &Action<'_>) -> Result<Permit, ApiStatus> {
    if let (Identity::Token { name, role, namespaces }, Action::Operate) = (&identity, action)
        && let Some(missing) = lacking_operator(*role, namespaces)
    {
        return Err(ApiStatus::forbidden(format!("the token {name} cannot do this: {missing}")));
    }
    if let (Identity::Token { name, namespaces, .. }, Action::Look) = (&identity, action)
        && !namespaces.is_empty()
    {
        return Err(ApiStatus::forbidden(format!(
            "the token {name} cannot do this: it is of some namespaces, and this shows all of them"
        )));
    }
    if let (
        Identity::Token { name, role, namespaces },
        Action::Objects { verb, kind, namespace, name: object },
    ) = (&identity, action)
    {
        let missing = lacking_role(*role, *verb, kind)
            .or_else(|| lacking_namespace(namespaces, *verb, kind, *namespace, *object));
        if let Some(missing) = missing {
            let place = namespace.map(|namespace| format!(" in the namespace {namespace:?}"));
            let what = kind.qualified_plural();
            return Err(ApiStatus::denied(
                kind,
                object.unwrap_or_default(),
                &format!("the token {name} cannot {verb} {what}{}: {missing}", place.unwrap_or_default()),
            ));
        }
    }
    Ok(Permit { identity })
}

fn lacking_operator(role: Role, namespaces: &[String]) -> Option<String> {
    match role {
        Role::Admin if namespaces.is_empty() => None,
        Role::Admin => Some(format!(
            "it is for these namespaces only, and this is about all of them: {}",
            namespaces.join(", ")
        )),
        Role::Editor | Role::Viewer => Some(format!("its role is {role}, and this needs the role admin")),
    }
}

fn lacking_role(role: Role, verb: Verb, kind: &Kind) -> Option<String> {
    match role {
        Role::Admin => None,
        _ if kind.name == SECRET => Some(format!("its role is {role}, and Secrets need the role admin")),
        Role::Viewer if verb.changes() => {
            Some(format!("its role is {role}, and changes need the role editor or admin"))
        }
        Role::Editor | Role::Viewer => None,
    }
}

fn lacking_namespace(
    allowed: &[String],
    verb: Verb,
    kind: &Kind,
    namespace: Option<&str>,
    name: Option<&str>,
) -> Option<String> {
    let is_allowed = |namespace: &str| allowed.iter().any(|allowed| allowed == namespace);
    let fits = match namespace {
        _ if allowed.is_empty() => true,
        Some(namespace) => is_allowed(namespace),
        // A namespace itself: to be seen by who works in it, and not more.
        None => kind.name == NAMESPACE && verb == Verb::Get && name.is_some_and(is_allowed),
    };
    (!fits).then(|| format!("it is for these namespaces only: {}", allowed.join(", ")))
}

fn unauthorized(message: String) -> ApiStatus {
    ApiStatus::unauthorized(message)
}

// === impl Credential ===

impl<'a> Credential<'a> {
    /// Reads the value of an `Authorization` header.
    #[must_use]
    pub fn of_header(value: Option<&'a [u8]>) -> Self {
        let Some(value) = value else { return Self::None };
        let Some((scheme, token)) = str::from_utf8(value).ok().and_then(|text| text.trim().split_once(' '))
        else {
            return Self::Other;
        };
        if scheme.eq_ignore_ascii_case("bearer") { Self::Bearer(token.trim()) } else { Self::Other }
    }
}

impl fmt::Debug for Credential<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Bearer(_) => "Bearer([redacted])",
            Self::Other => "Other([redacted])",
        })
    }
}

// === impl Identity ===

impl fmt::Display for Identity {
    /// As in the audit log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loopback => f.write_str("loopback"),
            Self::Anonymous => f.write_str("anonymous"),
            Self::Token { name, .. } => write!(f, "token:{name}"),
        }
    }
}

// === impl Permit ===

impl Permit {
    /// Whose it is.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }
}
