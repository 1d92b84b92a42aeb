//! G, P, M, Sched: Go's scheduler, and nothing else.
//!
//! ```text
//!                 ┌──────────────── Sched ────────────────┐
//!                 │ global queue · idle Ps · idle Ms      │
//!                 └───▲───────────────▲───────────────▲───┘
//!            overflow │ 1 in 61       │               │ idle
//!                 ┌───┴────┐      ┌───┴────┐      ┌───┴────┐
//!    P: right to  │ P0     │ half │ P1     │      │ P2     │
//!    run Gs       │ runnext│◄─────│ ring   │      │        │
//!                 │ ring   │steal │        │      │        │
//!                 └───┬────┘      └───┬────┘      └────────┘
//!                 ┌───┴────┐      ┌───┴────┐      ┌────────┐
//!    M: a CPU     │ M0  g0 │      │ M1  g0 │      │ M2 halt│
//!                 └───┬────┘      └───┬────┘      └────────┘
//!                     G               G
//! ```
//!
//! | question | file |
//! |---|---|
//! | what a G, a P, an M is | `g` `p` `m` |
//! | where runnable Gs wait | `runq` `globrunq` `gqueue` `policy/` |
//! | what runs next | `schedule` `steal` |
//! | who sleeps and who wakes whom | `idle` `pidle` `wakep` |
//! | how a G waits and is readied | `park` `sleep` `timer` `timers` |
//! | how a G is born and dies | `newproc` |
//! | how a G stays on one CPU | `locked` |
//! | who drops what a stopped timer kept | `foreign` |
//! | what becomes of the P of a G that blocks its CPU | `handoff` |
//! | what such a CPU serves meanwhile | `in_call` |
//! | how a G waits for the network, and who asks what has come | `polldesc` `pollwait` `polldeadline` `netpoll` `readylist` |
//! | what time it is for the program | `clock` `bubble` |
//! | how a G loses its CPU | `preempt` `tick` `wakeup` `sysmon` |
//! | how everybody stops at once, how Ps come and go | `stw` |
//! | what happens when nobody can go on | `deadlock` |
//! | what it says about itself | `schedtrace` `metrics` `histogram` `dump` |
//! | who can never run again | `leak` |
//! | what the runner sees from outside | `glass` |
//! | whose sections with preemption off last too long | `late` |
//!
//! Invariants have names (I-…) and stand where they are kept. Atomics name the line that they pair with.
#![cfg_attr(ringo_kernel, no_std)]
// Models have no CPUs that halt, and so no use for some of what surrounds that.
#![cfg_attr(any(ringo_loom, ringo_shuttle), allow(dead_code, unused_imports))]

pub mod bubble;
mod clock;
mod deadlock;
mod dump;
mod foreign;
mod g;
#[cfg(ringo_kernel)]
mod glass;
mod globrunq;
mod gqueue;
mod handoff;
pub mod histogram;
mod idle;
mod in_call;
mod late;
pub mod leak;
mod locked;
mod m;
pub mod metrics;
#[cfg(ringo_loom)]
pub mod models;
pub mod netpoll;
mod newproc;
mod p;
mod park;
mod pidle;
pub mod policy;
mod polldeadline;
mod polldesc;
mod pollwait;
mod preempt;
mod readylist;
mod retake;
mod runq;
mod sched;
mod schedtrace;
mod schedule;
mod sleep;
mod steal;
mod stw;
mod sysmon;
#[cfg(not(any(ringo_kernel, ringo_loom, ringo_shuttle)))]
pub mod testing;
mod tick;
pub mod timer;
pub mod timers;
mod wakep;
mod wakeup;
#[cfg(ringo_shuttle)]
pub mod whole;

pub use clock::{machine_now_ns, now_ns, program_now_ns};
pub use dump::{CreatedBy, GInfo};
pub use g::{ExitHook, G, GRef, GStatus, WaitReason};
pub use gqueue::GQueue;
pub use handoff::{blocking, entersyscall, entersyscallblock, exitsyscall, in_call};
pub use locked::{lock_to_cpu, unlock_from_cpu};
pub use m::{M, MStats};
pub use metrics::Metrics;
pub use newproc::{goexit, newproc, newproc_hook, newproc_scoped};
pub use p::P;
pub use park::{Commit, current, gopark, goready, goyield, park_unlock, try_current, yield_now};
#[cfg(not(any(ringo_loom, ringo_shuttle)))]
pub use preempt::interrupt_busy;
pub use preempt::{checkpoint, safe_point};
pub use runq::{RING, RunQueue};
pub use sched::{Hooks, Sched};
pub use sleep::{sleep_ns, sleep_until_ns};
pub use steal::StealOrder;
pub use stw::StopReason;

use base::PreemptGuard;

/// Is a running G interrupted on this machine, by its CPU's timer and by other CPUs? In shuttle's models as on the bare machine.
pub(crate) const INTERRUPTS: bool = cfg!(any(ringo_kernel, ringo_shuttle));

/// The scheduler that the caller runs under.
///
/// # Panics
/// On a CPU that is no M.
pub fn this() -> &'static Sched {
    let guard = PreemptGuard::new();
    M::current(&guard).sched()
}

/// Goroutines that exist (Go: `NumGoroutine`).
///
/// ```
/// # sched::testing::run(2, 2, || {
/// assert_eq!(sched::num_goroutine(), 1); // the one that runs this
/// # });
/// ```
pub fn num_goroutine() -> usize {
    this().num_goroutine() as usize
}

/// Number of Ps.
pub fn gomaxprocs() -> usize {
    this().procs() as usize
}

/// Set the number of Ps; the number before. 0 only asks, more than the CPUs is cut to them (Go: `GOMAXPROCS`).
///
/// ```
/// # sched::testing::run(2, 2, || {
/// assert_eq!(sched::set_gomaxprocs(1), 2); // it was 2,
/// assert_eq!(sched::set_gomaxprocs(0), 1); // and is 1
/// # });
/// ```
pub fn set_gomaxprocs(n: usize) -> usize {
    this().gomaxprocs(n)
}

/// CPUs that run.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// assert_eq!(sched::num_cpu(), 2);
/// # });
/// ```
pub fn num_cpu() -> usize {
    this().mcount() as usize
}

/// End the program with a fatal error: its text, a report of all goroutines, status 2 (Go: `fatal`).
pub fn fatal(text: core::fmt::Arguments) -> ! {
    let s = this();
    (s.hooks.fatal)(s, "fatal error", text)
}
