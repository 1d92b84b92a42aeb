//! Readers and writers. Go: runtime/rwmutex_test.go.

use crate::param::param;
use crate::wait::{chance, spin};
use crate::{Outcome, Test, ensure, figure};
use core::sync::atomic::{AtomicU64, Ordering::*};
use ringo::prelude::*;

pub const TESTS: &[Test] = &[
    ("rwmutex_hammer", rwmutex_hammer),
    ("rwmutex_parallel_readers", rwmutex_parallel_readers),
];

/// Stays inside for a while, now and then for long enough that others run.
fn linger(rng: &mut base::rng::Rng) {
    match rng.below(4) {
        0 => yield_now(),
        _ => spin(rng.below(200)),
    }
}

/// What a writer adds to the count of those inside.
const WRITER: u64 = 10_000;

/// Go: TestRWMutex, HammerRWMutex. 1, 3 and 10 readers and two writers: who writes is alone, who reads is beside readers only.
fn rwmutex_hammer() -> Outcome {
    static WRONG: AtomicU64 = AtomicU64::new(0);
    let rounds = param("rounds", 300);
    for readers in [1, 3, 10] {
        let (lock, inside) = (Arc::new(RwLock::new(0u64)), Arc::new(AtomicU64::new(0)));
        let wg = WaitGroup::new();
        for i in 0..readers + 2 {
            let (lock, inside) = (lock.clone(), inside.clone());
            wg.go(move || {
                let mut rng = chance(readers << 8 | i);
                for _ in 0..rounds {
                    if i < 2 {
                        let mut held = lock.write();
                        let others = inside.fetch_add(WRITER, SeqCst);
                        *held += 1;
                        linger(&mut rng);
                        WRONG.fetch_add((others != 0).into(), Relaxed);
                        inside.fetch_sub(WRITER, SeqCst);
                    } else {
                        let held = lock.read();
                        let others = inside.fetch_add(1, SeqCst);
                        linger(&mut rng);
                        WRONG.fetch_add((others >= WRITER).into(), Relaxed);
                        inside.fetch_sub(1, SeqCst);
                        drop(held);
                    }
                    if rng.below(8) == 0 {
                        yield_now()
                    }
                }
            });
        }
        wg.wait();
        let written = *lock.read();
        ensure!(written == 2 * rounds, "{written} of {} writes", 2 * rounds);
    }
    figure!("rounds", rounds);
    ensure!(
        WRONG.load(Relaxed) == 0,
        "{} times others were inside who must not be",
        WRONG.load(Relaxed)
    );
    Ok(())
}

/// Go: TestParallelRWMutexReaders. Readers are inside at the same time: each waits there for all the others.
fn rwmutex_parallel_readers() -> Outcome {
    for round in 0..param("rounds", 100) {
        let readers = [1, 3, 4][round as usize % 3];
        let lock = Arc::new(RwLock::new(()));
        let (come, came) = chan::<()>(0);
        let (leave, may_leave) = chan::<()>(0);
        let gs: Vec<_> = (0..readers)
            .map(|_| {
                let (lock, come, may_leave) = (lock.clone(), come.clone(), may_leave.clone());
                spawn(move || {
                    let held = lock.read();
                    come.send(()).expect("open");
                    may_leave.recv();
                    drop(held)
                })
            })
            .collect();
        for _ in 0..readers {
            came.recv().ok_or("the readers are gone")?;
        }
        ensure!(
            lock.try_write().is_none(),
            "a writer beside {readers} readers"
        );
        leave.close();
        gs.into_iter().for_each(|g| g.join());
        ensure!(lock.try_write().is_some(), "no writer after the readers");
    }
    Ok(())
}
