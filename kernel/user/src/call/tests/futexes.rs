use super::*;
use crate::futex::Waited;
use core::sync::atomic::{AtomicU32, Ordering::*};
use csp::time::{Duration, Instant};
use std::sync::Arc as StdArc;

#[test]
fn what_is_no_word() {
    run(|| {
        let p = Process::new();
        p.call(|ctx| {
            for bad in BAD.into_iter().chain([BASE + 1, BASE + 2]) {
                assert_eq!(futex_wait(ctx, bad, 0, 0), Err(Error::BadAddress));
                assert_eq!(futex_wake(ctx, bad, 1), Err(Error::BadAddress));
            }
            assert_eq!(futex_wait(ctx, BASE, 1 << 32, 0), Err(Error::BadArgument));
            assert_eq!(futex_wake(ctx, BASE, u64::MAX), Ok(0));
        })
    })
}

#[test]
fn a_word_that_has_changed_and_a_time_that_is_up() {
    run(|| {
        let p = Process::new();
        p.call(|ctx| {
            assert_eq!(futex_wait(ctx, BASE, 1, abi::FOREVER), Err(Error::Again));
            assert_eq!(futex_wait(ctx, BASE, 0, 0), Err(Error::TimedOut));
            for ms in [1, 5] {
                let begin = Instant::now();
                assert_eq!(
                    futex_wait(ctx, BASE, 0, ms * 1_000_000),
                    Err(Error::TimedOut)
                );
                assert!(begin.elapsed() >= Duration::from_millis(ms));
            }
        })
    })
}

#[test]
fn so_many_wake_and_of_that_word() {
    run(|| {
        let p = Process::new();
        let shared = Process::with(p.memory.clone());
        let woken = StdArc::new(AtomicU32::new(0));
        let sleeper = |p: &Arc<Process>, address| {
            let woken = woken.clone();
            p.thread(move |ctx| {
                let answer = futex_wait(ctx, address, 0, abi::FOREVER);
                woken.fetch_add(1, SeqCst);
                answer
            })
        };
        let mut first: Vec<_> = (0..3).map(|_| sleeper(&p, BASE)).collect();
        first.extend((0..3).map(|_| sleeper(&shared, BASE))); // the same word
        let other = sleeper(&p, BASE + 4);
        a_while();
        p.call(|ctx| {
            assert_eq!(futex_wake(ctx, BASE, 0), Ok(0));
            assert_eq!(futex_wake(ctx, BASE, 2), Ok(2));
            a_while();
            assert_eq!(woken.load(SeqCst), 2);
            assert_eq!(futex_wake(ctx, BASE, u64::MAX), Ok(4));
            first
                .into_iter()
                .for_each(|s| assert_eq!(s.join(), Ok(Waited::Woken)));
            assert_eq!(woken.load(SeqCst), 6);
            assert_eq!(futex_wake(ctx, BASE + 4, 9), Ok(1));
            assert_eq!(other.join(), Ok(Waited::Woken));
        })
    })
}

/// A lock made of a byte: 0 free, 1 taken, 2 taken and waited for (Drepper).
fn locked(ctx: &Ctx<'_>, p: &Process, timeout_ns: u64, f: impl FnOnce()) {
    let byte = p.memory.byte(BASE);
    let mut seen = byte
        .compare_exchange(0, 1, SeqCst, SeqCst)
        .unwrap_or_else(|s| s);
    while seen != 0 {
        if seen == 2 || byte.compare_exchange(1, 2, SeqCst, SeqCst) != Ok(0) {
            let answer = futex_wait(ctx, BASE, 2, timeout_ns);
            assert!(!matches!(answer, Err(Error::Killed | Error::BadAddress)))
        }
        seen = byte
            .compare_exchange(0, 2, SeqCst, SeqCst)
            .unwrap_or_else(|s| s)
    }
    f();
    if byte.swap(0, SeqCst) == 2 {
        futex_wake(ctx, BASE, 1).unwrap();
    }
}

/// No wake-up is lost, with and without times that are up at the same moment.
#[test]
fn a_lock_of_many() {
    run(|| {
        for timeout_ns in [abi::FOREVER, 20_000] {
            let p = Process::new();
            let count = StdArc::new(AtomicU32::new(0));
            let threads: Vec<_> = (0..6)
                .map(|_| {
                    let (p, count) = (p.clone(), count.clone());
                    p.clone().thread(move |ctx| {
                        for _ in 0..500 {
                            locked(ctx, &p, timeout_ns, || {
                                let n = count.load(Relaxed);
                                sched::yield_now();
                                count.store(n + 1, Relaxed)
                            })
                        }
                    })
                })
                .collect();
            threads.into_iter().for_each(|t| t.join());
            assert_eq!(count.load(Relaxed), 3000);
        }
    })
}
