//! Runs the tests that a boot names, and how they say what they found.

use crate::param;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use ringo::args;
use ringo::println;

/// What a test says: the error is a sentence.
pub type Outcome = Result<(), String>;

/// A test: its name, and what it does.
pub type Test = (&'static str, fn() -> Outcome);

/// How a test says what it found.
#[derive(Clone, Copy)]
pub enum Run {
    /// By its answer.
    Answers(fn() -> Outcome),
    /// By a panic.
    Panics(fn()),
}

impl Run {
    /// Runs it.
    fn run(self) -> Outcome {
        match self {
            Run::Answers(f) => f(),
            Run::Panics(f) => {
                f();
                Ok(())
            }
        }
    }
}

/// A test that was asked for: the place of the name that did, its own name, and what it does.
type Chosen = (usize, &'static str, Run);

/// The tests that `names` asks for.
fn chosen<I: Iterator<Item = (&'static str, Run)>>(
    tests: impl Fn() -> I,
    names: &str,
) -> Result<Vec<Chosen>, String> {
    let mut chosen = Vec::new();
    for (place, name) in names.split(',').enumerate() {
        let name = name.split(':').next().unwrap_or_default();
        let before = chosen.len();
        let of_it = tests().filter(|(n, _)| match name.strip_suffix('*') {
            Some(head) => n.starts_with(head),
            None => *n == name,
        });
        chosen.extend(of_it.map(|(name, run)| (place, name, run)));
        if chosen.len() == before {
            return Err(format!(
                "there is no test {name}; the argument `list` names all"
            ));
        }
    }
    Ok(chosen)
}

/// Runs those of `tests` that the arguments name.
///
/// # Errors
/// What one found, or there is none of that name.
pub fn run<I: Iterator<Item = (&'static str, Run)>>(tests: impl Fn() -> I) -> Outcome {
    let mut words = args();
    let names = words.next().unwrap_or_default();
    param::set(&names, words);
    if names == "list" {
        tests().for_each(|(name, _)| println!("{name}"));
        return Ok(());
    }
    let chosen = chosen(tests, &names)?;
    if let [(_, _, test)] = chosen[..] {
        return test.run();
    }
    for (place, name, test) in chosen {
        println!("- {name}");
        param::runs(place);
        test.run().map_err(|why| format!("{name}: {why}"))?
    }
    Ok(())
}

/// Fails the test with a formatted sentence unless the condition holds.
#[macro_export]
macro_rules! ensure {
    ($cond:expr, $($text:tt)+) => {
        let holds: bool = $cond;
        if !holds {
            return Err(::alloc::format!($($text)+));
        }
    };
}

/// Prints a figure for the harness's table.
#[macro_export]
macro_rules! figure {
    ($name:literal, $value:expr) => {
        ::ringo::println!("= {} {}", $name, $value)
    };
}
