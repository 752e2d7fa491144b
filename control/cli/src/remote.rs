//! What every command that talks to a server has in common.

use clap::Args;
use keyward_resource::Kind;
use serde_json::Value;

use crate::client::{
    Answer, Client, ClientError, Collection, Environment, FIELD_MANAGER, Manner, Place, ServerArgs, Target,
    USUAL_NAMESPACE,
};
use crate::kind::several;

/// Who is connected, and of which installation.
const PROXIES: &str = "/keyward/v1/proxies";
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

/// A server, and the namespace that is meant. Cheap to clone.
#[derive(Clone)]
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

    /// Which server, without the namespace.
    pub(crate) fn server(&self) -> ServerArgs {
        self.server.clone()
    }

    /// The namespace, where one is named by a flag.
    pub(crate) fn named(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The namespace of the installation: the one that a flag names, else what the server says. That of the
    /// context is where the objects of a person are, and not this.
    pub(crate) async fn installation(&self) -> Result<String, ClientError> {
        if let Some(named) = &self.namespace {
            return Ok(named.clone());
        }
        let says = self.connect()?.client.get(PROXIES).await?.body;
        let components = says["components"].as_array().map(Vec::as_slice).unwrap_or_default();
        let said = components.iter().find_map(|component| component["namespace"].as_str());
        Ok(said.unwrap_or(USUAL_NAMESPACE).to_owned())
    }

    /// The server that is meant. Nothing is sent to it yet.
    pub(crate) fn connect(&self) -> Result<Remote, ClientError> {
        let target = self.target()?;
        Ok(Remote { client: Client::new(&target)?, namespace: target.namespace })
    }
}

// === impl Remote ===

impl Remote {
    /// Where the Secret of this name is.
    pub(crate) fn place(&self, name: &str) -> Place {
        Place::of_secret(&self.namespace, name)
    }

    /// Where the object of this kind and name is.
    pub(crate) fn place_of(&self, kind: &'static Kind, name: &str) -> Place {
        Place::of(kind, &self.namespace, name)
    }

    /// An object.
    pub(crate) async fn object(&self, place: &Place) -> anyhow::Result<Value> {
        match self.find(place).await? {
            Some(object) => Ok(object),
            None => Err(lacking(place)),
        }
    }

    /// An object, if it is there.
    pub(crate) async fn find(&self, place: &Place) -> Result<Option<Value>, ClientError> {
        match self.client.get(&place.path()).await {
            Ok(Answer { body, .. }) => Ok(Some(body)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Creates an object, where its place says; answers with what the server made of it.
    pub(crate) async fn create(
        &self,
        place: &Place,
        object: &Value,
        manner: Manner,
    ) -> Result<Answer, ClientError> {
        self.client.create(&place.collection().path(), object, manner).await
    }

    /// Applies what is wanted of an object. What other commands of this program have set is no conflict: who
    /// applies a file means what it says.
    pub(crate) async fn apply(
        &self,
        place: &Place,
        object: &Value,
        force: bool,
        manner: Manner,
    ) -> Result<Answer, ClientError> {
        let ours = format!("conflict with {FIELD_MANAGER:?}");
        match self.client.apply(&place.path(), object, force, manner).await {
            Err(ClientError::Refused { refusal, .. })
                if refusal.is_of_managers()
                    && refusal.causes.iter().all(|cause| cause.message.starts_with(&ours)) =>
            {
                self.client.apply(&place.path(), object, true, manner).await
            }
            answer => answer,
        }
    }

    /// The objects of a kind, of a namespace or of all, in the order of their names.
    pub(crate) async fn list(
        &self,
        kind: &'static Kind,
        namespace: Option<&str>,
        labels: Option<&str>,
    ) -> Result<Vec<Value>, ClientError> {
        let collection = Collection::of(kind, namespace);
        let selection: Vec<_> = labels.map(|labels| ("labelSelector", labels)).into_iter().collect();
        let mut all = Vec::new();
        self.pages(&collection, &selection, |mut page| all.append(&mut page)).await?;
        Ok(all)
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
        let mut selection = vec![("fieldSelector", "type=extauth.keyward.io/apikey")];
        selection.extend(labels.map(|labels| ("labelSelector", labels)));
        self.pages(&Collection::of_secrets(namespace), &selection, |page| take(&page)).await
    }

    /// Reads a collection page by page.
    pub(crate) async fn pages(
        &self,
        collection: &Collection,
        selection: &[(&str, &str)],
        mut take: impl FnMut(Vec<Value>),
    ) -> Result<(), ClientError> {
        let mut token = String::new();
        loop {
            let mut pairs = vec![("limit", PAGE)];
            pairs.extend_from_slice(selection);
            if !token.is_empty() {
                pairs.push(("continue", &token));
            }
            let mut list = self.client.get(&collection.query(&pairs)).await?.body;
            let items = match list["items"].take() {
                Value::Array(items) => items,
                _ => Vec::new(),
            };
            take(items);
            match list["metadata"]["continue"].as_str() {
                Some(next) if !next.is_empty() => token = next.to_owned(),
                _ => return Ok(()),
            }
        }
    }
}

/// There is no such object.
pub(crate) fn lacking(place: &Place) -> anyhow::Error {
    let (kind, plural) = (place.kind, place.kind.plural);
    let everywhere = if kind.is_namespaced() { " -A" } else { "" };
    let namespace = if kind.is_namespaced() { "; -n names the namespace" } else { "" };
    anyhow::anyhow!(
        "there is no {} {place}\nhint: `keyward get {plural}{everywhere}` shows all {}{namespace}",
        kind.name,
        several(kind)
    )
}

/// There is no such Secret.
pub(crate) fn missing(place: &Place) -> anyhow::Error {
    anyhow::anyhow!(
        "there is no Secret {place}\nhint: `keyward secret apikey list --all-namespaces` shows all keys; -n \
         names the namespace"
    )
}
