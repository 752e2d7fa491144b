//! The tour of everything that operates Keyward, as the README quotes it.

use std::time::Duration;

use anyhow::Context as _;
use keyward_integration::paths;
use tokio::process::Command;
use tokio::time::timeout;

use crate::Result;
use crate::stack::{DEMO_KEY, free_ports};

/// Some sixty commands, each a process, and a stack.
const LONG: Duration = Duration::from_secs(240);

/// What differs from run to run: numbers, names in hex, and how wide columns are because of them.
fn alike(line: &str) -> String {
    let same = |letter: char| if letter.is_ascii_hexdigit() || letter == '+' { '0' } else { letter };
    let mut line: String = line.chars().map(same).filter(|letter| !letter.is_whitespace()).collect();
    line.retain(|letter| letter != '0' && letter != '-');
    line
}

/// The tour, and what it says.
async fn taken() -> anyhow::Result<std::process::Output> {
    const PORTS: [&str; 8] = ["GATEWAY", "REST", "XDS", "ADMIN", "SNAPSHOTS", "UPSTREAM", "STATS", "DEV"];
    let ports: [u16; 9] = free_ports()?;
    let mut tour = Command::new(paths::workspace_root().join("examples/tour.sh"));
    for (name, port) in PORTS.iter().zip(ports) {
        tour.env(format!("KEYWARD_{name}_PORT"), port.to_string());
    }
    let program = paths::keyward()?;
    let folder = program.parent().context("the program is in a folder")?;
    tour.env("KEYWARD_GATEWAY_TLS", format!("127.0.0.1:{}", ports[8]))
        .env("KEYWARD_ENVOY", paths::envoy()?)
        .env("PATH", format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default()))
        .kill_on_drop(true);
    timeout(LONG, tour.output()).await.context("the tour does not end")?.context("the tour")
}

#[tokio::test]
async fn the_tour_goes_through_and_is_what_the_readme_quotes() -> Result {
    let output = taken().await?;
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}{errors}");
    assert!(said.ends_with("\n# Done\n"), "{said}");
    assert!(!said.contains("PRIVATE KEY") && !said.contains("kw_") && !said.contains(DEMO_KEY), "{said}");

    let readme = std::fs::read_to_string(paths::workspace_root().join("README.md"))?;
    let (_, rest) = readme.split_once("```console\n").context("the README quotes no tour")?;
    let (quoted, _) = rest.split_once("\n```").context("the quotation has no end")?;
    let mut lines = said.lines().map(alike);
    for line in quoted.lines().filter(|line| !line.is_empty() && *line != "...") {
        let wanted = alike(line);
        assert!(lines.any(|said| said == wanted), "the tour does not say, from here on: {line}\n{said}");
    }
    Ok(())
}
