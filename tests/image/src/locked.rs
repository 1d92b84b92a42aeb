//! Goroutines that are locked to their CPU. Go: proc_test.go (`LockOSThread`).

use crate::param::param;
use crate::wait::{all_ps_meet, bump, hold_until, spin, until};
use crate::{Outcome, Test, ensure, figure};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use ringo::machine::cpu;
use ringo::prelude::*;

pub const TESTS: &[Test] = &[
    ("locked_yield_progress", locked_yield_progress),
    ("locked_yield", locked_yield),
    ("locked_block", locked_block),
    ("locked_nesting", locked_nesting),
    ("locked_stays", locked_stays),
    ("locked_exit", locked_exit),
    ("locked_main", locked_main),
    ("locked_under_stops", locked_under_stops),
];

/// Go: YieldLockedProgress. A locked G that always yields does not keep another, locked as well, from its end.
fn locked_yield_progress() -> Outcome {
    static STOP: AtomicBool = AtomicBool::new(false);
    let yielder = spawn(|| {
        lock_to_cpu();
        let mut n = 0u64;
        while !STOP.load(Relaxed) {
            yield_now();
            n += 1;
        }
        unlock_from_cpu();
        n
    });
    let worker = spawn(|| {
        lock_to_cpu();
        (0..param("yields", 1000)).for_each(|_| yield_now());
    });
    worker.join();
    STOP.store(true, Relaxed);
    figure!("yields", yielder.join());
    Ok(())
}

/// Go: YieldLocked. A locked G that yields ten times ends; one that waits for ever, locked, is left behind without harm.
fn locked_yield() -> Outcome {
    for _ in 0..param("rounds", 50) {
        spawn(|| {
            lock_to_cpu();
            (0..10).for_each(|_| {
                yield_now();
                sleep(Duration::from_nanos(1))
            });
        })
        .join();
        go(|| {
            lock_to_cpu();
            never::<()>().recv();
        });
    }
    // Those that wait for ever are locked to every CPU: each still runs others.
    all_ps_meet();
    ensure!(
        num_goroutine() as u64 == 1 + param("rounds", 50),
        "{} goroutines",
        num_goroutine()
    );
    Ok(())
}

/// Go: BlockLocked, and golang/go#18023: a locked G sends to one that is not, over an unbuffered channel, in both directions.
/// What a message costs beside an unlocked pair is printed.
fn locked_block() -> Outcome {
    let rounds = param("rounds", 2000);
    let pair = |locked: bool| {
        let (ping, pinged) = chan::<u64>(0);
        let (pong, ponged) = chan::<u64>(0);
        let begin = Instant::now();
        let one = spawn(move || {
            if locked {
                lock_to_cpu()
            }
            let home = cpu();
            for n in 0..rounds {
                ping.send(n).expect("open");
                assert_eq!(ponged.recv(), Some(n + 1), "a wrong answer");
                assert!(
                    !locked || cpu() == home,
                    "a locked goroutine moved from CPU {home}"
                );
            }
        });
        for n in &pinged {
            pong.send(n + 1).expect("open");
        }
        one.join();
        begin.elapsed()
    };
    let (free, locked) = (pair(false), pair(true));
    figure!("ns_unlocked", free.as_nanos() / u128::from(2 * rounds));
    figure!("ns_locked", locked.as_nanos() / u128::from(2 * rounds));
    Ok(())
}

/// Pushes the caller about until it is on another CPU, or so many rounds are over. There is company that makes it move.
fn moves(rounds: u64) -> bool {
    let home = cpu();
    (0..rounds).any(|n| {
        match n % 4 {
            0 => sleep(Duration::from_nanos(1)),
            _ => yield_now(),
        }
        cpu() != home
    })
}

/// Company: Gs that yield, compute and sleep, so that everybody moves.
fn company(n: usize) -> (Arc<AtomicBool>, Vec<JoinHandle<()>>) {
    let stop = Arc::new(AtomicBool::new(false));
    let gs = (0..n)
        .map(|i| {
            let stop = stop.clone();
            spawn(move || {
                while !stop.load(Relaxed) {
                    spin(100 * i as u32);
                    yield_now();
                    if i % 2 == 0 {
                        sleep(Duration::from_nanos(1))
                    }
                }
            })
        })
        .collect();
    (stop, gs)
}

/// Go: LockOSThreadNesting. So many locks want so many unlocks; one too many does no harm.
fn locked_nesting() -> Outcome {
    let (many, pushes) = (sched::gomaxprocs() > 1, param("moves", 200));
    let (stop, gs) = company(3 * sched::gomaxprocs());
    let nest = |depth: u32| {
        let home = spawn(move || {
            unlock_from_cpu(); // one too many, before
            for _ in 0..depth {
                lock_to_cpu()
            }
            for left in (1..=depth).rev() {
                assert!(!moves(pushes), "moved with {left} locks left");
                unlock_from_cpu();
            }
            unlock_from_cpu(); // and after
            // Free again: it moves, sooner or later.
            while many && !moves(100) {}
            lock_to_cpu();
            assert!(!moves(pushes), "moved, and was locked again");
            cpu()
        });
        home.join()
    };
    for depth in [1, 2, 5] {
        nest(depth);
    }
    stop.store(true, Relaxed);
    gs.into_iter().for_each(|g| g.join());
    Ok(())
}

/// Several Gs locked to each CPU, among others that are not: none ever runs elsewhere, all come to their ends.
fn locked_stays() -> Outcome {
    static MOVED: AtomicU64 = AtomicU64::new(0);
    let (stop, others) = company(2 * sched::gomaxprocs());
    let gs: Vec<_> = (0..6 * sched::gomaxprocs())
        .map(|_| {
            spawn(|| {
                lock_to_cpu();
                for _ in 0..4 {
                    if moves(param("moves", 50)) {
                        bump(&MOVED);
                    }
                    spin(2000);
                }
            })
        })
        .collect();
    gs.into_iter().for_each(|g| g.join());
    stop.store(true, Relaxed);
    others.into_iter().for_each(|g| g.join());
    ensure!(
        MOVED.load(Relaxed) == 0,
        "{} times a locked goroutine moved",
        MOVED.load(Relaxed)
    );
    Ok(())
}

/// Go: LockOSThreadExit. A G that ends while it is locked leaves its CPU to others; the next G made there is not locked.
fn locked_exit() -> Outcome {
    let procs = sched::gomaxprocs() as u64;
    for round in 0..param("rounds", 200) {
        let come = Arc::new(AtomicU64::new(0));
        let gs: Vec<_> = (0..procs)
            .map(|i| {
                let come = come.clone();
                spawn(move || {
                    lock_to_cpu();
                    lock_to_cpu();
                    bump(&come);
                    hold_until(|| come.load(Acquire) == procs);
                    if (i + round) % 2 == 0 {
                        goexit()
                    }
                })
            })
            .collect();
        until(|| gs.iter().all(|g| g.is_finished()));
    }
    // Gs are used again: none remembers its lock.
    let (stop, others) = company(3 * procs as usize);
    let gs: Vec<_> = (0..procs)
        .map(|_| spawn(move || while procs > 1 && !moves(100) {}))
        .collect();
    gs.into_iter().for_each(|g| g.join());
    stop.store(true, Relaxed);
    others.into_iter().for_each(|g| g.join());
    Ok(())
}

/// Go: LockOSThreadExit (main). The main G locks itself; others work, it parks and comes back, and ends the program locked.
fn locked_main() -> Outcome {
    lock_to_cpu();
    let home = cpu();
    for _ in 0..param("rounds", 200) {
        let gs: Vec<_> = (0..2 * sched::gomaxprocs())
            .map(|_| spawn(|| spin(500)))
            .collect();
        gs.into_iter().for_each(|g| g.join());
        sleep(Duration::from_micros(20));
        ensure!(cpu() == home, "main moved from {home} to {}", cpu());
    }
    Ok(())
}

/// golang/go#38931, #28979: locks taken, given back and left behind by ending do not disturb stops of the world, nor these
/// them.
fn locked_under_stops() -> Outcome {
    static STOP: AtomicBool = AtomicBool::new(false);
    static LOCKED: AtomicU64 = AtomicU64::new(0);
    let cpus = num_cpu();
    let gs: Vec<_> = (0..2 * cpus)
        .map(|_| {
            spawn(|| {
                while !STOP.load(Relaxed) {
                    let inner = spawn(|| {
                        lock_to_cpu();
                        let home = cpu();
                        yield_now();
                        sleep(Duration::from_nanos(1000));
                        assert_eq!(cpu(), home, "a locked goroutine moved");
                        bump(&LOCKED);
                    });
                    inner.join()
                }
            })
        })
        .collect();
    for round in 0..param("rounds", 100) as usize {
        crate::stw::stop_once();
        yield_now();
        if round % 4 == 0 {
            gomaxprocs(1 + round / 4 % cpus);
        }
        if round % 8 == 0 {
            sleep(Duration::from_micros(50))
        }
    }
    gomaxprocs(cpus);
    let enough = LOCKED.load(Relaxed) + 20;
    until(|| LOCKED.load(Relaxed) >= enough);
    STOP.store(true, Relaxed);
    gs.into_iter().for_each(|g| g.join());
    figure!("locked", LOCKED.load(Relaxed));
    Ok(())
}
