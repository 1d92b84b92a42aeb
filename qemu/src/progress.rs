//! Progress on a terminal; in a pipe nothing of the kind.

use std::io::IsTerminal;
use std::sync::Once;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::say;

/// A spinner with a line of text on stderr, or nothing. Cleared when dropped.
pub struct Progress {
    bar: ProgressBar,
    cleared: Once,
}

impl Progress {
    /// Shows `text` behind a spinner if stderr is a terminal and `wanted`.
    pub fn start(wanted: bool, text: &str) -> Progress {
        if !wanted || !std::io::stderr().is_terminal() {
            return Progress::of(ProgressBar::hidden());
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(text.to_string());
        bar.enable_steady_tick(Duration::from_millis(100));
        Progress::of(bar)
    }

    fn of(bar: ProgressBar) -> Progress {
        Progress {
            bar,
            cleared: Once::new(),
        }
    }

    /// Replaces the text.
    pub fn say(&self, text: String) {
        self.bar.set_message(text);
    }

    /// Prints to stderr with the spinner out of the way.
    pub fn print(&self, text: &str) {
        self.bar.suspend(|| say::to_stderr(text));
    }

    /// Takes the spinner off the screen, once and for all.
    pub fn clear(&self) {
        self.cleared.call_once(|| self.bar.finish_and_clear());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
