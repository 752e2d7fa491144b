//! The admin of a gateway proxy, port 19000: which one is meant, and what it says.

use anyhow::bail;
use clap::Args;
use http::{Method, StatusCode, Uri};
use serde_json::Value;

use crate::client::{Client, ClientError, Text};
use crate::remote::RemoteArgs;

/// The environment's word for `--proxy-admin`.
const ADMIN: &str = "KEYWARD_PROXY_ADMIN";
/// The port of the admin.
const PORT: u16 = 19_000;

/// Which proxy.
#[derive(Debug, Clone, Args)]
pub(crate) struct NameArgs {
    /// The proxy, as Gateways name it.
    #[arg(long, default_value = "gateway-proxy", value_name = "NAME")]
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

/// Which proxy, and where its admin is.
#[derive(Debug, Clone, Args)]
pub(crate) struct AdminArgs {
    /// URL of the proxy's admin [env: KEYWARD_PROXY_ADMIN] [default: port 19000 of the server, so
    /// http://127.0.0.1:19000].
    #[arg(long = "proxy-admin", alias = "admin", value_name = "URL")]
    admin: Option<String>,

    #[command(flatten)]
    pub(crate) proxy: NameArgs,
}

/// The admin of one proxy.
pub(crate) struct Admin {
    client: Client,
    url: String,
}

/// The scheme and the host of a URL.
fn place(url: &str) -> Option<(String, String)> {
    let uri: Uri = url.parse().ok()?;
    Some((uri.scheme_str()?.to_owned(), uri.host()?.to_owned()))
}

/// Where the admin of a server's own proxy is.
fn usual(server: &str) -> String {
    match place(server) {
        Some((scheme, host)) => format!("{scheme}://{host}:{PORT}"),
        None => format!("http://127.0.0.1:{PORT}"),
    }
}

/// What an admin says that refuses: in words, or in the envelope of a guard.
fn words(body: &str) -> String {
    let envelope: Value = serde_json::from_str(body).unwrap_or_default();
    let told = ["error", "message"].iter().find_map(|name| envelope[*name].as_str());
    told.unwrap_or(body).lines().take_while(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n")
}

// === impl NameArgs ===

impl NameArgs {
    /// The role of the proxy: `<namespace>~<name>`.
    pub(crate) async fn role(&self) -> Result<String, ClientError> {
        Ok(format!("{}~{}", self.remote.installation().await?, self.name))
    }
}

// === impl AdminArgs ===

impl AdminArgs {
    /// The admin that is meant; nothing is sent yet.
    pub(crate) fn connect(&self) -> Result<Admin, ClientError> {
        let server = self.proxy.remote.target()?;
        let named = self.admin.clone().or_else(|| std::env::var(ADMIN).ok().filter(|url| !url.is_empty()));
        let url = named.unwrap_or_else(|| usual(&server.server));
        let target = server.beside(&url)?;
        Ok(Admin { client: Client::new(&target)?, url: target.server })
    }

    /// The admin that is meant, once it is known to be that of this proxy.
    pub(crate) async fn open(&self) -> anyhow::Result<Admin> {
        let admin = self.connect()?;
        let info: Value = serde_json::from_str(&admin.get("/server_info").await?).unwrap_or_default();
        let role = info["node"]["metadata"]["role"].as_str().unwrap_or_default();
        let (namespace, name) = role.split_once('~').unwrap_or(("", role));
        let is_meant =
            name == self.proxy.name && self.proxy.remote.named().is_none_or(|named| named == namespace);
        if !role.is_empty() && !is_meant {
            bail!(
                "what answers at {} is the proxy {name} of {namespace}, not {}\nhint: --proxy-admin or {ADMIN} names \
                 the admin of another proxy; -n {namespace} --name {name} means this one",
                admin.url,
                self.proxy.name
            );
        }
        Ok(admin)
    }
}

// === impl Admin ===

impl Admin {
    /// What a path says.
    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<String> {
        let Text { status, body } = self.ask(Method::GET, path).await?;
        self.checked(status, body)
    }

    /// The same, whatever the status.
    pub(crate) async fn ask(&self, method: Method, path: &str) -> anyhow::Result<Text> {
        self.client.text(method, path).await.map_err(|error| match error {
            ClientError::Nobody { .. } => anyhow::anyhow!(
                "nothing listens at {}\nhint: there is the admin of the gateway proxy that `keyward serve` runs; \
                 --proxy-admin or {ADMIN} names another one",
                self.url
            ),
            other => other.into(),
        })
    }

    /// Where it is.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// What a refusal means.
    pub(crate) fn checked(&self, status: StatusCode, body: String) -> anyhow::Result<String> {
        if status.is_success() {
            return Ok(body);
        }
        let (said, url) = (words(&body), &self.url);
        match status {
            StatusCode::UNAUTHORIZED => bail!(
                "{url} does not let us in: {said}\nhint: give a token with --token-file or KEYWARD_TOKEN; it is sent \
                 to the host of the server (--server) only"
            ),
            StatusCode::FORBIDDEN => bail!("{url} refuses it: {said}"),
            _ => bail!("{url} answers {status}: {said}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_admin_is_on_the_host_of_the_server() {
        assert_eq!(usual("http://127.0.0.1:9080"), "http://127.0.0.1:19000");
        assert_eq!(usual("https://[::1]:9080"), "https://[::1]:19000");
        assert_eq!(usual("https://control.example/base"), "https://control.example:19000");
    }

    #[test]
    fn a_refusal_is_told_in_its_own_words() {
        assert_eq!(words("error: unknown logger name\n\nusage: ...\n"), "error: unknown logger name");
        assert_eq!(words("{\"status\":\"failed\",\"data\":null,\"error\":\"no\"}"), "no");
        assert_eq!(words("a\nhint: b\n"), "a\nhint: b");
    }
}
