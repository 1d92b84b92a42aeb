//! The failed cases once more, at the very end of the output: the test runner prints them before the tables, and the tail of a log
//! does not reach back that far.

use libtest_mimic::{Failed, Trial};
use std::any::Any;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lines of a reason that are repeated.
const LINES: usize = 15;

/// Names of cases and why they failed.
static FAILED: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

fn failed() -> MutexGuard<'static, Vec<(String, String)>> {
    FAILED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A test of the harness, whose failure is told once more at the end. All tests are to be made by this.
pub fn trial(
    name: impl Into<String>,
    run: impl FnOnce() -> Result<(), String> + Send + 'static,
) -> Trial {
    let name = name.into();
    Trial::test(name.clone(), move || {
        outcome(run).map_err(|why| {
            failed().push((name, why.clone()));
            Failed::from(why)
        })
    })
}

/// How `run` ends; a panic is a failure like any other.
fn outcome(run: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| Err(panicked(payload.as_ref())))
}

fn panicked(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    format!("it panicked: {}", text.unwrap_or("without a text"))
}

/// Prints them, if there are any. Nobody is left to tell that they cannot be written.
pub(crate) fn recap() {
    let failed = failed();
    let mut out = std::io::stderr().lock();
    failed.iter().for_each(|(name, why)| {
        let _ = out.write_all(told(name, why).as_bytes());
    });
}

/// A failed case: its name and the first lines of why.
fn told(name: &str, why: &str) -> String {
    let mut text = format!("\nFAILED {name}\n");
    why.lines()
        .take(LINES)
        .for_each(|line| text.push_str(&format!("    {line}\n")));
    let more = why.lines().count().saturating_sub(LINES);
    if more > 0 {
        text.push_str(&format!("    and {more} lines, above the tables\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{outcome, told};

    #[test]
    fn the_first_lines_are_told() {
        assert_eq!(told("a", "b\nc"), "\nFAILED a\n    b\n    c\n");
        let long: String = (0..20).map(|i| format!("line {i}\n")).collect();
        let text = told("a", &long);
        assert!(text.contains("line 14\n") && !text.contains("line 15\n"));
        assert!(text.ends_with("    and 5 lines, above the tables\n"));
    }

    #[test]
    fn a_panic_is_a_failure() {
        assert_eq!(outcome(|| Ok(())), Ok(()));
        let why = outcome(|| panic!("no {}", "way"));
        assert_eq!(why, Err("it panicked: no way".to_string()));
    }
}
