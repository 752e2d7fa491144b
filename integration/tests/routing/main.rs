//! Every snapshot that a golden of translation produces is accepted by the real Envoy, which then
//! answers as `requests.yaml` says.

mod explained;
mod notices;

use std::time::Instant;

use keyward_integration::routing::{Bench, Case, folders};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_case_is_served_as_declared() {
    let started = Instant::now();
    let mut wrong = Vec::new();
    let mut bench = Bench::start().await.unwrap();
    let folders = folders().unwrap();
    for folder in &folders {
        match Case::read(folder) {
            Ok(case) => wrong.extend(bench.run(&case).await),
            Err(error) => wrong.push(format!("{}: {error:#}", folder.display())),
        }
    }
    let summary = format!("{} cases in {:.1?}", folders.len(), started.elapsed());
    assert!(wrong.is_empty(), "{}\n{} failures, {summary}", wrong.join("\n"), wrong.len());
}
