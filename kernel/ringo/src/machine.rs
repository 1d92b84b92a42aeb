//! What the machine is and what it has done so far: figures for programs that measure, such as the tour.

use base::PreemptGuard;
use core::sync::atomic::Ordering::Relaxed;
use csp::time::Duration;
use sched::M;

/// Whether the program runs on threads of the host instead of the bare machine. The host machine is cooperative: it
/// preempts nobody.
///
/// ```
/// assert!(ringo::machine::IS_HOST); // where the tests of documentation run
/// ```
pub const IS_HOST: bool = cfg!(not(ringo_kernel));

/// The CPU that the caller runs on at this instant; it may be another one right afterwards.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// assert!(ringo::machine::cpu() < sched::num_cpu());
/// # });
/// ```
pub fn cpu() -> usize {
    M::current(&PreemptGuard::new()).id()
}

/// Number of Ps: how many goroutines run at a time (Go: `GOMAXPROCS`).
///
/// ```
/// # sched::testing::run(2, 2, || {
/// assert_eq!(ringo::machine::procs(), 2);
/// # });
/// ```
pub fn procs() -> usize {
    sched::gomaxprocs()
}

/// Time since the machine's start.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// let before = ringo::machine::since_start();
/// assert!(ringo::machine::since_start() >= before);
/// # });
/// ```
pub fn since_start() -> Duration {
    Duration::from_nanos(sched::now_ns())
}

/// What the clock is and how its rate was found.
///
/// ```no_run
/// ringo::println!("the clock is {}", ringo::machine::clock_source());
/// ```
pub fn clock_source() -> &'static str {
    arch::clock_source()
}

/// Whether a goroutine that does not give way is made to.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// assert!(!ringo::machine::preempts()); // not on the host machine
/// # });
/// ```
pub fn preempts() -> bool {
    !IS_HOST && crate::start::config().preempt == base::config::Preempt::Async
}

/// Whether who is woken by the clock or a device may take a running goroutine's place.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// // Only who can be preempted at all can be made to give way.
/// assert!(ringo::machine::preempts() || !ringo::machine::wakes_preempt());
/// # });
/// ```
pub fn wakes_preempt() -> bool {
    preempts() && crate::start::config().wakeup
}

/// Whether a P without work takes some from others.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// assert!(ringo::machine::steals()); // unless `steal=off` was given
/// # });
/// ```
pub fn steals() -> bool {
    crate::start::config().steal != base::config::Steal::Off
}

/// Whether the P of a goroutine that occupies its CPU in a blocking call is given to others after a while: with `handoff=on`,
/// and on the bare machine only if sysmon is there to see that the call lasts.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// assert!(ringo::machine::hands_on()); // unless `handoff=off` was given, or there is one CPU
/// # });
/// ```
pub fn hands_on() -> bool {
    let cfg = crate::start::config();
    cfg.handoff && (IS_HOST || cfg.sysmon) && sched::num_cpu() > 1
}

/// Length of a time slice.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// assert_eq!(ringo::machine::slice().as_millis(), 10);
/// # });
/// ```
pub fn slice() -> Duration {
    Duration::from_micros(crate::start::config().slice_us.into())
}

/// Bytes of memory that are in use by everything; `None` on the host machine, whose memory is the host's.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// // On the host machine the memory is the host's.
/// assert_eq!(ringo::machine::used_bytes(), None);
/// # });
/// ```
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
///
/// ```no_run
/// if let Some(bytes) = ringo::machine::free_bytes() {
///     ringo::println!("{} MiB are free", bytes >> 20);
/// }
/// ```
pub fn free_bytes() -> Option<u64> {
    #[cfg(ringo_kernel)]
    return Some(mem::frames::free_frames() * mem::PAGE_BYTES as u64);
    #[cfg(not(ringo_kernel))]
    None
}

/// Counts since the machine's start, over all CPUs.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// let before = ringo::machine::counts();
/// csp::spawn(|| ()).join();
/// assert!(ringo::machine::counts().switches > before.switches);
/// # });
/// ```
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
///
/// ```
/// # sched::testing::run(2, 2, || {
/// let n = ringo::machine::counts();
/// assert!(n.stolen >= n.steals); // each that found something moved at least one
/// # });
/// ```
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
