//! How long the key index takes at a million Secrets: to be filled, to follow another choice of the namespaces
//! that are watched, and to follow one Secret among many AuthConfigs that select each something else.
//!
//! ```text
//! cargo run --release -p keyward-keys --example keys_scale [Secrets] [AuthConfigs]
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

/// One that selects all Secrets, or with a number nobody but itself does.
fn auth_config(at: Option<usize>) -> Change {
    let api_key_auth = ApiKeyAuth {
        header_name: "api-key".to_owned(),
        places: Vec::new(),
        label_selector: BTreeMap::from([(
            "team".to_owned(),
            at.map_or("x".to_owned(), |at| format!("x-{at}")),
        )]),
        secret_refs: Vec::new(),
        forward_key: false,
        anonymous: false,
        headers_from_metadata: BTreeMap::new(),
    };
    let steps = vec![AuthStep { name: "config_0".to_owned(), api_key_auth }];
    Change::PutAuthConfig(AuthConfig {
        meta: meta("namespace-0", &at.map_or("keys".to_owned(), |at| format!("keys-{at}"))),
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
    let number =
        |at: usize, usual| std::env::args().nth(at).and_then(|count| count.parse().ok()).unwrap_or(usual);
    let (secrets, configs) = (number(1, 1_000_000), number(2, 1_000));
    let mut out = std::io::stdout().lock();
    let mut index = KeyIndex::new();
    let all: Vec<Change> = (0..secrets).map(secret).chain([auth_config(None)]).collect();
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
    say("all are watched again", &index, took)?;
    let took = timed(|| index.apply(5, (0..configs).map(|at| auth_config(Some(at)))));
    say(&format!("{configs} more AuthConfigs"), &index, took)?;
    let mut times: Vec<Duration> =
        (0..101).map(|at| timed(|| index.apply(6 + at as u64, [secret(secrets + at)]))).collect();
    times.sort();
    say("one Secret more (median of 101)", &index, times[times.len() / 2])
}
