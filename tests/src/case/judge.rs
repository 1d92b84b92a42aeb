//! What a case makes of a machine that has ended.

use super::{Case, Expect};
use crate::table;
use ringo_runner::{Outcome, Traced};
use std::collections::BTreeMap;

impl Case {
    /// It ended as it has to, and its events show nothing wrong: what was planted did not show.
    pub(super) fn shows_nothing(&self, outcome: &Outcome) -> bool {
        let nothing = |traced: &Traced| traced.violations.is_empty();
        self.violation.is_some()
            && matches!(self.expect, Expect::Exit(status) if outcome.exit == status)
            && outcome.traced.as_ref().is_some_and(nothing)
    }

    pub(super) fn judge_all(&self, outcome: &Outcome) -> Result<(), String> {
        let says = |text: &str| outcome.stdout.contains(text) || outcome.stderr.contains(text);
        match self.expect {
            Expect::Exit(status) if outcome.exit != status => {
                return Err(format!("exit status {} instead of {status}", outcome.exit));
            }
            Expect::Failure if outcome.exit == 0 => return Err("it passed, but should not".into()),
            // What an image does not have fails without a reason.
            Expect::Failure if says("there is no test ") => {
                return Err("the image has no such test".into());
            }
            _ => {}
        }
        if let Some(missing) = self.said.iter().find(|text| !says(text)) {
            return Err(format!("it did not say \"{missing}\""));
        }
        if let Some(wrong) = self.not_said.iter().find(|text| says(text)) {
            return Err(format!("it said \"{wrong}\""));
        }
        if let Some(traced) = &outcome.traced {
            table::record_events(traced);
            let wrong = &traced.violations;
            if let Some(text) = &self.violation {
                return match wrong.iter().any(|line| line.contains(text)) {
                    true => Ok(()),
                    false => Err(format!("its events do not show \"{text}\": {wrong:?}")),
                };
            }
            // A build with a planted bug fails by it, one way or another.
            if !wrong.is_empty() && !matches!(self.expect, Expect::Failure) {
                return Err(format!("its events are wrong:\n  {}", wrong.join("\n  ")));
            }
        }
        self.judges.iter().try_for_each(|judge| judge(outcome))
    }
}

/// `= name number` lines.
pub(crate) fn figures(outcome: &Outcome) -> BTreeMap<String, String> {
    let words = outcome
        .stdout
        .lines()
        .filter_map(|line| line.trim_end().strip_prefix("= ")?.split_once(' '));
    words
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect()
}

/// A figure that the test printed, as a whole number.
pub fn figure(outcome: &Outcome, name: &str) -> Option<u64> {
    figures(outcome).get(name)?.parse().ok()
}

pub(super) fn report(why: &str, outcome: &Outcome) -> String {
    let tail = |text: &str| {
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(60)..].join("\n")
    };
    format!(
        "{why}\nstatus {} after {:.1} s (QEMU: {:?})\n--- stdout\n{}\n--- stderr\n{}\n---",
        outcome.exit,
        outcome.wall.as_secs_f64(),
        outcome.qemu_status,
        tail(&outcome.stdout),
        tail(&outcome.stderr)
    )
}
