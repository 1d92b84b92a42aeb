//! Idle Ps and those that look for work: none idle beside work, not too many looking. Go has no direct test of these.

use crate::param::param;
use crate::wait::{bump, chance, hold_until, spin, until};
use crate::{Outcome, Test, ensure, figure};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use ringo::machine::counts;
use ringo::prelude::*;
use trace::points::{self, Action};

pub const TESTS: &[Test] = &[
    ("idle_injected", idle_injected),
    ("idle_work_conserved", idle_work_conserved),
    ("idle_spinners", idle_spinners),
    ("idle_wake_latency", idle_wake_latency),
    ("idle_ticks", idle_ticks),
    ("idle_lock_storm", idle_lock_storm),
];

/// golang/go#63555: timers make many Gs runnable at once, while Ps go idle. All of them run at the same instant, as many as
/// there are Ps.
fn idle_injected() -> Outcome {
    let procs = sched::gomaxprocs() as u64;
    let rounds = param("rounds", 300);
    let mut rng = chance(1);
    for _ in 0..rounds {
        let come = Arc::new(AtomicU64::new(0));
        let due_ns = sched::now_ns() + 50_000 + u64::from(rng.below(100_000));
        let meet = move |come: Arc<AtomicU64>| {
            sched::sleep_until_ns(due_ns);
            bump(&come);
            hold_until(|| come.load(Acquire) == procs)
        };
        let gs: Vec<_> = (1..procs)
            .map(|_| {
                let come = come.clone();
                spawn(move || meet(come))
            })
            .collect();
        meet(come);
        gs.into_iter().for_each(|g| g.join());
        spin(rng.below(5_000));
    }
    figure!("rounds", rounds);
    Ok(())
}

/// Gs that start others, keep their CPU, park and sleep, by chance, until told to stop.
fn mixture(stop: &'static AtomicBool, done: &'static AtomicU64) -> Vec<JoinHandle<()>> {
    (0..2 * sched::gomaxprocs() as u64)
        .map(|i| {
            spawn(move || {
                let mut rng = chance(i);
                while !stop.load(Relaxed) {
                    for _ in 0..rng.below(6) {
                        go(move || {
                            spin(500);
                            bump(done);
                        });
                    }
                    match rng.below(16) {
                        0..4 => yield_now(),
                        4..8 => spin(rng.below(30_000)),
                        8 => {
                            // For longer than its work may wait beside an idle P.
                            let end_ns = sched::now_ns() + 2_000_000;
                            while sched::now_ns() < end_ns {
                                spin(50);
                                core::hint::spin_loop()
                            }
                        }
                        _ => sleep(Duration::from_nanos(rng.below(100_000).into())),
                    }
                }
            })
        })
        .collect()
}

/// What an observer saw of one queue: since when it has not been served beside an idle P, and the longest of such spans.
#[derive(Default, Clone, Copy)]
struct Watch {
    since_ns: Option<u64>,
    served: u64,
    longest_ns: u64,
}

impl Watch {
    /// `waits`: there is work and an idle P; `served` changes when the queue is.
    fn look(&mut self, waits: bool, served: u64, now_ns: u64) {
        if !waits || served != self.served {
            self.since_ns = None;
        }
        self.served = served;
        if waits {
            let since_ns = *self.since_ns.get_or_insert(now_ns);
            self.longest_ns = self.longest_ns.max(now_ns - since_ns);
        }
    }
}

/// Work conservation, measured directly: an observer that keeps its CPU looks for queues that nobody serves beside an idle P.
/// In virtual time no such span lasts a millisecond.
fn idle_work_conserved() -> Outcome {
    static STOP: AtomicBool = AtomicBool::new(false);
    static DONE: AtomicU64 = AtomicU64::new(0);
    let s = sched::this();
    let procs = sched::gomaxprocs();
    let gs = mixture(&STOP, &DONE);
    let mut local = vec![Watch::default(); procs];
    let mut global = Watch::default();
    let mut looks = 0u64;
    let enough = param("gs", 5000);
    while DONE.load(Relaxed) < enough {
        let now_ns = sched::now_ns();
        let idle = s.npidle() > 0;
        let ticks: u64 = s.allp[..procs]
            .iter()
            .map(|p| u64::from(p.schedtick()))
            .sum();
        global.look(idle && s.runqsize() > 0, ticks + counts().switches, now_ns);
        for (p, watch) in s.allp[..procs].iter().zip(&mut local) {
            let served = u64::from(p.schedtick()) << 16 | u64::from(p.runq.len());
            let waits = idle && p.is_running() && !p.runq.is_empty();
            watch.look(waits, served, now_ns)
        }
        looks += 1;
        spin(20);
        // Under counted instructions this is what lets the other CPUs on.
        if looks.is_multiple_of(8) {
            core::hint::spin_loop()
        }
        // Where it may not keep its only P.
        if procs == 1 || looks.is_multiple_of(5_000) {
            yield_now()
        }
    }
    STOP.store(true, Relaxed);
    gs.into_iter().for_each(|g| g.join());
    until(|| num_goroutine() == 1);
    let longest_ns = local.iter().map(|w| w.longest_ns).max().unwrap_or(0);
    let longest_ns = longest_ns.max(global.longest_ns);
    figure!("looks", looks);
    figure!("longest_unserved_us", longest_ns / 1000);
    let strict = ringo::start::config().seed.is_some();
    ensure!(
        !strict || longest_ns < 1_000_000,
        "work waited {longest_ns} ns beside an idle P"
    );
    Ok(())
}

/// All Ps are busy, and out of work at the same moment: at most half of them look for some, the others go idle at once. Those
/// that look are held there, so that all can be counted. Two may pass the check at the same moment, as in Go; that is not
/// what happens most of the time.
fn idle_spinners() -> Outcome {
    let s = sched::this();
    let procs = u64::from(s.procs());
    // The caller's P is busy throughout; and one more that a wake-up may have started.
    let cap = procs.div_ceil(2) + 1;
    let rounds = param("rounds", 4);
    let (mut over, mut most) = (0, 0);
    for _ in 0..rounds {
        let (come, leave) = (
            Arc::new(AtomicU64::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        for _ in 1..procs {
            let (come, leave) = (come.clone(), leave.clone());
            go(move || {
                bump(&come);
                hold_until(|| leave.load(Acquire))
            });
        }
        hold_until(|| come.load(Acquire) == procs - 1);
        points::arm("idle.spin", Action::DelayNs(60_000_000)).map_err(|e| e.to_string())?;
        leave.store(true, Release);
        let here = AtomicU64::new(0);
        hold_until(|| {
            here.fetch_max(s.nmspinning().into(), Relaxed);
            u64::from(s.npidle()) == procs - 1
        });
        points::arm("idle.spin", Action::Off).map_err(|e| e.to_string())?;
        let here = here.into_inner();
        most = most.max(here);
        over += u64::from(here > cap);
    }
    figure!("cap", cap);
    figure!("most", most);
    figure!("over", over);
    ensure!(
        over * 4 <= rounds,
        "in {over} of {rounds} rounds more than {cap} of {procs} Ps looked for work, up to {most}"
    );
    // At rest nobody looks, but who has just been woken; or this never ends.
    sleep(Duration::from_millis(5));
    while s.nmspinning() > 1 {
        sleep(Duration::from_millis(5))
    }
    Ok(())
}

/// From ready to running beside an idle P: in virtual time below 200 us always. The G that readies keeps its CPU.
fn idle_wake_latency() -> Outcome {
    let rounds = param("rounds", 500);
    let (ball, theirs) = chan::<u64>(1);
    let (ran, ran_ns) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (seen, seen_ns) = (ran.clone(), ran_ns.clone());
    let b = spawn(move || {
        while let Some(n) = theirs.recv() {
            seen_ns.store(sched::now_ns(), Relaxed);
            seen.store(n, Release);
        }
    });
    let mut rng = chance(1);
    let mut late_ns: Vec<u64> = Vec::new();
    for n in 1..=rounds {
        // Long enough, often, that the other CPU halts.
        spin(rng.below(200_000));
        let begin_ns = sched::now_ns();
        ball.send(n).expect("open");
        hold_until(|| ran.load(Acquire) == n);
        late_ns.push(ran_ns.load(Relaxed).saturating_sub(begin_ns));
    }
    ball.close();
    b.join();
    late_ns.sort_unstable();
    let at = |permille: usize| late_ns[(late_ns.len() - 1) * permille / 1000];
    figure!("median_ns", at(500));
    figure!("p99_ns", at(990));
    figure!("worst_ns", at(1000));
    let strict = ringo::start::config().seed.is_some();
    ensure!(!strict || at(1000) < 200_000, "{} ns late", at(1000));
    Ok(())
}

/// golang/go#43997, #18237, #28808, #16476: a few wake-ups in a second on a machine with many Ps. The harness looks at what
/// QEMU uses meanwhile.
fn idle_ticks() -> Outcome {
    let halts = counts().halts;
    for _ in 0..param("ticks", 1000) {
        sleep(Duration::from_millis(1));
        spawn(|| spin(100)).join();
    }
    figure!("halts", counts().halts - halts);
    Ok(())
}

/// golang/go#68578, #75261, gVisor #205: storms of yields and of wake-ups, which all want the scheduler's lock, with more and
/// more Ps. What one costs does not fall off a cliff as Ps are added.
fn idle_lock_storm() -> Outcome {
    let (yields, cpus) = (param("yields", 20_000), num_cpu());
    let mut costs: Vec<u64> = Vec::new();
    let mut procs = 1;
    while procs <= cpus {
        gomaxprocs(procs);
        let begin = Instant::now();
        let gs: Vec<_> = (0..2 * procs as u64)
            .map(|i| {
                spawn(move || {
                    let sem = Arc::new(Semaphore::new(0));
                    for n in 0..yields / (2 * procs as u64) {
                        if (n + i) % 8 == 0 {
                            let sem = sem.clone();
                            go(move || sem.release());
                        }
                        yield_now()
                    }
                })
            })
            .collect();
        gs.into_iter().for_each(|g| g.join());
        until(|| num_goroutine() == 1);
        costs.push(begin.elapsed().as_nanos() as u64 / yields);
        procs *= 2
    }
    figure!("ns_each", format!("{costs:?}"));
    let cliff = costs.windows(2).find(|w| w[1] > 20 * w[0]);
    ensure!(cliff.is_none(), "a cliff: ns of a yield by Ps: {costs:?}");
    Ok(())
}
