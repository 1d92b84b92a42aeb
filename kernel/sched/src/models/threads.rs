//! Gs for the models of the layer above: each is a thread of the model, on a CPU of its own. What that layer calls (`gopark`,
//! `goready`, the clock, "who am I") is answered here; the steps of parking are those of `park.rs`, in the same order
//! (I-COMMIT), with a bell in place of queues and switches.
//!
//! ```text
//!   gopark:   running ─► waiting ─► commit ─► (bell rings) ─► running
//!   goready:             waiting ─► runnable, rings the bell
//! ```

use super::Bell;
use crate::g::{ExitHook, G, GRef, GStatus, WaitReason};
use crate::m::M;
use crate::park::Commit;
use base::PreemptGuard;
use base::shim::Ordering::*;
use core::panic::Location;
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
    /// Gs so far.
    gs: u64,
    threads: Vec<loom::thread::JoinHandle<()>>,
    /// Gs are threads: inside of [`run_gs`].
    gs_run: bool,
    ended: Vec<*mut G>,
}

std::thread_local! {
    static BESIDE: core::cell::RefCell<Beside> = const { core::cell::RefCell::new(Beside {
        clock_ns: 1, step_ns: 0, reversed: 0, parks: [0; 5], gs: 0, threads: Vec::new(), gs_run: false, ended: Vec::new(),
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

/// Runs each of `fs` as a G, numbered from 0, until all have ended, and those that they start, with the numbers that follow.
/// Bit i of `reversed` is what [`reversed`] answers to G i.
///
/// # Panics
/// If there are more than loom has threads for.
pub fn run_gs<const N: usize>(reversed: u64, fs: [Box<dyn FnOnce() + '_>; N]) {
    beside(|b| (b.reversed, b.parks, b.gs, b.gs_run) = (reversed, [0; 5], 0, true));
    let mut first = None;
    for f in fs {
        let g = make_g();
        if first.is_none() {
            first = Some((g, f)) // on this thread
        } else {
            // SAFETY: the thread is joined below; where that does not come to pass, loom has found something, and the run is over.
            unsafe { start(g, f, None) }
        }
    }
    if let Some((g, f)) = first {
        run_g(g, f);
        beside(|b| b.ended.push(g))
    }
    while let Some(thread) = beside(|b| b.threads.pop()) {
        thread.join().unwrap()
    }
    beside(|b| b.gs_run = false);
    for g in beside(|b| core::mem::take(&mut b.ended)) {
        // SAFETY: made by `make_g`, and nobody uses it any more.
        drop(unsafe { Box::from_raw(g) })
    }
}

fn make_g() -> *mut G {
    let g = G::new();
    g.set_id(beside(|b| {
        b.gs += 1;
        b.gs - 1
    }));
    g.set_status(GStatus::Dead, GStatus::Runnable);
    g.set_status(GStatus::Runnable, GStatus::Running);
    Box::into_raw(Box::new(g))
}

/// What `newproc` does.
///
/// # Safety
/// As [`crate::newproc_scoped`].
pub(crate) unsafe fn start_thread(
    f: impl FnOnce(),
    created_at: &'static Location<'static>,
    hook: Option<ExitHook>,
) -> u64 {
    let g = make_g();
    // SAFETY: nobody else has it.
    let id = unsafe {
        let at = core::ptr::from_ref(created_at).cast_mut();
        (*g).created_at.store(at, Relaxed);
        (*g).id()
    };
    // SAFETY: the caller's promise.
    unsafe { start(g, Box::new(f), hook) };
    id
}

/// # Safety
/// What `f` borrows outlives its thread.
unsafe fn start(g: *mut G, f: Box<dyn FnOnce() + '_>, hook: Option<ExitHook>) {
    // SAFETY: the lifetime alone changes; the caller's promise.
    let f: Box<dyn FnOnce()> = unsafe { core::mem::transmute(f) };
    let g = g as usize;
    let thread = loom::thread::spawn(move || {
        run_g(g as *mut G, f);
        if let Some(hook) = hook {
            // SAFETY: its G has ended; the one call.
            unsafe { (hook.f)(hook.arg) }
        }
        beside(|b| b.ended.push(g as *mut G))
    });
    beside(|b| b.threads.push(thread))
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

/// A waiting G is readied, whether it is a thread or plain data.
pub(crate) fn ready(s: &crate::Sched, m: &M, g: GRef) {
    if beside(|b| b.gs_run) {
        ready_thread(g)
    } else {
        s.ready(m, g)
    }
}
