//! Dumps: what the machine shows of its goroutines, Ps and Ms.

use crate::param::param;
use crate::wait::{hold_until, until};
use crate::{Outcome, Test, ensure, figure};
use core::sync::atomic::{AtomicBool, Ordering::*};
use ringo::prelude::*;

pub const TESTS: &[Test] = &[
    ("dump_kinds", dump_kinds),
    ("dump_counts", dump_counts),
    ("dump_beside_hog", dump_beside_hog),
    ("dump_many", dump_many),
    ("dump_minutes", dump_minutes),
    ("dump_from_everywhere", dump_from_everywhere),
    ("no_helper_goroutines", no_helper_goroutines),
    ("shell", || {
        ringo::shell::run();
        Ok(())
    }),
];

static STOP: AtomicBool = AtomicBool::new(false);

#[inline(never)]
fn receives_for_ever(rx: Receiver<u32>) {
    rx.recv();
}

#[inline(never)]
fn spins_until_told() {
    hold_until(|| STOP.load(Relaxed));
}

/// One goroutine keeps its CPU and cannot be interrupted, one waits. Both reports come all the same.
fn dump_beside_hog() -> Outcome {
    static RUNS: AtomicBool = AtomicBool::new(false);
    go(|| _ = never::<u32>().recv());
    go(|| {
        RUNS.store(true, Relaxed);
        loop {
            core::hint::spin_loop()
        }
    });
    until(|| RUNS.load(Relaxed) && ringo::metrics::read().goroutines.waiting == 1);
    ringo::dump();
    let report = ringo::leaks_after(Duration::ZERO);
    ensure!(report.0.certain.len() == 1, "certain: {report}");
    eprintln!("{report}");
    yield_now(); // everybody else goes on
    Ok(())
}

/// A goroutine of each kind. What the dump says of them is judged outside.
fn dump_kinds() -> Outcome {
    let mutex = Arc::new(Mutex::new(0));
    let lock = Arc::new(RwLock::new(0));
    let (held, read) = (mutex.lock(), lock.read());
    let (tx, rx) = chan::<u32>(0);
    let (full, _keep) = chan::<u32>(0);
    let one = rx.clone();
    go(move || {
        lock_to_cpu();
        receives_for_ever(one)
    });
    go(move || _ = full.send(1));
    go(move || select! { recv(rx) -> _v => (), recv(never::<u32>()) -> _v => () });
    go(|| _ = never::<u32>().recv());
    go(|| {
        sleep(Duration::from_secs(3600));
        STOP.store(true, Relaxed) // after it, so that the call above is no jump
    });
    let (m, l) = (mutex.clone(), lock.clone());
    go(move || *m.lock() += 1);
    go(move || *l.write() += 1);
    until(|| num_goroutine() == 8 && ringo::metrics::read().goroutines.waiting == 7);
    let l = lock.clone();
    go(move || _ = *l.read()); // behind the writer
    let wg = WaitGroup::new();
    wg.add(1);
    go(move || wg.wait());
    go(|| Semaphore::new(0).acquire());
    go(|| {
        let m = Mutex::new(0);
        let _held = Cond::new().wait(m.lock());
    });
    go(|| spawn(|| sleep(Duration::from_secs(3600))).join());
    until(|| num_goroutine() == 14 && ringo::metrics::read().goroutines.waiting == 13);
    // One that has to be stopped where it is; without preemption nobody could.
    if ringo::machine::preempts() && num_cpu() > 1 {
        go(spins_until_told);
        until(|| ringo::metrics::read().goroutines.running == 2);
    }
    figure!("goroutines", num_goroutine());
    ringo::dump();
    STOP.store(true, Relaxed);
    drop((held, read, tx));
    Ok(())
}

/// Go: TestNumGoroutine. Dumps while goroutines come and go: in one of ten the number is that of the headers.
fn dump_counts() -> Outcome {
    for _ in 0..20 {
        go(|| _ = never::<u32>().recv());
    }
    for round in 0..10 {
        for _ in 0..20 {
            go(yield_now);
        }
        (0..round * 5).for_each(|_| yield_now());
        eprintln!("dump of {}", num_goroutine());
        ringo::dump();
        eprintln!("dumped {}", num_goroutine());
    }
    Ok(())
}

/// More than are shown.
fn dump_many() -> Outcome {
    let many = param("many", 3000);
    for _ in 0..many {
        go(|| _ = never::<u32>().recv());
    }
    until(|| ringo::metrics::read().goroutines.waiting == many);
    let begin = Instant::now();
    ringo::dump();
    figure!("dump_ms", begin.elapsed().as_millis());
    Ok(())
}

/// For virtual time: who has waited for minutes is shown so.
fn dump_minutes() -> Outcome {
    go(|| _ = never::<u32>().recv());
    sleep(Duration::from_secs(125));
    go(|| Semaphore::new(0).acquire());
    sleep(Duration::from_secs(30));
    ringo::dump();
    Ok(())
}

/// Several at a time, and others run: each dump is whole.
fn dump_from_everywhere() -> Outcome {
    let busy: Vec<_> = (0..4)
        .map(|_| spawn(|| until(|| STOP.load(Relaxed))))
        .collect();
    let dumpers: Vec<_> = (0..4)
        .map(|_| {
            spawn(|| {
                for _ in 0..3 {
                    ringo::dump();
                    yield_now()
                }
            })
        })
        .collect();
    dumpers.into_iter().for_each(|g| g.join());
    STOP.store(true, Relaxed);
    busy.into_iter().for_each(|g| g.join());
    ensure!(num_goroutine() == 1, "{} are left", num_goroutine());
    Ok(())
}

/// Go: TestMainGoroutineID, TestNoHelperGoroutines. Whatever the system needs of its own is not shown.
fn no_helper_goroutines() -> Outcome {
    sleep(Duration::from_millis(5));
    ringo::dump();
    Ok(())
}
