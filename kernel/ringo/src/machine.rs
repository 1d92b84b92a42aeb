//! What the machine is and what it has done so far: figures for programs that measure, such as the tour.

use base::PreemptGuard;
use core::sync::atomic::Ordering::Relaxed;
use csp::time::Duration;
use sched::M;

/// Whether the program runs on threads of the host instead of the bare machine. The host machine is cooperative: it
/// preempts nobody.
pub const IS_HOST: bool = cfg!(not(ringo_kernel));

/// The CPU that the caller runs on at this instant; it may be another one right afterwards.
pub fn cpu() -> usize {
    M::current(&PreemptGuard::new()).id()
}

/// Number of Ps: how many goroutines run at a time (Go: `GOMAXPROCS`).
pub fn procs() -> usize {
    sched::gomaxprocs()
}

/// Time since the machine's start.
pub fn since_start() -> Duration {
    Duration::from_nanos(sched::now_ns())
}

/// What the clock is and how its rate was found.
pub fn clock_source() -> &'static str {
    arch::clock_source()
}

/// Whether a goroutine that does not give way is made to.
pub fn preempts() -> bool {
    !IS_HOST && crate::start::config().preempt == base::config::Preempt::Async
}

/// Whether who is woken by the clock or a device may take a running goroutine's place.
pub fn wakes_preempt() -> bool {
    preempts() && crate::start::config().wakeup
}

/// Whether a P without work takes some from others.
pub fn steals() -> bool {
    crate::start::config().steal != base::config::Steal::Off
}

/// Whether the P of a goroutine that occupies its CPU in a blocking call is given to others after a while: with `handoff=on`,
/// and on the bare machine only if sysmon is there to see that the call lasts.
pub fn hands_on() -> bool {
    let cfg = crate::start::config();
    cfg.handoff && (IS_HOST || cfg.sysmon) && sched::num_cpu() > 1
}

/// Length of a time slice.
pub fn slice() -> Duration {
    Duration::from_micros(crate::start::config().slice_us.into())
}

/// Bytes of memory that are in use by everything; `None` on the host machine, whose memory is the host's.
pub fn used_bytes() -> Option<u64> {
    #[cfg(ringo_kernel)]
    {
        let frames = mem::frames::total_frames() - mem::frames::free_frames();
        Some(frames * mem::PAGE_BYTES as u64)
    }
    #[cfg(not(ringo_kernel))]
    None
}

/// Bytes of memory that are free; `None` on the host machine.
pub fn free_bytes() -> Option<u64> {
    #[cfg(ringo_kernel)]
    return Some(mem::frames::free_frames() * mem::PAGE_BYTES as u64);
    #[cfg(not(ringo_kernel))]
    None
}

/// Counts since the machine's start, over all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Switches to a goroutine.
    pub switches: u64,
    /// Steals that found something.
    pub steals: u64,
    /// Goroutines that those steals moved.
    pub stolen: u64,
    /// Goroutines that lost their CPU at the end of a slice.
    pub preemptions: u64,
    /// Goroutines that gave way for a moment to one that the clock or a device woke.
    pub gave_way: u64,
    /// Times that a CPU halted for want of work.
    pub halts: u64,
    /// CPUs that were woken for work.
    pub wakes: u64,
    /// Timers that fired.
    pub timers: u64,
}

/// The counts as they stand. Each CPU counts for itself, so they are of slightly different instants.
pub fn counts() -> Counts {
    let mut sum = Counts::default();
    for m in &sched::this().allm {
        let s = &m.stats;
        sum.switches += s.switches.load(Relaxed);
        sum.steals += s.steals.load(Relaxed);
        sum.stolen += s.stolen.load(Relaxed);
        sum.preemptions += s.preemptions.load(Relaxed);
        sum.gave_way += s.gave_way.load(Relaxed);
        sum.halts += s.halts.load(Relaxed);
        sum.wakes += s.wakes.load(Relaxed);
        sum.timers += s.timers.load(Relaxed);
    }
    sum
}
