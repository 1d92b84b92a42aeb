//! Goroutines that can never run again (Go 1.26: the profile `goroutineleak`).

use crate::fatal::backtrace::{shown, stopped_frames};
#[cfg(ringo_kernel)]
use base::place::from_root;
use core::fmt;
use csp::time::Duration;
use sched::leak::FRAMES;
pub use sched::leak::{Leak, Leaks, Why};
use sched::{CreatedBy, GRef};

/// Who has waited for so long is suspect, unless said otherwise.
const SUSPECT_AFTER: Duration = Duration::from_secs(10);

/// Those that are shown at most of each kind; the rest is counted.
const SHOWN: usize = 50;

/// Looks for goroutines that can never run again, and for those that have waited for 10 s.
///
/// *Certain* are those that nobody who runs can make ready: they wait for a nil channel, for a mutex whose owner never runs
/// again, or for something that no goroutine that runs, no static and no timer leads to. *Suspect* are those that somebody
/// could still wake, but nobody has for long.
///
/// The world stands still meanwhile, about a millisecond for each megabyte of memory in use. With `preempt=off`, and on the
/// host machine, a goroutine that never gives way keeps the world from standing still: after a second the report does without,
/// and says so; it is then certain of waits for what never comes only, and there are no frames.
///
/// ```no_run
/// ringo::eprintln!("{}", ringo::leaks());
/// ```
pub fn leaks() -> Report {
    leaks_after(SUSPECT_AFTER)
}

/// [`leaks`], with another time after which one that waits is suspect.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use csp::time::Duration;
/// let (tx, rx) = csp::chan::<u32>(0);
/// csp::go(move || drop(rx.recv()));
/// let report = ringo::leaks_after(Duration::from_secs(60));
/// assert!(report.0.suspect.is_empty()); // it has not waited for that long
/// # drop(tx)
/// # });
/// ```
pub fn leaks_after(suspect: Duration) -> Report {
    let ns = u64::try_from(suspect.as_nanos()).unwrap_or(u64::MAX);
    Report(sched::this().leaks(ns, frames))
}

fn frames(g: GRef, frames: &mut [usize; FRAMES]) {
    let mut n = 0;
    // SAFETY: it waits, and the world stands still.
    unsafe {
        stopped_frames(g, |rip| {
            frames[n] = shown(n, rip);
            n += 1;
            n < FRAMES
        })
    }
}

/// What was found; its `Display` is a report for people, with addresses that the runner turns into names.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// let report = ringo::leaks();
/// assert!(report.to_string().starts_with("leaks: 0 certain, 0 suspect"));
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct Report(pub Leaks);

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Leaks {
            certain,
            suspect,
            limit,
        } = &self.0;
        writeln!(
            f,
            "leaks: {} certain, {} suspect",
            certain.len(),
            suspect.len()
        )?;
        if let Some(limit) = limit {
            writeln!(f, "there may be more: {limit}")?
        }
        for list in [certain, suspect] {
            list.iter().take(SHOWN).try_for_each(|leak| one(f, leak))?;
            if list.len() > SHOWN {
                writeln!(f, "\n… and {} more", list.len() - SHOWN)?
            }
        }
        Ok(())
    }
}

fn one(f: &mut fmt::Formatter<'_>, leak: &Leak) -> fmt::Result {
    writeln!(f, "\n{}", leak.g)?;
    match leak.why {
        Why::NeverComes => writeln!(f, "never runs again: what it waits for never comes")?,
        Why::LockOf(owner) if owner == leak.g.id => {
            writeln!(f, "never runs again: it has the lock itself")?
        }
        Why::LockOf(owner) => writeln!(
            f,
            "never runs again: goroutine {owner} has the lock and never runs again either"
        )?,
        Why::LockOfEnded(owner) => writeln!(
            f,
            "never runs again: goroutine {owner} has ended with the lock"
        )?,
        Why::Unreachable => writeln!(
            f,
            "never runs again: nobody that can run has what it waits for"
        )?,
        Why::LongWait => writeln!(f, "has waited for {} s", leak.g.waited_ns / 1_000_000_000)?,
    }
    for (i, rip) in leak.frames.iter().take_while(|rip| **rip != 0).enumerate() {
        writeln!(f, "#{i} {rip:#018x}")?
    }
    write!(f, "{}", CreatedBy(&leak.g))
}

/// What was found, for the runner: at the end of a run whose figures are wanted. Only where the world can be made to stand
/// still whatever runs, and the caller has a P.
#[cfg(ringo_kernel)]
pub(crate) fn say() {
    let has_p = sched::M::current(&base::PreemptGuard::new()).p().is_some();
    if !has_p || !crate::machine::preempts() {
        return;
    }
    let Leaks {
        certain, suspect, ..
    } = &leaks().0;
    crate::fatal::say(format_args!(
        "\u{1}{{\"event\":\"leaks\",\"certain\":{},\"suspect\":{},\"goroutines\":{}}}\n",
        certain.len(),
        suspect.len(),
        Json(certain, suspect)
    ))
}

/// The first ones as a JSON array.
#[cfg(ringo_kernel)]
struct Json<'a>(&'a [Leak], &'a [Leak]);

#[cfg(ringo_kernel)]
impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, leak) in self.0.iter().chain(self.1).take(SHOWN).enumerate() {
            let why = match leak.why {
                Why::NeverComes => "never comes",
                Why::LockOf(_) => "owner never runs",
                Why::LockOfEnded(_) => "owner ended",
                Why::Unreachable => "unreachable",
                Why::LongWait => "long wait",
            };
            let g = &leak.g;
            let (file, line) = g
                .created_at
                .map_or(("", 0), |at| (from_root(at.file()), at.line()));
            let comma = if i == 0 { "" } else { "," };
            write!(
                f,
                "{comma}{{\"id\":{},\"reason\":\"{}\",\"why\":\"{why}\",\"created_at\":\"{file}:{line}\"}}",
                g.id, g.wait
            )?
        }
        f.write_str("]")
    }
}
