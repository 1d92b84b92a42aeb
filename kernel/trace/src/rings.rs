//! The rings of all CPUs and the switch.

use crate::event::{Event, Kind, pack};
use crate::ring::Ring;
use alloc::boxed::Box;
use arch::MAX_CPUS;
use base::PreemptGuard;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering::*};

static ON: AtomicBool = AtomicBool::new(false);
/// Null, or a ring that lives for good.
static RINGS: [AtomicPtr<Ring>; MAX_CPUS] = [const { AtomicPtr::new(ptr::null_mut()) }; MAX_CPUS];

/// The rings were made before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlreadyThere;

/// Makes rings of `events` each (rounded up to a power of two; 16 bytes an event) for CPUs 0 to `cpus` - 1. Tracing stays
/// off until [`set_on`].
///
/// # Errors
/// [`AlreadyThere`] if CPU 0 has a ring; nothing changes.
pub fn init(cpus: usize, events: usize) -> Result<(), AlreadyThere> {
    for (cpu, slot) in RINGS.iter().enumerate().take(cpus) {
        let ring = Box::into_raw(Box::new(Ring::new(events)));
        // Release: pairs with the load in `ring`, which sees the ring's content.
        if slot
            .compare_exchange(ptr::null_mut(), ring, Release, Relaxed)
            .is_err()
        {
            // SAFETY: made above, seen by nobody.
            drop(unsafe { Box::from_raw(ring) });
            if cpu == 0 {
                return Err(AlreadyThere);
            }
        }
    }
    Ok(())
}

fn ring(cpu: usize) -> Option<&'static Ring> {
    // SAFETY: null or a leaked ring (`init`); acquires what `init` wrote.
    unsafe { RINGS.get(cpu)?.load(Acquire).as_ref() }
}

/// Turns recording on or off. While on, CPUs without a ring record nothing.
pub fn set_on(on: bool) {
    ON.store(on, Relaxed);
}

/// Whether events are recorded.
#[inline]
pub fn is_on() -> bool {
    ON.load(Relaxed)
}

/// Records an event on this CPU's ring: `goid` is the number of the G that it is about, 0 for none, and `arg` is as
/// [`Kind`] says. One load while recording is off.
///
/// # Panics
/// Never; but a call with preemption on is a place where the G may be preempted.
#[inline]
pub fn emit(kind: Kind, goid: u64, arg: u32) {
    if is_on() {
        record(kind, goid, arg, 0);
    }
}

/// [`emit`] where the caller has looked at [`is_on`]: `seq` is the event's number among those about the G (I-SEQ).
#[inline(never)]
pub fn record(kind: Kind, goid: u64, arg: u32, seq: u32) {
    let _this_cpu = PreemptGuard::new();
    let cpu = arch::cpu_id();
    if let Some(ring) = ring(cpu) {
        ring.push(arch::now_ns, seq, pack(kind, cpu, goid, arg));
    }
}

/// Address of the table of rings, one pointer for each CPU: for the glass header.
pub fn table_address() -> u64 {
    (&raw const RINGS).addr() as u64
}

/// Events that the CPU ever recorded.
pub fn recorded(cpu: usize) -> u64 {
    ring(cpu).map_or(0, Ring::recorded)
}

/// The last `n` events of a CPU, oldest first; fewer if there are no more. Takes no lock, allocates nothing: for
/// reports. Events that the CPU overwrites meanwhile are left out.
pub fn last(cpu: usize, n: usize) -> Last {
    let ring = ring(cpu);
    let end = ring.map_or(0, Ring::recorded);
    let oldest = ring.map_or(0, Ring::oldest);
    Last {
        ring,
        index: oldest.max(end.saturating_sub(n as u64)),
        end,
    }
}

/// What [`last`] returns.
pub struct Last {
    ring: Option<&'static Ring>,
    index: u64,
    end: u64,
}

impl Iterator for Last {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let ring = self.ring?;
        while self.index < self.end {
            let event = ring.get(self.index);
            self.index = (self.index + 1).max(ring.oldest());
            if event.is_some() {
                return event;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test, since the rings are the process's.
    #[test]
    fn off_records_nothing_on_records_in_order() {
        emit(Kind::User, 1, 1);
        assert_eq!((recorded(0), last(0, 5).count()), (0, 0));
        assert_eq!(init(2, 100), Ok(()));
        assert_eq!(init(2, 100), Err(AlreadyThere));
        emit(Kind::User, 1, 1);
        assert_eq!(recorded(0), 0);

        set_on(true);
        for n in 1..=300 {
            emit(Kind::GoPark, n, n as u32);
        }
        set_on(false);
        emit(Kind::User, 1, 1);
        assert_eq!(recorded(0), 300);
        let events: Vec<_> = last(0, 3).collect();
        assert_eq!(
            events.iter().map(|e| e.goid).collect::<Vec<_>>(),
            [298, 299, 300]
        );
        assert!(events.windows(2).all(|w| w[0].ns <= w[1].ns));
        // 128 slots, of which one could be under way.
        assert_eq!(last(0, 1000).count(), 127);
        assert_eq!(
            (last(1, 9).count(), last(63, 9).count(), last(99, 9).count()),
            (0, 0, 0)
        );
        assert_eq!(arch::preempt_count(), 0);
    }
}
