//! `keyward create secret tls`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::Args;
use jiff::Timestamp;
use keyward_resource::kinds::secret::{ROOT_CA_FIELD, TLS_CERT_FIELD, TLS_KEY_FIELD, TLS_TYPE};
use serde_json::{Map, Value, json};

use super::draft::DraftArgs;
use crate::ended::Ended;
use crate::output::Output;

pub(super) const EXAMPLES: &str = "\
Examples:
  # A certificate with its private key, for the sslConfig of virtual services:
  keyward create secret tls shop --certchain shop.crt --privatekey shop.key

  # Root certificates, against which an upstream is verified:
  keyward create secret tls roots --rootca ca.crt";

/// What the Secret is to hold.
#[derive(Debug, Clone, Args)]
pub(crate) struct TlsArgs {
    #[command(flatten)]
    draft: DraftArgs,

    /// A file with the certificate and those between it and its authority (PEM).
    #[arg(long, value_name = "FILE", alias = "cert", requires = "privatekey")]
    certchain: Option<PathBuf>,

    /// A file with the private key of the certificate (PEM).
    #[arg(long, value_name = "FILE", alias = "key", requires = "certchain")]
    privatekey: Option<PathBuf>,

    /// A file with root certificates (PEM).
    #[arg(long, value_name = "FILE")]
    rootca: Option<PathBuf>,
}

fn read(what: &str, path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path)
        .with_context(|| format!("the file of the {what}, {}, cannot be read", path.display()))
}

pub(super) async fn run(args: &TlsArgs, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    args.draft.create("Secret", |_| args.fields(), now, output).await
}

// === impl TlsArgs ===

impl TlsArgs {
    fn fields(&self) -> anyhow::Result<Value> {
        let files = [
            (TLS_CERT_FIELD, "certificate chain", &self.certchain),
            (TLS_KEY_FIELD, "private key", &self.privatekey),
            (ROOT_CA_FIELD, "root certificates", &self.rootca),
        ];
        let mut content = Map::new();
        for (field, what, path) in files {
            if let Some(path) = path {
                content.insert(field.to_owned(), read(what, path)?.into());
            }
        }
        if content.is_empty() {
            let why = "the Secret would hold nothing\nhint: --certchain and --privatekey name the files of a \
                       certificate, --rootca that of root certificates";
            return Err(Ended::usage(anyhow!(why)));
        }
        let kind = if content.contains_key(TLS_CERT_FIELD) { TLS_TYPE } else { "Opaque" };
        Ok(json!({ "type": kind, "stringData": content }))
    }
}
