//! Idle threads: one futex word each, which is the pending word itself.
//!
//! ```text
//!           halt: sleeping = true                pending = 0: FUTEX_WAIT
//!  running ----------------------> looks again ----------------------------> sleeps
//!     ^                                |  pending != 0 or deadline past          |
//!     +--------------------------------+<----------------------------------------+
//!        sleeping = false                  wake_cpu (pending |= RESCHED) or deadline
//! ```

use super::cpu::this;
use super::preempt::look_at_clock;
use super::time::{CLOCK, clock_base_ns};
use crate::PENDING_RESCHED;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

/// What other threads see of a CPU.
pub(super) struct Parker {
    /// The pending bits: the word on which [`halt`] waits.
    pub pending: AtomicU32,
    /// The CPU sleeps or is about to.
    sleeping: AtomicBool,
}

impl Parker {
    pub const fn new() -> Self {
        Self {
            pending: AtomicU32::new(0),
            sleeping: AtomicBool::new(false),
        }
    }

    pub fn clear(&self) {
        self.pending.store(0, SeqCst);
        self.sleeping.store(false, SeqCst);
    }

    fn wake(&self) {
        // SeqCst with the store to `sleeping` in `halt`: either this sees `sleeping`, or `halt` sees the bit.
        self.pending.fetch_or(PENDING_RESCHED, SeqCst);
        if self.sleeping.load(SeqCst) {
            futex(&self.pending, libc::FUTEX_WAKE, 1, ptr::null());
        }
    }
}

/// Names a CPU, for [`wake_cpu`].
#[derive(Clone, Copy)]
pub struct CpuRef(&'static Parker);

/// The CPU of the calling thread.
#[inline]
pub fn cpu_ref() -> CpuRef {
    CpuRef(this().parker)
}

/// Sets [`PENDING_RESCHED`] on that CPU and ends its [`halt`]. Costs a system call only if it sleeps.
#[inline]
pub fn wake_cpu(cpu: CpuRef) {
    cpu.0.wake();
}

/// Waits until a pending bit is set, by [`wake_cpu`] or because the armed deadline has passed. Returns with the
/// interrupt flag set. May return early: the caller looks again.
///
/// Precondition: `irq_disable`, after which the caller has looked at `pending` and at its own wake word.
pub fn halt() {
    let cpu = this();
    debug_assert!(!cpu.irqs_on.get(), "halt with interrupts enabled");
    cpu.parker.sleeping.store(true, SeqCst);
    loop {
        look_at_clock(cpu);
        if cpu.parker.pending.load(SeqCst) != 0 {
            break;
        }
        let deadline_ns = cpu.deadline_ns.get();
        if deadline_ns == u64::MAX {
            futex(&cpu.parker.pending, libc::FUTEX_WAIT_BITSET, 0, ptr::null());
        } else {
            let at = clock_base_ns().saturating_add(deadline_ns);
            let until = libc::timespec {
                tv_sec: (at / 1_000_000_000) as i64,
                tv_nsec: (at % 1_000_000_000) as i64,
            };
            futex(&cpu.parker.pending, libc::FUTEX_WAIT_BITSET, 0, &until);
        }
    }
    cpu.parker.sleeping.store(false, SeqCst);
    cpu.irqs_on.set(true);
}

/// FUTEX_WAIT_BITSET takes an absolute time of [`CLOCK`]; a failure (changed word, time over, signal) is an early return.
fn futex(word: &AtomicU32, op: i32, value: u32, until: *const libc::timespec) {
    const _: () = assert!(CLOCK == libc::CLOCK_MONOTONIC);
    // SAFETY: the word outlives the call, `until` is null or points to a timespec on the caller's stack.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            op | libc::FUTEX_PRIVATE_FLAG,
            value,
            until,
            ptr::null::<u32>(),
            u32::MAX,
        );
    }
}

/// Arms this CPU's one-shot timer for `deadline_ns` (in [`now_ns`](super::now_ns)'s time); one in the past fires at once.
/// It sets [`PENDING_TIMER`](crate::PENDING_TIMER), seen by [`halt`], [`take_pending`](super::take_pending) and every
/// 64th guard drop.
#[inline]
pub fn arm_timer(deadline_ns: u64) {
    this().deadline_ns.set(deadline_ns);
}

/// Forgets this CPU's timer. Its pending bit may be set already.
#[inline]
pub fn disarm_timer() {
    this().deadline_ns.set(u64::MAX);
}
