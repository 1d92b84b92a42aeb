//! A machine that runs one program: its Ms are tasks of shuttle, its Gs plain data, and a ledger is kept of who runs where.

use crate::program::{Op, Program};
use base::config::Preempt;
use base::{Rank, SpinGuard, SpinLock};
use sched::whole::Next;
use sched::{Commit, G, GRef, GStatus, M, Sched};
use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::Mutex;
use shuttle::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// Nobody.
const NONE: usize = usize::MAX;

/// What the ledger says about a G. The host's own atomics: shuttle does not see them.
struct Entry {
    g: GRef,
    /// Which of its operations comes next.
    at: AtomicUsize,
    /// It has run.
    ran: AtomicBool,
    /// The M that runs it.
    on: AtomicUsize,
    /// In a blocking call.
    calls: AtomicBool,
    /// The M that it is locked to.
    locked: AtomicUsize,
}

/// Has it happened, and who waits for it?
struct Event {
    happened: bool,
    waiter: Option<GRef>,
}

struct Parked<'a>(Option<SpinGuard<'a, Event>>);

unsafe fn unlock(_: GRef, arg: usize) -> bool {
    // SAFETY: `wait` passes it, and waits for the call.
    unsafe { &mut *(arg as *mut Parked) }.0 = None;
    true
}

struct Machine {
    s: &'static Sched,
    program: Program,
    gs: Vec<Entry>,
    events: Vec<SpinLock<Event>>,
    /// Gs that have not ended.
    left: AtomicUsize,
    /// Gs that keep a CPU and wait.
    hogs: AtomicUsize,
    /// Who stops the world.
    world: Mutex<()>,
}

/// Whose move it is after a G's operation.
#[derive(PartialEq)]
enum Then {
    /// The G's own.
    GoOn,
    /// The M's: the G is somewhere else.
    Left,
}

/// Run `program` to its end, and look at what is left then.
pub fn run(program: Program) {
    let ms = program.ms;
    let s = sched::whole::sched(program.cfg, ms);
    let machine = Arc::new(Machine::new(s, program));
    let m0 = s.whole_mstart(0);
    s.whole_main(m0, machine.gs[0].g);
    let late = machine.clone();
    arch::hosted::when_late(crate::runs::LATE, move || late.report());
    let clock = thread::spawn(move || {
        arch::hosted::run_clock(|| {
            if thread_rng().gen_ratio(1, 16) {
                s.whole_check()
            }
        })
    });
    let others: Vec<_> = (1..ms)
        .map(|id| {
            let machine = machine.clone();
            thread::spawn(move || machine.work(s.whole_mstart(id)))
        })
        .collect();
    machine.work(m0);
    for other in others {
        other.join().unwrap()
    }
    arch::hosted::stop_clock();
    clock.join().unwrap();
    machine.check_end();
    for e in &machine.gs {
        // SAFETY: `Machine::new` leaked a box; the run is over.
        drop(unsafe { Box::from_raw(e.g.as_ptr()) })
    }
    // SAFETY: the tasks have ended.
    unsafe { sched::whole::free(s) }
}

impl Machine {
    fn new(s: &'static Sched, program: Program) -> Machine {
        let entry = |i: usize| {
            let g: &'static G = Box::leak(Box::new(G::new()));
            g.set_id(i as u64);
            Entry {
                g: GRef::new(g),
                at: AtomicUsize::new(0),
                ran: AtomicBool::new(false),
                on: AtomicUsize::new(NONE),
                calls: AtomicBool::new(false),
                locked: AtomicUsize::new(NONE),
            }
        };
        let event = || Event {
            happened: false,
            waiter: None,
        };
        Machine {
            s,
            gs: (0..program.gs.len()).map(entry).collect(),
            events: (0..program.events)
                .map(|_| SpinLock::new(Rank::Channel, event()))
                .collect(),
            left: AtomicUsize::new(program.gs.len()),
            hogs: AtomicUsize::new(0),
            world: Mutex::new(()),
            program,
        }
    }

    /// An M's life.
    fn work(&self, m: &'static M) {
        while let Some(g) = self.s.whole_schedule(m) {
            self.run(m, &self.gs[g.id() as usize])
        }
    }

    /// A G has the CPU until it leaves it.
    fn run(&self, m: &M, e: &Entry) {
        let i = e.g.id() as usize;
        self.arrives(m, e);
        if !e.ran.swap(true, Relaxed) {
            arch::hosted::tell()
        }
        loop {
            let Some(&op) = self.program.gs[i].get(e.at.load(Relaxed)) else {
                self.leaves(e);
                self.left.fetch_sub(1, Relaxed);
                return self.s.whole_exit(m, e.g);
            };
            if self.step(m, e, op) == Then::Left || self.safe_point(m, e) == Then::Left {
                return;
            }
        }
    }

    /// It runs on `m` from here on.
    fn arrives(&self, m: &M, e: &Entry) {
        e.calls.store(false, Relaxed);
        let (i, on) = (e.g.id(), e.on.swap(m.id(), Relaxed));
        assert_eq!(on, NONE, "G {i} runs twice: on M {} as well", m.id());
        let locked = e.locked.load(Relaxed);
        assert!(
            locked == NONE || locked == m.id(),
            "G {i} runs on M {} and is locked to M {locked}",
            m.id()
        );
    }

    /// It is about to become visible to others.
    fn leaves(&self, e: &Entry) {
        e.on.store(NONE, Relaxed)
    }

    /// What may be the last that it does on `m`.
    fn perhaps_leaves(&self, m: &M, e: &Entry, f: impl FnOnce() -> Next) -> Then {
        self.leaves(e);
        match f() {
            Next::Gone => Then::Left,
            Next::GoesOn => {
                e.on.store(m.id(), Relaxed);
                Then::GoOn
            }
        }
    }

    fn safe_point(&self, m: &M, e: &Entry) -> Then {
        self.perhaps_leaves(m, e, || self.s.whole_safe_point(m, e.g))
    }

    fn step(&self, m: &M, e: &Entry, op: Op) -> Then {
        let (s, g) = (self.s, e.g);
        if let Op::Need(n) = op
            && self.need(m, e, n) == Then::Left
        {
            return Then::Left; // it goes on with the same operation
        }
        e.at.store(e.at.load(Relaxed) + 1, Relaxed);
        match op {
            Op::Yield | Op::YieldLocally => {
                self.leaves(e);
                s.whole_yield(m, g, matches!(op, Op::YieldLocally));
                return Then::Left;
            }
            Op::Spawn(n) => s.whole_new(m, self.gs[n].g),
            Op::Signal(n) => self.signal(m, n),
            Op::Wait(n) => return self.wait(m, e, n),
            Op::Sleep(ns) => {
                self.leaves(e);
                s.whole_sleep(m, g, ns);
                return Then::Left;
            }
            Op::Call(steps, block) => return self.call(m, e, steps, block),
            Op::Lock => {
                sched::lock_to_cpu();
                e.locked.store(m.id(), Relaxed)
            }
            Op::Unlock => {
                e.locked.store(NONE, Relaxed);
                sched::unlock_from_cpu()
            }
            Op::Stop => self.stop(m, None, None),
            Op::Look(ns) => self.stop(m, Some(ns), None),
            Op::Procs(n) => self.stop(m, None, Some(n)),
            Op::Need(_) => {}
        }
        Then::GoOn
    }

    fn signal(&self, m: &M, n: usize) {
        let mut event = self.events[n].lock();
        event.happened = true;
        let waiter = event.waiter.take();
        drop(event);
        if let Some(g) = waiter {
            self.s.whole_ready(m, g)
        }
    }

    fn wait(&self, m: &M, e: &Entry, n: usize) -> Then {
        let mut event = self.events[n].lock();
        if event.happened {
            return Then::GoOn;
        }
        event.waiter = Some(e.g);
        let mut parked = Parked(Some(event));
        let commit = Commit {
            f: unlock,
            arg: &raw mut parked as usize,
        };
        self.leaves(e);
        // SAFETY: who signals readies it once.
        assert!(unsafe { self.s.whole_park(m, e.g, commit) });
        Then::Left
    }

    fn call(&self, m: &M, e: &Entry, steps: u32, block: bool) -> Then {
        e.calls.store(true, Relaxed);
        self.s.whole_enter_call(m, e.g, block);
        for _ in 0..steps {
            thread::yield_now();
            let next = self.s.whole_safe_point(m, e.g);
            assert!(matches!(next, Next::GoesOn), "a switch in a call");
        }
        let then = self.perhaps_leaves(m, e, || self.s.whole_exit_call(m, e.g));
        if then == Then::GoOn {
            e.calls.store(false, Relaxed)
        }
        then
    }

    /// One at a time; who finds another at it does without.
    fn stop(&self, m: &M, limit_ns: Option<u64>, procs: Option<usize>) {
        if let Ok(_alone) = self.world.try_lock() {
            let ran = || {
                self.gs
                    .iter()
                    .filter(|e| e.on.load(Relaxed) != NONE && !e.calls.load(Relaxed))
                    .count()
            };
            self.s.whole_stop(m, limit_ns, procs, || {
                let before = ran();
                for _ in 0..4 {
                    thread::yield_now()
                }
                assert_eq!(before, ran(), "Gs came or went while the world stood");
            })
        }
    }

    /// Keep the CPU until G `n` has run.
    fn need(&self, m: &M, e: &Entry, n: usize) -> Then {
        if self.hogs.load(Relaxed) >= self.program.hogs {
            return Then::GoOn; // there would be no CPU left for it
        }
        self.hogs.fetch_add(1, Relaxed);
        let interruptible = self.program.cfg.preempt == Preempt::Async;
        let has_run = || self.gs[n].ran.load(Relaxed);
        let mut then = Then::GoOn;
        while then == Then::GoOn && !has_run() {
            arch::hosted::wait_until(interruptible, has_run);
            if !has_run() {
                then = self.safe_point(m, e)
            }
        }
        self.hogs.fetch_sub(1, Relaxed);
        then
    }

    /// A run that will not end: how it stands, for people.
    fn report(&self) {
        println!("it does not end:");
        self.s.whole_print();
        for (e, ops) in self.gs.iter().zip(&self.program.gs) {
            let at = e.at.load(Relaxed);
            println!(
                "{:?} {:?} operation {at}: {:?}",
                e.g,
                e.g.status(),
                ops.get(at)
            )
        }
    }

    fn check_end(&self) {
        for e in &self.gs {
            let (i, status) = (e.g.id(), e.g.status());
            assert!(
                e.ran.load(Relaxed) && status == GStatus::Dead,
                "G {i} was lost: at the end it is {status:?}, operation {}",
                e.at.load(Relaxed)
            );
        }
        assert_eq!(self.left.load(Relaxed), 0, "Gs that did not end");
        self.s.whole_check_end()
    }
}
