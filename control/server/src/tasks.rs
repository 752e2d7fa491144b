//! The tasks of the server, by name: what each does, for those who ask.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use jiff::Timestamp;
use keyward_admin::debug::{self, Runtime, Task, TaskReport, TaskState, Worker};
use tokio::runtime::{Handle, RuntimeMetrics};
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

/// The tasks whose end is the end of the server.
pub(crate) struct Tasks {
    set: JoinSet<anyhow::Result<()>>,
    known: Known,
}

/// All tasks that have a name, ended ones too: they are started once. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    begun: Instant,
    tasks: Arc<Mutex<Vec<Arc<Life>>>>,
}

/// A task, as one sees it from outside.
#[derive(Debug)]
struct Life {
    name: &'static str,
    since: Timestamp,
    polls: AtomicU64,
    busy_micros: AtomicU64,
    /// When it was last looked at, in milliseconds since the server began.
    looked_at: AtomicU64,
    is_running: AtomicBool,
    has_ended: AtomicBool,
}

/// A task that is watched.
struct Watched {
    inner: Pin<Box<dyn Future<Output = anyhow::Result<()>> + Send>>,
    life: Arc<Life>,
    begun: Instant,
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn worker(metrics: &RuntimeMetrics, index: usize) -> Worker {
    Worker {
        busy_milliseconds: milliseconds(metrics.worker_total_busy_duration(index)),
        parks: metrics.worker_park_count(index),
    }
}

// === impl Tasks ===

impl Tasks {
    pub(crate) fn new() -> Self {
        Self { set: JoinSet::new(), known: Known { begun: Instant::now(), tasks: Arc::default() } }
    }

    /// Who knows how the tasks do.
    pub(crate) fn known(&self) -> Known {
        self.known.clone()
    }

    /// Starts one.
    pub(crate) fn spawn(
        &mut self,
        name: &'static str,
        task: impl Future<Output = anyhow::Result<()>> + Send + 'static,
    ) {
        self.set.spawn(self.known.watch(name, task));
    }

    /// Starts one that cannot fail.
    pub(crate) fn spawn_sure(&mut self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        self.spawn(name, async move {
            task.await;
            Ok(())
        });
    }

    /// The next one that ends.
    pub(crate) async fn join_next(&mut self) -> Option<Result<anyhow::Result<()>, JoinError>> {
        self.set.join_next().await
    }
}

// === impl Known ===

impl Known {
    fn watch(
        &self,
        name: &'static str,
        task: impl Future<Output = anyhow::Result<()>> + Send + 'static,
    ) -> Watched {
        let life = Arc::new(Life {
            name,
            since: Timestamp::now(),
            polls: AtomicU64::new(0),
            busy_micros: AtomicU64::new(0),
            looked_at: AtomicU64::new(milliseconds(self.begun.elapsed())),
            is_running: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
        });
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&life));
        Watched { inner: Box::pin(task), life, begun: self.begun }
    }
}

impl debug::Tasks for Known {
    fn tasks(&self) -> TaskReport {
        let now = milliseconds(self.begun.elapsed());
        let mut tasks: Vec<Task> = self
            .tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .map(|life| life.report(now))
            .collect();
        tasks.sort_by(|one, other| one.name.cmp(&other.name));
        let metrics = Handle::current().metrics();
        let runtime = Runtime {
            alive_tasks: metrics.num_alive_tasks(),
            global_queue_depth: metrics.global_queue_depth(),
            workers: (0..metrics.num_workers()).map(|index| worker(&metrics, index)).collect(),
        };
        TaskReport { runtime, tasks }
    }
}

// === impl Life ===

impl Life {
    fn report(&self, now: u64) -> Task {
        let state = if self.has_ended.load(Ordering::Relaxed) {
            TaskState::Ended
        } else if self.is_running.load(Ordering::Relaxed) {
            TaskState::Running
        } else {
            TaskState::Waiting
        };
        Task {
            name: self.name.to_owned(),
            state,
            since: self.since.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            polls: self.polls.load(Ordering::Relaxed),
            busy_milliseconds: self.busy_micros.load(Ordering::Relaxed) / 1000,
            idle_milliseconds: now.saturating_sub(self.looked_at.load(Ordering::Relaxed)),
        }
    }
}

// === impl Watched ===

impl Future for Watched {
    type Output = anyhow::Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<anyhow::Result<()>> {
        let begun = Instant::now();
        self.life.is_running.store(true, Ordering::Relaxed);
        let polled = self.inner.as_mut().poll(context);
        let life = &self.life;
        life.is_running.store(false, Ordering::Relaxed);
        life.polls.fetch_add(1, Ordering::Relaxed);
        let took = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        life.busy_micros.fetch_add(took, Ordering::Relaxed);
        life.looked_at.store(milliseconds(self.begun.elapsed()), Ordering::Relaxed);
        polled
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.life.has_ended.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use keyward_admin::debug::Tasks as _;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_task_is_known_by_name_while_it_waits_and_when_it_has_ended() {
        let mut tasks = Tasks::new();
        let (go, wait) = oneshot::channel::<()>();
        tasks.spawn_sure("waits", async move { drop(wait.await) });
        tasks.spawn("fails", async { anyhow::bail!("it is broken") });
        let ended = tasks.join_next().await.expect("one ends").expect("without a panic");
        assert_eq!(ended.expect_err("an error").to_string(), "it is broken");
        let report = tasks.known().tasks();
        let states: Vec<_> = report.tasks.iter().map(|task| (task.name.as_str(), task.state)).collect();
        assert_eq!(states, [("fails", TaskState::Ended), ("waits", TaskState::Waiting)]);
        assert!(report.runtime.workers.len() == 1 && report.tasks[0].polls == 1, "{report:?}");
        go.send(()).expect("it waits");
        assert!(tasks.join_next().await.expect("the other").expect("without a panic").is_ok());
        assert_eq!(tasks.known().tasks().tasks[1].state, TaskState::Ended);
    }
}
