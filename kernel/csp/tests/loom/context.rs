//! Contexts: what ends above ends below, and says why before it says that.
use crate::world::{explore, g, gs, saw};
use csp::context::{Context, ContextError::Canceled};
use sched::models::parks;

/// A child is made while its parent ends: it ends as well.
#[test]
fn child_against_cancel() {
    explore(3, &["born before", "born later"], || {
        let (ctx, cancel) = Context::background().with_cancel();
        let mut child = None;
        gs([
            g(|| {
                let (c, _) = ctx.with_cancel();
                saw(if c.err().is_some() {
                    "born later"
                } else {
                    "born before"
                });
                child = Some(c)
            }),
            g(|| cancel.cancel()),
        ]);
        assert_eq!(child.and_then(|c| c.err()), Some(Canceled), "the child");
    })
}

/// Who sees that it is over sees why (golang/go #75533).
#[test]
fn done_against_err() {
    explore(3, &["was over", "waited"], || {
        let (ctx, cancel) = Context::background().with_cancel();
        gs([
            g(|| {
                assert_eq!(ctx.done().recv(), None);
                assert_eq!(ctx.err(), Some(Canceled), "what is over has a reason");
                saw(["was over", "waited"][parks() as usize])
            }),
            g(|| cancel.cancel()),
        ])
    })
}

/// Two cancel: one reason, and it stays.
#[test]
fn cancel_against_cancel() {
    explore(3, &["a", "b"], || {
        let (ctx, cancel) = Context::background().with_cancel();
        let why = || ctx.cause().map(|c| c.to_string());
        let [mut a, mut b] = [None, None];
        gs([
            g(|| {
                cancel.cancel_cause("a");
                a = why()
            }),
            g(|| {
                cancel.cancel_cause("b");
                b = why()
            }),
        ]);
        assert_eq!(a, b, "what each sees");
        saw(if a.as_deref() == Some("a") { "a" } else { "b" })
    })
}

/// Two cancel: all below has ended for each of them when it returns, whoever was first.
#[test]
fn cancel_against_cancel_below() {
    explore(3, &["first", "second"], || {
        let (ctx, cancel) = Context::background().with_cancel();
        let (child, _c) = ctx.with_cancel();
        let ends = || {
            let first = ctx.err().is_none();
            cancel.cancel();
            assert_eq!(child.err(), Some(Canceled), "below");
            assert!(child.done().is_closed(), "below: done");
            saw(if first { "first" } else { "second" })
        };
        gs([g(ends), g(ends)])
    })
}
