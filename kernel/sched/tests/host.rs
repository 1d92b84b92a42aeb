//! The whole scheduler on threads of the host machine.
#![cfg(not(any(ringo_loom, ringo_shuttle)))]

mod common;

use base::config::{Config, Queue, Steal};
use common::{SHAPES, go, until};
use sched::testing::{run, run_with};
use sched::{
    GRef, WaitReason, current, goexit, goready, num_goroutine, park_unlock, sleep_ns, yield_now,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};

#[test]
fn main_is_g1_and_its_value_comes_back() {
    for (cpus, procs) in SHAPES {
        assert_eq!(
            run(cpus, procs, || (current().id(), num_goroutine())),
            (1, 1)
        );
    }
}

/// Also on an M that found work before it ever halted: it would hear of nothing that others want of it.
#[test]
fn goroutines_run_with_interrupts_on() {
    const CPUS: usize = 4;
    for _ in 0..20 {
        let seen = run(CPUS, CPUS, || {
            let (seen, here) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            // As many as there are CPUs, each of which waits for the others, so every one gets its own.
            for _ in 1..CPUS {
                let (seen, here) = (seen.clone(), here.clone());
                go(move || {
                    seen.fetch_add(usize::from(arch::irqs_enabled()), SeqCst);
                    here.fetch_add(1, SeqCst);
                    while here.load(SeqCst) != CPUS {
                        std::thread::yield_now()
                    }
                })
            }
            here.fetch_add(1, SeqCst);
            while here.load(SeqCst) != CPUS {
                std::thread::yield_now()
            }
            until(|| num_goroutine() == 1);
            seen.load(SeqCst)
        });
        assert_eq!(seen, CPUS - 1);
    }
}

#[test]
fn ten_thousand_goroutines_all_run() {
    for (cpus, procs) in SHAPES {
        let n = Arc::new(AtomicU64::new(0));
        let m = n.clone();
        run(cpus, procs, move || {
            for i in 0..10_000u64 {
                let m = m.clone();
                go(move || {
                    if i % 3 == 0 {
                        yield_now()
                    }
                    m.fetch_add(i, SeqCst);
                });
            }
            until(|| num_goroutine() == 1)
        });
        assert_eq!(n.load(SeqCst), 10_000 * 9_999 / 2);
    }
}

#[test]
fn sleepers_all_wake_and_not_early() {
    for (cpus, procs) in SHAPES {
        run(cpus, procs, move || {
            let woken = Arc::new(std::sync::Mutex::new(vec![]));
            for k in [30u64, 10, 20] {
                let woken = woken.clone();
                go(move || {
                    let t = sched::now_ns();
                    sleep_ns(k * 1_000_000);
                    assert!(sched::now_ns() - t >= k * 1_000_000);
                    woken.lock().unwrap().push(k);
                });
            }
            until(|| woken.lock().unwrap().len() == 3);
            let mut woken = woken.lock().unwrap().clone();
            woken.sort(); // on a late thread two may be due at once, and the one readied last runs first
            assert_eq!(woken, [10, 20, 30]);
        });
    }
}

/// One slot: a waiting G. The smallest thing that parks.
struct Baton {
    turn: base::SpinLock<(usize, Option<GRef>)>,
}

impl Baton {
    fn wait_for(&self, me: usize) {
        loop {
            let mut t = self.turn.lock();
            if t.0 == me {
                return;
            }
            if t.1.is_some() {
                drop(t);
                yield_now();
                continue;
            }
            t.1 = Some(current());
            park_unlock(t, WaitReason::SemAcquire);
        }
    }
    fn pass(&self, to: usize) {
        let waiter = {
            let mut t = self.turn.lock();
            t.0 = to;
            t.1.take()
        };
        if let Some(g) = waiter {
            goready(g)
        }
    }
}

#[test]
fn ping_pong_by_park_and_ready() {
    for (cpus, procs) in SHAPES {
        run(cpus, procs, || {
            let b = Arc::new(Baton {
                turn: base::SpinLock::new(base::Rank::Channel, (0, None)),
            });
            let c = b.clone();
            let n = Arc::new(AtomicUsize::new(0));
            let done = n.clone();
            go(move || {
                for _ in 0..20_000 {
                    c.wait_for(1);
                    c.pass(0);
                }
                done.store(1, SeqCst)
            });
            for _ in 0..20_000 {
                b.wait_for(0);
                b.pass(1);
            }
            until(|| n.load(SeqCst) == 1);
        });
    }
}

#[test]
fn goexit_ends_the_goroutine_alone() {
    run(2, 2, || {
        go(|| goexit());
        until(|| num_goroutine() == 1);
    });
}

/// Go #13546: a G behind a yielding one is found.
#[test]
fn yielders_do_not_hide_a_runnable_one() {
    for (cpus, procs) in SHAPES {
        run(cpus, procs, || {
            let flag = Arc::new(AtomicUsize::new(0));
            let f = flag.clone();
            go(move || f.store(1, SeqCst));
            until(|| flag.load(SeqCst) == 1);
        });
    }
}

/// A chain through `runnext` does not starve others where no clock ends its slice.
#[test]
fn chain_of_children_lets_others_run() {
    fn link(stop: Arc<AtomicUsize>) {
        if stop.load(SeqCst) == 0 {
            go(move || link(stop))
        }
    }
    run(1, 1, || {
        let stop = Arc::new(AtomicUsize::new(0));
        let s = stop.clone();
        go(move || link(s));
        for _ in 0..10 {
            yield_now()
        }
        stop.store(1, SeqCst);
        until(|| num_goroutine() == 1);
    });
}

#[test]
fn every_switch_still_runs_everything() {
    let base = Config {
        procs: Some(2),
        ..Config::DEFAULT
    };
    for cfg in [
        Config {
            steal: Steal::Off,
            ..base
        },
        Config {
            steal: Steal::One,
            ..base
        },
        Config {
            queue: Queue::Global,
            ..base
        },
        Config {
            runnext: false,
            ..base
        },
        Config {
            spin: false,
            ..base
        },
        Config {
            sysmon: false,
            ..base
        },
    ] {
        run_with(cfg, 3, || {
            for _ in 0..1000 {
                go(|| sleep_ns(1000))
            }
            sleep_ns(1_000_000);
            until(|| num_goroutine() == 1)
        });
    }
}

#[test]
fn many_schedulers_at_once() {
    let threads: Vec<_> = (0..4)
        .map(|_| {
            std::thread::spawn(|| {
                for _ in 0..20 {
                    run(2, 2, || {
                        for _ in 0..100 {
                            go(yield_now)
                        }
                        until(|| num_goroutine() == 1)
                    })
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
}

/// Go: proc_test.go, StopTheWorldDeadlock (without a collector): the number of Ps changes under load.
#[test]
fn gomaxprocs_up_and_down_under_load() {
    run(4, 4, || {
        let sum = Arc::new(AtomicU64::new(0));
        for i in 0..200u64 {
            let sum = sum.clone();
            go(move || {
                for _ in 0..50 {
                    if i % 5 == 0 {
                        sleep_ns(100_000)
                    }
                    yield_now()
                }
                sum.fetch_add(1, SeqCst);
            });
        }
        for n in (1..=4).chain((1..4).rev()).cycle().take(60) {
            let before = sched::gomaxprocs();
            assert_eq!(sched::set_gomaxprocs(n), before);
            assert_eq!(sched::set_gomaxprocs(0), n);
            yield_now();
            sleep_ns(50_000);
        }
        until(|| num_goroutine() == 1);
        assert_eq!(sum.load(SeqCst), 200);
    });
}

#[test]
fn several_goroutines_change_gomaxprocs_at_once() {
    run(3, 3, || {
        for k in 0..6usize {
            go(move || {
                for n in 0..30 {
                    sched::set_gomaxprocs(1 + (n + k) % 3);
                    yield_now()
                }
            })
        }
        until(|| num_goroutine() == 1);
    });
}
