//! Blocking calls and locked goroutines, on threads of the host machine.
#![cfg(not(any(ringo_loom, ringo_shuttle)))]

mod common;

use common::{SHAPES, go, until};
use sched::testing::run;
use sched::{num_goroutine, sleep_ns, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};

/// A G that waits inside a blocking call for another one: it ends only if its P goes to somebody else.
#[test]
fn the_p_of_a_blocking_call_runs_others() {
    for (cpus, procs) in [(2, 1), (3, 2), (4, 2)] {
        run(cpus, procs, move || {
            for _ in 0..200 {
                let flags: Vec<_> = (0..procs).map(|_| Arc::new(AtomicUsize::new(0))).collect();
                let done = Arc::new(AtomicUsize::new(0));
                for f in &flags {
                    let (f, done) = (f.clone(), done.clone());
                    go(move || {
                        sched::blocking(|| {
                            while f.load(SeqCst) == 0 {
                                std::thread::yield_now()
                            }
                        });
                        done.fetch_add(1, SeqCst);
                    });
                }
                yield_now();
                for f in &flags {
                    f.store(1, SeqCst)
                }
                until(|| done.load(SeqCst) == procs);
            }
        });
    }
}

/// As many Ps as CPUs, all in calls but one's worth of work: what their queues hold is run by others at once.
#[test]
fn a_stranded_ps_work_is_run_by_others() {
    run(2, 2, || {
        for _ in 0..200 {
            let ran = Arc::new(AtomicUsize::new(0));
            let r = ran.clone();
            let h = Arc::new(AtomicUsize::new(0));
            let hh = h.clone();
            go(move || {
                for _ in 0..10 {
                    let r = r.clone();
                    go(move || {
                        r.fetch_add(1, SeqCst);
                    });
                }
                sched::blocking(|| {
                    while r.load(SeqCst) < 10 {
                        std::thread::yield_now()
                    }
                });
                hh.store(1, SeqCst)
            });
            until(|| h.load(SeqCst) == 1);
        }
    });
}

#[test]
fn calls_and_stops_of_the_world_do_not_disturb_each_other() {
    run(4, 4, || {
        for i in 0..40usize {
            go(move || {
                for k in 0..50 {
                    sched::blocking(|| std::hint::black_box(i * k));
                    if i == 0 {
                        sched::set_gomaxprocs(1 + k % 4);
                    }
                    yield_now()
                }
            })
        }
        until(|| num_goroutine() == 1);
    });
}

fn cpu() -> usize {
    let guard = base::PreemptGuard::new();
    sched::M::current(&guard).id()
}

/// Go: proc_test.go, YieldLocked, BlockLocked, LockOSThreadNesting.
#[test]
fn a_locked_goroutine_stays_on_its_cpu() {
    for (cpus, procs) in SHAPES {
        run(cpus, procs, || {
            for round in 0..20u64 {
                for i in 0..8u64 {
                    go(move || {
                        sched::lock_to_cpu();
                        sched::lock_to_cpu();
                        let here = cpu();
                        for k in 0..50 {
                            if (k + i + round) % 7 == 0 {
                                sleep_ns(20_000)
                            } else {
                                yield_now()
                            }
                            assert_eq!(cpu(), here);
                            if k == 20 {
                                sched::unlock_from_cpu()
                            }
                        }
                        if i % 2 == 0 {
                            sched::unlock_from_cpu();
                            sched::unlock_from_cpu();
                            yield_now()
                        }
                    });
                    go(|| {
                        for _ in 0..50 {
                            yield_now()
                        }
                    });
                }
                until(|| num_goroutine() == 1);
            }
        });
    }
}

/// Locked Gs are delivered while the world is stopped and started around them: none is lost.
#[test]
fn locked_goroutines_and_stops_of_the_world() {
    run(4, 4, || {
        for i in 0..12usize {
            go(move || {
                sched::lock_to_cpu();
                let here = cpu();
                for k in 0..60 {
                    if i == 0 {
                        sched::set_gomaxprocs(1 + k % 4);
                    }
                    yield_now();
                    assert_eq!(cpu(), here);
                }
            })
        }
        until(|| num_goroutine() == 1);
    });
}
