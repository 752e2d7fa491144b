//! What a change would do that is not made yet.

use keyward_resource::kinds::settings::Validation;
use keyward_resource::{Report, Reports, State};
use keyward_translate::LastGood;

use super::ControlLoop;
use crate::review::{Hypothesis, Question};

/// What the `Settings` in effect say about changes.
fn validation(last_good: &LastGood) -> Validation {
    last_good.settings().map(|settings| settings.validation).unwrap_or_default()
}

/// The objects that a change makes worse than these `Settings` allow. What is no better already is not
/// held against it, so that things can be mended step by step.
fn objections(validation: Validation, before: &Reports, after: &Reports) -> Vec<String> {
    if validation.always_accept {
        return Vec::new();
    }
    let limit = if validation.allow_warnings { State::Rejected } else { State::Warning };
    let worse = after.iter().filter(|(object, report)| {
        let was = before.get(object).map_or(State::Accepted, |report| report.state);
        report.state >= limit && report.state > was
    });
    let say = |Report { state, reasons }: &Report| format!("{}: {}", state.as_str(), reasons.join("; "));
    worse.map(|(object, report)| format!("{object} would be {}", say(report))).collect()
}

// === impl ControlLoop ===

impl ControlLoop {
    /// Whether the `Settings` in effect have changes reviewed.
    pub(super) fn reviews(&self) -> bool {
        !validation(&self.last_good).always_accept
    }

    /// Answers the questions of which everything is known by now that they are about.
    pub(super) fn answer(&mut self) {
        let asked = std::mem::take(&mut self.questions).into_iter();
        let (due, waiting): (Vec<_>, Vec<_>) = asked
            .filter(|question| !question.answer.is_closed())
            .partition(|question| question.as_of <= self.revision);
        self.questions = waiting;
        for Question { change, answer, .. } in due {
            // Whoever asked may have gone away meanwhile.
            let _ = answer.send(self.objections(&change));
        }
    }

    fn objections(&mut self, change: &Hypothesis) -> Vec<String> {
        let supposed = self.objects.supposing(change, self.revision);
        let output = self.translator.translate(supposed.input(), &self.settings, &self.last_good);
        objections(validation(&output.last_good), &self.reports, &output.reports)
    }
}
