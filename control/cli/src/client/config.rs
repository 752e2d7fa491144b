//! The config file: servers by names.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::ClientError;
use super::target::Token;

#[cfg(test)]
mod tests;

/// The config file.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Config {
    /// The context that is meant where none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) current_context: Option<String>,
    /// The contexts by name.
    #[serde(default)]
    pub(crate) contexts: BTreeMap<String, Context>,
}

/// A server by a name.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Context {
    /// Its URL.
    pub(crate) server: String,
    /// The token to send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<Token>,
    /// A file with the token. Relative to the config file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token_file: Option<PathBuf>,
    /// The only authority to trust. Relative to the config file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) certificate_authority: Option<PathBuf>,
    /// The namespace where none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<String>,
}

/// Only its owner reads it: there may be tokens in it.
const MODE: u32 = 0o600;

fn wrong(path: &Path, why: impl ToString) -> ClientError {
    ClientError::File { what: "the config file", path: path.to_path_buf(), why: why.to_string() }
}

// === impl Config ===

impl Config {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Self, ClientError> {
        let text = fs::read_to_string(path).map_err(|error| wrong(path, error))?;
        Self::parse(&text).map_err(|why| wrong(path, why))
    }

    /// Reads a file that need not be there.
    pub(crate) fn read_or_default(path: &Path) -> Result<Self, ClientError> {
        match fs::read_to_string(path) {
            Ok(text) => Self::parse(&text).map_err(|why| wrong(path, why)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(wrong(path, error)),
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        // Without the lines around the mistake, which may hold a token.
        let options = serde_saphyr::options! { with_snippet: false };
        serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())
    }

    /// Writes it in place of the file, which is whole at any time.
    pub(crate) fn write(&self, path: &Path) -> Result<(), ClientError> {
        let text = serde_saphyr::to_string(self).map_err(|error| wrong(path, error))?;
        let write = || {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            // A link stays one: what it leads to is written.
            let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            let beside = path.with_extension(format!("{}.new", std::process::id()));
            let mut file =
                fs::OpenOptions::new().write(true).create(true).truncate(true).mode(MODE).open(&beside)?;
            let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
            let written = written.and_then(|()| fs::rename(&beside, &path));
            if written.is_err() {
                // What is left is of no use to anybody.
                let _ = fs::remove_file(&beside);
            }
            written
        };
        write().map_err(|error: std::io::Error| wrong(path, error))
    }

    /// The context of a name.
    pub(crate) fn context(&self, name: &str, path: Option<&PathBuf>) -> Result<&Context, ClientError> {
        self.contexts.get(name).ok_or_else(|| ClientError::Context {
            name: name.to_owned(),
            path: path.cloned().unwrap_or_default(),
            names: self.contexts.keys().cloned().collect(),
        })
    }

    /// The same without the tokens, for people to see.
    pub(crate) fn redacted(mut self) -> Self {
        for token in self.contexts.values_mut().filter_map(|context| context.token.as_mut()) {
            *token = Token::redacted();
        }
        self
    }
}
