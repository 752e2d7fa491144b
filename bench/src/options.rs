//! What a run is told.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::keys::MOST;

/// Measures Keyward against no filter, Envoy's own `api_key_auth` and `ext_authz`, in one run.
///
/// The result is a table on standard output; a full run writes `results.json` and plots too.
#[derive(Debug, Parser)]
#[command(name = "keyward-bench")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) peer: Option<Peer>,
    #[command(flatten)]
    pub(crate) options: Options,
}

/// What the program is besides: a peer of its own, so that its CPU time can be told from the rest.
#[derive(Debug, Subcommand)]
pub(crate) enum Peer {
    /// Serves Envoy's ext_authz over gRPC on loopback.
    #[command(hide = true)]
    ExtAuthz {
        #[arg(long)]
        port: u16,
        #[arg(long)]
        keys: usize,
    },
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// What a request costs.
    Requests,
    /// What traffic feels of a full load of a table.
    Loads,
    /// How long a revocation takes, and its bytes on the wire.
    Revocations,
    /// The embedded store with many Secrets.
    Store,
    /// What each part of a verified request costs, at the first number of keys.
    Anatomy,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// Fewer cells, in less than three minutes.
    #[arg(long)]
    pub(crate) quick: bool,

    /// Only this; may be repeated [default: all, the store and the anatomy only in a full run]
    #[arg(long, value_name = "PART")]
    pub(crate) only: Vec<Part>,

    /// Numbers of keys [default: 1,1000,100000,1000000; quick: 1,100000]
    #[arg(long, value_delimiter = ',', value_name = "N")]
    keys: Vec<usize>,

    /// Rounds that count; in each round every cell has its turn [default: 5; quick: 3]
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,

    /// Seconds for each cell in a round [default: 2; quick: 0.4]
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<f64>,

    /// Revocations to measure, idle and again under load [default: 1000; quick: 100]
    #[arg(long, value_name = "N")]
    revocations: Option<usize>,

    /// Numbers of Envoys for the revocations [default: 1,10; quick: 1,3]
    #[arg(long, value_delimiter = ',', value_name = "N")]
    envoys: Vec<usize>,

    /// Numbers of Secrets for the store; alone, measures only the store [default: 1000,100000,1000000]
    #[arg(long, value_delimiter = ',', value_name = "N")]
    store: Vec<usize>,

    /// Where results.json and the plots go [default: bench; quick: nowhere]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// The keyward to measure [default: the release build, else the debug build]
    #[arg(long, value_name = "PATH")]
    keyward: Option<PathBuf>,

    /// The Envoy to measure with [default: the one that ./x fetches]
    #[arg(long, value_name = "PATH")]
    envoy: Option<PathBuf>,
}

/// The same with every default filled in.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) quick: bool,
    pub(crate) parts: Vec<Part>,
    pub(crate) keys: Vec<usize>,
    pub(crate) rounds: usize,
    pub(crate) time: Duration,
    pub(crate) revocations: usize,
    pub(crate) envoys: Vec<usize>,
    pub(crate) store: Vec<usize>,
    pub(crate) out: Option<PathBuf>,
    pub(crate) keyward: PathBuf,
    pub(crate) envoy: PathBuf,
}

fn or<T: Clone>(given: &[T], default: &[T]) -> Vec<T> {
    if given.is_empty() { default.to_vec() } else { given.to_vec() }
}

fn sorted(mut counts: Vec<usize>, most: usize, what: &str) -> anyhow::Result<Vec<usize>> {
    counts.sort_unstable();
    counts.dedup();
    let possible = counts.iter().all(|count| (1..=most).contains(count));
    ensure!(possible, "--{what} takes numbers from 1 to {most}");
    Ok(counts)
}

// === impl Options ===

impl Options {
    /// Fills in what was not said.
    pub(crate) fn plan(&self) -> anyhow::Result<Plan> {
        let quick = self.quick;
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let all = [Part::Requests, Part::Loads, Part::Revocations, Part::Store, Part::Anatomy];
        let parts = match (self.only.is_empty(), self.store.is_empty(), quick) {
            (false, ..) => self.only.clone(),
            (true, false, false) => vec![Part::Store],
            (true, true, true) => all[..3].to_vec(),
            (true, ..) => all.to_vec(),
        };
        let keys: &[usize] = if quick { &[1, 100_000] } else { &[1, 1_000, 100_000, 1_000_000] };
        let envoys: &[usize] = if quick { &[1, 3] } else { &[1, 10] };
        let seconds = self.seconds.unwrap_or(if quick { 0.4 } else { 2.0 });
        ensure!(seconds > 0.0 && seconds < 3600.0, "--seconds is more than 0 and less than an hour");
        let built = ["target/release/keyward", "target/debug/keyward"].map(|path| root.join(path));
        let built = built.iter().find(|path| path.is_file()).unwrap_or(&built[0]);
        Ok(Plan {
            quick,
            parts,
            keys: sorted(or(&self.keys, keys), MOST, "keys")?,
            rounds: self.rounds.unwrap_or(if quick { 3 } else { 5 }).max(1),
            time: Duration::from_secs_f64(seconds),
            revocations: self.revocations.unwrap_or(if quick { 100 } else { 1_000 }).max(1),
            envoys: sorted(or(&self.envoys, envoys), 50, "envoys")?,
            store: sorted(or(&self.store, &[1_000, 100_000, 1_000_000]), MOST, "store")?,
            out: self.out.clone().or_else(|| (!quick).then(|| root.join("bench"))),
            keyward: self.keyward.clone().unwrap_or_else(|| built.clone()),
            envoy: self.envoy.clone().unwrap_or_else(|| root.join(".tools/bin/envoy")),
        })
    }
}

// === impl Plan ===

impl Plan {
    pub(crate) fn has(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }
}
