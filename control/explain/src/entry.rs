//! Where a request enters: the listener, and the filter chain of its connection.

use crate::served::{Chain, Listener, Origin, Served};

#[cfg(test)]
mod tests;

/// Where a request is sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entry {
    /// The Gateway, `name` or `namespace/name`, or the name of a listener.
    pub gateway: Option<String>,
    /// The port of the listener.
    pub port: Option<u16>,
}

/// It is not clear where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// No listener is that.
    #[error("the proxy has no such listener\nhint: it has {}", .0.join(", "))]
    None(Vec<String>),
    /// Several are.
    #[error("this may be any of several listeners\nhint: --gateway or --port says which: {}", .0.join(", "))]
    Several(Vec<String>),
    /// The proxy has none at all.
    #[error("the proxy has no listener\nhint: a Gateway that has virtual services makes one")]
    Nothing,
}

/// What becomes of a connection.
#[derive(Debug)]
pub(crate) enum Connection<'a> {
    /// This chain has it.
    Chain(&'a Chain),
    /// It is closed, and why.
    Closed(String),
    /// That is not known.
    Untold(String),
}

/// The listener that is meant. Where nothing is said, it is one that speaks TLS for a request over TLS, and
/// one that does not for others.
pub(crate) fn listener<'a>(served: &'a Served, entry: &Entry, tls: bool) -> Result<&'a Listener, EntryError> {
    if served.listeners.is_empty() {
        return Err(EntryError::Nothing);
    }
    let named = |listener: &&Listener| match (&entry.gateway, listener.metadata.origin()) {
        (None, _) => true,
        (Some(gateway), _) if *gateway == listener.name => true,
        (Some(gateway), Some(Origin { namespace, name, .. })) => {
            *gateway == name || *gateway == format!("{namespace}/{name}")
        }
        (Some(_), None) => false,
    };
    let at_port = |listener: &&Listener| entry.port.is_none_or(|port| listener.port() == port);
    let meant: Vec<&Listener> = served.listeners.iter().filter(named).filter(at_port).collect();
    let fitting: Vec<&Listener> =
        meant.iter().copied().filter(|listener| listener.has_tls() == tls).collect();
    match (&fitting[..], &meant[..]) {
        ([one], _) | ([], [one]) => Ok(one),
        (_, []) => Err(EntryError::None(served.listeners.iter().map(describe).collect())),
        ([], several) | (several, _) => {
            Err(EntryError::Several(several.iter().map(|listener| describe(listener)).collect()))
        }
    }
}

/// A listener in words.
pub(crate) fn describe(listener: &Listener) -> String {
    let gateway = listener.metadata.origin().map(|origin| format!("{origin} "));
    let tls = if listener.has_tls() { ", TLS" } else { "" };
    format!("{}({}, {}{tls})", gateway.unwrap_or_default(), listener.name, listener.address())
}

/// The chain that has a connection, by the server name of its handshake: the whole name, then the longest
/// `*.example.com`, then the chain that asks for none.
pub(crate) fn connection<'a>(listener: &'a Listener, server_name: Option<&str>) -> Connection<'a> {
    for chain in &listener.filter_chains {
        if let Some(unknown) = chain.filter_chain_match.rest.keys().next() {
            return Connection::Untold(format!("the filter chain {} asks for {unknown}", chain.name));
        }
    }
    let name = server_name.unwrap_or_default().to_ascii_lowercase();
    let named = |wanted: &str| {
        let has = |chain: &&Chain| chain.filter_chain_match.server_names.iter().any(|name| name == wanted);
        listener.filter_chains.iter().find(has)
    };
    let ends = || {
        let dots = name.match_indices('.').map(|(at, _)| &name[at..]);
        dots.into_iter().find_map(|end| named(&format!("*{end}")))
    };
    let any = || listener.filter_chains.iter().find(|chain| chain.filter_chain_match.server_names.is_empty());
    let chain = (!name.is_empty()).then(|| named(&name).or_else(ends)).flatten().or_else(any);
    let Some(chain) = chain else {
        let name = if name.is_empty() { "without a server name".to_owned() } else { format!("for {name}") };
        return Connection::Closed(format!("no filter chain takes connections {name}"));
    };
    match (chain.has_tls(), server_name) {
        (true, None) => Connection::Closed("the listener speaks TLS, and the request does not".to_owned()),
        (false, Some(_)) => {
            Connection::Closed("the request is over TLS, and the listener does not speak it".to_owned())
        }
        _ => Connection::Chain(chain),
    }
}
