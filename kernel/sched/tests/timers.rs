//! Stopped timers, on threads of the host machine: their entries leave the heaps, wherever those have moved.
#![cfg(not(any(ringo_loom, ringo_shuttle)))]

use sched::testing::run;
use sched::timer::{Fire, Timer};
use sched::{newproc, now_ns, num_goroutine, set_gomaxprocs, this, yield_now};
use std::panic::Location;
use std::sync::{Arc, Mutex};

/// What it would do never comes.
struct Never;

impl Fire for Never {
    fn fire(&self, _now_ns: u64) -> bool {
        unreachable!("it is set to an hour")
    }
}

const HOUR_NS: u64 = 3_600_000_000_000;
const MANY: usize = 1000;

fn set_one() -> Arc<Timer> {
    let timer = Timer::new(Box::new(Never));
    timer.reset(now_ns() + HOUR_NS, 0);
    timer
}

/// Entries of all heaps, and those of them that are still to fire, by heap.
fn counts() -> (u32, Vec<i64>) {
    let ps = &this().allp;
    let len = ps.iter().map(|p| p.timers.len()).sum();
    (len, ps.iter().map(|p| p.timers.live()).collect())
}

/// Go: `timers.zombies`. A few may stay, up to a quarter of those that are still to fire.
#[test]
fn stopped_timers_leave_their_heap() {
    run(1, 1, || {
        let timers: Vec<_> = (0..MANY).map(|_| set_one()).collect();
        let (stay, leave) = timers.split_at(MANY / 2);
        leave.iter().for_each(|t| assert!(t.stop()));
        let (len, live) = counts();
        assert_eq!(live, [stay.len() as i64]);
        assert!((len as usize) < stay.len() * 4 / 3 + 2, "{len} entries");
        stay.iter().for_each(|t| assert!(t.stop()));
        assert_eq!(counts().1, [0]);
        assert!(counts().0 <= 16, "{} entries", counts().0);
    })
}

/// Timers are set on all Ps, which become one and many again; the heap that holds a timer is the one that counts it.
#[test]
fn stopped_timers_leave_the_heap_that_they_have_moved_to() {
    const PS: usize = 4;
    run(PS, PS, || {
        let timers = Arc::new(Mutex::new(Vec::new()));
        for _ in 0..MANY {
            let timers = timers.clone();
            newproc(
                move || {
                    yield_now();
                    let timer = set_one();
                    timers.lock().unwrap().push(timer)
                },
                Location::caller(),
            );
        }
        while num_goroutine() != 1 {
            yield_now()
        }
        let timers = core::mem::take(&mut *timers.lock().unwrap());
        timers[..100].iter().for_each(|t| assert!(t.stop())); // some move as stale ones
        set_gomaxprocs(1);
        set_gomaxprocs(PS);
        let (_, live) = counts();
        assert_eq!(live, [MANY as i64 - 100, 0, 0, 0]);
        timers[100..].iter().for_each(|t| assert!(t.stop()));
        let (len, live) = counts();
        assert_eq!(live, [0; PS]);
        assert!(len <= 16, "{len} entries");
    })
}
