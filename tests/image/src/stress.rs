//! A program of everything, whose result is known: run under each switch of the scheduler.

use crate::param::param;
use crate::wait::{bump, chance, spin, until};
use crate::{Outcome, Test, ensure, figure};
use core::sync::atomic::{AtomicU64, Ordering::*};
use ringo::machine::counts;
use ringo::prelude::*;

pub const TESTS: &[Test] = &[("stress", || everything(param("size", 4), 7))];

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let left = spawn(move || fib(n - 1));
    fib(n - 2) + left.join()
}

/// Producers, workers and a sum, over buffered and unbuffered channels.
fn pipeline(items: u64, cap: usize) -> Outcome {
    let (jobs, work) = chan::<u64>(cap);
    let (results, sums) = chan::<u64>(cap);
    for p in 0..4 {
        let jobs = jobs.clone();
        go(move || (0..items).for_each(|i| jobs.send(p * items + i).expect("open")));
    }
    drop(jobs);
    for _ in 0..5 {
        let (work, results) = (work.clone(), results.clone());
        go(move || {
            for n in &work {
                results.send(n * 2).expect("open");
            }
        });
    }
    drop((work, results));
    let sum: u64 = (&sums).into_iter().sum();
    ensure!(
        sum == 4 * items * (4 * items - 1),
        "the pipeline's sum is {sum}"
    );
    Ok(())
}

/// A counter under a mutex, and one under a read-write lock whose readers see no torn pair.
fn locks(rounds: u64, stream: u64) -> Outcome {
    let counter = Arc::new(Mutex::new(0u64));
    let pair = Arc::new(RwLock::new((0u64, 0u64)));
    static TORN: AtomicU64 = AtomicU64::new(0);
    let wg = WaitGroup::new();
    for i in 0..6 {
        let (counter, pair) = (counter.clone(), pair.clone());
        wg.go(move || {
            let mut rng = chance(stream << 8 | i);
            for _ in 0..rounds {
                *counter.lock() += 1;
                if i == 0 {
                    let mut both = pair.write();
                    both.0 += 1;
                    spin(rng.below(50));
                    both.1 += 1;
                } else {
                    let both = pair.read();
                    if both.0 != both.1 {
                        bump(&TORN);
                    }
                }
                if rng.below(32) == 0 {
                    yield_now()
                }
            }
        });
    }
    wg.wait();
    let total = *counter.lock();
    ensure!(
        total == 6 * rounds,
        "the counter is {total} of {}",
        6 * rounds
    );
    ensure!(
        TORN.load(Relaxed) == 0,
        "{} readers saw a writer at work",
        TORN.load(Relaxed)
    );
    Ok(())
}

fn ping_pong(rounds: u64) -> Outcome {
    let (ping, pinged) = chan::<u64>(0);
    let (pong, ponged) = chan::<u64>(0);
    go(move || {
        while let Some(n) = pinged.recv() {
            pong.send(n + 1).expect("open");
        }
    });
    for n in 0..rounds {
        ping.send(n).map_err(|_| "closed")?;
        ensure!(ponged.recv() == Some(n + 1), "a wrong answer in round {n}");
    }
    Ok(())
}

fn barrier(rounds: u64) -> Outcome {
    let cond = Arc::new((Mutex::new(0u64), Cond::new()));
    let wg = WaitGroup::new();
    for _ in 0..8 {
        let cond = cond.clone();
        wg.go(move || {
            for round in 1..=rounds {
                let (lock, all) = &*cond;
                let mut come = lock.lock();
                *come += 1;
                if *come == 8 * round {
                    all.notify_all()
                }
                while *come < 8 * round {
                    come = all.wait(come)
                }
            }
        });
    }
    wg.wait();
    let come = *cond.0.lock();
    ensure!(come == 8 * rounds, "{come} at the barrier");
    Ok(())
}

fn sleepers(n: u64, stream: u64) {
    let wg = WaitGroup::new();
    for i in 0..n {
        wg.go(move || {
            let mut rng = chance(stream << 16 | i);
            (0..3).for_each(|_| sleep(Duration::from_nanos(rng.below(200_000).into())));
        });
    }
    wg.wait()
}

/// All of it at once. `size` scales it.
pub fn everything(size: u64, stream: u64) -> Outcome {
    let fibs = spawn(move || (0..size).all(|_| fib(13) == 233));
    let pipes = spawn(move || pipeline(300 * size, 0).and_then(|()| pipeline(300 * size, 7)));
    let locking = spawn(move || locks(300 * size, stream));
    let ponging = spawn(move || ping_pong(1000 * size));
    let meeting = spawn(move || barrier(40 * size));
    let sleeping = spawn(move || sleepers(30 * size, stream));
    ensure!(fibs.join(), "a wrong Fibonacci number");
    pipes.join()?;
    locking.join()?;
    ponging.join()?;
    meeting.join()?;
    sleeping.join();
    until(|| num_goroutine() == 1);
    let c = counts();
    figure!("switches", c.switches);
    figure!("steals", c.steals);
    figure!("preemptions", c.preemptions);
    Ok(())
}
