//! Waits of several processes for one thing, some of which end, or close their handles.
use crate::world::{explore, g, gs, saw};
use abi::Error;
use base::{Rank, SpinLock};
use csp::waitq::{Batch, WaitQueue};
use sched::WaitReason;
use sched::models::parks;
use std::sync::Arc;
use user::stop::Stop;
use user::wait::{Closing, Waits};

/// Things to be had, one by one.
struct Shelf {
    things: u32,
    waiting: WaitQueue,
}

fn shelf() -> SpinLock<Shelf> {
    let empty = Shelf {
        things: 0,
        waiting: WaitQueue::new(),
    };
    SpinLock::new(Rank::Channel, empty)
}

fn take(shelf: &mut Shelf) -> Option<((), Option<Batch>)> {
    shelf.things = shelf.things.checked_sub(1)?;
    Some(((), None))
}

fn put(shelf: &SpinLock<Shelf>) {
    let mut s = shelf.lock();
    s.things += 1;
    let one = s.waiting.pop_up_to(1, |_| true);
    drop(s);
    one.ready(true)
}

/// As a thread of a process of its own, which `stop` ends.
fn wait_for_one(shelf: &SpinLock<Shelf>, stop: &Arc<Stop>) -> Result<(), Error> {
    let waits = Waits::new(stop);
    let mut wait = waits.wait(WaitReason::IoWait);
    wait.until(shelf, |s| &mut s.waiting, take)
}

/// A wake-up for one of two is not used up by the one that is ended.
#[test]
fn the_other_one_is_served() {
    explore(3, &["had it and gave it back", "ended"], || {
        let shelf = shelf();
        let (first, second) = (Arc::new(Stop::new()), Arc::new(Stop::new()));
        gs([
            g(|| {
                saw(match wait_for_one(&shelf, &first) {
                    Ok(()) => {
                        put(&shelf);
                        "had it and gave it back"
                    }
                    Err(_) => "ended",
                })
            }),
            g(|| assert_eq!(wait_for_one(&shelf, &second), Ok(()))),
            g(|| {
                put(&shelf);
                first.stop()
            }),
        ])
    })
}

/// A handle is closed: who waits on it goes on.
#[test]
fn wait_against_close() {
    explore(4, &["never slept", "slept"], || {
        let shelf = shelf();
        let (stop, closing) = (Arc::new(Stop::new()), Closing::new());
        gs([
            g(|| {
                let waits = Waits::new(&stop);
                let mut wait = waits.wait_on(&closing, WaitReason::IoWait);
                let answer = wait.until(&shelf, |s| &mut s.waiting, take);
                assert_eq!(answer, Err(Error::BadHandle));
                saw(["never slept", "slept"][parks().min(1) as usize])
            }),
            g(|| closing.close(&stop)),
        ])
    })
}

/// The end of the process while a thread of it begins and one ends.
#[test]
fn threads_come_and_go_while_it_stops() {
    explore(3, &["never slept", "slept"], || {
        let shelf = shelf();
        let stop = Arc::new(Stop::new());
        let ends = Waits::new(&stop);
        gs([
            g(|| {
                assert_eq!(wait_for_one(&shelf, &stop), Err(Error::Killed));
                saw(["never slept", "slept"][parks().min(1) as usize])
            }),
            g(|| drop(ends)),
            g(|| stop.stop()),
        ])
    })
}
