//! What every command that talks to a server has in common.

use clap::Args;
use serde_json::Value;

use crate::client::{Answer, Client, ClientError, Environment, Place, Secrets, ServerArgs, Target};

/// Objects in a page of a list.
const PAGE: &str = "1000";

/// Which server, and which namespace.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RemoteArgs {
    /// The namespace [default: that of the context, else keyward-system].
    #[arg(long, short, value_name = "NAMESPACE")]
    namespace: Option<String>,

    #[command(flatten)]
    server: ServerArgs,
}

/// A server, and the namespace that is meant.
pub(crate) struct Remote {
    /// The server.
    pub(crate) client: Client,
    /// The namespace.
    pub(crate) namespace: String,
}

// === impl RemoteArgs ===

impl RemoteArgs {
    /// Which server is meant, and in it which namespace.
    pub(crate) fn target(&self) -> Result<Target, ClientError> {
        let mut target = self.server.target(&Environment::of_process())?;
        target.namespace = self.namespace.clone().unwrap_or(target.namespace);
        Ok(target)
    }

    /// The server that is meant. Nothing is sent to it yet.
    pub(crate) fn connect(&self) -> Result<Remote, ClientError> {
        let target = self.server.target(&Environment::of_process())?;
        let namespace = self.namespace.clone().unwrap_or_else(|| target.namespace.clone());
        Ok(Remote { client: Client::new(&target)?, namespace })
    }
}

// === impl Remote ===

impl Remote {
    /// Where the Secret of this name is.
    pub(crate) fn place(&self, name: &str) -> Place {
        Place { namespace: self.namespace.clone(), name: name.to_owned() }
    }

    /// A Secret.
    pub(crate) async fn secret(&self, place: &Place) -> anyhow::Result<Value> {
        match self.client.get(&place.path()).await {
            Ok(Answer { body, .. }) => Ok(body),
            Err(error) if error.is_not_found() => Err(missing(place)),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads the Secrets with API keys of a namespace, or of all, page by page.
    pub(crate) async fn each_page(
        &self,
        namespace: Option<&str>,
        labels: Option<&str>,
        mut take: impl FnMut(&[Value]),
    ) -> Result<(), ClientError> {
        let secrets = Secrets::of(namespace);
        let mut token = String::new();
        loop {
            let mut pairs = vec![("limit", PAGE), ("fieldSelector", "type=extauth.keyward.io/apikey")];
            pairs.extend(labels.map(|labels| ("labelSelector", labels)));
            if !token.is_empty() {
                pairs.push(("continue", &token));
            }
            let list = self.client.get(&secrets.query(&pairs)).await?.body;
            take(list["items"].as_array().map(Vec::as_slice).unwrap_or_default());
            match list["metadata"]["continue"].as_str() {
                Some(next) if !next.is_empty() => token = next.to_owned(),
                _ => return Ok(()),
            }
        }
    }
}

/// There is no such Secret.
pub(crate) fn missing(place: &Place) -> anyhow::Error {
    anyhow::anyhow!(
        "there is no Secret {place}\nhint: `keyward secret apikey list --all-namespaces` shows all keys; -n \
         names the namespace"
    )
}
