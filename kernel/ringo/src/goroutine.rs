//! What a program may know of a goroutine.

use core::fmt;

/// A goroutine's name: its number. It says nothing about whether the goroutine still exists, so it may be kept and
/// passed on.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// let (main, other) = (ringo::current(), csp::spawn(ringo::current).join());
/// assert!(main < other); // numbers rise
/// assert_eq!(main.to_string(), "goroutine 1");
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Goroutine {
    id: u64,
}

impl Goroutine {
    /// Its number: 1 is the one that runs `main`. No two have the same.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// assert_eq!(ringo::current().id(), 1);
    /// # });
    /// ```
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

/// Functions that look at their entry whether the caller's slice is over, as Go's have done from 1.2 to 1.13: with
/// `preempt=coop` a loop that calls such a function gives way, one that calls none keeps its CPU.
///
/// Any number of functions without type parameters; documentation, attributes and visibility are kept. The look is
/// [`checkpoint`](crate::prelude::checkpoint): one load while there is nothing to do.
///
/// ```no_run
/// use ringo::prelude::*;
///
/// gofn! {
///     /// The sum of the numbers below `n`.
///     fn sum(n: u64) -> u64 {
///         (0..n).sum()
///     }
/// }
/// go(|| {
///     loop {
///         // Others run in between, with nobody to interrupt this loop.
///         core::hint::black_box(sum(1000));
///     }
/// });
/// ```
#[macro_export]
macro_rules! gofn {
    ($($(#[$meta:meta])* $vis:vis fn $name:ident($($args:tt)*) $(-> $ret:ty)? $body:block)*) => {
        $($(#[$meta])* $vis fn $name($($args)*) $(-> $ret)? {
            $crate::prelude::checkpoint();
            $body
        })*
    };
}
