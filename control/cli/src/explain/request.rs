//! The request that is asked about, as flags say it.

use std::convert::Infallible;
use std::fmt;
use std::io::IsTerminal as _;
use std::net::IpAddr;
use std::str::FromStr;

use anyhow::{Context as _, ensure};
use clap::Args;
use keyward_explain::Request;

use crate::key::read;
use crate::output::Output;

/// A request.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Request")]
pub(super) struct RequestArgs {
    /// The host, with a port or without.
    #[arg(long, value_name = "HOST")]
    host: String,

    /// The path, with a query or without.
    #[arg(long, value_name = "PATH", default_value = "/")]
    path: Line,

    /// The method.
    #[arg(long, short = 'X', value_name = "METHOD", default_value = "GET")]
    method: String,

    /// A header, `name: value`. Everybody on this machine sees flags: for keys, --key-stdin is safer.
    #[arg(long = "header", short = 'H', value_name = "NAME:VALUE")]
    headers: Vec<Line>,

    /// Reads a key from standard input, and puts it where the route looks for one first.
    #[arg(long)]
    key_stdin: bool,

    /// The client speaks TLS.
    #[arg(long)]
    tls: bool,

    /// The server name of the handshake [default: the host].
    #[arg(long, value_name = "NAME", requires = "tls")]
    sni: Option<String>,
}

/// An argument that may hold a key, and cannot be printed.
#[derive(Clone)]
struct Line(String);

/// The server name that a client says for a host: none for an address.
fn server_name(host: &str) -> String {
    let is_six = host.starts_with('[');
    let bare = if is_six { host } else { host.split(':').next().unwrap_or_default() };
    if is_six || bare.parse::<IpAddr>().is_ok() {
        String::new()
    } else {
        bare.trim_end_matches('.').to_owned()
    }
}

// === impl RequestArgs ===

impl RequestArgs {
    pub(super) fn request(&self) -> anyhow::Result<Request> {
        let mut request = Request::new(&self.method.to_ascii_uppercase(), &self.host, &self.path.0);
        for Line(line) in &self.headers {
            let (name, value) = line
                .split_once(':')
                .context("a --header has no colon\nhint: write it as --header 'name: value'")?;
            request.add_header(name.trim(), value.as_bytes())?;
        }
        if self.tls {
            request.tls = Some(self.sni.clone().unwrap_or_else(|| server_name(&self.host)));
        }
        Ok(request)
    }

    /// The key from standard input, if there is to be one.
    pub(super) fn key(&self, output: &mut Output) -> anyhow::Result<Option<Vec<u8>>> {
        if !self.key_stdin {
            return Ok(None);
        }
        let stdin = std::io::stdin();
        if stdin.is_terminal() {
            output.note("the key, and then Ctrl-D:");
        }
        let key = read(&mut stdin.lock())?;
        ensure!(!key.is_empty(), "no key is given\nhint: write it to standard input");
        Ok(Some(key))
    }
}

// === impl Line ===

impl FromStr for Line {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        args: RequestArgs,
    }

    fn parsed(words: &[&str]) -> Cli {
        Cli::parse_from([&["keyward", "--host", "site.test:8443"], words].concat())
    }

    #[test]
    fn a_request_is_what_flags_say() {
        let cli =
            parsed(&["--path", "/a?b", "-X", "post", "-H", "Api-Key: s3cret", "--header=x:a:b", "--tls"]);
        let request = cli.args.request().expect("a request");
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/a?b"));
        assert_eq!(request.headers().collect::<Vec<_>>(), [("api-key", &b"s3cret"[..]), ("x", b"a:b")]);
        assert_eq!(request.tls.as_deref(), Some("site.test"));
        assert!(!format!("{cli:?}").contains("s3cret"), "{cli:?}");
        assert!(parsed(&["-H", "none"]).args.request().is_err());
    }

    #[test]
    fn addresses_are_no_server_names() {
        for (host, name) in [
            ("a.test", "a.test"),
            ("a.test:1", "a.test"),
            ("127.0.0.1:1", ""),
            ("[::1]:1", ""),
            ("a.test.", "a.test"),
        ] {
            assert_eq!(server_name(host), name);
        }
    }
}
