//! `/debug/tasks`: what the asynchronous runtime of the server does, and the tasks that it knows by name.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use axum::routing::get;
use serde::Serialize;

use crate::envelope;
use crate::index::Endpoint;
use crate::page::{self, Shape};
use crate::query::{Parameters, one_of};

pub(super) const ENDPOINTS: [Endpoint; 1] = [Endpoint {
    method: "GET",
    path: "/debug/tasks",
    about: "the asynchronous runtime: its threads, and the tasks of the server with what they do \
            (?format=text for people)",
}];

/// How things stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskReport {
    /// The runtime.
    pub runtime: Runtime,
    /// The tasks that have a name, by name.
    pub tasks: Vec<Task>,
}

/// The runtime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Runtime {
    /// Tasks that have not ended, those without a name among them.
    pub alive_tasks: usize,
    /// Tasks that wait for any thread.
    pub global_queue_depth: usize,
    /// Its threads.
    pub workers: Vec<Worker>,
}

/// A thread of the runtime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Worker {
    /// How long it worked since the start, in milliseconds.
    pub busy_milliseconds: u64,
    /// How often it had nothing to do.
    pub parks: u64,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Its name.
    pub name: String,
    /// What it does.
    pub state: TaskState,
    /// Since when it runs.
    pub since: String,
    /// How often it was looked at.
    pub polls: u64,
    /// How long that took altogether, in milliseconds.
    pub busy_milliseconds: u64,
    /// How long ago it last did anything, in milliseconds.
    pub idle_milliseconds: u64,
}

/// What a task does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskState {
    /// It works at this moment.
    Running,
    /// It waits for something to happen.
    Waiting,
    /// It has ended.
    Ended,
}

/// Who knows.
pub trait Tasks: Send + Sync + 'static {
    /// How things stand.
    fn tasks(&self) -> TaskReport;
}

pub(super) fn router(tasks: &Arc<dyn Tasks>) -> Router {
    Router::new().route("/debug/tasks", get(show)).with_state(Arc::clone(tasks))
}

async fn show(State(tasks): State<Arc<dyn Tasks>>, uri: Uri) -> Response {
    let shape = Parameters::of(&uri, &["format", "pretty"]).and_then(|it| {
        Ok((one_of(&it, "format", &[("json", Shape::Json), ("text", Shape::Text)])?, it.pretty()?))
    });
    match shape {
        Ok((Shape::Text, _)) => page::text(text(&tasks.tasks())),
        Ok((_, pretty)) => envelope::respond(StatusCode::OK, &tasks.tasks(), pretty),
        Err(why) => envelope::failed(StatusCode::BAD_REQUEST, &why, false),
    }
}

fn text(TaskReport { runtime, tasks }: &TaskReport) -> String {
    let Runtime { alive_tasks, global_queue_depth, workers } = runtime;
    // Writing to a String cannot fail.
    let mut text = format!("{alive_tasks} tasks, {global_queue_depth} in the queue\n\n");
    for (index, Worker { busy_milliseconds, parks }) in workers.iter().enumerate() {
        let _ = writeln!(text, "worker {index}: busy for {busy_milliseconds} ms, parked {parks} times");
    }
    let width = tasks.iter().map(|task| task.name.len()).max().unwrap_or_default().max(4);
    let _ = writeln!(
        text,
        "\n{:width$}  {:7}  {:20}  {:>10}  {:>10}  {:>10}",
        "TASK", "STATE", "SINCE", "POLLS", "BUSY MS", "IDLE MS"
    );
    for task in tasks {
        let _ = writeln!(
            text,
            "{:width$}  {:7}  {:20}  {:>10}  {:>10}  {:>10}",
            task.name,
            task.state.as_str(),
            task.since,
            task.polls,
            task.busy_milliseconds,
            task.idle_milliseconds
        );
    }
    text
}

// === impl TaskState ===

impl TaskState {
    fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Ended => "ended",
        }
    }
}
