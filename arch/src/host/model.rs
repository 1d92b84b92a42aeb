//! The machine as tasks of shuttle (`--cfg ringo_shuttle`): every step between CPUs, each halt and interrupt, and the time itself
//! are shuttle's to interleave. One task is the clock.
//!
//! ```text
//!   halt ──► asleep until a pending bit is set ◄── wake_cpu, the clock
//!   clock: nobody has a timer armed ──► asleep
//!          else, now and then       ──► it is the time of the earliest one; that CPU's PENDING_TIMER is set
//! ```
//!
//! A CPU is the task of its number. Where nobody can go on any more, shuttle says so: a lost wake-up is a deadlock.

use super::cpu::{Cpu, this};
use super::time::STEP_NS;
use crate::{MAX_CPUS, PENDING_RESCHED, PENDING_TIMER};
use core::cell::RefCell;
use core::sync::atomic::{AtomicU64 as Plain, Ordering::Relaxed};
use shuttle::rand::Rng;
use shuttle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use shuttle::sync::{Condvar, Mutex};

const NEVER: u64 = u64::MAX;
/// The clock goes on at once in one of so many cases: it has other tasks' steps between two timers.
const CLOCK_WAITS: u32 = 24;

/// What other CPUs see of one.
pub(super) struct Parker {
    /// The pending bits.
    pub pending: AtomicU32,
}

impl Parker {
    pub const fn new() -> Self {
        Self {
            pending: AtomicU32::new(0),
        }
    }
    pub fn clear(&self) {
        self.pending.store(0, SeqCst)
    }
    fn raise(&self, bits: u32) {
        self.pending.fetch_or(bits, SeqCst);
        let _halted = BUS.timers.lock().unwrap(); // who looked before is asleep by now
        BUS.event.notify_all()
    }
}

/// What the CPUs of a machine share.
struct Bus {
    now_ns: Plain,
    timers: Mutex<Timers>,
    /// A timer was armed, a pending bit set, or the run is over.
    event: Condvar,
}

struct Timers {
    deadlines_ns: [u64; MAX_CPUS],
    cpus: [Option<&'static Parker>; MAX_CPUS],
    over: bool,
}

shuttle::lazy_static! {
    static ref BUS: Bus = Bus {
        now_ns: Plain::new(1),
        timers: Mutex::new(Timers {
            deadlines_ns: [NEVER; MAX_CPUS],
            cpus: [None; MAX_CPUS],
            over: false,
        }),
        event: Condvar::new(),
    };
}

/// Nanoseconds since the machine started: each look takes some.
pub fn now_ns() -> u64 {
    count_look();
    BUS.now_ns.fetch_add(STEP_NS, Relaxed)
}

/// Names a CPU, for [`wake_cpu`].
#[derive(Clone, Copy)]
pub struct CpuRef(&'static Parker);

/// The CPU of the calling task.
pub fn cpu_ref() -> CpuRef {
    CpuRef(this().parker)
}

/// Sets [`PENDING_RESCHED`] on that CPU and ends its [`halt`].
pub fn wake_cpu(cpu: CpuRef) {
    cpu.0.raise(PENDING_RESCHED)
}

/// Waits until a pending bit is set. Returns with the interrupt flag set.
pub fn halt() {
    wait_until(true, || false);
    this().irqs_on.set(true)
}

/// The calling CPU waits until `over` holds, of which somebody tells by [`tell`]; if it is `interruptible`, at most until one
/// of its pending bits is set.
pub fn wait_until(interruptible: bool, over: impl Fn() -> bool) {
    let pending = &this().parker.pending;
    let mut timers = BUS.timers.lock().unwrap();
    while !(interruptible && pending.load(SeqCst) != 0) && !over() {
        timers = BUS.event.wait(timers).unwrap()
    }
}

/// Something has happened for which a CPU may wait.
pub fn tell() {
    let _waiting = BUS.timers.lock().unwrap();
    BUS.event.notify_all()
}

/// Arms this CPU's one-shot timer.
pub fn arm_timer(deadline_ns: u64) {
    BUS.timers.lock().unwrap().deadlines_ns[this().id.get()] = deadline_ns;
    if deadline_ns != NEVER {
        BUS.event.notify_all()
    }
}

/// Forgets this CPU's timer. Its pending bit may be set already.
pub fn disarm_timer() {
    arm_timer(NEVER)
}

/// On the host machine this looks at the clock; here the clock looks.
pub(super) fn look_at_clock(_cpu: &Cpu) {}

/// The calling task is CPU `id` of `cpus` from now on, with preemption off.
pub fn start_cpu(id: usize, cpus: usize) {
    let cpu = this();
    cpu.reset();
    cpu.id.set(id);
    cpu.num_cpus.set(cpus);
    cpu.count.set(1);
    BUS.timers.lock().unwrap().cpus[id] = Some(cpu.parker)
}

/// The clock's task: fires timers in their order until the run [is over](stop_clock). `look` is called each time.
pub fn run_clock(look: impl Fn()) {
    let mut timers = BUS.timers.lock().unwrap();
    while !timers.over {
        let first_ns = *timers.deadlines_ns.iter().min().expect("CPUs");
        if first_ns == NEVER {
            timers = BUS.event.wait(timers).unwrap();
            continue;
        }
        drop(timers);
        shuttle::thread::yield_now();
        look();
        timers = BUS.timers.lock().unwrap();
        if shuttle::rand::thread_rng().gen_ratio(1, CLOCK_WAITS) {
            timers.fire()
        }
    }
}

impl Timers {
    /// It is the time of the earliest timer.
    fn fire(&mut self) {
        let first_ns = *self.deadlines_ns.iter().min().expect("CPUs");
        if first_ns == NEVER {
            return;
        }
        let now_ns = BUS.now_ns.fetch_max(first_ns, Relaxed).max(first_ns);
        for (deadline_ns, cpu) in self.deadlines_ns.iter_mut().zip(&self.cpus) {
            if *deadline_ns <= now_ns
                && let Some(cpu) = cpu
            {
                *deadline_ns = NEVER;
                cpu.pending.fetch_or(PENDING_TIMER, SeqCst);
            }
        }
        BUS.event.notify_all()
    }
}

std::thread_local! {
    static LATE: RefCell<Option<(usize, Box<dyn FnOnce()>)>> = const { RefCell::new(None) };
}

/// After so many looks at the clock and at CPUs' blocks `say` is called: for a run that will not end.
pub fn when_late(looks: usize, say: impl FnOnce() + 'static) {
    LATE.set(Some((looks, Box::new(say))))
}

/// Somebody looks at the clock or at a CPU's block.
pub(super) fn count_look() {
    let late = LATE.with_borrow_mut(|late| {
        let left = late.as_mut().map(|l| &mut l.0);
        left.is_some_and(|left| {
            *left = left.saturating_sub(1);
            *left == 0
        })
    });
    if late && let Some((_, say)) = LATE.take() {
        say()
    }
}

/// The clock's task ends.
pub fn stop_clock() {
    BUS.timers.lock().unwrap().over = true;
    BUS.event.notify_all()
}
