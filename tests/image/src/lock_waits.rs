//! Waits for locks of the kernel (Go: runtime/metrics_test.go).

use crate::wait::{hold_until, until};
use crate::{Outcome, Test, ensure, figure};
use base::{Rank, SpinLock};
use core::sync::atomic::{AtomicU64, Ordering::*};
use ringo::metrics;
use ringo::prelude::*;

pub const TESTS: &[Test] = &[("lock_wait_metric", lock_wait_metric)];

/// Go: RuntimeLockMetrics. A CPU waits for a lock of the kernel that another one holds: that is one wait more, no longer than it
/// took. On one CPU nobody holds a lock while another runs: there is none.
fn lock_wait_metric() -> Outcome {
    static LOCK: SpinLock<()> = SpinLock::new(Rank::Leaf, ());
    static TURN: AtomicU64 = AtomicU64::new(0);
    let waits = || metrics::read().lock_waits[Rank::Leaf as usize];
    if num_cpu() == 1 {
        let before = metrics::read().lock_wait_ns();
        (0..1000).for_each(|_| drop(LOCK.lock()));
        ensure!(metrics::read().lock_wait_ns() == before, "waits on one CPU");
        return Ok(());
    }
    let (mut shown, mut ns) = (0, 0);
    for round in 0..200 {
        TURN.store(0, Relaxed);
        let holder = spawn(|| {
            let held = LOCK.lock();
            TURN.store(1, Relaxed);
            hold_until(|| TURN.load(Relaxed) == 2);
            arch::spin_wait_ns(100_000);
            drop(held)
        });
        until(|| TURN.load(Relaxed) == 1);
        let (before, began_ns) = (waits(), arch::now_ns());
        TURN.store(2, Relaxed);
        drop(LOCK.lock());
        let (after, took_ns) = (waits(), arch::now_ns() - began_ns);
        holder.join();
        let more = after.count - before.count;
        ensure!(more <= 1, "{more} waits in round {round}");
        ensure!(
            after.ns - before.ns <= took_ns,
            "a wait of {} ns took {took_ns}",
            after.ns - before.ns
        );
        ensure!(
            (more == 0) == (after.ns == before.ns),
            "{more} waits, and {} ns",
            after.ns - before.ns
        );
        shown += more;
        ns += after.ns - before.ns;
        if shown == 5 {
            break; // the host may have kept this CPU until the lock was free again; not each time
        }
    }
    figure!("lock_wait_ns", ns / shown.max(1));
    ensure!(shown == 5, "of 200 waits {shown} show");
    Ok(())
}
