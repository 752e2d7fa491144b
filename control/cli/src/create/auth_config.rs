//! `keyward create authconfig`.

use anyhow::{bail, ensure};
use clap::Args;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::draft::{DraftArgs, pair};
use crate::output::Output;

#[cfg(test)]
mod tests;

pub(super) const EXAMPLES: &str = "\
Examples:
  # Keys with a label, in the header api-key:
  keyward create authconfig keys --enable-apikey-auth \\
    --apikey-label-selector team=infra

  # One key by its Secret, in another header:
  keyward create authconfig partner --apikey-secret-name alice \\
    --apikey-secret-namespace keyward-system --apikey-header-name x-api-key

  # The plan of whoever calls, from the data of the Secret, for the upstream:
  keyward create authconfig plans --apikey-label-selector tier=gold \\
    --apikey-headers-from-metadata x-plan=plan";

/// What the AuthConfig is to demand.
#[derive(Debug, Clone, Args)]
pub(crate) struct AuthConfigArgs {
    #[command(flatten)]
    draft: DraftArgs,

    #[command(flatten)]
    key: KeyAuthArgs,
}

/// A key.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "API key")]
struct KeyAuthArgs {
    /// Demands an API key. It is the only method there is, and so the default.
    #[arg(long)]
    enable_apikey_auth: bool,

    /// The labels of the Secrets whose keys are valid, such as team=infra,tier=gold: all of them.
    #[arg(long, value_name = "LABELS", value_delimiter = ',', value_parser = pair)]
    apikey_label_selector: Vec<(String, String)>,

    /// The name of a Secret whose key is valid.
    #[arg(long, value_name = "NAME")]
    apikey_secret_name: Option<String>,

    /// The namespace of that Secret.
    #[arg(long, value_name = "NAMESPACE")]
    apikey_secret_namespace: Option<String>,

    /// The header that carries the key [default: api-key].
    #[arg(long, value_name = "HEADER")]
    apikey_header_name: Option<String>,

    /// Headers for the upstream, and which data of the Secret fills each, such as x-plan=plan.
    #[arg(long, value_name = "HEADERS", value_delimiter = ',', value_parser = pair)]
    apikey_headers_from_metadata: Vec<(String, String)>,

    /// The upstream sees the key too.
    #[arg(long)]
    apikey_forward_key: bool,

    /// A request without any key passes, without an identity; a wrong key is still refused.
    #[arg(long)]
    apikey_anonymous: bool,
}

pub(super) async fn run(args: &AuthConfigArgs, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    args.draft.create("AuthConfig", |_| args.key.fields(), now, output).await
}

// === impl KeyAuthArgs ===

impl KeyAuthArgs {
    fn fields(&self) -> anyhow::Result<Value> {
        let mut storage = Map::new();
        if !self.apikey_label_selector.is_empty() {
            storage.insert("labelSelector".into(), self.apikey_label_selector.iter().cloned().collect());
        }
        match (&self.apikey_secret_namespace, &self.apikey_secret_name) {
            (None, None) => {}
            (Some(namespace), Some(name)) => {
                let reference = json!([{ "name": name, "namespace": namespace }]);
                storage.insert("apiKeySecretRefs".into(), reference);
            }
            (namespace, name) => {
                let said = |word: &Option<String>| word.clone().unwrap_or_default();
                bail!(
                    "provide both a secret namespace [{}] and secret name [{}]\nhint: --apikey-secret-name and \
                     --apikey-secret-namespace",
                    said(namespace),
                    said(name)
                )
            }
        }
        ensure!(
            !storage.is_empty(),
            "nothing says which keys are valid\nhint: --apikey-label-selector team=infra selects Secrets by their \
             labels, --apikey-secret-name and --apikey-secret-namespace name one"
        );
        let mut auth = Map::from_iter([("k8sSecretApikeyStorage".to_owned(), storage.into())]);
        if let Some(header) = &self.apikey_header_name {
            auth.insert("headerName".into(), header.as_str().into());
        }
        if !self.apikey_headers_from_metadata.is_empty() {
            let entry = |(header, name): &(String, String)| (header.clone(), json!({ "name": name }));
            let entries: Map<String, Value> = self.apikey_headers_from_metadata.iter().map(entry).collect();
            auth.insert("headersFromMetadataEntry".into(), entries.into());
        }
        for (field, is_set) in [("forwardKey", self.apikey_forward_key), ("anonymous", self.apikey_anonymous)]
        {
            if is_set {
                auth.insert(field.into(), true.into());
            }
        }
        Ok(json!({ "spec": { "configs": [{ "apiKeyAuth": auth }] } }))
    }
}
