//! Who ends the program when several would: `main`, `exit`, `at_exit`, panics, deadlocks (Go: crash_test.go and its
//! programs). What is printed and the status are judged by the harness.

use crate::wait::{bump, hold_until, until};
use crate::{Outcome, Test};
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering::*};
use ringo::prelude::*;

pub const TESTS: &[Test] = &[
    ("main_returns_while_one_panics", || while_one_panics(|| ())),
    ("exit_while_one_panics", || while_one_panics(|| exit(6))),
    ("at_exit_while_one_panics", || {
        at_exit(|| println!("at exit"));
        while_one_panics(|| exit(0))
    }),
    ("blocking_in_panic", blocking_in_panic),
    ("deadlock_in_panic", deadlock_in_panic),
    ("at_exit_panics", at_exit_panics),
    ("at_exit_exits", at_exit_exits),
    ("at_exit_parks", at_exit_parks),
    ("at_exit_deadlocks", at_exit_deadlocks),
    ("at_exit_registers", at_exit_registers),
    ("at_exit_goexits", at_exit_goexits),
    ("at_exit_others_goexit", at_exit_others_goexit),
    ("exit_in_blocking", exit_in_blocking),
    ("exits_in_blocking", exits_in_blocking),
    ("panic_in_blocking", panic_in_blocking),
    ("locked_deadlock", locked_deadlock),
    ("locked_deadlock_2", locked_deadlock_2),
    ("goexit_locked_main", goexit_locked_main),
    ("goexit_exit", goexit_exit),
    ("locks_in_wrong_order", locks_in_wrong_order),
    ("lock_in_itself", lock_in_itself),
];

/// Being formatted; it takes its time.
struct Slow;
static FORMATTING: AtomicU64 = AtomicU64::new(0);

impl fmt::Display for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        bump(&FORMATTING);
        for _ in 0..20 {
            sleep(Duration::from_millis(1));
            yield_now();
        }
        f.write_str("slow text")
    }
}

/// Go: proc.go, `main`: "if a panic is in progress on another goroutine, wait for it to print". `end` comes in the middle
/// of the panic's message.
fn while_one_panics(end: fn()) -> Outcome {
    go(|| panic!("the message is {Slow}"));
    until(|| FORMATTING.load(Relaxed) != 0);
    end();
    Ok(())
}

/// Go: SyscallInPanic.
fn blocking_in_panic() -> Outcome {
    struct Blocks;
    impl fmt::Display for Blocks {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            blocking(|| arch::spin_wait_ns(1_000_000));
            f.write_str("text from a blocking call")
        }
    }
    for _ in 0..4 {
        go(|| until(|| false));
    }
    panic!("the message is {Blocks}")
}

/// The message waits for ever, and so does everybody else.
fn deadlock_in_panic() -> Outcome {
    struct Waits;
    impl fmt::Display for Waits {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            never::<u32>().recv();
            Ok(())
        }
    }
    go(|| panic!("the message is {Waits}"));
    never::<u32>().recv();
    Ok(())
}

fn at_exit_panics() -> Outcome {
    at_exit(|| println!("not reached"));
    at_exit(|| panic!("at the exit"));
    Ok(())
}

/// It leaves out those that have not run, and its status holds.
fn at_exit_exits() -> Outcome {
    at_exit(|| println!("not reached"));
    at_exit(|| exit(8));
    at_exit(|| println!("the first to run"));
    exit(3)
}

/// Others run meanwhile.
fn at_exit_parks() -> Outcome {
    let (tx, rx) = chan::<u32>(0);
    go(move || _ = tx.send(7));
    at_exit(move || {
        sleep(Duration::from_millis(5));
        println!("received {:?} at the exit", rx.recv());
    });
    exit(3)
}

fn at_exit_deadlocks() -> Outcome {
    at_exit(|| _ = never::<u32>().recv());
    Ok(())
}

fn at_exit_registers() -> Outcome {
    at_exit(|| println!("third"));
    at_exit(|| {
        println!("first");
        at_exit(|| println!("second"));
    });
    Ok(())
}

/// The goroutine that ends the program cannot leave it.
fn at_exit_goexits() -> Outcome {
    at_exit(|| println!("not reached"));
    at_exit(|| goexit());
    exit(3)
}

/// Another one may.
fn at_exit_others_goexit() -> Outcome {
    let (tx, rx) = chan::<u32>(0);
    at_exit(move || {
        go(move || {
            let _ = tx.send(5);
            goexit()
        });
        println!("received {:?} at the exit", rx.recv());
    });
    exit(3)
}

fn panic_in_blocking() -> Outcome {
    spawn(|| blocking(|| panic!("in a blocking call"))).join()
}

/// Go: LockedDeadlock.
fn locked_deadlock() -> Outcome {
    lock_to_cpu();
    never::<u32>().recv();
    Ok(())
}

/// Go: LockedDeadlock2: one that is locked waits, and so do others that are not.
fn locked_deadlock_2() -> Outcome {
    go(|| {
        lock_to_cpu();
        never::<u32>().recv();
    });
    for _ in 0..4 {
        go(|| _ = never::<u32>().recv());
    }
    sleep(Duration::from_millis(1));
    never::<u32>().recv();
    Ok(())
}

/// The main goroutine ends while it is locked; its CPU goes on with the others, until none is left.
fn goexit_locked_main() -> Outcome {
    lock_to_cpu();
    for _ in 0..4 {
        go(|| (0..100).for_each(|_| yield_now()));
    }
    goexit()
}

/// Go: GoexitExit: main is gone, another one works and ends the program; nobody calls that a deadlock.
fn goexit_exit() -> Outcome {
    go(|| {
        for _ in 0..5 {
            sleep(Duration::from_millis(2));
            spawn(yield_now).join();
        }
        static BUSY: AtomicU64 = AtomicU64::new(0);
        go(|| _ = bump(&BUSY));
        hold_until(|| BUSY.load(Relaxed) != 0 || sched::gomaxprocs() == 1);
        exit(0)
    });
    goexit()
}

/// I-RANK on the bare machine, where each CPU keeps its own account: one CPU may hold what another one may not take.
fn locks_in_wrong_order() -> Outcome {
    static HIGH: base::SpinLock<u64> = base::SpinLock::new(base::Rank::Frames, 0);
    static LOW: base::SpinLock<u64> = base::SpinLock::new(base::Rank::Timers, 0);
    for _ in 0..1000 {
        let _low = LOW.lock();
        *HIGH.lock() += 1; // in order
    }
    spawn(|| {
        let _high = HIGH.lock();
        *LOW.lock() += 1;
    })
    .join();
    Err("nobody minded".into())
}

/// Without the check it would wait for itself for ever.
fn lock_in_itself() -> Outcome {
    static LOCK: base::SpinLock<u64> = base::SpinLock::new(base::Rank::Join, 0);
    let _first = LOCK.lock();
    *LOCK.lock() += 1;
    Err("nobody minded".into())
}

/// The call ends there: what is registered may wait.
fn exit_in_blocking() -> Outcome {
    let (tx, rx) = chan::<u32>(0);
    at_exit(move || {
        go(move || _ = tx.send(6));
        println!("received {:?} at the exit", rx.recv())
    });
    blocking(|| exit(4))
}

/// While another ends the program.
fn exits_in_blocking() -> Outcome {
    at_exit(|| sleep(Duration::from_millis(20)));
    go(|| {
        sleep(Duration::from_millis(5));
        blocking(|| exit(5))
    });
    exit(4)
}
