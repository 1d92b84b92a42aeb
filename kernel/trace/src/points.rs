//! Fault points: named places in the source where a test can delay or preempt.
//!
//! ```
//! trace::point!("park.commit"); // one load while nothing is armed
//! ```
//!
//! A name must stand in [`NAMES`]; any other does not compile:
//!
//! ```compile_fail
//! trace::point!("no.such.place");
//! ```

mod action;
mod names;

pub use action::{Action, BadAction};
pub use names::NAMES;

use arch::PENDING_PREEMPT;
use base::PreemptGuard;
use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};

/// Marks a fault point. The name is a literal that stands in [`points::NAMES`](crate::points::NAMES). May return on
/// another CPU if the caller is preemptible.
#[macro_export]
macro_rules! point {
    ($name:literal) => {{
        const POINT: usize = $crate::points::index($name);
        if $crate::points::any_armed() {
            $crate::points::reached(POINT);
        }
    }};
}

/// Marks a fault point whose action may be to forget what comes next: true if it is.
///
/// ```
/// if !trace::lost!("wake.ipi") {
///     // tell the other CPU
/// }
/// ```
#[macro_export]
macro_rules! lost {
    ($name:literal) => {{
        const POINT: usize = $crate::points::index($name);
        $crate::points::any_armed() && $crate::points::is_lost(POINT)
    }};
}

static ANY_ARMED: AtomicBool = AtomicBool::new(false);
/// What each point does, see [`Action::to_word`].
static ACTIONS: [AtomicU64; NAMES.len()] = [const { AtomicU64::new(0) }; NAMES.len()];
/// How often each point was reached while it was armed.
static HITS: [AtomicU64; NAMES.len()] = [const { AtomicU64::new(0) }; NAMES.len()];
/// The scheduler's `yield_now`, or 0.
static YIELD: AtomicUsize = AtomicUsize::new(0);

/// Number of a point. For [`point!`], which asks at compile time.
///
/// # Panics
/// If there is no such name.
pub const fn index(name: &str) -> usize {
    let mut i = 0;
    while i < NAMES.len() {
        if same(NAMES[i].as_bytes(), name.as_bytes()) {
            return i;
        }
        i += 1;
    }
    panic!("no fault point of this name: add it to NAMES")
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// Whether any point is armed.
#[inline(always)]
pub fn any_armed() -> bool {
    ANY_ARMED.load(Relaxed)
}

/// Does what the point is armed with. For [`point!`].
#[cold]
#[inline(never)]
pub fn reached(point: usize) {
    let Some(action) = Action::from_word(ACTIONS[point].load(Relaxed)) else {
        return;
    };
    HITS[point].fetch_add(1, Relaxed);
    match action {
        Action::Off | Action::Lose => {}
        Action::DelayNs(ns) => arch::spin_wait_ns(ns),
        Action::Preempt => preempt(),
        Action::Yield => yield_or_preempt(),
    }
}

/// Does what the point is armed with, and says whether that is to lose what comes next. For [`lost!`](crate::lost).
#[cold]
#[inline(never)]
pub fn is_lost(point: usize) -> bool {
    reached(point);
    ACTIONS[point].load(Relaxed) == Action::Lose.to_word()
}

/// As if the slice ended here: at once if the caller is preemptible, else at the drop of its last guard.
fn preempt() {
    arch::raise_pending(PENDING_PREEMPT);
    drop(PreemptGuard::new());
}

fn yield_or_preempt() {
    let f = YIELD.load(Acquire); // pairs with the store in `set_yield`
    if f == 0 || arch::preempt_count() != 0 || arch::curg().is_null() {
        return preempt();
    }
    // SAFETY: only `set_yield` stores there, and it stores a `fn()`.
    let f: fn() = unsafe { core::mem::transmute::<usize, fn()>(f) };
    f();
}

/// Says how a G yields: the scheduler's function, which lies above this crate. Without it, [`Action::Yield`] preempts.
pub fn set_yield(f: fn()) {
    YIELD.store(f as usize, Release); // pairs with the load in `yield_or_preempt`
}

/// Arms a point; [`Action::Off`] disarms it. Other CPUs see it soon, without an order to anything else.
///
/// # Errors
/// [`UnknownPoint`], whose text lists the names that there are.
pub fn arm(name: &str, action: Action) -> Result<(), UnknownPoint<'_>> {
    let point = NAMES
        .iter()
        .position(|&n| n == name)
        .ok_or(UnknownPoint(name))?;
    ACTIONS[point].store(action.to_word(), Relaxed);
    let any = ACTIONS
        .iter()
        .any(|a| a.load(Relaxed) != Action::Off.to_word());
    ANY_ARMED.store(any, Relaxed);
    Ok(())
}

/// Arms from the text of the `point=` key: `NAME:ACTION`, several separated by commas.
///
/// # Errors
/// The first word that is wrong, with what would be right; the points before it are armed.
pub fn arm_text(text: &str) -> Result<(), PointError<'_>> {
    for word in text.split(',') {
        let (name, action) = word.split_once(':').ok_or(PointError::NoAction(word))?;
        let action = Action::parse(action).map_err(PointError::Action)?;
        arm(name, action).map_err(PointError::Name)?;
    }
    Ok(())
}

/// How often a point was reached while it was armed; 0 for an unknown name.
pub fn hits(name: &str) -> u64 {
    let point = NAMES.iter().position(|&n| n == name);
    point.map_or(0, |p| HITS[p].load(Relaxed))
}

/// There is no fault point of this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownPoint<'a>(pub &'a str);

impl fmt::Display for UnknownPoint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no fault point {}; there are", self.0)?;
        NAMES.iter().try_for_each(|name| write!(f, " {name}"))
    }
}

/// What is wrong in a text that was to arm points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointError<'a> {
    /// The word has no `:ACTION`.
    NoAction(&'a str),
    /// The name is unknown.
    Name(UnknownPoint<'a>),
    /// The action is unknown.
    Action(BadAction<'a>),
}

impl fmt::Display for PointError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PointError::NoAction(word) => {
                write!(
                    f,
                    "point {word} has no action; it is written NAME:ACTION, {}",
                    action::CHOICES
                )
            }
            PointError::Name(e) => e.fmt(f),
            PointError::Action(e) => e.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
