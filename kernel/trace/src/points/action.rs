//! What an armed fault point does.

use core::fmt;

/// What an armed point does each time it is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing; the point is not armed.
    Off,
    /// Spins for that many nanoseconds, with preemption as it is there. At most [`Action::DELAY_MAX_NS`].
    DelayNs(u64),
    /// The G yields, if it may switch there; otherwise as `Preempt`.
    Yield,
    /// As if the slice of the running G ended just here: it loses its CPU at the next safe point.
    Preempt,
    /// What stands at the point is not done, if it is one of [`lost!`](crate::lost); nothing elsewhere.
    Lose,
}

/// The forms of an action, for messages.
pub(super) const CHOICES: &str = "with action off, yield, preempt, lose or delay_ns=N";

impl Action {
    /// Longest delay: a hundred seconds.
    pub const DELAY_MAX_NS: u64 = 100_000_000_000;

    /// `off`, `yield`, `preempt`, `lose`, `delay_ns=N`.
    ///
    /// # Errors
    /// [`BadAction`], whose text names these forms.
    pub fn parse(text: &str) -> Result<Action, BadAction<'_>> {
        match text {
            "off" => Ok(Action::Off),
            "yield" => Ok(Action::Yield),
            "preempt" => Ok(Action::Preempt),
            "lose" => Ok(Action::Lose),
            _ => {
                let ns = text.strip_prefix("delay_ns=").and_then(|n| n.parse().ok());
                ns.filter(|&ns| ns <= Action::DELAY_MAX_NS)
                    .map(Action::DelayNs)
                    .ok_or(BadAction(text))
            }
        }
    }

    /// One word, so that a point is armed by one store: 0 off, 1 yield, 2 preempt, 3 lose, 4 + ns.
    pub(super) fn to_word(self) -> u64 {
        match self {
            Action::Off => 0,
            Action::Yield => 1,
            Action::Preempt => 2,
            Action::Lose => 3,
            Action::DelayNs(ns) => 4 + ns.min(Action::DELAY_MAX_NS),
        }
    }

    /// `None` for a point that is off.
    pub(super) fn from_word(word: u64) -> Option<Action> {
        match word {
            0 => None,
            1 => Some(Action::Yield),
            2 => Some(Action::Preempt),
            3 => Some(Action::Lose),
            _ => Some(Action::DelayNs(word - 4)),
        }
    }
}

/// A text that names no action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadAction<'a>(pub &'a str);

impl fmt::Display for BadAction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a fault point cannot do {}; it is written NAME:ACTION, {CHOICES} (N at most {})",
            self.0,
            Action::DELAY_MAX_NS
        )
    }
}
