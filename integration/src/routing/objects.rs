//! The objects of a case, taken in as the control server takes in what was admitted.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow, ensure};
use keyward_keys::Change;
use keyward_resource::{FieldError, Resource, admit, decode, kind};
use keyward_translate::Input;
use serde_json::Value;

/// What servers own, and a case may say nevertheless: here it plays the server.
const OWNED: [&str; 2] = ["creationTimestamp", "generation"];

/// The objects of a file.
#[derive(Debug)]
pub(super) struct Objects {
    pub(super) input: Input,
    /// What they mean for keys.
    pub(super) keys: Vec<Change>,
}

fn listed(errors: Vec<FieldError>) -> anyhow::Error {
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    anyhow!("refused: {}", errors.join("; "))
}

/// Reads a file, which may hold nothing but comments.
pub(super) fn read(path: &Path) -> anyhow::Result<Objects> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let objects: Vec<Value> =
        serde_saphyr::from_multiple(&text).with_context(|| path.display().to_string())?;
    ensure!(!objects.is_empty() || text.starts_with('#'), "{} is empty", path.display());
    let mut input = Input::default();
    let mut keys = Vec::new();
    for object in objects {
        keys.extend(put(object, &mut input).with_context(|| path.display().to_string())?);
    }
    Ok(Objects { input, keys })
}

fn put(object: Value, input: &mut Input) -> anyhow::Result<Option<Change>> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (version, name) = (text("/apiVersion"), text("/kind"));
    let (kind, _) = kind::by_type(version, name).with_context(|| format!("no kind {version} {name}"))?;
    let about = format!("{name} {}", text("/metadata/name"));
    let namespace =
        object.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or("default").to_owned();
    let owned: Vec<(&str, Value)> =
        OWNED.iter().filter_map(|name| Some((*name, object["metadata"].get(*name)?.clone()))).collect();
    let mut admitted = admit(kind, &namespace, None, object).map_err(listed).context(about.clone())?;
    for (name, value) in owned {
        admitted["metadata"][name] = value;
    }
    let resource = decode(kind, &admitted).map_err(listed).context(about)?;
    let id = resource.meta().object_ref();
    match resource {
        Resource::ApiKeySecret(secret) => return Ok(Some(Change::PutSecret(secret))),
        Resource::AuthConfig(config) => {
            input.auth_configs.insert(id, Arc::new(config.clone()));
            return Ok(Some(Change::PutAuthConfig(config)));
        }
        Resource::TlsSecret(secret) => drop(input.tls_secrets.insert(id, Arc::new(secret))),
        Resource::Upstream(upstream) => drop(input.upstreams.insert(id, Arc::new(upstream))),
        Resource::VirtualService(service) => drop(input.virtual_services.insert(id, Arc::new(service))),
        Resource::RouteTable(table) => drop(input.route_tables.insert(id, Arc::new(table))),
        Resource::VirtualHostOption(option) => drop(input.virtual_host_options.insert(id, Arc::new(option))),
        Resource::RouteOption(option) => drop(input.route_options.insert(id, Arc::new(option))),
        Resource::Gateway(gateway) => drop(input.gateways.insert(id, Arc::new(gateway))),
        Resource::UpstreamGroup(group) => drop(input.upstream_groups.insert(id, Arc::new(group))),
        Resource::Settings(settings) => drop(input.settings.insert(id, Arc::new(settings))),
        Resource::Namespace(_)
        | Resource::OtherSecret(_)
        | Resource::RateLimitConfig(_)
        | Resource::Proxy(_) => {}
    }
    Ok(None)
}
