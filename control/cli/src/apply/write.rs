//! Applies many documents: some at a time, and those of a kind only when all before them are done, as they may
//! refer to these.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::sync::Arc;

use keyward_folder::Document;
use tokio::task::JoinSet;

use super::{Effect, hinted};
use crate::client::{ClientError, Manner};
use crate::files::{called, place, problem};
use crate::output::Output;
use crate::progress::Progress;
use crate::remote::Remote;

/// So many requests are under way at a time.
const AT_A_TIME: usize = 16;

/// Applies documents to a server. Cheap to clone.
#[derive(Clone)]
pub(super) struct Writer {
    pub(super) remote: Remote,
    pub(super) force: bool,
    pub(super) dry_run: bool,
}

/// How many documents fared how.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) changed: usize,
    pub(super) failed: usize,
}

/// What came of one: also what is worth a word.
struct Applied {
    effect: Effect,
    warnings: Vec<String>,
}

type Outcome = Result<Applied, ClientError>;

/// Tells what came of documents, in their order.
struct Teller<'a> {
    documents: &'a [Document],
    dry_run: bool,
    /// What is not told yet, as one before it is under way.
    waiting: BTreeMap<usize, Outcome>,
    next: usize,
    count: Count,
    progress: Option<Progress>,
}

// === impl Writer ===

impl Writer {
    /// Applies all of them and tells what comes of each.
    ///
    /// # Errors
    ///
    /// When there is no use in going on, or nobody to tell.
    pub(super) async fn write_all(
        &self,
        documents: Arc<Vec<Document>>,
        output: &mut Output,
    ) -> anyhow::Result<Count> {
        let progress = std::io::stderr().is_terminal().then(|| Progress::new(documents.len(), true));
        let mut teller = Teller {
            documents: &documents,
            dry_run: self.dry_run,
            waiting: BTreeMap::new(),
            next: 0,
            count: Count::default(),
            progress,
        };
        let mut begun = 0;
        let mut under_way: JoinSet<(usize, Outcome)> = JoinSet::new();
        while begun < documents.len() || !under_way.is_empty() {
            while under_way.len() < AT_A_TIME
                && documents.get(begun).is_some_and(|next| {
                    // What is under way is of one kind.
                    under_way.is_empty()
                        || documents.get(begun - 1).is_some_and(|last| last.kind == next.kind)
                })
            {
                let (writer, documents, index) = (self.clone(), Arc::clone(&documents), begun);
                under_way.spawn(async move { (index, writer.write(&documents[index]).await) });
                begun += 1;
            }
            let Some(done) = under_way.join_next().await else { continue };
            let (index, outcome) = done?;
            teller.waiting.insert(index, outcome);
            teller.tell(output)?;
        }
        Ok(teller.count)
    }

    async fn write(&self, document: &Document) -> Outcome {
        let place = place(document);
        let before = self.remote.find(&place).await?;
        let manner = Manner { dry_run: self.dry_run, wait: None };
        let answer = self.remote.apply(&place, &document.object, self.force, manner).await?;
        let warnings = answer.warnings().collect();
        Ok(Applied { effect: Effect::between(before, answer.code, answer.body), warnings })
    }
}

// === impl Teller ===

impl Teller<'_> {
    fn tell(&mut self, output: &mut Output) -> anyhow::Result<()> {
        while let Some(outcome) = self.waiting.remove(&self.next) {
            if let Some(progress) = &mut self.progress {
                progress.clear();
            }
            let document = &self.documents[self.next];
            self.next += 1;
            match outcome {
                Ok(Applied { effect, warnings }) => {
                    for warning in warnings {
                        output.note(format_args!("warning: {}: {warning}", called(document)));
                    }
                    self.count.changed += usize::from(effect != Effect::Unchanged);
                    let dry = if self.dry_run { " (dry run)" } else { "" };
                    output.data(format_args!("{} {}{dry}", called(document), effect.as_str()))?;
                }
                // Nothing else would fare better.
                Err(error) if error.is_about_the_server() => return Err(error.into()),
                Err(error) => {
                    self.count.failed += 1;
                    output.note(problem(document, hinted(&error)));
                }
            }
        }
        if let Some(progress) = &mut self.progress {
            progress.tell(self.next);
        }
        Ok(())
    }
}
