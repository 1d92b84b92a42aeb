//! Programs that end badly. What they print and their status is judged by the harness.

use crate::wait::{bump, hold_until, until};
use crate::{Outcome, Test};
use core::fmt;
use core::hint::black_box;
use core::sync::atomic::{AtomicU64, Ordering::*};
use ringo::prelude::*;

pub const TESTS: &[Test] = &[
    ("exit_0", || exit(0)),
    ("exit_7", || exit(7)),
    ("exit_from_goroutine", exit_from_goroutine),
    ("exit_twice", exit_twice),
    ("err", || Err("the reason".into())),
    ("main_returns", main_returns),
    ("deadlock_main", deadlock_main),
    ("deadlock_many", deadlock_many),
    ("deadlock_after_sleep", deadlock_after_sleep),
    ("deadlock_self_lock", deadlock_self_lock),
    ("goexit_main", goexit_main),
    ("goexit_main_others_work", goexit_main_others_work),
    ("panic_main", panic_main),
    ("panic_goroutine", panic_goroutine),
    ("panic_everywhere", panic_everywhere),
    ("panic_with_preemption_off", panic_with_preemption_off),
    ("panic_after_goexit", panic_after_goexit),
    ("panic_in_display", panic_in_display),
    ("panic_message_panics", panic_message_panics),
    ("panic_message_yields", panic_message_yields),
    ("display_yields", display_yields),
    ("print_storm", print_storm),
    ("exit_while_printing", exit_while_printing),
    ("exit_beside_lines", exit_beside_lines),
    ("panic_while_printing", panic_while_printing),
    ("too_many_goroutines", too_many_goroutines),
    ("hang", hang),
    ("panic_in_wait_group", panic_in_wait_group),
    ("wait_group_below_zero", wait_group_below_zero),
    ("wait_group_done_in_go", wait_group_done_in_go),
];

fn exit_from_goroutine() -> Outcome {
    at_exit(|| println!("first registered, last run"));
    at_exit(|| println!("last registered, first run"));
    go(|| exit(3));
    until(|| false);
    Ok(())
}

/// Two goroutines call it at the same time: one status, and the functions of `at_exit` run once.
fn exit_twice() -> Outcome {
    static READY: AtomicU64 = AtomicU64::new(0);
    at_exit(|| println!("at exit"));
    for _ in 0..4 {
        go(|| {
            bump(&READY);
            until(|| READY.load(Relaxed) >= 4);
            exit(5)
        });
    }
    until(|| false);
    Ok(())
}

/// The others are not waited for.
fn main_returns() -> Outcome {
    for _ in 0..10 {
        go(|| until(|| false));
    }
    (0..50).for_each(|_| yield_now());
    Ok(())
}

fn deadlock_main() -> Outcome {
    let (_tx, rx) = chan::<u32>(0);
    rx.recv();
    Ok(())
}

/// Each kind of wait once; main waits for all.
fn deadlock_many() -> Outcome {
    let wg = WaitGroup::new();
    let mutex = Arc::new(Mutex::new(0));
    let held = mutex.lock();
    let (tx, rx) = chan::<u32>(0);
    let (full, _keep) = chan::<u32>(0);
    let semaphore = Arc::new(Semaphore::new(0));
    wg.go(move || _ = rx.recv());
    wg.go(move || _ = full.send(1));
    let theirs = mutex.clone();
    wg.go(move || *theirs.lock() += 1);
    wg.go(move || semaphore.acquire());
    wg.go(|| _ = never::<u32>().recv());
    wg.wait();
    drop((held, tx));
    Ok(())
}

/// No false alarm while a timer is pending, and the true one after it.
fn deadlock_after_sleep() -> Outcome {
    for _ in 0..20 {
        sleep(Duration::from_millis(2));
    }
    println!("slept");
    deadlock_main()
}

fn deadlock_self_lock() -> Outcome {
    let m = Mutex::new(1);
    let _first = m.lock();
    let _second = m.lock();
    Ok(())
}

fn goexit_main() -> Outcome {
    for i in 0..5 {
        go(move || (0..i * 10).for_each(|_| yield_now()));
    }
    goexit()
}

fn goexit_main_others_work() -> Outcome {
    go(|| {
        sleep(Duration::from_millis(30));
        println!("still here");
        exit(0)
    });
    goexit()
}

#[inline(never)]
fn fails_here(n: u32) -> u32 {
    let list = black_box([1u32, 2, 3]);
    list[black_box(n as usize)]
}

fn panic_main() -> Outcome {
    println!("before");
    black_box(fails_here(7));
    Ok(())
}

#[inline(never)]
fn starts_it() -> JoinHandle<u32> {
    spawn(|| {
        println!("fails in goroutine {}", current().id());
        fails_here(11)
    })
}

fn panic_goroutine() -> Outcome {
    starts_it().join();
    Ok(())
}

/// Every P runs one, and all panic at the same moment.
fn panic_everywhere() -> Outcome {
    static AT_GATE: AtomicU64 = AtomicU64::new(0);
    let n = sched::gomaxprocs() as u64;
    let gs: Vec<_> = (0..n)
        .map(|i| {
            spawn(move || {
                bump(&AT_GATE);
                hold_until(|| AT_GATE.load(Relaxed) == n);
                panic!("panic number {i} of {n}")
            })
        })
        .collect();
    gs.into_iter().for_each(|g| g.join());
    Ok(())
}

/// With a lock held, and other CPUs waiting for it: the report must not wait as well.
fn panic_with_preemption_off() -> Outcome {
    static LOCK: base::SpinLock<u64> = base::SpinLock::new(base::Rank::Leaf, 0);
    static WAITING: AtomicU64 = AtomicU64::new(0);
    let others = sched::gomaxprocs() as u64 - 1;
    for _ in 0..others {
        go(|| {
            bump(&WAITING);
            hold_until(|| WAITING.load(Relaxed) > 1000);
            loop {
                *LOCK.lock() += 1
            }
        });
    }
    hold_until(|| WAITING.load(Relaxed) == others);
    let held = LOCK.lock();
    WAITING.store(2000, Relaxed);
    (0..100_000).for_each(|i| _ = black_box(i));
    panic!("with a lock held that is {}", *held)
}

fn panic_after_goexit() -> Outcome {
    go(|| {
        (0..20).for_each(|_| yield_now());
        panic!("after main was gone")
    });
    goexit()
}

struct Bad;
impl fmt::Display for Bad {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("inside a Display")
    }
}

fn panic_in_display() -> Outcome {
    println!("a value: {Bad}");
    Ok(())
}

fn panic_message_panics() -> Outcome {
    panic!("a message of {Bad}")
}

struct Slow;
impl fmt::Display for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for _ in 0..20 {
            yield_now();
        }
        sleep(Duration::from_millis(2));
        f.write_str("slow text")
    }
}

/// Others run while a panic's message is put together, and it is printed all the same (Go: GoschedInPanic).
fn panic_message_yields() -> Outcome {
    for _ in 0..4 {
        go(|| until(|| false));
    }
    panic!("the message is {Slow}")
}

fn display_yields() -> Outcome {
    let gs: Vec<_> = (0..20)
        .map(|i| spawn(move || println!("line {i}: {Slow}, {Slow}.")))
        .collect();
    gs.into_iter().for_each(|g| g.join());
    Ok(())
}

/// Lines from everywhere at once, on both streams.
fn print_storm() -> Outcome {
    let writers: Vec<_> = (0..8)
        .map(|w| {
            spawn(move || {
                for n in 0..100 {
                    println!("out {w} {n} {}", "x".repeat(n));
                    eprintln!("err {w} {n} {}", "y".repeat(n));
                }
            })
        })
        .collect();
    writers.into_iter().for_each(|w| w.join());
    Ok(())
}

fn printers() {
    for _ in 0..2 * sched::gomaxprocs() {
        go(|| {
            loop {
                println!("still printing on the console");
                eprintln!("still printing on the error side");
            }
        });
    }
    for _ in 0..3 {
        yield_now();
        sleep(Duration::from_micros(200));
    }
}

/// The end does not wait for the others, whatever they hold.
fn exit_while_printing() -> Outcome {
    printers();
    exit(9)
}

/// Others are in the middle of a line for the error side all the time.
fn exit_beside_lines() -> Outcome {
    for _ in 0..3 {
        go(|| {
            let line = "y".repeat(200);
            loop {
                eprintln!("{line}")
            }
        })
    }
    sleep(Duration::from_millis(5));
    exit(9)
}

fn panic_while_printing() -> Outcome {
    printers();
    panic!("while others print")
}

/// Without end; memory has one.
fn too_many_goroutines() -> Outcome {
    for _ in 0..1_000_000 {
        go(|| _ = never::<u32>().recv());
    }
    Err("a million goroutines fitted".into())
}

/// For the time limit.
fn hang() -> Outcome {
    println!("about to hang");
    loop {
        core::hint::spin_loop()
    }
}

/// golang/go #76126: a panic of a goroutine of a group ends the program before whoever waits for the group goes on.
fn panic_in_wait_group() -> Outcome {
    let group = WaitGroup::new();
    for i in 0..10 {
        group.go(move || {
            if i == 5 {
                panic!("one of a group")
            }
        })
    }
    group.wait();
    println!("the wait is over");
    Ok(())
}

/// Go: WaitGroupMisuse.
fn wait_group_below_zero() -> Outcome {
    let group = WaitGroup::new();
    group.add(1);
    group.done();
    group.done();
    Ok(())
}

/// A goroutine of `WaitGroup::go` counts itself out when it ends, and `done` in it is once too often: that shows on g0.
fn wait_group_done_in_go() -> Outcome {
    let group = WaitGroup::new();
    let theirs = group.clone();
    group.go(move || theirs.done());
    until(|| false);
    Ok(())
}
