//! What the control server says of an object: the source of its status.

use std::collections::BTreeMap;

use crate::meta::ObjectKey;

/// The state of an object, in rising order of concern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum State {
    /// Nobody has looked at it yet, or nobody will.
    Pending,
    /// Served as written.
    #[default]
    Accepted,
    /// Served, but something about it deserves a look.
    Warning,
    /// Not served.
    Rejected,
}

/// The state of one object, and why.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The worst of what was said.
    pub state: State,
    /// Sentences for people, without a full stop, in the order in which they were found.
    pub reasons: Vec<String>,
}

/// The reports on all objects that were looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reports {
    by_object: BTreeMap<ObjectKey, Report>,
}

// === impl State ===

impl State {
    /// The name in a status: `Pending`, `Accepted`, `Warning` or `Rejected`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Accepted => "Accepted",
            Self::Warning => "Warning",
            Self::Rejected => "Rejected",
        }
    }
}

// === impl Report ===

impl Report {
    /// Takes over everything that another report on the same object says.
    pub fn merge(&mut self, other: Self) {
        self.state = self.state.max(other.state);
        for reason in other.reasons {
            if !self.reasons.contains(&reason) {
                self.reasons.push(reason);
            }
        }
    }
}

// === impl Reports ===

impl Reports {
    /// Notes that an object was looked at; it stands as accepted unless more is said.
    pub fn accept(&mut self, object: ObjectKey) {
        self.by_object.entry(object).or_default().merge(Report::default());
    }

    /// Says why an object is not looked at. Whoever looks at it all the same decides about its state.
    pub fn pend(&mut self, object: ObjectKey, reason: impl Into<String>) {
        let pending = Report { state: State::Pending, reasons: Vec::new() };
        let said = Report { state: State::Pending, reasons: vec![reason.into()] };
        self.by_object.entry(object).or_insert(pending).merge(said);
    }

    /// Adds something that is good to know, and no cause for concern.
    pub fn note(&mut self, object: ObjectKey, reason: impl Into<String>) {
        self.add(object, State::Accepted, reason.into());
    }

    /// Adds a warning. The same sentence is kept once.
    pub fn warn(&mut self, object: ObjectKey, reason: impl Into<String>) {
        self.add(object, State::Warning, reason.into());
    }

    /// Adds a rejection. The same sentence is kept once.
    pub fn reject(&mut self, object: ObjectKey, reason: impl Into<String>) {
        self.add(object, State::Rejected, reason.into());
    }

    /// Takes over everything that another set of reports says.
    pub fn merge(&mut self, other: &Self) {
        for (object, report) in &other.by_object {
            match self.by_object.get_mut(object) {
                Some(own) => own.merge(report.clone()),
                None => drop(self.by_object.insert(object.clone(), report.clone())),
            }
        }
    }

    /// The report on one object.
    #[must_use]
    pub fn get(&self, object: &ObjectKey) -> Option<&Report> {
        self.by_object.get(object)
    }

    /// All reports, sorted by object.
    pub fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &Report)> {
        self.by_object.iter()
    }

    fn add(&mut self, object: ObjectKey, state: State, reason: String) {
        self.by_object.entry(object).or_default().merge(Report { state, reasons: vec![reason] });
    }
}
