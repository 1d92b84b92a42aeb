//! Go's tests of contexts (context/context_test.go, x_test.go, afterfunc_test.go), in our words.

use super::{Context, ContextError::*};
use crate::sync::WaitGroup;
use crate::time::{Duration, Instant, sleep};
use crate::{chan, select, spawn};
use alloc::sync::Arc;
use alloc::vec::Vec;
use sched::testing::run;
use std::string::ToString;
use std::sync::atomic::{AtomicU32, Ordering::*};

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

fn alive(ctx: &Context) -> bool {
    select! { recv(ctx.done()) -> _v => false, default => ctx.err().is_none() }
}

/// Go: WithCancel, Background, LayersCancel's first part.
#[test]
fn cancel_goes_down_and_not_up() {
    run(2, 2, || {
        let root = Context::background();
        let (a, cancel_a) = root.with_cancel();
        let (b, cancel_b) = a.with_cancel();
        let (c, _cancel_c) = b.with_timeout(HOUR);
        let (d, _cancel_d) = a.with_cancel();
        cancel_b.cancel();
        assert!(alive(&root) && alive(&a) && alive(&d));
        assert_eq!((b.err(), c.err()), (Some(Canceled), Some(Canceled)));
        assert_eq!(c.done().recv(), None);
        cancel_a.cancel();
        cancel_a.cancel();
        assert_eq!((a.err(), d.err()), (Some(Canceled), Some(Canceled)));
        assert!(alive(&root));
        assert_eq!(a.err().unwrap().to_string(), "context canceled");
    });
}

/// Go: WithCancelCanceledParent.
#[test]
fn child_of_an_ended_one_has_ended() {
    run(1, 1, || {
        let (parent, cancel) = Context::background().with_cancel();
        cancel.cancel_cause("no more");
        let (child, _c) = parent.with_cancel();
        assert_eq!(child.err(), Some(Canceled));
        assert_eq!(child.cause().unwrap().to_string(), "no more");
        assert!(!alive(&child));
    });
}

/// Go: ParentFinishesChild, ChildFinishesFirst, CancelRemoves: who has ended, or is not held any more, is not kept.
#[test]
fn children_go_out_of_the_list() {
    run(1, 1, || {
        let (parent, cancel) = Context::background().with_cancel();
        let children = || parent.node.as_ref().unwrap().children();
        let (a, cancel_a) = parent.with_cancel();
        let (b, cancel_b) = parent.with_timeout(HOUR);
        let f = parent.after_func(|| {});
        assert_eq!(children(), 3);
        cancel_a.cancel();
        assert_eq!(children(), 2);
        assert!(f.stop() && !f.stop());
        drop((b, cancel_b));
        assert_eq!(children(), 0);
        cancel.cancel();
        assert_eq!((a.err(), parent.err()), (Some(Canceled), Some(Canceled)));
    });
}

/// Go: Deadline, Timeout, CanceledTimeout.
#[test]
fn deadlines() {
    run(2, 2, || {
        let begin = Instant::now();
        let (a, cancel) = Context::background().with_timeout(5 * MS);
        // A later deadline below changes nothing; an earlier one does.
        let (b, _b) = a.with_timeout(HOUR);
        assert_eq!(b.deadline(), a.deadline());
        b.done().recv();
        assert!(begin.elapsed() >= 5 * MS);
        assert_eq!(
            (a.err(), b.err()),
            (Some(DeadlineExceeded), Some(DeadlineExceeded))
        );
        cancel.cancel();
        assert_eq!(a.err(), Some(DeadlineExceeded), "the first one wins");
        assert_eq!(a.err().unwrap().to_string(), "context deadline exceeded");

        let (c, cancel) = Context::background().with_timeout(HOUR);
        let (d, _d) = c.with_deadline_cause(Instant::now() + MS, "too slow");
        d.done().recv();
        assert_eq!((d.err(), c.err()), (Some(DeadlineExceeded), None));
        assert_eq!(d.cause().unwrap().to_string(), "too slow");
        cancel.cancel();
        sleep(2 * MS);
        assert_eq!(c.err(), Some(Canceled));

        let (past, _p) = Context::background().with_deadline(begin);
        assert_eq!(past.err(), Some(DeadlineExceeded));
    });
}

/// Go: Cause, CauseRace, WithoutCancel.
#[test]
fn causes() {
    run(2, 2, || {
        let (a, cancel) = Context::background().with_cancel();
        assert!(a.cause().is_none());
        let (b, cancel_b) = a.with_cancel();
        let apart = a.without_cancel();
        cancel_b.cancel_cause("below");
        cancel.cancel_cause("above");
        cancel.cancel_cause("late");
        assert_eq!(b.cause().unwrap().to_string(), "below");
        assert_eq!(a.cause().unwrap().to_string(), "above");
        assert_eq!(a.err(), Some(Canceled));
        assert!(alive(&apart));
        let (c, cancel) = Context::background().with_cancel();
        cancel.cancel();
        assert_eq!(c.cause().unwrap().to_string(), "context canceled");
    });
}

/// Go: ContextErrDoneRace (golang/go #75533): who sees `done` closed sees the error.
#[test]
fn err_is_there_when_done_is_closed() {
    run(2, 2, || {
        for _ in 0..500 {
            let (ctx, cancel) = Context::background().with_cancel();
            let (child, _c) = ctx.with_timeout(HOUR);
            let watch = spawn(move || {
                child.done().recv();
                (child.err(), child.cause().is_some())
            });
            cancel.cancel();
            assert_eq!(watch.join(), (Some(Canceled), true));
        }
    });
}

/// Go: SimultaneousCancels: a binary tree, all cancelled at once.
#[test]
fn simultaneous_cancels() {
    run(2, 2, || {
        let (root, cancel) = Context::background().with_cancel();
        let mut all = Vec::from([(root, cancel)]);
        for i in 0..255 {
            let parent = all[i / 2].0.clone();
            all.push(parent.with_cancel())
        }
        let wg = Arc::new(WaitGroup::new());
        for (_, cancel) in &all {
            let cancel = cancel.clone();
            wg.go(move || cancel.cancel())
        }
        wg.wait();
        for (ctx, _) in &all {
            ctx.done().recv();
            assert_eq!(ctx.err(), Some(Canceled))
        }
    });
}

/// Go: InterlockedCancels: parent and child cancel each other.
#[test]
fn interlocked_cancels() {
    run(2, 2, || {
        for _ in 0..200 {
            let (parent, cancel_parent) = Context::background().with_cancel();
            let (child, cancel_child) = parent.with_cancel();
            let a = spawn(move || parent.done().recv());
            let b = spawn(move || {
                child.done().recv();
                cancel_parent.cancel()
            });
            cancel_child.cancel();
            b.join();
            a.join();
        }
    });
}

/// Long chains are ended and dropped without deep recursion.
#[test]
fn a_chain_of_ten_thousand() {
    run(1, 1, || {
        let (root, cancel) = Context::background().with_cancel();
        let mut last = root.clone();
        let mut cancels = Vec::new();
        for _ in 0..10_000 {
            let (next, c) = last.with_cancel();
            cancels.push(c);
            last = next
        }
        cancels.clear();
        cancel.cancel();
        assert_eq!(last.err(), Some(Canceled));
        let (mut last, _c) = Context::background().with_cancel();
        for _ in 0..10_000 {
            last = last.with_cancel().0
        }
        drop(last)
    });
}

/// Go: AfterFunc, its Stop, CalledImmediately, NotCalledAfterStop, CalledAsynchronously.
#[test]
fn after_func() {
    run(2, 2, || {
        let (ctx, cancel) = Context::background().with_cancel();
        let (tx, rx) = chan(0); // unbuffered: a function that ran inside `cancel` would hang
        let runs = ctx.after_func({
            let tx = tx.clone();
            move || tx.send("ran").unwrap()
        });
        let n = Arc::new(AtomicU32::new(0));
        let count = n.clone();
        let stopped = ctx.after_func(move || {
            count.fetch_add(1, Relaxed);
        });
        assert!(stopped.stop());
        cancel.cancel();
        assert_eq!(rx.recv(), Some("ran"));
        assert!(!runs.stop());
        let at_once = ctx.after_func(move || tx.send("late").unwrap());
        assert_eq!(rx.recv(), Some("late"));
        assert!(!at_once.stop());
        assert!(Context::background().after_func(|| unreachable!()).stop());
        assert_eq!(n.load(Relaxed), 0);
    });
}

/// A deadline that is far away keeps nothing: not the context, nor what its functions hold.
#[test]
fn nothing_is_kept() {
    run(1, 1, || {
        let held = Arc::new(());
        for _ in 0..100 {
            let (ctx, cancel) = Context::background().with_timeout(HOUR);
            let h = held.clone();
            ctx.after_func(move || drop(h)).stop();
            let h = held.clone();
            let _ = ctx.after_func(move || drop(h));
            drop(cancel)
        }
        assert_eq!(Arc::strong_count(&held), 1);
        let pending = sched::this()
            .allp
            .iter()
            .map(|p| p.timers.len())
            .sum::<u32>();
        assert!(pending < 64, "{pending}");
    });
}
