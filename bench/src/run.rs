//! A whole run: one store that grows from one number of keys to the next.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context as _;

use crate::machine::Machine;
use crate::options::{Part, Plan};
use crate::progress::say;
use crate::results::{Results, Settings};
use crate::{anatomy, full_load, gateway, peers, plot, requests, revocation, seed, store, table};

/// Measures all that is planned, and says so.
pub(crate) async fn run(plan: &Plan) -> anyhow::Result<()> {
    anyhow::ensure!(plan.keyward.is_file(), "{} is missing: run ./x bench", plan.keyward.display());
    anyhow::ensure!(plan.envoy.is_file(), "{} is missing: run ./x bench", plan.envoy.display());
    let folder = tempfile::Builder::new().prefix("keyward-bench-").tempdir();
    let folder = folder.context("no folder for temporary files")?;
    let mut results = Results {
        machine: Machine::look(plan),
        settings: Settings {
            rounds: plan.rounds,
            seconds: plan.time.as_secs_f64(),
            connections: requests::CONNECTIONS,
            envoy_workers: 1,
        },
        requests: Vec::new(),
        noise: Vec::new(),
        loads: Vec::new(),
        revocations: Vec::new(),
        store: Vec::new(),
        anatomy: Vec::new(),
    };
    measure(plan, folder.path(), &mut results)
        .await
        .with_context(|| format!("what the control server said: {}", last_words(folder.path())))?;
    table::print(&results);
    if let Some(out) = &plan.out {
        std::fs::create_dir_all(out).with_context(|| out.display().to_string())?;
        let path = out.join("results.json");
        std::fs::write(&path, format!("{}\n", serde_json::to_string_pretty(&results)?))
            .with_context(|| path.display().to_string())?;
        plot::draw(&results, out)?;
        say(&format!("written: {}", out.display()));
    }
    Ok(())
}

async fn measure(plan: &Plan, folder: &Path, results: &mut Results) -> anyhow::Result<()> {
    let with_traffic =
        [Part::Requests, Part::Loads, Part::Revocations, Part::Anatomy].iter().any(|part| plan.has(*part));
    let mut counts = BTreeSet::new();
    if with_traffic {
        counts.extend(plan.keys.iter().copied());
    }
    if plan.has(Part::Store) {
        counts.extend(plan.store.iter().copied());
    }
    let upstream = peers::upstream(plan, folder).await?;
    let mut there = 0;
    for count in counts {
        seed::fill(&gateway::data(folder), there, count).await?;
        there = count;
        if plan.has(Part::Store) && plan.store.contains(&count) {
            results.store.push(store::measure(plan, folder, count).await?);
        }
        if !with_traffic || !plan.keys.contains(&count) {
            continue;
        }
        say(&format!("{count} keys: starting Keyward"));
        let gateway = gateway::start(plan, folder, upstream.port, count).await?;
        // What the parts are does not depend on the number of keys: once is enough.
        if plan.has(Part::Anatomy) && results.anatomy.is_empty() {
            results.anatomy = anatomy::measure(plan, folder, &gateway, upstream.port).await?;
        }
        if plan.has(Part::Requests) {
            let (rows, noise) = requests::measure(plan, folder, &gateway, upstream.port, count).await?;
            results.requests.extend(rows);
            results.noise.push(noise);
        }
        if plan.has(Part::Loads) {
            results.loads.push(full_load::measure(plan, &gateway, count).await?);
        }
        if plan.has(Part::Revocations) {
            results.revocations.extend(revocation::measure(plan, folder, &gateway, count).await?);
        }
        gateway.stop().await?;
    }
    Ok(())
}

fn last_words(folder: &Path) -> String {
    let text = std::fs::read_to_string(folder.join("keyward.log")).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(10).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}
