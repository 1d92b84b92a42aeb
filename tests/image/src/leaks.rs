//! Goroutines that can never run again are found and named; those that can are not.

mod patterns;

use crate::wait::until;
use crate::{Outcome, Test, ensure, figure};
use alloc::collections::BTreeSet;
use core::hint::black_box;
use core::sync::atomic::{AtomicU64, Ordering::*};
use patterns::{PATTERNS, kind};
use ringo::prelude::*;

pub const TESTS: &[Test] = &[
    ("leaks_found", leaks_found),
    ("leaks_none", leaks_none),
    ("leaks_in_calls", leaks_in_calls),
    ("leaks_many", leaks_many),
    ("leaks_in_bubble", leaks_in_bubble),
];

/// Waits until all goroutines but this one wait.
fn all_wait() {
    until(|| {
        let g = ringo::metrics::read().goroutines;
        g.waiting + 1 == g.total()
    })
}

/// Overwrites what frames that have returned left behind.
#[inline(never)]
fn forget_frames() {
    black_box([0usize; 1000]);
}

/// Each pattern, one after the other; others run all the time.
fn leaks_found() -> Outcome {
    let mut known = BTreeSet::new();
    for (name, make, expected) in PATTERNS {
        black_box(make)();
        all_wait();
        forget_frames();
        let report = ringo::leaks();
        ensure!(
            report.0.limit.is_none(),
            "{name}: {}",
            report.0.limit.unwrap_or("")
        );
        let new: Vec<_> = report
            .0
            .certain
            .iter()
            .filter(|l| known.insert(l.g.id))
            .collect();
        let got: Vec<_> = new.iter().map(|l| (l.g.wait, kind(l))).collect();
        let want: Vec<_> = expected.iter().map(|(w, k)| (*w, Some(*k))).collect();
        // Which of two is started first is not asked.
        let fits = got.len() == want.len() && want.iter().all(|w| got.contains(w));
        ensure!(fits, "{name}: found {got:?}, not {want:?}\n{report}");
        for l in new {
            ensure!(l.frames[0] != 0, "{name}: no frames");
            let at = l.g.created_at.map_or("", |at| at.file());
            ensure!(
                at.ends_with("leaks/patterns.rs"),
                "{name}: said to come from \"{at}\""
            );
        }
    }
    figure!("patterns", PATTERNS.len());
    figure!("leaks", known.len());
    eprintln!("{}", ringo::leaks());
    Ok(())
}

fn no_certain(what: &str) -> Result<usize, String> {
    all_wait();
    forget_frames();
    let report = ringo::leaks_after(Duration::ZERO);
    ensure!(
        report.0.certain.is_empty() && report.0.limit.is_none(),
        "{what}: {report}"
    );
    Ok(report.0.suspect.len())
}

/// Everybody here can be woken by somebody. Each case ends, which shows that it was true.
fn leaks_none() -> Outcome {
    static IN_STATIC: Mutex<Vec<Sender<u32>>> = Mutex::new(Vec::new());
    let receivers = |n: usize, rx: &Receiver<u32>| -> Vec<JoinHandle<()>> {
        let one = |_| {
            let rx = rx.clone();
            spawn(move || _ = rx.recv())
        };
        (0..n).map(one).collect()
    };
    let join = |all: Vec<JoinHandle<()>>| all.into_iter().for_each(|g| g.join());

    let (tx, rx) = chan(0);
    let all = receivers(100, &rx);
    ensure!(
        no_certain("the sender is main's")? == 100,
        "not all 100 are suspect"
    );
    drop(tx);
    join(all);

    let (tx, rx) = chan(0);
    IN_STATIC.lock().push(tx);
    let all = receivers(5, &rx);
    no_certain("the sender is in a static")?;
    IN_STATIC.lock().clear();
    join(all);

    let (tx, rx) = chan(0);
    let all = receivers(5, &rx);
    let sleeper = spawn(move || {
        sleep(Duration::from_millis(300));
        drop(tx)
    });
    no_certain("the sender is a sleeper's")?;
    sleeper.join();
    join(all);

    let (tx, rx) = chan(0);
    let (carrier, carried) = chan::<Sender<u32>>(1);
    let _ = carrier.send(tx);
    let all = receivers(5, &rx);
    no_certain("the sender is a value in a channel")?;
    drop(carried.recv());
    join(all);

    // 20 000 channels in an object of its own size.
    let (mut many, mut waiting) = (Vec::new(), Vec::new());
    for i in 0..20_000 {
        let (tx, rx) = chan(0);
        many.push(Box::new(tx));
        if i % 1000 == 0 {
            waiting.extend(receivers(1, &rx))
        }
    }
    no_certain("the senders are in a large object")?;
    drop(many);
    join(waiting);

    let parent = spawn(|| {
        let (tx, rx) = chan::<u32>(0);
        let waiter = spawn(move || _ = rx.recv());
        scope(|s| {
            s.go(|| {
                sleep(Duration::from_millis(300));
                tx.close();
            });
        });
        waiter.join();
    });
    no_certain("the sender is lent from a stack that waits")?;
    parent.join();

    let lock = Arc::new(Mutex::new(0));
    let theirs = lock.clone();
    let owner = spawn(move || {
        let _held = theirs.lock();
        sleep(Duration::from_millis(300));
    });
    until(|| lock.try_lock().is_none());
    let waiters: Vec<_> = (0..5)
        .map(|_| {
            let lock = lock.clone();
            spawn(move || *lock.lock() += 1)
        })
        .collect();
    no_certain("the lock is a sleeper's")?;
    owner.join();
    join(waiters);

    let soon = Duration::from_millis(300);
    let timed = vec![
        spawn(move || _ = after(soon).recv()),
        spawn(move || {
            let ticker = Ticker::new(soon);
            ticker.recv();
        }),
        spawn(move || select! { recv(never::<u32>()) -> _v => (), default(soon) => () }),
        spawn(move || {
            let (context, _handle) = Context::background().with_timeout(soon);
            context.done().recv();
        }),
    ];
    no_certain("timers will wake them")?;
    join(timed);

    let wg = Arc::new(WaitGroup::new());
    wg.add(1);
    let theirs = wg.clone();
    let waiter = spawn(move || theirs.wait());
    let chain = spawn(move || spawn(move || waiter.join()).join());
    no_certain("main will say done, and others join each other")?;
    wg.done();
    chain.join();
    Ok(())
}

/// Begins a pattern in a frame of its own: inlined, its pointers would stay in places of a frame that lives on.
fn plant(pattern: usize) {
    black_box(PATTERNS[pattern].1)()
}

/// While a goroutine is in a blocking call nobody knows what it has in its registers: only what needs no looking is said.
fn leaks_in_calls() -> Outcome {
    static STOP: AtomicU64 = AtomicU64::new(0);
    plant(1); // by pointers
    plant(4); // by itself
    all_wait();
    let call = spawn(|| blocking(|| crate::wait::hold_until(|| STOP.load(Relaxed) == 1)));
    until(|| ringo::metrics::read().goroutines.not_in_go == 1);
    forget_frames();
    let report = ringo::leaks();
    STOP.store(1, Relaxed);
    call.join();
    let (certain, limit) = (report.0.certain.len(), report.0.limit);
    ensure!(
        certain == 1 && limit.is_some(),
        "{certain} are certain, limit {limit:?}"
    );
    // A pointer that an interrupt has left behind in a frame may hide the pair for once.
    let mut after = 0;
    for _ in 0..5 {
        forget_frames();
        after = ringo::leaks().0.certain.len();
        if after == 3 {
            return Ok(());
        }
        yield_now()
    }
    ensure!(after == 3, "{after} are certain after the call");
    Ok(())
}

/// Ten thousand are found as well.
fn leaks_many() -> Outcome {
    let n = 10_000;
    for _ in 0..n / 2 {
        plant(1)
    }
    all_wait();
    forget_frames();
    let begin = Instant::now();
    let report = ringo::leaks();
    figure!("look_ms", begin.elapsed().as_millis());
    let found = report.0.certain.len();
    // A pointer that was left behind somewhere may hide a pair.
    ensure!(found + 4 >= n, "{found} of {n} were found");
    Ok(())
}

/// Who waits for a bubble's end, and who waits in it for one of its timers, goes on: the bubble is reached by its goroutines alone.
fn leaks_in_bubble() -> Outcome {
    static CERTAIN: AtomicU64 = AtomicU64::new(u64::MAX);
    let waits = spawn(|| {
        ringo::synctest::run(|| {
            go(|| {
                // What lies about of their addresses on the CPUs' stacks is overwritten.
                for _ in 0..3000 {
                    spawn(|| black_box([0usize; 100])).join();
                }
                let found = ringo::leaks();
                CERTAIN.store(found.0.certain.len() as u64, Release)
            });
            after(Duration::from_secs(1)).recv();
        })
    });
    waits.join();
    let certain = CERTAIN.load(Acquire);
    ensure!(certain == 0, "{certain} are called certain, and went on");
    Ok(())
}
