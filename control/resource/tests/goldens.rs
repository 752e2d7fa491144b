//! The cases in `testdata/resources`: what people write (`in.yaml`), and what becomes of it
//! (`out.yaml`): the stored form and the domain object, or every mistake.
//!
//! A case may say in `path.yaml` to which path the object is sent; without it, it is sent to its own
//! kind and namespace (`default` if it names none). `UPDATE_GOLDENS=1` writes what is, and removes
//! what has no `in.yaml` any more.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keyward_resource::kinds::options::RouteOptions;
use keyward_resource::kinds::{AuthStep, Gateway, HostAddr, KeyLife, Route, Settings, StaticHost, Upstream};
use keyward_resource::{Format, Kind, ObjectRef, Resource, admit, decode, kind, parse_body};
use serde_json::{Map, Value, json};

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/resources")
}

fn read_yaml(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    parse_body(&bytes, Format::Yaml).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Where a case is sent to.
fn destination(case: &Path, object: &Value) -> (&'static Kind, String, Option<String>) {
    let path = case.join("path.yaml");
    let path = if path.exists() { read_yaml(&path) } else { json!({}) };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let kind = match text(&path["kind"]) {
        Some(name) => kind::by_name(&name),
        None => kind::by_type(
            object["apiVersion"].as_str().unwrap_or_default(),
            object["kind"].as_str().unwrap_or_default(),
        )
        .map(|(kind, _)| kind),
    };
    let kind = kind.unwrap_or_else(|| panic!("{}: no such kind", case.display()));
    let namespace = text(&path["namespace"]).or_else(|| text(&object["metadata"]["namespace"]));
    (kind, namespace.unwrap_or_else(|| "default".to_owned()), text(&path["name"]))
}

/// The one place that touches the API: what becomes of the input of a case.
fn check(case: &Path) -> Value {
    let bytes = std::fs::read(case.join("in.yaml")).expect("in.yaml is readable");
    let object = match parse_body(&bytes, Format::Yaml) {
        Ok(object) => object,
        Err(error) => return json!({ "malformed": error.to_string() }),
    };
    let (kind, namespace, name) = destination(case, &object);
    match admit(kind, &namespace, name.as_deref(), object) {
        Err(errors) => {
            let errors: Vec<_> = errors
                .into_iter()
                .map(|error| {
                    json!({ "field": error.path, "reason": error.reason.as_str(), "message": error.message })
                })
                .collect();
            json!({ "errors": errors })
        }
        Ok(stored) => {
            let again = admit(kind, &namespace, name.as_deref(), stored.clone());
            assert_eq!(again.as_ref(), Ok(&stored), "{}: admitted twice", case.display());
            let decoded = decode(kind, &stored).expect("what is admitted can be decoded");
            json!({ "stored": redacted(stored), "decoded": summary(&decoded) })
        }
    }
}

/// Replaces the data of a Secret by their length.
fn redacted(mut stored: Value) -> Value {
    if let Some(data) = stored.get_mut("data").and_then(Value::as_object_mut) {
        for value in data.values_mut() {
            let bytes = STANDARD.decode(value.as_str().expect("data are strings")).expect("data are base64");
            *value = format!("[redacted] {} bytes", bytes.len()).into();
        }
    }
    stored
}

/// What of the domain object is not in the stored form already: defaults, references, warnings.
fn summary(resource: &Resource) -> Value {
    match resource {
        Resource::Namespace(_) => json!("a namespace"),
        Resource::ApiKeySecret(secret) => {
            let key = secret.key.map_or_else(|problem| problem.to_string(), |_| "a digest".to_owned());
            let metadata = secret.metadata.iter().map(|(name, value)| {
                let fits = if value.header_value().is_some() { "fits a header" } else { "fits no header" };
                (name.clone(), json!(fits))
            });
            let metadata = Map::from_iter(metadata);
            let mut found =
                json!({ "key": key, "trailingNewline": secret.trailing_newline, "metadata": metadata });
            if secret.life != KeyLife::default() {
                found["life"] = said(&secret.life).into();
            }
            if let Some(previous) = &secret.previous {
                found["previous"] = json!({ "key": "a digest", "expiresAt": previous.expires_at });
            }
            found
        }
        Resource::TlsSecret(secret) => json!({
            "certificate": secret.pair.as_ref().map(|pair| pair.cert_chain.lines().count()),
            "privateKey": secret.pair.as_ref().map(|pair| said(&pair.private_key)),
            "rootCa": secret.root_ca.as_ref().map(|root_ca| root_ca.lines().count()),
        }),
        Resource::OtherSecret(_) => json!("no API key"),
        Resource::AuthConfig(config) => {
            let step = |step: &AuthStep| {
                let auth = &step.api_key_auth;
                let mut found = json!({
                    "name": step.name,
                    "header": auth.header_name,
                    "labels": auth.label_selector,
                    "secrets": refs(&auth.secret_refs),
                    "forwardKey": auth.forward_key,
                    "headersFromMetadata": said(&auth.headers_from_metadata),
                });
                if !auth.places.is_empty() {
                    found["header"] = auth.places.iter().map(said).collect();
                }
                if auth.anonymous {
                    found["anonymous"] = true.into();
                }
                found
            };
            json!({
                "steps": config.steps.iter().map(step).collect::<Vec<_>>(),
                "rule": config.rule.as_ref().map(said),
                "warnings": config.warnings,
            })
        }
        Resource::Upstream(upstream) => {
            let host = |host: &StaticHost| {
                let place = match &host.addr {
                    HostAddr::Ip(ip) => format!("address {}", SocketAddr::new(*ip, host.port)),
                    HostAddr::Dns(name) => format!("name {name}:{}", host.port),
                };
                match (host.weight, &host.sni) {
                    (None, None) => place,
                    (weight, sni) => format!("{place}, weight {weight:?}, sni {sni:?}"),
                }
            };
            let plain = Upstream::new(upstream.meta.clone(), upstream.hosts.clone());
            let mut found = said_apart(upstream, &plain);
            found["hosts"] = json!(upstream.hosts.iter().map(host).collect::<Vec<_>>());
            found
        }
        Resource::UpstreamGroup(group) => json!({
            "destinations": group.destinations.iter().map(said).collect::<Vec<_>>(),
            "warnings": group.warnings,
        }),
        Resource::Settings(settings) => said_apart(settings, &Settings::new(settings.meta.clone())),
        Resource::RateLimitConfig(config) => json!({
            "descriptors": config.descriptors.iter().map(said).collect::<Vec<_>>(),
            "setDescriptors": config.set_descriptors.iter().map(said).collect::<Vec<_>>(),
            "rateLimits": config.rate_limits.iter().map(said).collect::<Vec<_>>(),
            "warnings": config.warnings,
        }),
        Resource::Proxy(proxy) => json!({
            "listeners": proxy.listeners.iter().map(said).collect::<Vec<_>>(),
        }),
        Resource::VirtualService(service) => json!({
            "domains": service.domains,
            "displayName": service.display_name,
            "options": said(&service.options),
            "sslConfig": service.ssl_config.as_ref().map(said),
            "optionsRefs": refs(&service.options_refs),
            "routes": service.routes.iter().map(route).collect::<Vec<_>>(),
            "warnings": service.warnings,
        }),
        Resource::RouteTable(table) => json!({
            "weight": table.weight,
            "routes": table.routes.iter().map(route).collect::<Vec<_>>(),
            "warnings": table.warnings,
        }),
        Resource::VirtualHostOption(option) => {
            json!({ "options": said(&option.options), "warnings": option.warnings })
        }
        Resource::RouteOption(option) => {
            json!({ "options": said(&option.options), "warnings": option.warnings })
        }
        Resource::Gateway(gateway) => json!({
            "listens": SocketAddr::new(gateway.bind_address, gateway.bind_port).to_string(),
            "ssl": gateway.ssl,
            "proxies": gateway.proxy_names,
            "unlikeTheDefault": said_apart(
                gateway,
                &Gateway::new(gateway.meta.clone(), gateway.bind_address, gateway.bind_port),
            ),
        }),
    }
}

fn refs(refs: &[ObjectRef]) -> Vec<String> {
    refs.iter().map(ToString::to_string).collect()
}

fn route(route: &Route) -> Value {
    let mut found = json!({
        "name": route.name,
        "matchers": route.matchers.iter().map(said).collect::<Vec<_>>(),
        "inheritableMatchers": route.inheritable_matchers,
        "inheritablePathMatchers": route.inheritable_path_matchers,
        "action": said(&route.action),
        "options": (route.options != RouteOptions::default()).then(|| said(&route.options)),
        "optionsRefs": refs(&route.options_refs),
    });
    if let Some(fields) = found.as_object_mut() {
        fields.retain(|_, value| !value.is_null() && *value != json!([]));
    }
    found
}

/// What a domain value says: its debug form without fields that are unset or empty.
fn said(value: &impl std::fmt::Debug) -> String {
    shortened(&format!("{value:#?}"))
}

fn shortened(text: &str) -> String {
    let silent = [": None,", ": [],", ": {},"];
    let lines = text.lines().filter(|line| !silent.iter().any(|end| line.ends_with(end)));
    let text = lines.map(str::trim).collect::<Vec<_>>().join(" ");
    text.replace("( ", "(").replace(", )", ")").replace("[ ", "[").replace(", ]", "]").replace(", }", " }")
}

/// The fields in which a domain value differs from another one, by name.
fn said_apart(value: &impl std::fmt::Debug, from: &impl std::fmt::Debug) -> Value {
    let fields = |text: String| {
        let mut fields: Vec<(String, String)> = Vec::new();
        for line in text.lines() {
            // Four spaces and no more: a field of the value itself.
            let name =
                line.strip_prefix("    ").filter(|line| line.starts_with(|char: char| char.is_alphabetic()));
            match (name.and_then(|line| line.split_once(": ")), fields.last_mut()) {
                (Some((name, rest)), _) => fields.push((name.to_owned(), rest.to_owned())),
                (None, Some((_, text))) if line.starts_with("    ") => {
                    text.push('\n');
                    text.push_str(line);
                }
                _ => {}
            }
        }
        fields
    };
    let from = fields(format!("{from:#?}"));
    let apart = fields(format!("{value:#?}")).into_iter().filter(|field| !from.contains(field));
    Value::Object(apart.map(|(name, text)| (name, shortened(&text).trim_end_matches(',').into())).collect())
}

/// Sorted keys, whatever features of `serde_json` are on.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let map: BTreeMap<_, _> = map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            Value::Object(Map::from_iter(map))
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

#[test]
fn goldens() {
    let update = std::env::var_os("UPDATE_GOLDENS").is_some();
    let mut names = BTreeSet::new();
    let mut wrong = Vec::new();
    let folders: BTreeSet<PathBuf> = std::fs::read_dir(cases())
        .expect("testdata/resources")
        .map(|entry| entry.expect("entry").path())
        .collect();
    for case in folders {
        let golden = case.join("out.yaml");
        if !case.join("in.yaml").exists() {
            assert!(update, "{}: out.yaml without in.yaml", case.display());
            std::fs::remove_dir_all(&case).expect("the orphan can be removed");
            continue;
        }
        names.insert(case.clone());
        let found = sorted(check(&case));
        if update {
            let text = serde_saphyr::to_string(&found).expect("values are YAML");
            std::fs::write(&golden, text).expect("the golden can be written");
        }
        if !golden.exists() || read_yaml(&golden) != found {
            let text = serde_saphyr::to_string(&found).expect("values are YAML");
            wrong.push(format!("{} is now:\n{text}", golden.display()));
        }
    }
    assert!(names.len() > 30, "the cases are not where they should be: {}", names.len());
    assert!(wrong.is_empty(), "{}\n(UPDATE_GOLDENS=1 takes this over)", wrong.join("\n"));
}
