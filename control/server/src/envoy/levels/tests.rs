//! Tests of raising and putting back, over an Envoy that is made up.

use std::mem::ManuallyDrop;
use std::sync::Mutex as Lock;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use futures::future::BoxFuture;
use keyward_admin::proxy::{Manner, ProxyAdmin};
use tempfile::TempDir;

use super::*;
use crate::envoy::process::note_of_this_process;

/// How long anything may take.
const SOON: Duration = Duration::from_secs(20);

#[derive(Default)]
struct Envoy {
    levels: Lock<Levels>,
    /// How often levels were set.
    sets: Lock<usize>,
    is_away: Lock<bool>,
}

struct Site {
    envoy: Arc<Envoy>,
    folder: TempDir,
}

fn levels(pairs: &[(&str, &str)]) -> Levels {
    pairs.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned())).collect()
}

fn who() -> Who {
    Who("somebody".to_owned())
}

impl ProxyAdmin for Envoy {
    fn send(&self, request: Request, changes: Option<Who>) -> BoxFuture<'_, Result<Response, String>> {
        Box::pin(async move {
            if *self.is_away.lock().unwrap() {
                return Err("away".to_owned());
            }
            let mut levels = self.levels.lock().unwrap();
            if let Some(query) = request.uri().query() {
                assert!(changes.is_some(), "a change has somebody who makes it");
                *self.sets.lock().unwrap() += 1;
                let paths = query.strip_prefix("paths=").unwrap().replace("%2C", ",").replace("%3A", ":");
                for (name, level) in paths.split(',').map(|path| path.split_once(':').unwrap()) {
                    levels.insert(name.to_owned(), level.to_owned());
                }
            }
            let lines: String = levels.iter().map(|(name, level)| format!("  {name}: {level}\n")).collect();
            Ok(Response::new(Body::from(format!("active loggers:\n{lines}"))))
        })
    }
}

impl Site {
    fn start() -> Self {
        let envoy = Envoy { levels: Lock::new(Self::usual()), ..Envoy::default() };
        let folder = tempfile::tempdir().unwrap();
        note_of_this_process(folder.path());
        Self { envoy: Arc::new(envoy), folder }
    }

    fn usual() -> Levels {
        levels(&[("dns", "info"), ("http", "warning"), ("main", "error")])
    }

    /// What a server that starts has.
    fn log_levels(&self) -> LogLevels {
        LogLevels::new(Loggers::new(self.envoy.clone(), Manner::default()), self.folder.path())
    }

    fn now(&self) -> Levels {
        self.envoy.levels.lock().unwrap().clone()
    }

    async fn becomes(&self, expected: &Levels) {
        let reached = async {
            while self.now() != *expected {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(SOON, reached).await.unwrap_or_else(|_| panic!("{:?} instead of {expected:?}", self.now()));
    }

    fn is_noted(&self) -> bool {
        self.folder.path().join(NOTE).exists()
    }
}

#[tokio::test]
async fn levels_stay_raised_until_the_last_one_ends() {
    let site = Site::start();
    let of = site.log_levels();
    let debug = levels(&[("dns", "debug"), ("http", "info"), ("main", "debug")]);
    let trace = levels(&[("dns", "trace"), ("http", "info"), ("main", "trace")]);
    let first = of.raise("debug", who()).await.unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(site.now(), debug);
    let second = of.raise("trace", who()).await.unwrap_or_else(|why| panic!("{why}"));
    let third = of.raise("debug", who()).await.unwrap_or_else(|why| panic!("{why}"));
    assert_eq!((site.now(), *site.envoy.sets.lock().unwrap()), (trace, 2));
    drop(second);
    site.becomes(&debug).await;
    drop(first);
    drop(third);
    site.becomes(&Site::usual()).await;
    let gone = async {
        while site.is_noted() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(SOON, gone).await.expect("nothing is left to put back");
}

#[tokio::test]
async fn who_sets_a_level_meanwhile_has_the_last_word() {
    let site = Site::start();
    let raised = site.log_levels().raise("debug", who()).await.unwrap_or_else(|why| panic!("{why}"));
    site.envoy.levels.lock().unwrap().insert("main".to_owned(), "critical".to_owned());
    drop(raised);
    site.becomes(&levels(&[("dns", "info"), ("http", "warning"), ("main", "critical")])).await;
}

#[tokio::test]
async fn what_a_killed_server_raised_is_put_back_by_the_next_one_if_its_envoy_is_still_there() {
    let site = Site::start();
    let raised = site.log_levels().raise("debug", who()).await.unwrap_or_else(|why| panic!("{why}"));
    // Whoever is killed drops nothing.
    let _kept = ManuallyDrop::new(raised);
    assert!(site.is_noted());
    site.log_levels().recover().await;
    assert_eq!((site.now(), site.is_noted()), (Site::usual(), false));

    let debug = levels(&[("dns", "debug"), ("http", "info"), ("main", "debug")]);
    let _kept = ManuallyDrop::new(site.log_levels().raise("debug", who()).await);
    let note = site.folder.path().join(NOTE);
    let other = std::fs::read_to_string(&note).unwrap().replace(" since ", " since 1");
    std::fs::write(&note, other).unwrap();
    site.log_levels().recover().await;
    assert_eq!((site.now(), site.is_noted()), (debug, false), "it was of another Envoy");
}

#[tokio::test]
async fn an_envoy_that_does_not_answer_is_left_as_it_is() {
    let site = Site::start();
    *site.envoy.is_away.lock().unwrap() = true;
    let of = site.log_levels();
    assert!(of.raise("debug", who()).await.is_err_and(|why| why == "away"));
    assert!(!site.is_noted());
    *site.envoy.is_away.lock().unwrap() = false;
    drop(of.raise("error", who()).await.unwrap_or_else(|why| panic!("{why}")));
    assert_eq!((site.now(), *site.envoy.sets.lock().unwrap()), (Site::usual(), 0));
}
