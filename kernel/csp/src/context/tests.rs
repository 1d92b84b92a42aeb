//! What cannot be seen from outside; the rest is in `tests/both/contexts.rs`.

use super::{Context, ContextError::*};
use crate::time::Duration;
use sched::testing::run;

const HOUR: Duration = Duration::from_secs(3600);

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
