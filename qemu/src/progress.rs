//! Progress on a terminal; elsewhere one line about a long wait, and nothing more of the kind.

use std::io::IsTerminal;
use std::sync::Once;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
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

/// Something that is said once, if this is still there after a while.
pub struct Notice {
    /// Its end is what the thread waits for.
    _there: Sender<()>,
}

impl Notice {
    /// Calls `tell` on a thread of its own when `wait` has passed, unless the answer is dropped before.
    pub fn after(wait: Duration, tell: impl FnOnce() + Send + 'static) -> Notice {
        let (there, gone) = mpsc::channel();
        thread::spawn(move || {
            if gone.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                tell()
            }
        });
        Notice { _there: there }
    }

    /// A line of the runner's own on stderr, if whoever waits has waited for two seconds: less is not worth a word.
    pub fn line(line: String) -> Notice {
        Notice::after(Duration::from_secs(2), move || say::say(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_long_wait_is_worth_a_word() {
        let (tell, told) = mpsc::channel();
        let of = |wait| {
            let tell = tell.clone();
            Notice::after(wait, move || tell.send(wait).unwrap())
        };
        let short = Duration::from_millis(1);
        let (soon, late) = (of(short), of(Duration::from_secs(3600)));
        drop(late);
        assert_eq!(told.recv(), Ok(short));
        drop((soon, tell));
        // Both threads have ended: nobody is left who could say more.
        assert!(told.recv().is_err());
    }
}
