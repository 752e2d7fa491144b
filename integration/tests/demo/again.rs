//! `up` where a stack runs already: it is kept only when it works and is what was asked for.

use std::net::TcpListener;

use rustix::process::Signal;

use crate::Result;
use crate::stack::{self, Finished, Stack};

/// The second line to be pasted admits, through the very ports that are shown.
async fn assert_admits(up: &Finished) -> Result {
    assert!(up.status.success(), "{up:?}");
    let allowed = stack::paste(&up.curl_lines()[1]).await?;
    assert!(allowed.starts_with("HTTP/1.1 200 "), "{allowed}");
    Ok(())
}

#[tokio::test]
async fn a_stack_without_its_upstream_is_started_anew() -> Result {
    let stack = Stack::new()?;
    assert_admits(&stack.demo(&["up", "--detach"]).await?).await?;
    stack.kill("demo-upstream")?;
    let again = stack.demo(&["up", "--detach"]).await?;
    assert!(again.stderr.contains("is broken: the echo upstream has ended; starting it anew"), "{again:?}");
    assert_admits(&again).await
}

#[tokio::test]
async fn a_stack_with_a_gateway_that_hangs_is_started_anew() -> Result {
    let stack = Stack::new()?;
    assert_admits(&stack.demo(&["up", "--detach"]).await?).await?;
    stack.signal("--config-path", Signal::STOP)?;
    let again = stack.demo(&["up", "--detach"]).await?;
    assert!(again.stderr.contains("should get 401, and got no answer; starting it anew"), "{again:?}");
    assert_admits(&again).await
}

#[tokio::test]
async fn other_ports_are_had_by_asking() -> Result {
    let mut stack = Stack::new()?;
    assert_admits(&stack.demo(&["up", "--detach"]).await?).await?;
    let old = stack.ports.gateway;
    stack.change_gateway_port()?;
    let again = stack.demo(&["up", "--detach"]).await?;
    let new = stack.ports.gateway;
    assert!(again.stderr.contains(&format!("has the gateway on port {old}, not {new}")), "{again:?}");
    assert!(again.curl_lines()[1].ends_with(&format!(":{new}/")), "{again:?}");
    assert_admits(&again).await?;
    TcpListener::bind(("127.0.0.1", old))?;
    Ok(())
}

#[tokio::test]
async fn a_stack_is_not_stopped_for_ports_that_cannot_be_had() -> Result {
    let mut stack = Stack::new()?;
    let first = stack.demo(&["up", "--detach"]).await?;
    stack.change_gateway_port()?;
    let _taker = TcpListener::bind(("127.0.0.1", stack.ports.gateway))?;
    let again = stack.demo(&["up", "--detach"]).await?;
    assert!(
        !again.status.success() && again.stderr.contains("is taken, and the gateway needs it"),
        "{again:?}"
    );
    assert_admits(&first).await
}

#[tokio::test]
async fn a_stack_in_the_foreground_is_not_taken_away() -> Result {
    let mut stack = Stack::new()?;
    let mut foreground = stack.foreground().await?;
    let old = stack.ports.gateway;
    stack.change_gateway_port()?;
    let again = stack.demo(&["up", "--detach"]).await?;
    let warning = format!("warning: the stack in the foreground has the gateway on port {old}, not ");
    assert!(again.stderr.contains(&warning), "{again:?}");
    assert!(again.curl_lines()[1].ends_with(&format!(":{old}/")), "{again:?}");
    assert_admits(&again).await?;
    foreground.signal(Signal::INT)?;
    assert!(foreground.end().await?.status.success());
    assert_eq!(stack.processes(), [0; 0]);
    Ok(())
}
