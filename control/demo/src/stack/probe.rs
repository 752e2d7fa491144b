//! Waiting until the gateway answers right.

use std::fmt;
use std::time::Duration;

use anyhow::bail;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::quickstart::Quickstart;
use super::{rest, terminal};

#[cfg(test)]
mod tests;

const POLL: Duration = Duration::from_millis(100);
/// How often the person is told what is waited for.
const NEWS: Duration = Duration::from_secs(3);
/// From the start of Envoy to the first right answer takes about two seconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// With objects that somebody changed the right answer may never come.
const PATIENCE_CHANGED: Duration = Duration::from_secs(10);
/// For a stack that was right before: time enough to replace an Envoy that has ended.
const PATIENCE_RUNNING: Duration = Duration::from_secs(5);
/// Longer than a secured request waits for keys.
const LIMIT: Duration = Duration::from_secs(7);

/// What was seen at the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sight {
    /// No answer.
    Silent,
    /// An answer, with the identity that the upstream saw.
    Answer { status: u16, user: Option<String> },
}

/// How the wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Every answer is right.
    Right,
    /// It answers, but not as the unchanged objects would make it.
    Other,
}

/// One request and the answer that it should get.
struct Check<'a> {
    what: &'static str,
    path: &'static str,
    key: Option<&'a str>,
    wanted: Sight,
}

/// Waits until the gateway denies and allows as the quickstart objects say. When somebody
/// `changed` them, any answers will do after a while.
pub(super) async fn until_right(
    url: &str,
    quickstart: &Quickstart,
    changed: bool,
) -> anyhow::Result<Outcome> {
    let patience = if changed { PATIENCE_CHANGED } else { PATIENCE };
    wait(url, quickstart, changed, patience).await
}

/// The same for a stack that has run for a while.
pub(super) async fn still_right(
    url: &str,
    quickstart: &Quickstart,
    changed: bool,
) -> anyhow::Result<Outcome> {
    wait(url, quickstart, changed, PATIENCE_RUNNING).await
}

/// Does an upstream answer at all?
pub(super) async fn answers(url: &str) -> bool {
    let Ok(client) = rest::client(PATIENCE_RUNNING) else { return false };
    client.get(url).send().await.is_ok_and(|answer| answer.status().is_success())
}

async fn wait(
    url: &str,
    quickstart: &Quickstart,
    changed: bool,
    patience: Duration,
) -> anyhow::Result<Outcome> {
    let client = rest::client(LIMIT)?;
    let answer = |status, user: Option<&str>| Sight::Answer { status, user: user.map(str::to_owned) };
    let checks = [
        Check { what: "a request without a key", path: "/", key: None, wanted: answer(401, None) },
        Check {
            what: "a request with the key",
            path: "/",
            key: Some(&quickstart.key),
            wanted: answer(200, Some(&quickstart.user)),
        },
        Check { what: "a request to /public", path: "/public", key: None, wanted: answer(200, None) },
    ];
    let begin = Instant::now();
    let mut news = begin + NEWS;
    loop {
        let Some((check, seen)) = first_wrong(&client, url, &checks).await else { return Ok(Outcome::Right) };
        let told = format!("{} should get {}, and got {seen}", check.what, check.wanted);
        if begin.elapsed() > patience {
            if changed && seen != Sight::Silent {
                terminal::say(&format!("{told}; that may be what you want"));
                return Ok(Outcome::Other);
            }
            bail!("the gateway does not answer right after {patience:?}: {told}");
        }
        if Instant::now() > news {
            news = Instant::now() + NEWS;
            terminal::say(&format!("waiting for the gateway: {told}"));
        }
        sleep(POLL).await;
    }
}

async fn first_wrong<'a>(
    client: &reqwest::Client,
    url: &str,
    checks: &'a [Check<'a>],
) -> Option<(&'a Check<'a>, Sight)> {
    for check in checks {
        let seen = look(client, url, check).await;
        if seen != check.wanted {
            return Some((check, seen));
        }
    }
    None
}

async fn look(client: &reqwest::Client, url: &str, check: &Check<'_>) -> Sight {
    let mut request = client.get(format!("{url}{}", check.path));
    if let Some(key) = check.key {
        request = request.header("api-key", key);
    }
    let Ok(answer) = request.send().await else { return Sight::Silent };
    let status = answer.status().as_u16();
    let echo: Value = answer.json().await.unwrap_or_default();
    let user = echo.get("headers").and_then(Value::as_array).and_then(|headers| {
        let user = headers.iter().find(|header| header.get(0) == Some(&Value::from("x-user-id")))?;
        Some(user.get(1)?.as_str()?.to_owned())
    });
    Sight::Answer { status, user }
}

// === impl Sight ===

impl fmt::Display for Sight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent => f.write_str("no answer"),
            Self::Answer { status, user: None } => write!(f, "{status}"),
            Self::Answer { status, user: Some(user) } => write!(f, "{status} as user {user}"),
        }
    }
}
