//! Gs for the models of the layer above: each is a thread of the model, on a CPU of its own. What that layer calls (`gopark`,
//! `goready`, the clock, "who am I") is answered here; the steps of parking are those of `park.rs`, in the same order
//! (I-COMMIT), with a bell in place of queues and switches.
//!
//! ```text
//!   gopark:   running ─► waiting ─► commit ─► (bell rings) ─► running
//!   goready:             waiting ─► runnable, rings the bell
//! ```

use super::Bell;
use crate::g::{G, GRef, GStatus, WaitReason};
use crate::m::M;
use crate::park::Commit;
use base::PreemptGuard;
use base::shim::Ordering::*;
use core::ptr::null_mut;

loom::thread_local! {
    static ME: core::cell::Cell<*mut G> = core::cell::Cell::new(null_mut());
    static MY_M: core::cell::Cell<*const M> = core::cell::Cell::new(core::ptr::null());
}

/// What one interleaving knows beside the model's memory: a model's threads are one thread of the host.
struct Beside {
    /// The clock, and what each look adds to it.
    clock_ns: u64,
    step_ns: u64,
    reversed: u64,
    parks: [u32; 5],
}

std::thread_local! {
    static BESIDE: core::cell::RefCell<Beside> = const { core::cell::RefCell::new(Beside {
        clock_ns: 1, step_ns: 0, reversed: 0, parks: [0; 5],
    }) };
}

fn beside<R>(f: impl FnOnce(&mut Beside) -> R) -> R {
    BESIDE.with(|b| f(&mut b.borrow_mut()))
}

/// The clock shows `now_ns`, and `step_ns` more after each look. Before [`run_gs`].
pub fn set_clock(now_ns: u64, step_ns: u64) {
    beside(|b| (b.clock_ns, b.step_ns) = (now_ns, step_ns))
}

pub(crate) fn read_clock() -> u64 {
    beside(|b| {
        b.clock_ns += b.step_ns;
        b.clock_ns
    })
}

/// Does the calling G take the cases of a `select` in reverse order? In place of chance.
pub fn reversed() -> bool {
    let me = current_number();
    beside(|b| b.reversed >> me & 1 != 0)
}

/// How often the calling G has parked.
pub fn parks() -> u32 {
    let me = current_number();
    beside(|b| b.parks[me])
}

fn current_number() -> usize {
    crate::current().id() as usize
}

/// Runs each of `fs` as a G, numbered from 0, until all have ended. Bit i of `reversed` is what
/// [`reversed`] answers to G i.
///
/// # Panics
/// If there are more than loom has threads for.
pub fn run_gs<const N: usize>(reversed: u64, fs: [Box<dyn FnOnce() + '_>; N]) {
    beside(|b| (b.reversed, b.parks) = (reversed, [0; 5]));
    let gs: [*mut G; N] = core::array::from_fn(|i| {
        let g = G::new();
        g.set_id(i as u64);
        g.set_status(GStatus::Dead, GStatus::Runnable);
        g.set_status(GStatus::Runnable, GStatus::Running);
        Box::into_raw(Box::new(g))
    });
    let mut mine = None;
    let mut threads = vec![];
    for (f, g) in fs.into_iter().zip(gs) {
        if mine.is_none() {
            mine = Some(f);
            continue;
        }
        // SAFETY: the lifetime alone changes: the thread is joined below; where that does not come to pass, loom has found
        // something, and the run is over.
        let f: Box<dyn FnOnce()> = unsafe { core::mem::transmute(f) };
        let g = g as usize;
        threads.push(loom::thread::spawn(move || run_g(g as *mut G, f)));
    }
    if let Some(f) = mine {
        run_g(gs[0], f)
    }
    for t in threads {
        t.join().unwrap()
    }
    for g in gs {
        // SAFETY: made above, and nobody uses it any more.
        drop(unsafe { Box::from_raw(g) })
    }
}

fn run_g(g: *mut G, f: Box<dyn FnOnce() + '_>) {
    ME.with(|me| me.set(g));
    f();
    ME.with(|me| me.set(null_mut()))
}

/// The calling thread is M `m` while `f` runs: for what needs a P, as timers do.
pub fn as_m<R>(m: &'static M, f: impl FnOnce() -> R) -> R {
    let before = MY_M.with(|my| my.replace(m));
    let result = f();
    MY_M.with(|my| my.set(before));
    result
}

pub(crate) fn curg() -> *mut G {
    ME.with(|me| me.get())
}

pub(crate) fn m_ptr() -> *const M {
    MY_M.with(|my| my.get())
}

/// # Safety
/// As [`crate::gopark`].
pub(crate) unsafe fn park_thread(guard: PreemptGuard, reason: WaitReason, commit: Commit) {
    let g = crate::current();
    drop(guard);
    beside(|b| b.parks[g.id() as usize] += 1);
    g.set_wait_reason(reason);
    g.set_status(GStatus::Running, GStatus::Waiting);
    // SAFETY: the caller's promise.
    if unsafe { (commit.f)(g, commit.arg) } {
        g.bell.wait();
        assert_eq!(g.status(), GStatus::Runnable, "G {} goes on", g.id());
    } else {
        g.set_status(GStatus::Waiting, GStatus::Runnable)
    }
    g.set_status(GStatus::Runnable, GStatus::Running)
}

pub(crate) fn ready_thread(g: GRef) {
    let was = g.status.swap(GStatus::Runnable as u32, AcqRel);
    assert_eq!(was, GStatus::Waiting as u32, "G {} is readied", g.id());
    g.bell.ring()
}
