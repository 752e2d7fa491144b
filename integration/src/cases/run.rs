//! Running a case on a plane.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use super::check::Answer;
use super::model::{Case, On, Step};
use crate::headers::Headers;

/// How often a plane is looked at that has not got there yet.
const PACE: Duration = Duration::from_millis(20);

/// Something that takes resources and requests.
pub trait Plane {
    /// Which it is.
    fn kind(&self) -> On;

    /// How long a change of resources may take to be seen by requests.
    fn patience(&self) -> Duration;

    /// How often in a row everything has to be right before it counts as having got there: on a
    /// plane of several workers, each may be asked, and each gets there by itself.
    fn certainty(&self) -> usize;

    /// Creates or replaces an object.
    ///
    /// # Errors
    ///
    /// When it is refused.
    fn apply(&mut self, object: &Value) -> anyhow::Result<()>;

    /// Deletes an object.
    ///
    /// # Errors
    ///
    /// When there is none, or deletion is refused.
    fn delete(&mut self, kind: &str, namespace: &str, name: &str) -> anyhow::Result<()>;

    /// State and reason of an object.
    ///
    /// # Errors
    ///
    /// When there is no such object.
    fn status(&mut self, kind: &str, namespace: &str, name: &str) -> anyhow::Result<(String, String)>;

    /// Sends a request; the upstream answers it with 200 and the given headers.
    ///
    /// # Errors
    ///
    /// When no answer comes.
    fn send(
        &mut self,
        host: &str,
        path: &str,
        headers: &Headers,
        upstream: &Headers,
    ) -> anyhow::Result<Answer>;
}

/// Runs a case. After each step the plane has its patience to get there, and from then on has to
/// stay: everything the step expects is looked at once more.
///
/// # Errors
///
/// The first thing that is not as the case says.
pub fn run(case: &Case, plane: &mut dyn Plane) -> anyhow::Result<()> {
    for object in &case.resources {
        plane.apply(object).with_context(|| format!("case {}: resources.yaml", case.name))?;
    }
    for (index, step) in case.steps.iter().enumerate() {
        if !step.runs(plane.kind()) {
            continue;
        }
        let place = || format!("case {}, step {} ({})", case.name, index + 1, step.about);
        for object in &step.apply {
            plane.apply(object).with_context(place)?;
        }
        for object in &step.delete {
            let (kind, namespace, name) = object_name(object)?;
            plane.delete(kind, namespace, name).with_context(place)?;
        }
        let deadline = Instant::now() + plane.patience();
        let mut right = 0;
        while right < plane.certainty() {
            match check_step(case, step, plane) {
                Ok(()) => right += 1,
                Err(error) if Instant::now() >= deadline => return Err(error).with_context(place),
                Err(_) => {
                    right = 0;
                    std::thread::sleep(PACE);
                }
            }
        }
        check_step(case, step, plane).context("it was right once and then wrong").with_context(place)?;
    }
    Ok(())
}

/// Deletes everything that a case may have left.
///
/// # Errors
///
/// When a deletion is refused.
pub fn clean_up(case: &Case, plane: &mut dyn Plane) -> anyhow::Result<()> {
    let applied = case.steps.iter().flat_map(|step| &step.apply);
    for object in case.resources.iter().chain(applied) {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (kind, namespace, name) = (text("/kind"), text("/metadata/namespace"), text("/metadata/name"));
        if plane.status(kind, namespace, name).is_ok() {
            plane.delete(kind, namespace, name)?;
        }
    }
    Ok(())
}

fn check_step(case: &Case, step: &Step, plane: &mut dyn Plane) -> anyhow::Result<()> {
    for (object, expected) in &step.status {
        let (kind, namespace, name) = object_name(object)?;
        let (state, reason) = plane.status(kind, namespace, name)?;
        let (expected_state, part) = expected.split_once(": ").unwrap_or((expected, ""));
        ensure!(
            state == expected_state && reason.contains(part),
            "{object} is {state} ({reason}), expected {expected}"
        );
    }
    for (index, request) in step.requests.iter().enumerate() {
        if !request.runs(plane.kind()) {
            continue;
        }
        let host = request.host.clone().unwrap_or_else(|| case.host());
        let place = || format!("request {} ({}) to {host}{}", index + 1, request.about, request.path);
        let answer = plane
            .send(&host, &request.path, &request.headers()?, &request.upstream()?)
            .with_context(place)?;
        answer.check(&request.expect).with_context(place)?;
    }
    Ok(())
}

fn object_name(object: &str) -> anyhow::Result<(&str, &str, &str)> {
    if let Some((kind, reference)) = object.split_once(' ')
        && let Some((namespace, name)) = reference.split_once('/')
    {
        return Ok((kind, namespace, name));
    }
    bail!("{object:?} is not <kind> <namespace>/<name>")
}
