//! `keyward serve --resources DIR`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use keyward_integration::paths;
use keyward_integration::stack::{Options, Stack, wait};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{upstream, write};

/// How long a change may take on a busy machine. It takes about a tenth of a second, and what goes
/// one second more.
const LIMIT: Duration = Duration::from_secs(20);

fn start(folder: &Path) -> Stack {
    start_with(folder, &[])
}

fn start_with(folder: &Path, more: &[&str]) -> Stack {
    let mut flags = vec!["--resources".to_owned(), folder.display().to_string()];
    flags.extend(more.iter().map(|flag| (*flag).to_owned()));
    Stack::start(Options { no_envoy: true, flags, ..Options::default() }).expect("a control server")
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn port(stack: &Stack, name: &str) -> anyhow::Result<u64> {
    let object = stack.rest().get("Upstream", "shop", name)?;
    object.pointer("/spec/static/hosts/0/port").and_then(Value::as_u64).context("no port")
}

#[track_caller]
fn wait_for_port(stack: &Stack, name: &str, expected: u64) {
    let what = format!("{name} with port {expected}");
    let waited = wait::until(LIMIT, &what, || {
        let port = port(stack, name)?;
        ensure!(port == expected, "port {port}");
        Ok(())
    });
    waited.with_context(|| stack.logs()).expect("it comes");
}

#[track_caller]
fn wait_until_gone(stack: &Stack, name: &str) {
    let waited = wait::until(LIMIT, &format!("{name} to go"), || {
        let names = stack.rest().names("Upstream", "shop")?;
        ensure!(!names.iter().any(|other| other == name), "{names:?}");
        Ok(())
    });
    waited.with_context(|| stack.logs()).expect("it goes");
}

#[track_caller]
fn wait_for_state(stack: &Stack, kind: &str, namespace: &str, name: &str, expected: &str) {
    let waited = wait::until(LIMIT, &format!("{kind} {namespace}/{name} to be {expected}"), || {
        let object = stack.rest().get(kind, namespace, name)?;
        let state = object.pointer("/status/state").and_then(Value::as_str).unwrap_or_default();
        ensure!(state == expected, "{state}");
        Ok(())
    });
    waited.with_context(|| stack.logs()).expect("it is so");
}

#[track_caller]
fn wait_for_log(stack: &Stack, words: &str) {
    let waited = wait::until(LIMIT, &format!("{words:?} in the log"), || {
        ensure!(stack.logs().contains(words), "not yet");
        Ok(())
    });
    waited.with_context(|| stack.logs()).expect("it is told");
}

/// The log goes on over a restart.
#[track_caller]
fn wait_until_told_twice(stack: &Stack, words: &str) {
    let waited = wait::until(LIMIT, &format!("{words:?} twice in the log"), || {
        ensure!(stack.logs().matches(words).count() >= 2, "not yet");
        Ok(())
    });
    waited.with_context(|| stack.logs()).expect("it is told");
}

/// What people made over REST.
fn theirs() -> Value {
    json!({
        "apiVersion": "service.keyward.io/v1", "kind": "Upstream",
        "metadata": { "namespace": "shop", "name": "theirs" },
        "spec": { "static": { "hosts": [{ "addr": "127.0.0.1", "port": 7 }] } },
    })
}

#[test]
fn files_are_followed_and_broken_ones_leave_what_was() {
    let folder = folder();
    write(folder.path(), "a.yaml", &upstream("a", 1));
    let mut stack = start(folder.path());
    stack.rest().create(&theirs()).expect("an object over REST");
    wait_for_port(&stack, "a", 1);

    write(folder.path(), "new/folder/b.yml", &upstream("b", 1));
    wait_for_port(&stack, "b", 1);
    fs::write(folder.path().join("a.yaml"), upstream("a", 2)).expect("written in place");
    wait_for_port(&stack, "a", 2);

    // Two mistakes of two kinds in two files, and a neighbour of theirs that is right.
    write(folder.path(), "a.yaml", &upstream("a", 3).replace("static", "statik"));
    write(folder.path(), "new/folder/b.yml", &upstream("b", 3).replace("name: b", "name: [b"));
    write(folder.path(), "c.yaml", &upstream("c", 3));
    wait_for_port(&stack, "c", 3);
    wait_for_log(&stack, "--> a.yaml:7:3\n   |\n 7 |   statik:\n   |   ^");
    wait_for_log(&stack, "--> new/folder/b.yml:");
    assert_eq!((port(&stack, "a").ok(), port(&stack, "b").ok()), (Some(2), Some(1)));

    // Also over a restart, in which another file goes.
    stack.kill_server().expect("it ran");
    fs::remove_file(folder.path().join("c.yaml")).expect("a file");
    stack.start_server().expect("it starts again");
    wait_until_gone(&stack, "c");
    assert_eq!((port(&stack, "a").ok(), port(&stack, "b").ok()), (Some(2), Some(1)));

    write(folder.path(), "a.yaml", &upstream("a", 4));
    write(folder.path(), "new/folder/b.yml", &upstream("b", 4));
    wait_for_port(&stack, "a", 4);
    wait_for_port(&stack, "b", 4);
    wait_for_log(&stack, "the folder of resources is well again");

    fs::remove_dir_all(folder.path().join("new")).expect("a folder");
    wait_until_gone(&stack, "b");
    assert_eq!((port(&stack, "a").ok(), port(&stack, "theirs").ok()), (Some(4), Some(7)));
    stack.server_mut().expect("it runs").stop().expect("it stops");
}

#[test]
fn a_volume_of_kubernetes_is_followed_through_its_swaps() {
    let folder = folder();
    let root = folder.path();
    write(root, "..1/a.yaml", &upstream("a", 1));
    write(root, "..1/b.yaml", &upstream("b", 1));
    symlink("..1", root.join("..data")).expect("a link");
    for name in ["a.yaml", "b.yaml"] {
        symlink(format!("..data/{name}"), root.join(name)).expect("a link");
    }
    let stack = start(root);
    wait_for_port(&stack, "a", 1);
    wait_for_port(&stack, "b", 1);

    // What the kubelet does: a new folder, one rename, and then the links and the old folder.
    write(root, "..2/a.yaml", &upstream("a", 2));
    symlink("..2", root.join("..data_tmp")).expect("a link");
    fs::rename(root.join("..data_tmp"), root.join("..data")).expect("a swap");
    fs::remove_file(root.join("b.yaml")).expect("a link");
    fs::remove_dir_all(root.join("..1")).expect("a folder");
    wait_for_port(&stack, "a", 2);
    wait_until_gone(&stack, "b");
}

#[test]
fn a_folder_may_be_a_link_that_is_swapped_and_may_be_away_for_a_while() {
    let folder = folder();
    let (one, two, link) = (folder.path().join("1"), folder.path().join("2"), folder.path().join("now"));
    write(&one, "a.yaml", &upstream("a", 1));
    write(&two, "a.yaml", &upstream("a", 2));
    symlink(&one, &link).expect("a link");
    let stack = start(&link);
    wait_for_port(&stack, "a", 1);

    let beside = folder.path().join("next");
    symlink(&two, &beside).expect("a link");
    fs::rename(&beside, &link).expect("a swap");
    wait_for_port(&stack, "a", 2);
    write(&two, "a.yaml", &upstream("a", 3));
    wait_for_port(&stack, "a", 3);

    fs::remove_file(&link).expect("a link");
    wait_for_log(&stack, "the folder cannot be read, so its objects stay as they are");
    wait::throughout(Duration::from_millis(2500), || {
        ensure!(port(&stack, "a")? == 3);
        Ok(())
    })
    .expect("nothing is deleted");
    symlink(&one, &link).expect("a link");
    wait_for_port(&stack, "a", 1);
}

#[test]
fn what_the_settings_forbid_is_told_and_changes_nothing() {
    let folder = folder();
    let root = folder.path();
    let settings = "apiVersion: gloo.solo.io/v1\nkind: Settings\nmetadata: {name: default, namespace: \
                    keyward-system}\nspec: {gateway: {validation: {alwaysAccept: false, allowWarnings: false}}}\n";
    let site = |name: &str, domain: &str| {
        format!(
            "apiVersion: gateway.solo.io/v1\nkind: VirtualService\nmetadata: {{name: {name}, namespace: shop}}\n\
             spec: {{virtualHost: {{domains: [{domain}], routes: [{{matchers: [{{prefix: /}}], routeAction: \
             {{single: {{upstream: {{name: a}}}}}}}}]}}}}\n"
        )
    };
    write(root, "settings.yaml", settings);
    write(root, "a.yaml", &upstream("a", 1));
    write(root, "one.yaml", &site("one", "shop.example"));
    let stack = start(root);
    wait_for_state(&stack, "Settings", "keyward-system", "default", "Accepted");
    wait_for_state(&stack, "VirtualService", "shop", "one", "Accepted");

    // A domain that is taken, and an upstream that is needed.
    write(root, "two.yaml", &site("two", "shop.example"));
    wait_for_log(&stack, "would be Rejected: ");
    fs::remove_file(root.join("a.yaml")).expect("a file");
    wait_for_log(&stack, "VirtualService shop/one would be Warning: ");
    assert_eq!(stack.rest().names("VirtualService", "shop").expect("a list"), ["one"]);
    assert_eq!(port(&stack, "a").ok(), Some(1));

    write(root, "a.yaml", &upstream("a", 2));
    write(root, "two.yaml", &site("two", "two.shop.example"));
    wait_for_state(&stack, "VirtualService", "shop", "two", "Accepted");
    wait_for_port(&stack, "a", 2);
    wait_for_log(&stack, "the folder of resources is well again");
    // All goes at once: who needs it first.
    for file in ["one.yaml", "two.yaml", "a.yaml"] {
        fs::remove_file(root.join(file)).expect("a file");
    }
    wait_until_gone(&stack, "a");
}

#[test]
fn a_folder_that_becomes_empty_deletes_nothing_unless_that_was_said() {
    const TOLD: &str = "no file of the folder has any object, so those that came from it stay as they are (2";
    let folder = folder();
    let names = ["a", "b"];
    let fill =
        || names.iter().for_each(|name| write(folder.path(), &format!("{name}.yaml"), &upstream(name, 1)));
    let empty = || {
        names.iter().for_each(|name| {
            fs::remove_file(folder.path().join(format!("{name}.yaml"))).expect("a file");
        });
    };
    let both_stay = |stack: &Stack| {
        wait::throughout(Duration::from_millis(2500), || {
            ensure!(port(stack, "a")? == 1 && port(stack, "b")? == 1);
            Ok(())
        })
        .expect("nothing is deleted");
    };
    fill();
    let mut stack = start(folder.path());
    wait_for_port(&stack, "b", 1);
    empty();
    wait_for_log(&stack, TOLD);
    both_stay(&stack);
    // One file is enough of a sign that the folder is there: what is in none goes then.
    write(folder.path(), "b.yaml", &upstream("b", 2));
    wait_for_port(&stack, "b", 2);
    wait_until_gone(&stack, "a");

    // It may be mounted after the server has started.
    fill();
    wait_for_port(&stack, "a", 1);
    wait_for_port(&stack, "b", 1);
    stack.kill_server().expect("it ran");
    empty();
    stack.start_server().expect("it starts again");
    wait_until_told_twice(&stack, TOLD);
    both_stay(&stack);
    drop(stack);

    fill();
    let stack = start_with(folder.path(), &["--resources-may-be-empty"]);
    wait_for_port(&stack, "a", 1);
    wait_for_port(&stack, "b", 1);
    empty();
    wait_until_gone(&stack, "a");
    wait_until_gone(&stack, "b");
}

#[test]
fn no_key_of_a_broken_file_is_logged() {
    const KEY: &str = "5ecret-w0rds";
    let folder = folder();
    let secret = |line: &str| {
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: s, namespace: shop}}\nstringData:\n  api-key: {KEY}\n{line}\n"
        )
    };
    let stack = start(folder.path());
    write(folder.path(), "syntax.yaml", &secret(&format!("  {KEY}")));
    write(folder.path(), "field.yaml", &secret(&format!("  a/b: {KEY}")));
    wait_for_log(&stack, "--> syntax.yaml:");
    wait_for_log(&stack, "--> field.yaml:6:3");
    assert!(!stack.logs().contains(KEY), "{}", stack.logs());
}

#[test]
fn a_server_without_its_folder_does_not_start() {
    let data = folder();
    let keyward = paths::keyward().expect("the program");
    let missing = data.path().join("missing");
    for (path, why) in [(missing.as_path(), "cannot be read"), (Path::new("/dev/null"), "is not a folder")] {
        let mut command = Command::new(&keyward);
        command.args(["serve", "--no-envoy", "--rest", "127.0.0.1:0", "--xds", "127.0.0.1:0"]);
        command.args(["--snapshots", "127.0.0.1:0", "--data"]);
        let output = command.arg(data.path()).arg("--resources").arg(path).output().expect("it runs");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains(why) && told.contains("hint: check --resources"), "{told}");
    }
}
