//! Lost wake-ups and work conservation: an idle P never stays beside a runnable G.
//!
//! A wake-up that is lost leaves a G that holds its CPU and waits for ever; that the test ends is what is tested. So
//! these run without preemption and sysmon too, which would hide the loss (Go #60693).

use crate::param::param;
use crate::wait::{bump, chance, hold_until, spin, until};
use crate::{Outcome, Test, ensure, figure};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use ringo::machine::counts;
use ringo::prelude::*;
use trace::points::{self, Action};

pub const TESTS: &[Test] = &[
    ("wake_ready_then_hold", wake_ready_then_hold),
    ("wake_everybody", wake_everybody),
    ("wake_network", wake_network),
    ("wake_points", wake_points),
    ("wake_batches", wake_batches),
    ("wake_burst", wake_burst),
    ("wake_timer_at_idle", wake_timer_at_idle),
    ("wake_no_false_deadlock", wake_no_false_deadlock),
    ("wake_yield_alone", wake_yield_alone),
];

/// Go #45867, tokio #4941, go-lib: G readies B, which is parked, and keeps its CPU until B has run. Delays before it
/// sweep over all that the other M does meanwhile: running B, spinning, giving its P up, polling, halting.
fn wake_ready_then_hold() -> Outcome {
    let rounds = param("rounds", 20_000);
    let pairs = param("pairs", 1.max(sched::gomaxprocs() as u64 / 2));
    let before = counts();
    let pair = move |stream: u64| {
        let ran = Arc::new(AtomicU64::new(0));
        let (ball, theirs) = chan::<u64>(1);
        let seen = ran.clone();
        let b = spawn(move || {
            while let Some(n) = theirs.recv() {
                seen.store(n, Release);
            }
        });
        let mut rng = chance(stream);
        for n in 1..=rounds {
            // Mostly short, now and then as long as the way to a halt takes.
            let most = [50, 300, 2000, 30_000][rng.below(16).saturating_sub(12) as usize];
            spin(rng.below(most));
            ball.send(n).expect("open");
            hold_until(|| ran.load(Acquire) == n);
        }
        ball.close();
        b.join();
    };
    let others: Vec<_> = (1..pairs).map(|i| spawn(move || pair(i))).collect();
    pair(0);
    others.into_iter().for_each(|o| o.join());
    let after = counts();
    figure!("rounds", rounds * pairs);
    figure!("wakes", after.wakes - before.wakes);
    figure!("halts", after.halts - before.halts);
    ensure!(
        sched::gomaxprocs() == 1 || after.halts > before.halts,
        "the other CPU never halted"
    );
    Ok(())
}

/// Go: GoroutineParallelism. One G starts as many as there are other Ps; all hold their CPU until all have come, so each
/// wake-up must lead to the next. Between rounds the Ps go idle for as long as chance wants.
fn wake_everybody() -> Outcome {
    static COME: AtomicU64 = AtomicU64::new(0);
    let procs = sched::gomaxprocs() as u64;
    let rounds = param("rounds", 3000);
    let mut rng = chance(1);
    for round in 0..rounds {
        COME.store(0, SeqCst);
        let meet = move || {
            bump(&COME);
            hold_until(|| COME.load(Acquire) == procs);
        };
        let gs: Vec<_> = (1..procs).map(|_| spawn(meet)).collect();
        meet();
        // Not joined by parking each time: this P may stay busy throughout.
        if round % 2 == 0 {
            hold_until(|| gs.iter().all(|g| g.is_finished()));
        }
        gs.into_iter().for_each(|g| g.join());
        spin(rng.below(if round % 8 == 0 { 50_000 } else { 500 }));
    }
    figure!("rounds", rounds);
    Ok(())
}

/// Tokens wander over unbuffered channels between goroutines that hold, yield and sleep by chance. None is lost.
pub fn network(tokens: u64, steps: u64, stream: u64) -> Result<(), String> {
    const NODES: usize = 12;
    let left = Arc::new(AtomicU64::new(tokens));
    let (ends, nodes): (Vec<_>, Vec<_>) = (0..NODES).map(|_| chan::<u64>(1)).unzip();
    let wg = WaitGroup::new();
    for (i, node) in nodes.into_iter().enumerate() {
        let (ends, left) = (ends.clone(), left.clone());
        wg.go(move || {
            let mut rng = chance(stream << 8 | i as u64);
            while let Some(step) = node.recv() {
                match rng.below(64) {
                    0 => sleep(Duration::from_nanos(rng.below(40_000).into())),
                    1..8 => yield_now(),
                    8..16 => spin(rng.below(5000)),
                    _ => {}
                }
                if step >= steps {
                    if left.fetch_sub(1, AcqRel) == 1 {
                        ends.iter().for_each(|e| _ = e.close())
                    }
                    continue;
                }
                // A goroutine of its own hands it on, so that nodes never wait for each other in a ring.
                let to = ends[rng.below(NODES as u32) as usize].clone();
                go(move || _ = to.send(step + 1));
            }
        });
    }
    for i in 0..tokens {
        ends[i as usize % NODES]
            .send(0)
            .map_err(|_| "closed too early")?;
    }
    drop(ends);
    wg.wait();
    ensure!(
        left.load(Acquire) == 0,
        "{} tokens are left",
        left.load(Acquire)
    );
    Ok(())
}

fn wake_network() -> Outcome {
    let (tokens, steps) = (param("tokens", 8), param("steps", 4000));
    network(tokens, steps, 1)?;
    until(|| num_goroutine() == 1);
    figure!("steps", tokens * steps);
    Ok(())
}

/// The same with each fault point armed in turn: delays, forced safe points and yields exactly in the windows
/// (Go #40641, Uros #490). Points that every machine passes are waited for.
fn wake_points() -> Outcome {
    let (tokens, steps) = (param("tokens", 4), param("steps", 100));
    let actions = [
        Action::DelayNs(2_000),
        Action::DelayNs(30_000),
        Action::Preempt,
        Action::Yield,
    ];
    let always = [
        "park.commit",
        "park.unlock",
        "ready.queue",
        "runq.overflow",
        "idle.halt",
        "timer.add",
        "goexit.settle",
    ];
    // Nobody steals, looks again or wakes another on one P.
    let many = ["runq.steal", "idle.recheck", "wake.cpu"];
    points::set_yield(yield_now);
    let mut reached = 0;
    for (i, name) in points::NAMES.iter().enumerate() {
        let passed = always.contains(name) || sched::gomaxprocs() > 1 && many.contains(name);
        for (k, action) in actions.into_iter().enumerate() {
            points::arm(name, action).map_err(|e| e.to_string())?;
            network(tokens, steps, (i * 8 + k) as u64)?;
            idle_and_overflow(30);
        }
        while passed && points::hits(name) == 0 {
            idle_and_overflow(1000)
        }
        points::arm(name, Action::Off).map_err(|e| e.to_string())?;
        reached += u64::from(points::hits(name) > 0);
    }
    let hits: u64 = points::NAMES.iter().map(|n| points::hits(n)).sum();
    figure!("points", reached);
    figure!("hits", hits);
    Ok(())
}

/// What a network seldom does: the whole machine goes idle, and a ring runs over.
pub fn idle_and_overflow(us: u64) {
    (0..3).for_each(|n| sleep(Duration::from_micros(us * n)));
    let wg = WaitGroup::new();
    (0..300).for_each(|n| wg.go(move || spin(n)));
    wg.wait();
}

/// libgo #199: one producer makes batches on its own P and holds it until all of a batch have run: what thieves carry
/// off must get others going in turn.
fn wake_batches() -> Outcome {
    static RAN: AtomicU64 = AtomicU64::new(0);
    let rounds = param("rounds", 2000);
    let mut rng = chance(5);
    let mut all = 0;
    for _ in 0..rounds {
        let most = if rng.below(20) == 0 { 600 } else { 24 };
        let n = 1 + u64::from(rng.below(most));
        for i in 0..n {
            go(move || {
                spin(i as u32 % 7 * 100);
                bump(&RAN);
            });
        }
        all += n;
        hold_until(|| RAN.load(Acquire) == all);
        spin(rng.below(3000));
    }
    figure!("batches", rounds);
    figure!("gs", all);
    Ok(())
}

/// Go #54622: a burst of 64 readies by one G, which then keeps its CPU: all run, and CPUs are woken one after another
/// as work is found, never one a ready.
fn wake_burst() -> Outcome {
    const BURST: u64 = 64;
    static RAN: AtomicU64 = AtomicU64::new(0);
    let rounds = param("rounds", 300);
    let sem = Arc::new(Semaphore::new(0));
    let over = Arc::new(AtomicBool::new(false));
    for _ in 0..BURST {
        let (sem, over) = (sem.clone(), over.clone());
        go(move || {
            loop {
                sem.acquire();
                if over.load(Relaxed) {
                    return;
                }
                spin(200);
                bump(&RAN);
            }
        });
    }
    let parked = || until(|| RAN.load(Acquire).is_multiple_of(BURST) && sem.available() == 0);
    (0..200).for_each(|_| yield_now());
    let before = counts();
    let mut rng = chance(2);
    for round in 1..=rounds {
        for _ in 0..BURST {
            sem.release()
        }
        hold_until(|| RAN.load(Acquire) == round * BURST);
        parked();
        spin(rng.below(40_000));
    }
    let wakes = counts().wakes - before.wakes;
    over.store(true, Relaxed);
    (0..BURST).for_each(|_| sem.release());
    until(|| num_goroutine() == 1);
    figure!("readies", rounds * BURST);
    figure!("wakes", wakes);
    ensure!(
        wakes <= rounds * BURST,
        "{wakes} wakes for {} readies",
        rounds * BURST
    );
    Ok(())
}

/// Go #44868: a timer is added at the moment when another CPU gives its P up, or when this one is about to halt, with
/// those moments drawn out. It fires; nobody else is there to notice.
fn wake_timer_at_idle() -> Outcome {
    let rounds = param("rounds", 1000);
    let points = ["idle.recheck", "idle.halt", "timer.add", "wake.cpu"];
    let mut fired = 0;
    for (i, point) in points.iter().enumerate() {
        for delay_ns in [0, 3_000, 50_000] {
            points::arm(point, Action::DelayNs(delay_ns)).map_err(|e| e.to_string())?;
            let sleepers = sched::gomaxprocs() as u64;
            let gs: Vec<_> = (0..sleepers)
                .map(|s| {
                    spawn(move || {
                        let mut rng = chance((i as u64) << 8 | s);
                        for _ in 0..rounds / 12 {
                            let ns = u64::from(rng.below(60_000));
                            let begin = Instant::now();
                            sleep(Duration::from_nanos(ns));
                            assert!(begin.elapsed().as_nanos() as u64 >= ns, "woke early");
                            if rng.below(3) == 0 {
                                spin(rng.below(3000))
                            }
                        }
                    })
                })
                .collect();
            gs.into_iter().for_each(|g| g.join());
            fired += sleepers * (rounds / 12);
        }
        points::arm(point, Action::Off).map_err(|e| e.to_string())?;
    }
    figure!("timers", fired);
    Ok(())
}

/// Go #40368, #59600: a timer makes a G runnable while the last M goes idle. "All goroutines are asleep" must never be
/// said of that.
fn wake_no_false_deadlock() -> Outcome {
    let rounds = param("rounds", 10_000);
    let (ask, asked) = chan::<u64>(0);
    let (answer, answered) = chan::<u64>(0);
    let other = spawn(move || {
        while let Some(n) = asked.recv() {
            answer.send(n + 1).expect("open");
        }
    });
    let mut rng = chance(3);
    for n in 0..rounds {
        // Mostly shorter than a CPU polls before it halts, now and then longer.
        let most = if rng.below(8) == 0 { 60_000 } else { 3_000 };
        sleep(Duration::from_nanos(1 + u64::from(rng.below(most))));
        ask.send(n).map_err(|_| "closed")?;
        ensure!(
            answered.recv() == Some(n + 1),
            "a wrong answer in round {n}"
        );
    }
    ask.close();
    other.join();
    figure!("rounds", rounds);
    figure!("halts", counts().halts);
    Ok(())
}

/// Go #13527: one G that yields on an otherwise empty machine does not keep waking the others.
fn wake_yield_alone() -> Outcome {
    let yields = param("yields", 200_000);
    // Whatever start-up woke goes to sleep first.
    sleep(Duration::from_millis(20));
    let before = counts();
    (0..yields).for_each(|_| yield_now());
    let (wakes, switches) = (
        counts().wakes - before.wakes,
        counts().switches - before.switches,
    );
    figure!("yields", yields);
    figure!("wakes", wakes);
    ensure!(
        switches >= yields,
        "{switches} switches for {yields} yields"
    );
    ensure!(
        wakes * 100 < yields,
        "{wakes} wakes for {yields} yields of the only goroutine"
    );
    Ok(())
}
