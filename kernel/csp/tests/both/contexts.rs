//! Go's tests of contexts (context/context_test.go, x_test.go, afterfunc_test.go), in our words.

use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering::*};
use csp::context::{Context, ContextError::*};
use csp::sync::WaitGroup;
use csp::time::{Duration, Instant, sleep};
use csp::{chan, select, spawn};

/// The tests of this file.
pub const TESTS: &[(&str, fn())] = &[
    (
        "context_cancel_goes_down_and_not_up",
        cancel_goes_down_and_not_up,
    ),
    (
        "context_child_of_an_ended_one_has_ended",
        child_of_an_ended_one_has_ended,
    ),
    ("context_deadlines", deadlines),
    ("context_causes", causes),
    (
        "context_err_is_there_when_done_is_closed",
        err_is_there_when_done_is_closed,
    ),
    ("context_simultaneous_cancels", simultaneous_cancels),
    ("context_interlocked_cancels", interlocked_cancels),
    ("context_a_chain_of_ten_thousand", a_chain_of_ten_thousand),
    ("context_after_func", after_func),
    ("context_nothing_is_kept", nothing_is_kept),
    ("context_layers", layers),
    ("context_cause_race", cause_race),
    ("context_cancel_in_a_call", cancel_in_a_call),
    ("context_the_second_cancel", the_second_cancel),
    ("context_done_alone", done_alone),
];

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

fn alive(ctx: &Context) -> bool {
    select! { recv(ctx.done()) -> _v => false, default => ctx.err().is_none() }
}

/// Go: WithCancel, Background, LayersCancel's first part.
fn cancel_goes_down_and_not_up() {
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
}

/// Go: WithCancelCanceledParent.
fn child_of_an_ended_one_has_ended() {
    let (parent, cancel) = Context::background().with_cancel();
    cancel.cancel_cause("no more");
    let (child, _c) = parent.with_cancel();
    assert_eq!(child.err(), Some(Canceled));
    assert_eq!(child.cause().unwrap().to_string(), "no more");
    assert!(!alive(&child));
}

/// Go: Deadline, Timeout, CanceledTimeout.
fn deadlines() {
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
}

/// Go: Cause, CauseRace, WithoutCancel.
fn causes() {
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
}

/// Go: ContextErrDoneRace (golang/go #75533): who sees `done` closed sees the error.
fn err_is_there_when_done_is_closed() {
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
}

/// Go: SimultaneousCancels: a binary tree, all cancelled at once.
fn simultaneous_cancels() {
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
}

/// Go: InterlockedCancels: parent and child cancel each other.
fn interlocked_cancels() {
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
}

/// Long chains are ended and dropped without deep recursion.
fn a_chain_of_ten_thousand() {
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
}

/// Go: AfterFunc, its Stop, CalledImmediately, NotCalledAfterStop, CalledAsynchronously.
fn after_func() {
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
}

/// A deadline that is far away keeps nothing: not the context, nor what its functions hold.
fn nothing_is_kept() {
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
}

/// Go: LayersCancel, LayersTimeout: two hundred layers of all kinds. Nothing below ends before what is above, and then all do, for
/// the reason of the one that ended.
fn layers() {
    for by_time in [false, true] {
        let (root, cancel) = Context::background().with_cancel();
        let mut layers = Vec::from([(root, cancel)]);
        for i in 0..200 {
            let above = &layers[layers.len() - 1].0;
            let next = match i % 3 {
                0 => above.with_cancel(),
                1 => above.with_timeout(HOUR),
                _ if by_time && i == 101 => above.with_timeout(20 * MS),
                _ => above.with_deadline(Instant::now() + 2 * HOUR),
            };
            layers.push(next)
        }
        let ended = |(ctx, _): &&(Context, _)| ctx.err().is_some();
        let last = layers[200].0.clone();
        if by_time {
            assert!(last.deadline().unwrap() <= Instant::now() + 20 * MS);
            last.done().recv();
            assert_eq!(last.err(), Some(DeadlineExceeded));
            assert!(
                !layers[..102].iter().any(|l| ended(&l)),
                "above the one that ended"
            );
            let below = layers[102..].iter().map(|l| l.0.err());
            assert!(below.into_iter().all(|e| e == Some(DeadlineExceeded)));
        } else {
            assert!(!layers.iter().any(|l| ended(&l)));
        }
        layers[0].1.cancel();
        assert_eq!(layers.iter().filter(ended).count(), layers.len());
        let why = if by_time { DeadlineExceeded } else { Canceled };
        assert_eq!((layers[0].0.err(), last.err()), (Some(Canceled), Some(why)));
    }
}

/// Go: CauseRace: of two that cancel at once one gives the cause, for all to see from then on.
fn cause_race() {
    for round in 0..200 {
        let (ctx, cancel) = Context::background().with_cancel();
        let (child, _c) = ctx.with_cancel();
        let both = ["one", "two"].map(|why| {
            let cancel = cancel.clone();
            spawn(move || cancel.cancel_cause(why))
        });
        child.done().recv();
        let seen = [&ctx, &child].map(|c| c.cause().unwrap().to_string());
        both.into_iter().for_each(|g| g.join());
        let later = [&ctx, &child].map(|c| c.cause().unwrap().to_string());
        assert!(seen[0] == "one" || seen[0] == "two", "{seen:?}");
        assert_eq!(seen[0], seen[1], "round {round}");
        assert_eq!(seen, later, "round {round}");
    }
}

/// A cancel is a wake-up: it may come from a blocking call, and goes all the way down.
fn cancel_in_a_call() {
    let (ctx, cancel) = Context::background().with_cancel();
    let (tx, rx) = chan(0);
    ctx.after_func(move || tx.send("ran").unwrap());
    let (below, _c) = ctx.with_timeout(HOUR);
    let waits = spawn({
        let below = below.clone();
        move || below.done().recv()
    });
    sched::blocking(|| cancel.cancel());
    assert_eq!(below.err(), Some(Canceled));
    assert_eq!(rx.recv(), Some("ran"));
    assert_eq!(waits.join(), None);
}

/// Go: `cancelCtx.cancel` holds its lock until all below has ended: so it has for whoever cancels, also if another was first.
fn the_second_cancel() {
    for _ in 0..20 {
        let (root, cancel) = Context::background().with_cancel();
        let (below, _cancels): (Vec<_>, Vec<_>) = (0..1000).map(|_| root.with_cancel()).unzip();
        let first = spawn({
            let cancel = cancel.clone();
            move || cancel.cancel()
        });
        while root.err().is_none() {
            sched::yield_now()
        }
        cancel.cancel();
        // The last ones first: the other goroutine is still at it.
        let alive = below.iter().rev().filter(|ctx| alive(ctx)).count();
        assert_eq!(alive, 0, "after the second cancel");
        first.join();
    }
}

/// The channel alone is left of a context: it closes when the context ends, and not because nobody has the context any more.
fn done_alone() {
    let (parent, cancel) = Context::background().with_cancel();
    let begin = Instant::now();
    let by_time = Context::background().with_timeout(5 * MS).0.done();
    let by_parent = parent.with_cancel().0.done();
    let by_nobody = Context::background().with_cancel().0.done();
    let much_later = parent.with_timeout(HOUR).0.done();
    assert!(!by_parent.is_closed() && !by_nobody.is_closed() && !much_later.is_closed());
    assert_eq!(by_time.recv(), None);
    assert!(begin.elapsed() >= 5 * MS);
    let waits = spawn({
        let by_parent = by_parent.clone();
        move || by_parent.recv()
    });
    cancel.cancel();
    assert!(by_parent.is_closed() && much_later.is_closed() && !by_nobody.is_closed());
    assert_eq!(waits.join(), None);
}
