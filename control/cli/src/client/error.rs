//! Why there is no answer, and what to do about it.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use http::StatusCode;
use hyper_util::client::legacy;

use super::answer::Refusal;

/// Whatever stands in the way of an answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    /// The address of the server is none.
    #[error("{url:?} is not the URL of a server: {why}\nhint: write http://HOST:PORT or https://HOST:PORT")]
    Url {
        /// What was given.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// A token would be sent where everybody can read it.
    #[error(
        "a token is not sent to {server} in plain text\nhint: use https:// (the server needs --tls), or go \
         through a tunnel to its loopback address"
    )]
    PlainToken {
        /// The server.
        server: String,
    },
    /// A token that cannot be one.
    #[error("the token has characters that no token has\nhint: give it as `keyward token create` printed it")]
    Token,
    /// A file that is needed.
    #[error("{what} {} cannot be read: {why}", path.display())]
    File {
        /// What it is for.
        what: &'static str,
        /// Where it is.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// No context of that name.
    #[error("there is no context {name:?} in {}\nhint: {}", path.display(), known(names))]
    Context {
        /// The name.
        name: String,
        /// The config file.
        path: PathBuf,
        /// Which contexts there are.
        names: Vec<String>,
    },
    /// Nobody is there.
    #[error(
        "nothing listens at {server}\nhint: `./x up` or `keyward serve` starts a server; --server or \
         KEYWARD_SERVER names another one"
    )]
    Nobody {
        /// The server.
        server: String,
    },
    /// There is no way there.
    #[error("{server} cannot be reached: {why}\nhint: {hint}")]
    Unreachable {
        /// The server.
        server: String,
        /// What the machine says.
        why: String,
        /// What to do.
        hint: &'static str,
    },
    /// The answer broke off.
    #[error("the answer of {server} broke off\nhint: its log says why; a change may have been made or not")]
    Broken {
        /// The server.
        server: String,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// No answer in time.
    #[error("{server} did not answer within {} s\nhint: a change may have been made or not", limit.as_secs())]
    Slow {
        /// The server.
        server: String,
        /// How long that was waited for.
        limit: Duration,
    },
    /// Something else answers there.
    #[error(
        "what answers at {server} is not a control server of Keyward\nhint: its REST port is 9080 by default"
    )]
    NotOurs {
        /// The server.
        server: String,
    },
    /// It does not know who asks.
    #[error("{server} does not let us in: {}\nhint: {}", refusal.message, if *with_token {
        "make another one with `keyward token create`, on the machine of the server"
    } else {
        "give a token with --token-file or KEYWARD_TOKEN; `keyward token create` makes one"
    })]
    Unknown {
        /// The server.
        server: String,
        /// Whether a token was sent.
        with_token: bool,
        /// What it said.
        refusal: Refusal,
    },
    /// It will not do it.
    #[error("{}{}", refusal.message, hint(refusal))]
    Refused {
        /// The server.
        server: String,
        /// What it said.
        refusal: Refusal,
    },
}

fn known(names: &[String]) -> String {
    if names.is_empty() { "it has none".to_owned() } else { format!("it has {}", names.join(", ")) }
}

fn hint(refusal: &Refusal) -> &'static str {
    match refusal.code {
        StatusCode::FORBIDDEN if refusal.message.starts_with("secrets") => {
            "\nhint: keys are for admins: use a token of that role"
        }
        StatusCode::FORBIDDEN => {
            "\nhint: use another token: `keyward token create --help` says which roles there are"
        }
        _ => "",
    }
}

/// A cause of an error.
type Cause = dyn std::error::Error + 'static;

/// What is at the bottom of an error.
fn root(error: &Cause) -> &Cause {
    let mut root = error;
    while let Some(source) = root.source() {
        root = source;
    }
    root
}

/// What the TLS library says, were it inside errors of the machine, which hide what is in them.
fn of_tls(error: &Cause) -> Option<&rustls::Error> {
    if let Some(found) = error.downcast_ref::<rustls::Error>() {
        return Some(found);
    }
    of_tls(error.downcast_ref::<std::io::Error>()?.get_ref()?)
}

// === impl ClientError ===

impl ClientError {
    /// What it means that no request could be sent.
    pub(super) fn of_connection(server: String, error: legacy::Error) -> Self {
        let causes = || std::iter::successors(Some(&error as &Cause), |error| error.source());
        let io = causes().find_map(<Cause>::downcast_ref::<std::io::Error>);
        let tls = causes().find_map(of_tls);
        let why = tls.map_or_else(|| root(&error).to_string(), ToString::to_string);
        match io.map(std::io::Error::kind) {
            Some(ErrorKind::ConnectionRefused) => Self::Nobody { server },
            _ if matches!(tls, Some(rustls::Error::InvalidCertificate(_))) => Self::Unreachable {
                server,
                why,
                hint: "--ca names the certificate authority of the server: `ca.crt` in its folder `pki`",
            },
            _ if tls.is_some() => {
                Self::Unreachable { server, why, hint: "without --tls the server speaks http:// only" }
            }
            _ if !error.is_connect() => Self::Broken { server, source: error.into() },
            _ => Self::Unreachable { server, why, hint: "--server or KEYWARD_SERVER names another one" },
        }
    }

    /// Whether a change may have been made all the same.
    pub(crate) fn is_unclear(&self) -> bool {
        matches!(self, Self::Broken { .. } | Self::Slow { .. })
    }

    /// Whether everything else that is asked of this server would fail, too.
    pub(crate) fn is_about_the_server(&self) -> bool {
        !matches!(self, Self::Refused { .. })
    }

    /// Whether there is no such object.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { refusal, .. } if refusal.code == StatusCode::NOT_FOUND)
    }

    /// Whether whoever asks has no right to it.
    pub(crate) fn is_forbidden(&self) -> bool {
        matches!(self, Self::Refused { refusal, .. } if refusal.code == StatusCode::FORBIDDEN)
    }

    /// Whether there is an object of that name.
    pub(crate) fn is_exists(&self) -> bool {
        matches!(self, Self::Refused { refusal, .. } if refusal.reason == "AlreadyExists")
    }

    /// Whether somebody else has changed the object since it was read.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused { refusal, .. } if refusal.reason == "Conflict")
    }
}
