//! What came of a check, as text and as JSON.

use std::fmt::Write as _;

use serde::Serialize;

use crate::code::Severity;
use crate::finding::{Finding, Named};
use crate::section::Section;

/// What came of a check.
#[derive(Debug, Default)]
pub struct Outcome {
    sections: Vec<(Section, Checked)>,
    notes: Vec<String>,
}

/// What came of a section.
#[derive(Debug)]
pub enum Checked {
    /// These problems, or none.
    Found(Vec<Finding>),
    /// There was nothing to look at.
    Nothing,
}

/// The whole in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// There is nothing to say.
    Healthy,
    /// So many problems.
    Problems(usize),
}

/// The JSON form: that of the original product, and the findings beside it.
#[derive(Serialize)]
struct Document<'a> {
    resources: Vec<Resource>,
    messages: &'a [String],
    errors: Vec<&'a str>,
    findings: Vec<Shown<'a>>,
}

#[derive(Serialize)]
struct Resource {
    name: &'static str,
    status: String,
}

#[derive(Serialize)]
struct Shown<'a> {
    code: &'static str,
    name: &'static str,
    severity: Severity,
    section: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<&'a Named>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<&'a Named>,
    message: &'a str,
    hint: &'static str,
}

/// What the original product says at the end of what it does not look at.
const SKIPPED: [&str; 2] = [
    "Skipping Kubernetes Gateway resources check -- Kubernetes Gateway integration not enabled",
    "Skipping Keyward Instance check -- Keyward Federation not detected.",
];

// === impl Outcome ===

impl Outcome {
    pub(crate) fn push(&mut self, section: Section, checked: Checked) {
        self.sections.push((section, checked));
    }

    /// Adds something that is good to know, and no problem.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// All problems, with where they were found.
    pub fn findings(&self) -> impl Iterator<Item = (Section, &Finding)> {
        self.sections
            .iter()
            .flat_map(|(section, checked)| checked.found().iter().map(|found| (*section, found)))
    }

    /// The whole in a word.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self.findings().count() {
            0 => Verdict::Healthy,
            count => Verdict::Problems(count),
        }
    }

    /// Whether a problem is among them that may be over in a moment.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        self.findings().any(|(_, finding)| finding.code.passes)
    }

    /// A line for each section, and what is good to know.
    #[must_use]
    pub fn text(&self) -> String {
        let mut lines: Vec<String> = self
            .sections
            .iter()
            .map(|(section, checked)| match checked {
                Checked::Nothing => format!("No {section} to check"),
                Checked::Found(found) => format!("Checking {section}... {}", status(found)),
            })
            .collect();
        let skipped = SKIPPED.iter().map(|note| (*note).to_owned());
        lines.extend(self.notes.iter().cloned().chain(skipped).map(|note| format!("\n{note}")));
        if self.verdict() == Verdict::Healthy {
            lines.push("No problems detected.".to_owned());
        }
        lines.join("\n")
    }

    /// All problems with what to do about each; none when there are none.
    #[must_use]
    pub fn errors(&self) -> Option<String> {
        let Verdict::Problems(count) = self.verdict() else { return None };
        let plural = if count == 1 { "error" } else { "errors" };
        let mut text = format!("Error: {count} {plural} occurred:\n");
        for (_, finding) in self.findings() {
            let message = finding.message.trim_end();
            // Writing into a string cannot fail.
            let _ = writeln!(text, "\t* {message}\n\t  [{}] hint: {}", finding.code.id, finding.code.hint);
        }
        Some(text)
    }

    /// The same as JSON.
    #[must_use]
    pub fn json(&self) -> impl Serialize {
        let resources = self.sections.iter().map(|(section, checked)| Resource {
            name: section.title(),
            status: match checked {
                Checked::Nothing => "nothing to check".to_owned(),
                Checked::Found(found) => status(found),
            },
        });
        Document {
            resources: resources.collect(),
            messages: &self.notes,
            errors: self.findings().map(|(_, finding)| finding.message.as_str()).collect(),
            findings: self.findings().map(|(section, finding)| Shown::new(section, finding)).collect(),
        }
    }
}

fn status(found: &[Finding]) -> String {
    if found.is_empty() { "OK".to_owned() } else { format!("{} Errors!", found.len()) }
}

// === impl Checked ===

impl Checked {
    fn found(&self) -> &[Finding] {
        match self {
            Self::Found(found) => found,
            Self::Nothing => &[],
        }
    }
}

// === impl Shown ===

impl<'a> Shown<'a> {
    fn new(section: Section, finding: &'a Finding) -> Self {
        let Finding { code, object, reference, message } = finding;
        Self {
            code: code.id,
            name: code.name,
            severity: code.severity,
            section: section.title(),
            object: object.as_ref(),
            reference: reference.as_ref(),
            message,
            hint: code.hint,
        }
    }
}
