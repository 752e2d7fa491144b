//! The control server and its embedded store with many Secrets.

use std::path::Path;
use std::time::Instant;

use anyhow::ensure;
use serde_json::json;

use crate::gateway::{self, AUTH_CONFIGS, Gateway, SECRETS, auth_config};
use crate::keys;
use crate::options::Plan;
use crate::process;
use crate::progress::say;
use crate::results::Store;
use crate::stats::{Spread, milliseconds};

/// How often each thing is asked; less often where fewer revocations are asked for too.
const ASKED: usize = 200;
const PAGE: usize = 500;

/// Measures with the Secrets that are in the store, which is so many.
pub(crate) async fn measure(plan: &Plan, folder: &Path, secrets: usize) -> anyhow::Result<Store> {
    let data = gateway::data(folder);
    say(&format!("{secrets} Secrets: the store"));
    // An AuthConfig that selects them all: the key table is part of the start.
    let gateway = gateway::control(plan, folder, false).await?;
    gateway.create(AUTH_CONFIGS, &auth_config("keys", &json!({ "team": "bench" }))).await?;
    gateway.stop().await?;
    let start = Instant::now();
    let gateway = gateway::control(plan, folder, false).await?;
    let page = gateway.url(&format!("{SECRETS}?limit={PAGE}"));
    get(&gateway, &page).await?;
    let start_ms = milliseconds(start.elapsed());
    let control_mib = process::resident(gateway.control())?;
    let (mut lists, mut gets, mut changes) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..ASKED.min(plan.revocations) {
        let begin = Instant::now();
        get(&gateway, &page).await?;
        lists.push(milliseconds(begin.elapsed()));
        let one = gateway.url(&format!("{SECRETS}/{}", keys::identity(number * secrets / ASKED)));
        let begin = Instant::now();
        get(&gateway, &one).await?;
        gets.push(milliseconds(begin.elapsed()));
        let guest = json!({
            "type": "extauth.keyward.io/apikey",
            "metadata": { "name": "guest", "labels": { "team": "bench" } },
            "stringData": { "api-key": keys::unknown(number) },
        });
        let make = gateway.client.post(gateway.url(SECRETS)).json(&guest);
        for request in [make, gateway.client.delete(gateway.url(&format!("{SECRETS}/guest")))] {
            let begin = Instant::now();
            let answer = request.send().await?;
            changes.push(milliseconds(begin.elapsed()));
            ensure!(answer.status().is_success(), "a change was answered with {}", answer.status());
        }
    }
    let file = std::fs::metadata(data.join("keyward.db"))?.len();
    gateway.stop().await?;
    Ok(Store {
        secrets,
        file_mib: file as f64 / 1024.0 / 1024.0,
        start_ms,
        control_mib,
        list_500_ms: Spread::of(lists),
        get_ms: Spread::of(gets),
        change_ms: Spread::of(changes),
    })
}

async fn get(gateway: &Gateway, url: &str) -> anyhow::Result<()> {
    let answer = gateway.client.get(url).send().await?;
    ensure!(answer.status().is_success(), "{url} answers {}", answer.status());
    answer.bytes().await?;
    Ok(())
}
