//! Reading files of resources.

use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use keyward_resource::kinds::{ApiKeySecret, AuthConfig};
use keyward_resource::{Format, Resource, admit, decode, kind, parse_documents};
use keyward_translate::Input;
use serde_json::Value;

/// The namespace of an object that names none, as with `kubectl apply`.
const NAMESPACE: &str = "default";

/// What a configuration is made of.
#[derive(Debug, Default)]
pub(super) struct Source {
    pub(super) auth_configs: Vec<AuthConfig>,
    pub(super) secrets: Vec<ApiKeySecret>,
    /// All objects that say which routes there are, for those on which only some are allowed.
    pub(super) input: Input,
    /// What could not be read of the others.
    pub(super) unread: Vec<String>,
}

/// The documents of a file; of standard input, if it is called `-`.
pub(super) fn documents(file: &Path) -> anyhow::Result<Vec<Value>> {
    let bytes = if file == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).context("standard input cannot be read")?;
        bytes
    } else {
        std::fs::read(file).with_context(|| format!("{} cannot be read", file.display()))?
    };
    let is_json = file.extension().is_some_and(|extension| extension == "json");
    let format = if is_json { Format::Json } else { Format::Yaml };
    // The message says where, and not what stands there.
    parse_documents(&bytes, format).map_err(|error| anyhow::anyhow!("{}: {error}", file.display()))
}

// === impl Source ===

impl Source {
    /// Reads the objects of a file.
    pub(super) fn read(&mut self, file: &Path) -> anyhow::Result<()> {
        for document in documents(file)? {
            self.document(document).with_context(|| file.display().to_string())?;
        }
        Ok(())
    }

    pub(super) fn document(&mut self, document: Value) -> anyhow::Result<()> {
        match document {
            Value::Object(mut list) if list.get("items").is_some_and(Value::is_array) => {
                let items = list.remove("items");
                let Some(Value::Array(items)) = items else { return Ok(()) };
                items.into_iter().try_for_each(|object| self.object(object))
            }
            object => self.object(object),
        }
    }

    fn object(&mut self, object: Value) -> anyhow::Result<()> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (api_version, name) = (text("/apiVersion").to_owned(), text("/kind").to_owned());
        let is_asked = matches!(name.as_str(), "AuthConfig" | "Secret");
        let Some((kind, _)) = kind::by_type(&api_version, &name) else {
            if is_asked {
                bail!("{name}: {api_version:?} is no apiVersion of it");
            }
            // Of somebody else.
            return Ok(());
        };
        let namespace = match text("/metadata/namespace") {
            "" if kind.is_namespaced() => NAMESPACE.to_owned(),
            namespace => namespace.to_owned(),
        };
        let of = format!("{name} {namespace}/{}", text("/metadata/name"));
        let mistakes = |errors: Vec<keyward_resource::FieldError>| {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            anyhow::anyhow!("{of}: {}", errors.join("; "))
        };
        let read = admit(kind, &namespace, None, object).and_then(|stored| decode(kind, &stored));
        let resource = match read.map_err(mistakes) {
            Ok(resource) => resource,
            Err(error) if is_asked => return Err(error),
            Err(error) => {
                self.unread.push(format!("{error}: whom it allows is not in the configuration"));
                return Ok(());
            }
        };
        match &resource {
            Resource::AuthConfig(auth_config) => self.auth_configs.push(auth_config.clone()),
            Resource::ApiKeySecret(secret) => self.secrets.push(secret.clone()),
            _ => {}
        }
        self.input.put(resource);
        Ok(())
    }
}
