//! `keyward demo up` and `down`, as people call them, with the real control server and Envoy.

mod again;
mod checkout;
mod readme;
mod stack;
mod tools;
mod tour;
mod wrong_envoy;

use std::net::TcpListener;
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::Signal;
use serde_json::json;
use stack::{DEMO_KEY, Stack};

type Result = anyhow::Result<()>;

#[tokio::test]
async fn up_verifies_keys_and_down_leaves_no_process() -> Result {
    let stack = Stack::new()?;
    let up = stack.demo(&["up", "--detach"]).await?;
    assert!(up.status.success(), "{up:?}");
    // The lines that are to be pasted are pasted.
    let lines = up.curl_lines();
    assert_eq!(lines.len(), 2, "{up:?}");
    let denied = stack::paste(&lines[0]).await?;
    assert!(denied.starts_with("HTTP/1.1 401 "), "{denied}");
    assert!(denied.contains("\r\nwww-authenticate: API key is missing or invalid\r\n"), "{denied}");
    assert!(denied.contains("\r\ncontent-length: 0\r\n"), "{denied}");
    assert!(denied.ends_with("\r\n\r\n"), "{denied}");
    let allowed = stack::paste(&lines[1]).await?;
    assert!(allowed.starts_with("HTTP/1.1 200 "), "{allowed}");
    assert!(allowed.contains(r#"["x-user-id","alice"]"#), "{allowed}");
    assert!(!allowed.contains(DEMO_KEY), "{allowed}");

    let again = stack.demo(&["up"]).await?;
    assert!(again.status.success(), "{again:?}");
    assert!(again.stderr.contains("up already"), "{again:?}");
    assert_eq!(again.curl_lines(), lines);

    let down = stack.demo(&["down"]).await?;
    assert!(down.status.success(), "{down:?}");
    assert_eq!(stack.processes(), [0; 0]);
    let nothing = stack.demo(&["down"]).await?;
    assert!(nothing.status.success() && nothing.stderr.contains("nothing runs"), "{nothing:?}");
    Ok(())
}

#[tokio::test]
async fn the_second_run_finds_the_data_of_the_first_and_keeps_changes() -> Result {
    let mut stack = Stack::new()?;
    assert!(stack.demo(&["up", "--detach"]).await?.status.success());
    let bob = json!({"apiVersion": "v1", "kind": "Secret", "type": "extauth.keyward.io/apikey",
        "metadata": {"name": "bob", "namespace": "keyward-system", "labels": {"team": "demo"}},
        "stringData": {"api-key": "the key of bob"}});
    stack.post("/api/v1/namespaces/keyward-system/secrets", &bob).await?;
    assert!(stack.demo(&["down"]).await?.status.success());

    // The quickstart upstream follows its port; nobody changed it.
    stack.change_upstream_port()?;
    let up = stack.demo(&["up", "--detach"]).await?;
    assert!(up.status.success(), "{up:?}");
    assert!(up.stderr.contains("quickstart objects: brought up to date Upstream echo"), "{up:?}");
    stack.until_user("the key of bob", "bob").await?;
    assert!(stack.demo(&["down"]).await?.status.success());
    assert_eq!(stack.processes(), [0; 0]);
    Ok(())
}

#[tokio::test]
async fn every_polite_signal_stops_the_foreground_in_order() -> Result {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let stack = Stack::new()?;
        let mut up = stack.foreground().await?;
        up.signal(signal)?;
        let end = up.end().await?;
        assert!(end.status.success(), "{end:?}");
        assert_eq!(stack.processes(), [0; 0], "{end:?}");
        let place = |what: &str| end.stderr.find(what).unwrap_or_else(|| panic!("no {what:?} in {end:?}"));
        assert!(place("stopping keyward serve") < place("stopping keyward demo-upstream"), "{end:?}");
        assert!(end.stderr.contains("envoy stopped"), "{end:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_killed_foreground_takes_everything_with_it() -> Result {
    let stack = Stack::new()?;
    let mut up = stack.foreground().await?;
    assert!(stack.processes().len() >= 3, "{:?}", stack.processes());
    up.signal(Signal::KILL)?;
    up.end().await?;
    stack.until_no_process(Duration::from_secs(20)).await;
    Ok(())
}

#[tokio::test]
async fn down_stops_a_foreground_that_runs_elsewhere() -> Result {
    let stack = Stack::new()?;
    let mut up = stack.foreground().await?;
    let down = stack.demo(&["down"]).await?;
    assert!(down.status.success(), "{down:?}");
    let end = up.end().await?;
    assert!(end.status.success(), "{end:?}");
    assert_eq!(stack.processes(), [0; 0]);
    Ok(())
}

#[tokio::test]
async fn what_a_killed_control_server_leaves_is_stopped() -> Result {
    let stack = Stack::new()?;
    assert!(stack.demo(&["up", "--detach"]).await?.status.success());
    stack.kill("serve")?;
    assert!(stack.processes().len() >= 2, "envoy and the upstream live on: {:?}", stack.processes());
    let down = stack.demo(&["down"]).await?;
    assert!(down.status.success(), "{down:?}");
    assert!(down.stderr.contains("stopping envoy"), "{down:?}");
    assert_eq!(stack.processes(), [0; 0]);
    Ok(())
}

#[tokio::test]
async fn a_taken_port_is_named() -> Result {
    let stack = Stack::new()?;
    let _taker = TcpListener::bind(("127.0.0.1", stack.ports.gateway))?;
    let up = stack.demo(&["up", "--detach"]).await?;
    assert!(!up.status.success(), "{up:?}");
    let port = stack.ports.gateway;
    assert!(up.stderr.contains(&format!("port {port} is taken, and the gateway needs it")), "{up:?}");
    // The flag that it proposes is all that is needed.
    let (_, proposed) = up.stderr.split_once("or add --gateway-port ").context("nothing is proposed")?;
    let proposed = proposed.split(' ').next().context("no port is proposed")?;
    assert_eq!(stack.processes(), [0; 0]);
    let up = stack.demo(&["up", "--detach", "--gateway-port", proposed]).await?;
    assert!(up.status.success(), "{up:?}");
    Ok(())
}
