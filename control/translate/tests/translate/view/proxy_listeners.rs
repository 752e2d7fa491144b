//! Listeners and secrets in Keyward's own terms.

use keyward_translate::proxy::{Chain, Listener, Secret, SecretContent};
use serde_json::{Value, json};

use super::debug;
use super::proxy_routes::{self, put};

pub(super) fn listener(listener: &Listener) -> Value {
    let gateway = listener.gateway.as_ref().map_or("default".to_owned(), ToString::to_string);
    let mut shown = json!({ "address": listener.address.to_string(), "gateway": gateway });
    put(&mut shown, "http", debug::message(&listener.http));
    put(&mut shown, "bufferLimit", listener.buffer_limit);
    match listener.chains.as_slice() {
        [Chain { tls: None, virtual_hosts, .. }] => {
            shown["virtualHosts"] = virtual_hosts.iter().map(|host| proxy_routes::host(host)).collect();
        }
        chains => shown["chains"] = chains.iter().map(chain).collect(),
    }
    shown
}

fn chain(chain: &Chain) -> Value {
    let tls = chain.tls.as_ref().expect("several chains have TLS");
    let mut shown = json!({ "name": chain.name, "terms": debug::message(&tls.terms) });
    put(&mut shown, "serverNames", tls.server_names.clone());
    put(&mut shown, "fallback", tls.fallback);
    put(&mut shown, "misdirected", chain.misdirected.clone());
    shown["virtualHosts"] = chain.virtual_hosts.iter().map(|host| proxy_routes::host(host)).collect();
    shown
}

/// Never what is secret.
pub(super) fn secret(secret: &Secret) -> Value {
    let content = match &secret.content {
        SecretContent::Certificate(pair) => {
            let certificates = pair.cert_chain.matches("BEGIN CERTIFICATE").count();
            format!("{certificates} certificates and a private key")
        }
        SecretContent::CertificateFiles(files) => format!("files {} and {}", files.cert, files.key),
        SecretContent::RootCa(pem) => {
            format!("{} root certificates", pem.matches("BEGIN CERTIFICATE").count())
        }
        SecretContent::RootCaFile(path) => format!("root certificates in file {path}"),
    };
    let made_from: Vec<String> = secret.made_from.iter().map(ToString::to_string).collect();
    json!({ "content": content, "madeFrom": made_from })
}
