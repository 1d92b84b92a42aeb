//! The list keeps whole whatever is taken out of it, and in order.

use super::{WaitQueue, Waiter};
use alloc::vec::Vec;
use base::Rng;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use sched::testing::run;

/// What `elem` of each waiter in the list says, by walking both ways.
fn content(q: &WaitQueue) -> Vec<usize> {
    let (mut forth, mut back) = (Vec::new(), Vec::new());
    let mut at = q.head;
    while !at.is_null() {
        // SAFETY: linked waiters are alive in these tests.
        let w = unsafe { &*at };
        forth.push(w.elem as usize);
        at = w.next.get();
    }
    at = q.tail;
    while !at.is_null() {
        // SAFETY: as above.
        let w = unsafe { &*at };
        back.push(w.elem as usize);
        at = w.prev.get();
    }
    back.reverse();
    assert_eq!(forth, back);
    forth
}

#[test]
fn remove_from_any_place_keeps_the_list_whole() {
    run(1, 1, || {
        let ws: Vec<Waiter> = (0..8)
            .map(|i| Waiter::new(ptr::without_provenance_mut(i)))
            .collect();
        let mut rng = Rng::new(1);
        let mut q = WaitQueue::new();
        let mut model: Vec<usize> = Vec::new();
        for _ in 0..20_000 {
            let i = rng.below(8) as usize;
            // SAFETY: `ws` outlives the list, and `model` knows who is linked.
            unsafe {
                match (model.iter().position(|&m| m == i), rng.below(3)) {
                    (Some(at), 0) => {
                        q.remove(&ws[i]);
                        model.remove(at);
                    }
                    (Some(_), _) => {
                        let first = q.pop().map(|w| w.waiter().elem as usize);
                        assert_eq!(first, Some(model.remove(0)));
                    }
                    (None, 0) => q.remove(&ws[i]),
                    (None, 1) => {
                        q.push_back(&ws[i]);
                        model.push(i);
                    }
                    (None, _) => {
                        q.push_front(&ws[i]);
                        model.insert(0, i);
                    }
                }
            }
            assert_eq!(content(&q), model);
            assert_eq!(q.is_empty(), model.is_empty());
        }
        // SAFETY: linked here or nowhere.
        ws.iter().for_each(|w| unsafe { q.remove(w) });
        assert!(q.is_empty());
    });
}

#[test]
fn of_the_waiters_of_one_select_one_is_popped() {
    run(1, 1, || {
        let claim = AtomicUsize::new(0);
        let cases: Vec<Waiter> = (0..4)
            .map(|case| Waiter::of_select(ptr::without_provenance_mut(case), &claim, case))
            .collect();
        let plain = Waiter::new(ptr::without_provenance_mut(9));
        let (mut a, mut b) = (WaitQueue::new(), WaitQueue::new());
        // SAFETY: all outlive the lists.
        unsafe {
            a.push_back(&cases[0]);
            b.push_back(&cases[1]);
            b.push_back(&cases[2]);
            b.push_back(&plain);
            a.push_back(&cases[3]);
        }
        assert_eq!(b.pop().map(|w| w.waiter().elem as usize), Some(1));
        assert_eq!(claim.load(SeqCst), 2);
        // The losers are passed over, whoever waits plainly behind them is found.
        assert!(a.pop().is_none());
        assert_eq!(b.pop().map(|w| w.waiter().elem as usize), Some(9));
        assert!(b.pop().is_none());
        // SAFETY: they are in no list any more.
        unsafe { cases.iter().for_each(|w| a.remove(w)) };
        assert!(a.is_empty() && b.is_empty());
    });
}
