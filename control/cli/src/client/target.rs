//! Which server: from flags, the environment, and the contexts of a config file.
//!
//! Whatever is said closest wins: a flag, then the environment, then the current context. What a context
//! says holds for its own server alone, so that no token of one server is ever sent to another.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use http::{HeaderValue, Uri};
use serde::{Deserialize, Serialize};

use super::config::Config;
use super::error::ClientError;

#[cfg(test)]
mod tests;

/// Where a server listens unless somebody said otherwise.
const USUAL_SERVER: &str = "http://127.0.0.1:9080";
/// The namespace of the installation.
pub(crate) const USUAL_NAMESPACE: &str = "keyward-system";

/// Which server is asked, and as whom.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerArgs {
    /// URL of the control server [env: KEYWARD_SERVER] [default: that of the context, else
    /// http://127.0.0.1:9080].
    #[arg(long, value_name = "URL", conflicts_with = "context")]
    server: Option<String>,

    /// A token of the server; the environment is safer, as everybody sees flags [env: KEYWARD_TOKEN].
    #[arg(long, value_name = "TOKEN", conflicts_with = "token_file")]
    token: Option<Token>,

    /// A file with the token [env: KEYWARD_TOKEN_FILE].
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Certificate authority of the server (PEM), for https [env: KEYWARD_CA] [default: those that this
    /// machine trusts].
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,

    /// A context of the config file [env: KEYWARD_CONTEXT] [default: its currentContext].
    #[arg(long, value_name = "NAME")]
    context: Option<String>,

    /// The config file [env: KEYWARD_CONFIG] [default: ~/.config/keyward/config.yaml].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// What the environment says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    server: Option<String>,
    token: Option<Token>,
    token_file: Option<PathBuf>,
    ca: Option<PathBuf>,
    context: Option<String>,
    config: Option<PathBuf>,
    usual_config: Option<PathBuf>,
}

/// The server, and how to talk to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// Its URL, without a slash at the end.
    pub(crate) server: String,
    /// The token to send.
    pub(crate) token: Option<Token>,
    /// The only authority to trust.
    pub(crate) ca: Option<PathBuf>,
    /// The namespace where none is named.
    pub(crate) namespace: String,
}

/// A token. It cannot be printed; it is written into the config file alone.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct Token(String);

/// Checks the URL of a server; without the slash at its end.
pub(crate) fn server(url: &str) -> Result<String, ClientError> {
    let wrong = |why: &str| ClientError::Url { url: url.to_owned(), why: why.to_owned() };
    let uri: Uri = url.parse().map_err(|error: http::uri::InvalidUri| wrong(&error.to_string()))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(wrong("it does not begin with http:// or https://"));
    }
    if uri.authority().is_none_or(|authority| authority.as_str().contains('@')) {
        return Err(wrong("there is a name in it: that is what tokens are for"));
    }
    if uri.query().is_some() {
        return Err(wrong("there is a query in it"));
    }
    Ok(url.trim_end_matches('/').to_owned())
}

/// The host of a URL.
fn host(url: &str) -> Option<String> {
    let uri: Uri = url.parse().ok()?;
    Some(uri.host()?.to_ascii_lowercase())
}

fn is_loopback(server: &str) -> bool {
    let uri: Option<Uri> = server.parse().ok();
    let host = uri.as_ref().and_then(Uri::host).unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// The namespace of a command that names none, also of one that asks no server: that of the context.
pub(crate) fn usual_namespace(environment: &Environment) -> String {
    let target = ServerArgs::default().target(environment);
    target.map_or_else(|_| USUAL_NAMESPACE.to_owned(), |target| target.namespace)
}

// === impl ServerArgs ===

impl ServerArgs {
    /// The server that is meant.
    pub(crate) fn target(&self, environment: &Environment) -> Result<Target, ClientError> {
        let named = self.config.as_ref().or(environment.config.as_ref());
        let path = environment.config_file(self.config.as_ref());
        let config = match path {
            // Nobody has to have one; but one that is named has to be there.
            Some(path) if named.is_some() || path.exists() => Config::read(path)?,
            _ => Config::default(),
        };
        let url = if self.context.is_some() { None } else { self.server.as_ref() };
        let (url, context) = match (url, &self.context, &environment.server, &environment.context) {
            (Some(url), ..) => (Some(url), None),
            (None, Some(name), ..) => (None, Some(name)),
            (None, None, Some(url), _) => (Some(url), None),
            (None, None, None, Some(name)) => (None, Some(name)),
            (None, None, None, None) => (None, config.current_context.as_ref()),
        };
        let folder = path.and_then(|path| path.parent()).unwrap_or(Path::new(""));
        let context =
            context.map(|name| config.context(name, path)).transpose()?.cloned().unwrap_or_default();
        let usual = if context.server.is_empty() { USUAL_SERVER } else { &context.server };
        let token = match (&self.token_file, &self.token, &environment.token_file, &environment.token) {
            (Some(file), ..) => Some(Token::read(file)?),
            (None, Some(token), ..) => Some(token.clone()),
            (None, None, _, Some(token)) => Some(token.clone()),
            (None, None, Some(file), None) => Some(Token::read(file)?),
            (None, None, None, None) => match (context.token, context.token_file) {
                (Some(token), _) => Some(token),
                (None, Some(file)) => Some(Token::read(&folder.join(file))?),
                (None, None) => None,
            },
        };
        let ca = self.ca.clone().or_else(|| environment.ca.clone());
        let target = Target {
            server: server(url.map_or(usual, String::as_str))?,
            token,
            ca: ca.or_else(|| context.certificate_authority.map(|file| folder.join(file))),
            namespace: context.namespace.unwrap_or_else(|| USUAL_NAMESPACE.to_owned()),
        };
        if target.token.is_some() && !target.is_https() && !is_loopback(&target.server) {
            return Err(ClientError::PlainToken { server: target.server });
        }
        Ok(target)
    }
}

// === impl Environment ===

impl Environment {
    /// That of this process.
    pub(crate) fn of_process() -> Self {
        let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let path = |name: &str| text(name).map(PathBuf::from);
        let home = path("XDG_CONFIG_HOME").or_else(|| path("HOME").map(|home| home.join(".config")));
        Self {
            server: text("KEYWARD_SERVER"),
            token: text("KEYWARD_TOKEN").map(Token),
            token_file: path("KEYWARD_TOKEN_FILE"),
            ca: path("KEYWARD_CA"),
            context: text("KEYWARD_CONTEXT"),
            config: path("KEYWARD_CONFIG"),
            usual_config: home.map(|home| home.join("keyward/config.yaml")),
        }
    }

    /// The config file: this one, if it is named, else the one of the environment.
    pub(crate) fn config_file<'a>(&'a self, named: Option<&'a PathBuf>) -> Option<&'a PathBuf> {
        named.or(self.config.as_ref()).or(self.usual_config.as_ref())
    }
}

// === impl Target ===

impl Target {
    /// Another port of the installation, by its URL. The token of the server is for the host of the server,
    /// and is sent to nobody else.
    pub(crate) fn beside(&self, url: &str) -> Result<Self, ClientError> {
        let url = server(url)?;
        let token = self.token.clone().filter(|_| host(&url) == host(&self.server));
        let beside = Self { server: url, token, ca: self.ca.clone(), namespace: self.namespace.clone() };
        if beside.token.is_some() && !beside.is_https() && !is_loopback(&beside.server) {
            return Err(ClientError::PlainToken { server: beside.server });
        }
        Ok(beside)
    }

    /// Whether it is asked over TLS.
    pub(crate) fn is_https(&self) -> bool {
        self.server.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"))
    }
}

// === impl Token ===

impl Token {
    fn read(path: &Path) -> Result<Self, ClientError> {
        let text = std::fs::read_to_string(path).map_err(|error| ClientError::File {
            what: "the token file",
            path: path.to_path_buf(),
            why: error.to_string(),
        })?;
        Ok(Self(text.trim().to_owned()))
    }

    /// What stands in place of one that nobody is to see.
    pub(crate) fn redacted() -> Self {
        Self("[redacted]".to_owned())
    }

    /// The header that shows it.
    pub(super) fn header(&self) -> Result<HeaderValue, ClientError> {
        let mut value =
            HeaderValue::from_str(&format!("Bearer {}", self.0)).map_err(|_| ClientError::Token)?;
        value.set_sensitive(true);
        Ok(value)
    }
}

impl FromStr for Token {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}
