//! A word that is waited for, against those who change it and wake, against the time and the end of the process.
use crate::world::{explore, g, gs, saw};
use abi::{Error, FOREVER};
use base::shim::{AtomicU32, Ordering::*};
use sched::models::{as_m, free, parks, sched, set_clock};
use std::sync::Arc;
use user::asleep::Asleep;
use user::futex::{Futexes, Waited};
use user::memory::{Owner, UserMemory, WordKey};
use user::stop::Stop;
use user::wait::Waits;

/// Memory that is one word, at every address; if it is one process's alone, with what counts its threads.
struct Word(AtomicU32, Owner, Option<Asleep>);

impl UserMemory for Word {
    fn copy_in(&self, _: u64, _: &mut [u8]) -> Result<(), Error> {
        Err(Error::BadAddress)
    }
    fn copy_out(&self, _: u64, _: &[u8]) -> Result<(), Error> {
        Err(Error::BadAddress)
    }
    fn check_out(&self, _: u64, _: u64) -> Result<(), Error> {
        Err(Error::BadAddress)
    }
    fn word_key(&self, address: u64) -> Result<WordKey, Error> {
        Ok(WordKey::of(self.1, address))
    }
    fn load_u32(&self, _: u64) -> Result<u32, Error> {
        Ok(self.0.load(Relaxed)) // I-FUTEX orders it
    }
    fn sleepers(&self, _: WordKey) -> Option<&Asleep> {
        self.2.as_ref()
    }
}

pub const AT: u64 = 64;
pub const TIME_NS: u64 = 100;

pub struct World {
    futexes: Futexes,
    word: Word,
    pub stop: Arc<Stop>,
}

impl World {
    /// Memory that is shared.
    pub fn new() -> World {
        World {
            futexes: Futexes::new(),
            word: Word(AtomicU32::new(0), Owner::new(), None),
            stop: Arc::new(Stop::new()),
        }
    }

    /// Memory of a process with so many threads.
    pub fn of_one_process(threads: usize) -> World {
        let asleep = Asleep::default();
        (0..threads).for_each(|_| asleep.begins());
        let mut world = World::new();
        world.word.2 = Some(asleep);
        world
    }

    /// What counts the process's threads.
    pub fn asleep(&self) -> &Asleep {
        self.word.2.as_ref().expect("of one process")
    }

    /// As a thread of the process: waits while it is 0.
    pub fn wait(&self, timeout_ns: u64) -> Result<Waited, Error> {
        self.wait_at(AT, 0, timeout_ns)
    }

    /// The same at another address, while it is `expected`.
    pub fn wait_at(&self, at: u64, expected: u32, timeout_ns: u64) -> Result<Waited, Error> {
        let waits = Waits::new(&self.stop);
        self.futexes
            .wait(&self.word, &waits, at, expected, timeout_ns)
    }

    /// Makes it 1 and wakes one; how many there were.
    pub fn change(&self) -> u64 {
        self.change_to(1, AT)
    }

    /// Makes it `value` and wakes one that waits at an address.
    pub fn change_to(&self, value: u32, at: u64) -> u64 {
        self.word.0.store(value, Relaxed);
        self.futexes.wake(&self.word, at, 1).unwrap()
    }
}

/// No change is missed.
#[test]
fn wait_against_wake() {
    explore(3, &["it had changed", "woken"], || {
        let w = World::new();
        gs([
            g(|| {
                saw(match w.wait(FOREVER) {
                    Ok(_) => "woken",
                    Err(error) => {
                        assert_eq!((error, parks()), (Error::Again, 0));
                        "it had changed"
                    }
                })
            }),
            g(|| assert!(w.change() <= 1)),
        ])
    })
}

/// Two wait, two are woken one by one.
#[test]
fn two_wait_against_two_wakes() {
    explore(2, &["it had changed", "woken"], || {
        let w = World::new();
        let wait = || {
            saw(match w.wait(FOREVER) {
                Ok(_) => "woken",
                Err(_) => "it had changed",
            })
        };
        gs([
            g(wait),
            g(wait),
            g(|| {
                w.change();
                w.futexes.wake(&w.word, AT, 1).unwrap();
            }),
        ])
    })
}

/// The process ends: nobody stays behind.
#[test]
fn wait_against_stop() {
    explore(4, &["never slept", "slept"], || {
        let w = World::new();
        gs([
            g(|| {
                assert_eq!(w.wait(FOREVER), Err(Error::Killed));
                saw(["never slept", "slept"][parks().min(1) as usize])
            }),
            g(|| w.stop.stop()),
        ])
    })
}

/// Both at once: who is counted as woken was.
#[test]
fn wait_against_wake_and_stop() {
    explore(3, &["ended", "it had changed", "woken"], || {
        let w = World::new();
        let (mut woken, mut answer) = (0, Ok(Waited::NobodyWakes));
        let (woken_mut, answer_mut) = (&mut woken, &mut answer);
        let w = &w;
        gs([
            g(move || *answer_mut = w.wait(FOREVER)),
            g(move || *woken_mut = w.change()),
            g(|| w.stop.stop()),
        ]);
        assert_eq!(woken == 1, answer.is_ok(), "who was counted as woken");
        saw(match answer {
            Ok(_) => "woken",
            Err(Error::Again) => "it had changed",
            Err(_) => "ended",
        })
    })
}

/// The time is up at the moment of the wake: either, and it is counted right.
#[test]
fn wake_against_time() {
    explore(3, &["it had changed", "the time was up", "woken"], || {
        set_clock(0, 0);
        let s = sched(2, 2);
        let (m0, m1) = (s.model_hold(0, 0, false), s.model_hold(1, 1, false));
        as_m(m0, || {
            let w = World::new();
            let (mut woken, mut answer) = (0, Ok(Waited::NobodyWakes));
            let (woken_mut, answer_mut) = (&mut woken, &mut answer);
            let w = &w;
            gs([
                g(move || *answer_mut = w.wait(TIME_NS)),
                g(move || *woken_mut = w.change()),
                // Whether it is set by then or not: the wake comes in any case.
                g(move || {
                    as_m(m1, || s.model_run_timers(m1, 0, TIME_NS));
                }),
            ]);
            assert_eq!(woken == 1, answer.is_ok(), "who was counted as woken");
            saw(match answer {
                Ok(_) => "woken",
                Err(Error::Again) => "it had changed",
                Err(_) => "the time was up",
            })
        });
        // SAFETY: the threads have ended.
        unsafe { free(s) }
    })
}

/// Nobody wakes: the time alone ends it, whenever it comes after it was set.
#[test]
fn wait_against_time() {
    explore(3, &["never slept", "slept"], || {
        set_clock(0, 0);
        let s = sched(2, 2);
        let (m0, m1) = (s.model_hold(0, 0, false), s.model_hold(1, 1, false));
        as_m(m0, || {
            let w = World::new();
            let w = &w;
            gs([
                g(move || {
                    assert_eq!(w.wait(TIME_NS), Err(Error::TimedOut));
                    saw(["never slept", "slept"][parks().min(1) as usize])
                }),
                g(move || {
                    while as_m(m1, || s.model_run_timers(m1, 0, TIME_NS)) == 0 {
                        base::shim::spin_loop()
                    }
                }),
            ]);
        });
        // SAFETY: the threads have ended.
        unsafe { free(s) }
    })
}
