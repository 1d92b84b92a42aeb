//! What `sync` has beside the mutex.
use crate::world::{explore, g, gs, saw};
use base::shim::{Cell, Watch};
use csp::sync::{Cond, Mutex, Once, OnceLock, RwLock, Semaphore, WaitGroup};
use sched::models::parks;

/// Readers against a writer that comes twice.
#[test]
fn readers_and_a_writer() {
    const OUTCOMES: [&str; 5] = [
        "a reader waits",
        "no reader waits",
        "no writer waits",
        "the writer waits",
        "the writer waits twice",
    ];
    explore(3, &OUTCOMES, || {
        let lock = RwLock::new(());
        let value = Cell::new(0);
        let read = || {
            let _r = lock.read();
            assert!(matches!(value.get(), 0 | 7 | 8));
            saw(["no reader waits", "a reader waits"][parks() as usize])
        };
        gs([
            g(|| {
                for n in [7, 8] {
                    let _w = lock.write();
                    value.set(n)
                }
                saw(OUTCOMES[2..][parks() as usize])
            }),
            g(read),
            g(read),
        ])
    })
}

/// Writers against a reader: each hand-over comes to one of them.
#[test]
fn writers_and_a_reader() {
    explore(3, &["a writer waits", "no writer waits"], || {
        let lock = RwLock::new(());
        let value = Cell::new(0);
        let write = || {
            let _w = lock.write();
            value.set(value.get() + 1);
            saw(["no writer waits", "a writer waits"][parks() as usize])
        };
        gs([
            g(|| {
                let _r = lock.read();
                value.get();
            }),
            g(write),
            g(write),
        ]);
        assert_eq!(value.get(), 2)
    })
}

/// Waits until it is true, and says whether it had to.
fn wait_for(ready: &Mutex<bool>, changed: &Cond) {
    let mut r = ready.lock();
    let mut waits = 0;
    while !*r {
        r = changed.wait(r);
        waits += 1
    }
    saw(["it was true", "waited"][waits])
}

/// One waits until it is true, one makes it true: no signal is lost.
#[test]
fn wait_against_signal() {
    explore(4, &["it was true", "waited"], || {
        let (ready, changed) = (Mutex::new(false), Cond::new());
        gs([
            g(|| wait_for(&ready, &changed)),
            g(|| {
                *ready.lock() = true;
                changed.notify_one()
            }),
        ])
    })
}

/// Two wait, and both are told.
#[test]
fn wait_against_broadcast() {
    explore(3, &["it was true", "waited"], || {
        let (ready, changed) = (Mutex::new(false), Cond::new());
        let wait = || wait_for(&ready, &changed);
        gs([
            g(|| {
                *ready.lock() = true;
                changed.notify_all()
            }),
            g(wait),
            g(wait),
        ])
    })
}

/// Two permits come one by one, two wait: each gets one.
#[test]
fn semaphore() {
    explore(3, &["free", "waited"], || {
        let s = Semaphore::new(0);
        let acquire = || {
            s.acquire();
            saw(["free", "waited"][parks() as usize])
        };
        gs([
            g(|| {
                s.release();
                s.release()
            }),
            g(acquire),
            g(acquire),
        ]);
        assert_eq!(s.available(), 0, "permits left")
    })
}

/// One permit is a lock.
#[test]
fn semaphore_of_one() {
    explore(3, &["free", "waited"], || {
        let (s, inside) = (Semaphore::new(1), Watch::new());
        let enter = || {
            s.acquire();
            inside.used();
            s.release();
            saw(["free", "waited"][parks() as usize])
        };
        gs([g(enter), g(enter), g(enter)]);
        assert_eq!(s.available(), 1, "permits left")
    })
}

/// Two are done, one waits for them and sees what they did.
#[test]
fn wait_against_two_done() {
    explore(3, &["it was 0", "waited"], || {
        let wg = WaitGroup::new();
        wg.add(2);
        let did = [Watch::new(), Watch::new()];
        gs([
            g(|| {
                wg.wait();
                did.iter().for_each(Watch::used);
                saw(["it was 0", "waited"][parks() as usize])
            }),
            g(|| {
                did[0].used();
                wg.done()
            }),
            g(|| {
                did[1].used();
                wg.done()
            }),
        ])
    })
}

/// Two wait: both go on.
#[test]
fn two_wait_against_done() {
    explore(3, &["it was 0", "waited"], || {
        let wg = WaitGroup::new();
        wg.add(1);
        let wait = || {
            wg.wait();
            saw(["it was 0", "waited"][parks() as usize])
        };
        gs([g(wait), g(wait), g(|| wg.done())])
    })
}

/// One of three runs the function; all see what it did.
#[test]
fn once() {
    explore(3, &["ran", "saw it done", "waited"], || {
        let (once, value) = (Once::new(), Cell::new(0));
        let call = || {
            let mut ran = false;
            once.call_once(|| {
                value.set(value.get() + 1);
                ran = true
            });
            assert_eq!(value.get(), 1);
            saw(match (ran, parks()) {
                (true, _) => "ran",
                (_, 0) => "saw it done",
                _ => "waited",
            })
        };
        gs([g(call), g(call), g(call)])
    })
}

/// A value is made once, and is there when it is read.
#[test]
fn once_lock() {
    explore(4, &["mine", "the other's"], || {
        let lock = OnceLock::<Cell<u32>>::new();
        let mut got = [0; 2];
        let [first, second] = &mut got;
        let lock = &lock;
        gs([
            g(|| *first = lock.get_or_init(|| Cell::new(1)).get()),
            g(|| *second = lock.get_or_init(|| Cell::new(2)).get()),
        ]);
        assert_eq!(got[0], got[1], "what each got");
        saw(["mine", "the other's"][got[0] as usize - 1])
    })
}
