//! The benchmarks: what the scheduler costs, by the same definitions as the harness that measures Go in the same virtual machine.
//!
//! They are written for programs of the prelude, so that one source runs on the bare machine (`cargo run -- bench`) and on threads
//! of the host (`cargo bench`).
//!
//! | file | benchmarks |
//! |---|---|
//! | `spawn` | `spawn_batch` `spawn_one` |
//! | `switch` | `yield2` `yield1000` |
//! | `chans` | `chan_pingpong` `chan_pingpong_many` `chan_buf128_1to1` `chan_buf128_4to4` |
//! | `select` | `select4_recv` `select4_ready` `select4_default` |
//! | `mutex` | `mutex_uncontended` `mutex8` |
//! | `ring` | `ring503` |
//! | `forkjoin` | `fib_serial` `forkjoin_fib27c2` `forkjoin_fib27c10` `forkjoin_fib35c18` |
//! | `skew` | `skew_fine` `skew_mid` `skew_coarse` |
//! | `trees` | `skynet` `sieve` `sieve_select` |
//! | `late` | `preempt_sleep1ms` `sleepers` |
//! | `parked` | `parked` |
//! | `calib` | `calib_*`: how fast plain code runs |
//! | `bare` | `bare_*`: what bounds the others |
//!
//! `sample` has what goes into a run and comes out of it, `measure` makes a line of several runs.
#![cfg_attr(ringo_kernel, no_std)]

extern crate alloc;

mod bare;
mod calib;
mod chans;
mod forkjoin;
mod late;
mod line;
mod measure;
mod mutex;
mod parked;
mod ring;
mod sample;
mod select;
mod skew;
mod spawn;
mod switch;
mod trees;

pub use bench_names::{Group, Limit, NAMES, Name, chosen, find};
pub use line::Line;
pub use measure::{Plan, measure};
pub use sample::{Params, Sample, Value};

use ringo::machine;

/// On how many Ps a benchmark runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Procs {
    /// On one.
    One,
    /// On two, or one where there are no more CPUs.
    Two,
    /// On 1, 2, 4, 8 and so on up to all CPUs, one after the other.
    Each,
    /// On all CPUs.
    All,
}

/// What figure a run gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// The time of an operation, `ns/op`.
    PerOp,
    /// The time of a run, `ns`.
    Run,
    /// How late each of many was, `ns`: one run, whose samples are the figure.
    Late,
    /// The time of an operation, `ns/op`, and a line for each run: what the first one has to do others need not do again.
    EachRun,
}

impl Unit {
    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Unit::PerOp | Unit::EachRun => "ns/op",
            Unit::Run | Unit::Late => "ns",
        }
    }
}

/// What a benchmark asks of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing: it runs anywhere.
    Nothing,
    /// That a loop which never gives way is made to.
    Preemption,
    /// A CPU of its own, not a thread of the host.
    Bare,
}

/// A benchmark, and how it is run.
#[derive(Clone, Copy, Debug)]
pub struct Bench {
    /// What is known of it without running it.
    pub about: Name,
    /// What it asks of the machine.
    pub needs: Needs,
    /// On how many Ps it runs.
    pub procs: Procs,
    /// What figure a run gives.
    pub unit: Unit,
    /// One run. It times itself: from and to a point in the goroutine that calls it, unless its definition says otherwise.
    pub run: fn(&Params) -> Sample,
}

impl Bench {
    /// Its name.
    pub fn name(&self) -> &'static str {
        self.about.name
    }

    /// Whether it can run here.
    pub fn runs_here(&self) -> bool {
        match self.needs {
            Needs::Nothing => true,
            Needs::Preemption => machine::preempts(),
            Needs::Bare => !machine::IS_HOST,
        }
    }
}

/// A row of the table.
///
/// # Panics
/// While it is compiled, if there is no such name.
const fn bench(
    name: &str,
    needs: Needs,
    procs: Procs,
    unit: Unit,
    run: fn(&Params) -> Sample,
) -> Bench {
    let mut i = 0;
    while i < NAMES.len() {
        if is_same(NAMES[i].name, name) {
            let about = NAMES[i];
            return Bench {
                about,
                needs,
                procs,
                unit,
                run,
            };
        }
        i += 1
    }
    panic!("there is no benchmark of this name")
}

const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1
    }
    a.len() == b.len()
}

use Needs::{Bare, Nothing, Preemption};
use Procs::{All, Each, One, Two};
use Unit::{EachRun, Late, PerOp, Run};

/// All of them, in the order in which they run. A name with several rows has several settings, which the parameters of its lines
/// tell apart.
#[rustfmt::skip]
pub const BENCHES: &[Bench] = &[
    bench("bare_loop", Nothing, One, PerOp, bare::empty_loop),
    bench("bare_switch", Bare, One, PerOp, bare::switch),
    bench("bare_load", Nothing, One, PerOp, bare::load),
    bench("bare_lock", Nothing, One, PerOp, bare::lock),
    bench("bare_timer", Bare, One, Late, bare::timer),
    bench("calib_alu", Nothing, One, PerOp, calib::alu),
    bench("calib_mem", Nothing, One, PerOp, calib::mem),
    bench("calib_atomic_add", Nothing, One, PerOp, calib::atomic_add),
    bench("calib_atomic_cas", Nothing, One, PerOp, calib::atomic_cas),
    bench("calib_nanotime", Nothing, One, PerOp, calib::nanotime),
    bench("calib_thread_pingpong", Nothing, Two, PerOp, calib::thread_pingpong),
    bench("spawn_batch", Nothing, Each, PerOp, spawn::batch),
    bench("spawn_one", Nothing, Each, PerOp, spawn::one),
    bench("yield2", Nothing, One, PerOp, switch::yield2),
    bench("yield1000", Nothing, One, PerOp, switch::yield1000),
    bench("chan_pingpong", Nothing, Each, PerOp, chans::pingpong),
    bench("chan_pingpong_many", Nothing, Each, PerOp, chans::pingpong_many),
    bench("chan_buf128_1to1", Nothing, Each, PerOp, chans::buffered_1to1),
    bench("chan_buf128_4to4", Nothing, Each, PerOp, chans::buffered_4to4),
    bench("select4_recv", Nothing, Each, PerOp, select::recv),
    bench("select4_ready", Nothing, One, PerOp, select::ready),
    bench("select4_default", Nothing, One, PerOp, select::default),
    bench("mutex_uncontended", Nothing, One, PerOp, mutex::uncontended),
    bench("mutex8", Nothing, Each, PerOp, mutex::eight),
    bench("ring503", Nothing, Each, PerOp, ring::hops),
    bench("fib_serial", Nothing, One, PerOp, forkjoin::serial27),
    bench("fib_serial", Nothing, One, PerOp, forkjoin::serial35),
    bench("forkjoin_fib27c2", Nothing, Each, PerOp, forkjoin::fib27c2),
    bench("forkjoin_fib27c10", Nothing, Each, PerOp, forkjoin::fib27c10),
    bench("forkjoin_fib35c18", Nothing, Each, PerOp, forkjoin::fib35c18),
    bench("skew_fine", Nothing, Each, Run, skew::fine),
    bench("skew_mid", Nothing, Each, Run, skew::mid),
    bench("skew_coarse", Nothing, Each, Run, skew::coarse),
    bench("skynet", Nothing, Each, PerOp, trees::skynet),
    bench("sieve_select", Nothing, Each, PerOp, trees::sieve_select),
    bench("sieve", Nothing, Each, PerOp, trees::sieve),
    bench("preempt_sleep1ms", Preemption, Each, Late, late::alone),
    bench("preempt_sleep1ms", Preemption, Each, Late, late::beside_one_each),
    bench("preempt_sleep1ms", Preemption, Each, Late, late::beside_four_each),
    bench("sleepers", Nothing, Each, Late, late::sleepers),
    bench("parked", Nothing, All, EachRun, parked::hundred_thousand),
    bench("parked", Nothing, All, EachRun, parked::as_many_as_fit),
];

#[cfg(test)]
mod tests;
