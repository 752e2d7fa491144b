//! The examples of the README, run as they stand there; only the ports are those of the test.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use keyward_integration::paths;
use tokio::process::Command;
use tokio::time::{sleep, timeout};

use crate::Result;
use crate::stack::{self, Stack};

/// "Some milliseconds later", on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);
/// A block of commands of which each asks the server a good deal.
const LONG: Duration = Duration::from_secs(120);

fn readme() -> anyhow::Result<String> {
    let path = paths::workspace_root().join("README.md");
    std::fs::read_to_string(&path).with_context(|| path.display().to_string())
}

/// The commands of the one block of shell in which the text stands.
fn commands(readme: &str, text: &str) -> anyhow::Result<Vec<String>> {
    block(readme, text).map(split)
}

/// The one block of shell in which the text stands.
fn block<'a>(readme: &'a str, text: &str) -> anyhow::Result<&'a str> {
    let blocks = readme.split("```sh\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    let with: Vec<&str> = blocks.filter(|block| block.contains(text)).collect();
    let [block] = with[..] else { anyhow::bail!("{} blocks hold {text}", with.len()) };
    Ok(block)
}

/// Runs a block as a whole in a shell, with the `kubectl` of the tests, at home in a folder of its own.
async fn run_with_kubectl(shell: &str, block: &str) -> anyhow::Result<Output> {
    let home = tempfile::tempdir()?;
    let kubectl = home.path().join("kubectl");
    std::fs::write(&kubectl, format!("#!/bin/sh\nexec '{}' \"$@\"\n", paths::kubectl()?.display()))?;
    std::fs::set_permissions(&kubectl, Permissions::from_mode(0o755))?;
    let path = format!("{}:{}", home.path().display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new(shell)
        .args(["-e", "-c", block])
        .envs([("HOME", home.path().as_os_str()), ("PATH", path.as_ref()), ("EDITOR", "true".as_ref())])
        .kill_on_drop(true)
        .output();
    let output = timeout(LONG, output).await.with_context(|| format!("{shell} does not end"))?;
    output.with_context(|| shell.to_owned())
}

/// The commands of a script: a line, with the lines that it is continued on and its here-document.
fn split(script: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut lines = script.lines();
    while let Some(line) = lines.next() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut command = line.to_owned();
        let mut last = line;
        while last.ends_with('\\') {
            last = lines.next().unwrap_or_default();
            command = format!("{command}\n{last}");
        }
        if let Some((_, end)) = last.split_once("<<'") {
            let end = end.trim_end_matches('\'');
            for line in lines.by_ref() {
                command = format!("{command}\n{line}");
                if line == end {
                    break;
                }
            }
        }
        commands.push(command);
    }
    commands
}

/// Runs a command until its answer begins like this.
async fn until(command: &str, beginning: &str) -> Result {
    let begin = Instant::now();
    loop {
        let answer = stack::paste(command).await?;
        if answer.starts_with(beginning) {
            return Ok(());
        }
        ensure!(begin.elapsed() < PATIENCE, "{command} is not answered with {beginning}: {answer}");
        sleep(POLL).await;
    }
}

#[test]
fn a_script_is_split_into_its_commands() {
    let script = "# why\na \\\n  b <<'END'\nx\n# y\nEND\nc\n\n# and\nd";
    assert_eq!(split(script), ["a \\\n  b <<'END'\nx\n# y\nEND", "c", "d"]);
}

#[tokio::test]
async fn the_examples_do_what_the_readme_says() -> Result {
    let readme = readme()?;
    let stack = Stack::new()?;
    assert!(stack.demo(&["up", "--detach"]).await?.status.success());

    // The two first requests.
    let first: Vec<String> =
        commands(&readme, "HTTP/1.1 401")?.iter().map(|line| stack.with_ports(line)).collect();
    let [denied, allowed] = &first[..] else { anyhow::bail!("{first:?}") };
    assert!(stack::paste(denied).await?.starts_with("HTTP/1.1 401 "));
    let answer = stack::paste(allowed).await?;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains(r#"["x-user-id","alice"]"#), "{answer}");

    // A key comes and goes.
    let bob: Vec<String> =
        commands(&readme, "name: bob")?.iter().map(|line| stack.with_ports(line)).collect();
    let [create, knock, delete] = &bob[..] else { anyhow::bail!("{bob:?}") };
    assert!(stack::paste(knock).await?.starts_with("HTTP/1.1 401 "));
    let created = stack::paste(create).await?;
    assert!(created.contains(r#""name":"bob""#), "{created}");
    until(knock, "HTTP/1.1 200 ").await?;
    let answer = stack::paste(knock).await?;
    assert!(answer.contains(r#"["x-user-id","bob"]"#), "{answer}");
    let deleted = stack::paste(delete).await?;
    assert!(deleted.contains(r#""status":"Success""#), "{deleted}");
    until(knock, "HTTP/1.1 401 ").await?;

    // The same with kubectl, pasted as it stands into this and that shell.
    let block = stack.with_ports(block(&readme, "kubectl --server http://127.0.0.1:9080 ")?);
    for shell in ["sh", "bash"] {
        let output = run_with_kubectl(shell, &block).await?;
        let (said, errors) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{shell}: {said}{errors}");
        for line in [
            "virtualservice.gateway.keyward.io/demo",
            "upstream.service.keyward.io/echo",
            "FIELD: routes <[]Route>",
            "virtualservice.gateway.keyward.io/demo condition met",
        ] {
            assert!(said.contains(line), "{shell} does not show {line}: {said}");
        }
        assert!(errors.contains("Edit cancelled, no changes made."), "{shell}: {errors}");
    }

    // Every object says whether it is served.
    let status = commands(&readme, "/virtualservices/demo")?;
    let [status] = &status[..] else { anyhow::bail!("{status:?}") };
    let answer = stack::paste(&stack.with_ports(status)).await?;
    assert!(answer.contains(r#""status":{"#), "{answer}");
    Ok(())
}
