//! Programs made by chance: what each G does, and how the machine is set up.
//!
//! The operations are drawn in one order of the whole program in which each would find what it needs, so however they
//! interleave, a scheduler that loses nobody brings every program to its end.

use base::config::{Clock, Config, Policy, Preempt, Queue, Steal};
use shuttle::rand::{Rng, rngs::ThreadRng, thread_rng};

/// What a G does.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    Yield,
    YieldLocally,
    /// Start G n.
    Spawn(usize),
    /// Event n happens: who waits for it is readied.
    Signal(usize),
    /// Park until event n has happened.
    Wait(usize),
    /// Sleep for so many ns.
    Sleep(u64),
    /// A blocking call of so many steps, with or without its P handed off at once.
    Call(u32, bool),
    /// Stay on this CPU.
    Lock,
    Unlock,
    /// Stop the world, and start it.
    Stop,
    /// Stop it for a look, if it stands after so many ns.
    Look(u64),
    /// Set the number of Ps.
    Procs(usize),
    /// Keep the CPU until G n has run for the first time.
    Need(usize),
}

/// What is left out of a model's programs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Without {
    /// Sleeping.
    pub timers: bool,
    /// Blocking calls.
    pub calls: bool,
    /// Stops of the world, changes of the number of Ps.
    pub stops: bool,
    /// Stops that may be given up.
    pub looks: bool,
    /// Locking to a CPU.
    pub locks: bool,
    /// Preemption of any kind: who keeps its CPU keeps it, and only another P's M can run whom it needs.
    pub preemption: bool,
}

impl Without {
    /// Nothing of it is there.
    pub const ALL: Without = Without {
        timers: true,
        calls: true,
        stops: true,
        looks: true,
        locks: true,
        preemption: true,
    };
}

/// A program and the machine that runs it.
#[derive(Debug)]
pub struct Program {
    pub cfg: Config,
    pub ms: usize,
    /// What each G does; G 0 is the main G.
    pub gs: Vec<Vec<Op>>,
    pub events: usize,
    /// How many may keep a CPU at a time, waiting for others.
    pub hogs: usize,
}

fn one_of<T: Copy>(rng: &mut ThreadRng, of: &[T]) -> T {
    of[rng.gen_range(0..of.len())]
}

impl Program {
    /// Draw one.
    pub fn any(without: Without) -> Program {
        let rng = &mut thread_rng();
        let ms = rng.gen_range(if without.preemption { 2 } else { 1 }..=4usize);
        let cfg = config(rng, ms, without);
        let procs = cfg.procs.unwrap() as usize;
        let hogs = if cfg.clock == Clock::Virtual {
            0 // it stands while anybody runs
        } else if cfg.preempt == Preempt::Async {
            ms
        } else if without.preemption {
            procs - 1
        } else {
            0
        };
        let (gs, events) = Draw::new(rng, ms, without, hogs != 0).gs();
        Program {
            cfg,
            ms,
            gs,
            events,
            hogs,
        }
    }
}

fn config(rng: &mut ThreadRng, ms: usize, without: Without) -> Config {
    let mut cfg = Config {
        procs: Some(rng.gen_range(if without.preemption { 2 } else { 1 }..=ms) as u32),
        seed: Some(rng.r#gen()),
        steal: one_of(rng, &[Steal::Half, Steal::Half, Steal::One, Steal::Off]),
        runnext: rng.gen_ratio(3, 4),
        sysmon: rng.gen_ratio(1, 4),
        handoff: rng.gen_ratio(3, 4),
        spin: rng.gen_ratio(3, 4),
        wakeup: rng.gen_ratio(3, 4),
        slice_us: one_of(rng, &[100, 1_000, 10_000]),
        preempt: one_of(rng, &[Preempt::Async, Preempt::Async, Preempt::Off]),
        policy: one_of(
            rng,
            &[
                Policy::Go,
                Policy::Go,
                Policy::Go,
                Policy::Fifo,
                Policy::Lifo,
            ],
        ),
        ..Config::DEFAULT
    };
    if rng.gen_ratio(1, 8) {
        cfg.queue = Queue::Global
    }
    if rng.gen_ratio(1, 6) {
        cfg.clock = Clock::Virtual
    }
    if without.preemption {
        cfg.preempt = Preempt::Off;
        cfg.sysmon = false;
        if cfg.steal == Steal::Off {
            cfg.steal = Steal::Half
        }
    }
    cfg
}

/// The drawing of one program.
struct Draw<'a> {
    rng: &'a mut ThreadRng,
    without: Without,
    hogs: bool,
    ms: usize,
    /// How many Gs there are to be.
    want: usize,
    gs: Vec<Vec<Op>>,
    /// Gs that hold their CPU.
    locked: Vec<bool>,
    events: usize,
    /// Events that will have happened, for which nobody waits yet.
    open: Vec<usize>,
}

impl<'a> Draw<'a> {
    fn new(rng: &'a mut ThreadRng, ms: usize, without: Without, hogs: bool) -> Self {
        let want = rng.gen_range(2..=10);
        Draw {
            rng,
            without,
            hogs,
            ms,
            want,
            gs: vec![vec![]],
            locked: vec![false],
            events: 0,
            open: vec![],
        }
    }

    fn gs(mut self) -> (Vec<Vec<Op>>, usize) {
        for _ in 0..self.want * 4 {
            let i = self.rng.gen_range(0..self.gs.len());
            if let Some(op) = self.op(i) {
                self.gs[i].push(op)
            }
        }
        (self.gs, self.events)
    }

    /// Something for G `i` to do.
    fn op(&mut self, i: usize) -> Option<Op> {
        let without = self.without;
        Some(match self.rng.gen_range(0..21) {
            0..5 if self.gs.len() < self.want => {
                self.gs.push(vec![]);
                self.locked.push(false);
                Op::Spawn(self.gs.len() - 1)
            }
            5..8 => {
                self.open.push(self.events);
                self.events += 1;
                Op::Signal(self.events - 1)
            }
            8..11 if !self.open.is_empty() => {
                let n = self.rng.gen_range(0..self.open.len());
                Op::Wait(self.open.swap_remove(n))
            }
            11 => Op::Yield,
            12 => Op::YieldLocally,
            13 if !without.timers => Op::Sleep(self.rng.gen_range(0..400_000)),
            14 if !without.calls => Op::Call(self.rng.gen_range(0..6), self.rng.r#gen()),
            15 if !without.locks => {
                self.locked[i] = !self.locked[i];
                if self.locked[i] { Op::Lock } else { Op::Unlock }
            }
            16 if !without.stops => Op::Stop,
            17 if !without.stops => Op::Procs(self.rng.gen_range(1..=self.ms)),
            20 if !without.looks => Op::Look(self.rng.gen_range(0..300_000)),
            18..20 if self.hogs && self.gs.len() > 1 => Some(self.rng.gen_range(0..self.gs.len()))
                .filter(|&n| n != i && n != 0)
                .map(Op::Need)?,
            _ => return None,
        })
    }
}
