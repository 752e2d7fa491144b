//! Follows a folder as long as the server runs, and looks at one without a server.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use keyward_api::Writer;
use keyward_store::Store;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::manifest::NAMESPACE;
use crate::plan::{Files, GRACE, Known, plan};
use crate::problem::{Problem, Report};
use crate::scan::{Scanner, read_file};
use crate::sync::{Outcome, Synchronizer};
use crate::watcher::Watcher;

/// How often everything is looked at although nothing seems to have changed: not every file system
/// tells of changes, and objects may have been changed by others.
const RESCAN: Duration = Duration::from_secs(30);
/// How soon something is tried again that did not work.
const RETRY: Duration = Duration::from_secs(5);

/// A folder of resource files.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    may_be_empty: bool,
}

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is nothing, or nothing that may be read.
    #[error("{path} cannot be read")]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is something else.
    #[error("{path} is not a folder")]
    NoFolder {
        /// The path.
        path: PathBuf,
    },
}

/// The problems that were told.
#[derive(Debug, Default)]
struct Told {
    problems: BTreeSet<Problem>,
}

/// Looks at a folder, or at one file, and says what a server would say of it that has no other
/// objects.
///
/// # Errors
///
/// When there is no such folder and no such file.
pub fn check(path: &Path) -> Result<Report, OpenError> {
    let unreadable = |source| OpenError::Unreadable { path: path.to_owned(), source };
    let files = if path.is_dir() { Scanner::default().scan(path) } else { read_file(path, NAMESPACE) };
    let files = files.map_err(unreadable)?;
    let plan = plan(&files, &mut Known::default(), Instant::now());
    Ok(Report { files: files.len(), objects: plan.apply.len(), problems: plan.problems })
}

// === impl Folder ===

impl Folder {
    /// A folder by its path.
    ///
    /// # Errors
    ///
    /// When it is not there, or cannot be read.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let unreadable = |source| OpenError::Unreadable { path: path.to_owned(), source };
        if !path.metadata().map_err(unreadable)?.is_dir() {
            return Err(OpenError::NoFolder { path: path.to_owned() });
        }
        std::fs::read_dir(path).map_err(unreadable)?;
        let root = std::path::absolute(path).map_err(unreadable)?;
        Ok(Self { root, may_be_empty: false })
    }

    /// Says whether all objects of the folder go when no file in it has any object. Unless it says so they
    /// stay: a volume that is not mounted and a checkout that has failed look the same.
    #[must_use]
    pub fn that_may_be_empty(self, may_be_empty: bool) -> Self {
        Self { may_be_empty, ..self }
    }

    /// Makes the store say what the files say, again and again, until told to stop. What is wrong
    /// with the folder stands in the log and stops nothing.
    pub async fn follow(self, writer: Writer, store: Arc<dyn Store>, stop: CancellationToken) {
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.run(writer, store) => {}
        }
    }

    async fn run(self, writer: Writer, store: Arc<dyn Store>) {
        let mut objects = loop {
            match Synchronizer::load(writer.clone(), store.clone(), self.may_be_empty).await {
                Ok(objects) => break objects,
                Err(error) => {
                    tracing::error!("the objects of the folder of resources are not known: {error}")
                }
            }
            sleep(RETRY).await;
        };
        let mut watcher = Watcher::new(&self.root);
        let mut scanner = Scanner::default();
        let mut told = Told::default();
        let mut thorough_at = Instant::now();
        tracing::info!(folder = %self.root.display(), "following the folder of resources");
        loop {
            watcher.follow();
            let thorough = Instant::now() >= thorough_at;
            let files;
            (scanner, files) = self.scan(scanner).await;
            let mut outcome = match files {
                Ok(files) => objects.look(&files, thorough, Instant::now()).await,
                Err(error) => self.gone(&error),
            };
            outcome.problems.extend((outcome.kept > 0).then(|| self.emptied(outcome.kept)));
            if thorough {
                thorough_at = Instant::now() + RESCAN;
            }
            let mut pause = thorough_at.saturating_duration_since(Instant::now());
            if outcome.is_waiting {
                pause = pause.min(GRACE);
            }
            if outcome.has_failed {
                pause = pause.min(RETRY);
            }
            told.tell(outcome.problems);
            tokio::select! {
                () = watcher.changed() => {}
                () = sleep(pause) => {}
            }
        }
    }

    /// Reads the files where it harms nobody that this takes time.
    async fn scan(&self, mut scanner: Scanner) -> (Scanner, io::Result<Files>) {
        let root = self.root.clone();
        let scan = tokio::task::spawn_blocking(move || {
            let files = scanner.scan(&root);
            (scanner, files)
        });
        scan.await.unwrap_or_else(|error| (Scanner::default(), Err(io::Error::other(error))))
    }

    /// A folder that is empty may be one that is not mounted.
    fn emptied(&self, kept: usize) -> Problem {
        let message = format!(
            "no file of the folder has any object, so those that came from it stay as they are ({kept} of \
             them): delete them with kubectl, or say --resources-may-be-empty"
        );
        Problem::of_file(&self.root.display().to_string(), message)
    }

    /// A folder that is gone is not one without files: everything stays as it is.
    fn gone(&self, error: &io::Error) -> Outcome {
        let message = format!("the folder cannot be read, so its objects stay as they are: {error}");
        let problem = Problem::of_file(&self.root.display().to_string(), message);
        Outcome { problems: vec![problem], has_failed: true, ..Outcome::default() }
    }
}

// === impl Told ===

impl Told {
    /// Tells what is new.
    fn tell(&mut self, problems: Vec<Problem>) {
        let problems: BTreeSet<Problem> = problems.into_iter().collect();
        for problem in problems.difference(&self.problems) {
            tracing::error!("the folder of resources has a problem: {problem}");
        }
        if problems.is_empty() && !self.problems.is_empty() {
            tracing::info!("the folder of resources is well again");
        } else if problems.len() < self.problems.len() {
            tracing::info!("the folder of resources has {} problems left", problems.len());
        }
        self.problems = problems;
    }
}
