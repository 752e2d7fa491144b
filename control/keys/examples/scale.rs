//! How long the key index takes at a million Secrets: to be filled, and to follow another choice of the
//! namespaces that are watched.
//!
//! ```text
//! cargo run --release -p keyward-keys --example scale [Secrets]
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::time::{Duration, Instant};

use keyward_keys::{Change, KeyIndex, Table, Wanted};
use keyward_resource::Meta;
use keyward_resource::kinds::auth_config::{ApiKeyAuth, AuthConfig, AuthStep};
use keyward_resource::kinds::secret::{ApiKeySecret, KeyLife};

/// So many namespaces share the Secrets.
const NAMESPACES: usize = 10;

fn meta(namespace: &str, name: &str) -> Meta {
    Meta {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        labels: BTreeMap::from([("team".to_owned(), "x".to_owned())]),
        resource_version: 1,
        created: 1,
        generation: 1,
        creation_timestamp: String::new(),
    }
}

fn secret(at: usize) -> Change {
    let mut key = [0; 32];
    // Spread as digests are.
    let spread = (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    key[..8].copy_from_slice(&spread.to_be_bytes());
    let meta = meta(&format!("namespace-{}", at % NAMESPACES), &format!("user-{at}"));
    let (life, metadata) = (KeyLife::default(), BTreeMap::new());
    Change::PutSecret(ApiKeySecret {
        meta,
        key: Ok(key),
        held_since: 1,
        life,
        any_shape: false,
        previous: None,
        trailing_newline: false,
        metadata,
    })
}

fn auth_config() -> Change {
    let api_key_auth = ApiKeyAuth {
        header_name: "api-key".to_owned(),
        places: Vec::new(),
        label_selector: BTreeMap::from([("team".to_owned(), "x".to_owned())]),
        secret_refs: Vec::new(),
        forward_key: false,
        anonymous: false,
        headers_from_metadata: BTreeMap::new(),
    };
    let steps = vec![AuthStep { name: "config_0".to_owned(), api_key_auth }];
    Change::PutAuthConfig(AuthConfig {
        meta: meta("namespace-0", "keys"),
        steps,
        rule: None,
        warnings: Vec::new(),
    })
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn main() -> std::io::Result<()> {
    let secrets = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(1_000_000);
    let mut out = std::io::stdout().lock();
    let mut index = KeyIndex::new();
    let all: Vec<Change> = (0..secrets).map(secret).chain([auth_config()]).collect();
    let mut say = |what: &str, index: &KeyIndex, took: Duration| {
        let view = index.view(Wanted::new());
        let keys = view.table("namespace-0/keys").map_or(0, Table::len);
        writeln!(out, "{what}: {took:.1?}, {keys} keys are valid")
    };
    let took = timed(|| index.apply(1, all));
    say("all Secrets", &index, took)?;
    let half: BTreeSet<String> = (0..NAMESPACES / 2).map(|at| format!("namespace-{at}")).collect();
    let took = timed(|| index.apply(2, [Change::Watch(Some(half.clone()))]));
    say("half of the namespaces are watched", &index, took)?;
    let took = timed(|| index.apply(3, [Change::Watch(Some(half))]));
    say("the same ones", &index, took)?;
    let took = timed(|| index.apply(4, [Change::Watch(None)]));
    say("all are watched again", &index, took)
}
