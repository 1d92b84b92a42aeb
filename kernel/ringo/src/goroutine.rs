//! What a program may know of a goroutine.

use core::fmt;

/// A goroutine's name: its number. It says nothing about whether the goroutine still exists, so it may be kept and
/// passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Goroutine {
    id: u64,
}

impl Goroutine {
    /// Its number: 1 is the one that runs `main`. No two have the same.
    pub fn id(self) -> u64 {
        self.id
    }
}

impl fmt::Display for Goroutine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "goroutine {}", self.id)
    }
}

/// The calling goroutine.
///
/// ```no_run
/// ringo::println!("this is {}", ringo::current());
/// ```
pub fn current() -> Goroutine {
    Goroutine {
        id: sched::current().id(),
    }
}
