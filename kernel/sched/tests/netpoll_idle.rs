//! What idle CPUs do for the network: they look at it for those that do not, and a clock that is not the machine's goes on with that
//! one while all of them wait for it.
#![cfg(not(any(ringo_loom, ringo_shuttle)))]

use base::config::{Clock, Config, Steal};
use sched::netpoll::{Mode, PollDesc, PollError, Poller, ReadyList};
use sched::testing::run_with;
use sched::{newproc, now_ns, sleep_ns, this, yield_now};
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::{Duration, Instant};

/// A card that has something, and never interrupts.
struct Mute {
    desc: PollDesc,
    came: AtomicBool,
}

impl Poller for Mute {
    fn netpoll(&self, list: &mut ReadyList) {
        if self.came.swap(false, AcqRel) {
            self.desc.ready(Mode::Read, list)
        }
    }
    fn listen(&self) -> bool {
        false
    }
    fn next_deadline_ns(&self) -> u64 {
        u64::MAX
    }
}

fn hold_until(what: &str, done: impl Fn() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::yield_now()
    }
}

fn mute() -> &'static Mute {
    let card: &'static Mute = Box::leak(Box::new(Mute {
        desc: PollDesc::new(),
        came: AtomicBool::new(false),
    }));
    this().set_poller(card);
    card
}

/// CPU 1 halts with nothing to wait for, when a G on CPU 0 begins to wait for the network and another one keeps that CPU.
fn a_wait_beside_a_hog() {
    let s = this();
    let card = mute();
    let read = Arc::new(AtomicBool::new(false));
    let done = read.clone();
    newproc(
        move || {
            hold_until("nobody waits", || this().netpoll_waiters() == 1);
            card.came.store(true, Release);
            hold_until("nobody looks at the network", || done.load(Acquire))
        },
        Location::caller(),
    );
    // The hog stays in this CPU's queue.
    hold_until("CPU 1 does not halt", || {
        s.npidle() == 1 && s.allm[1].is_halted()
    });
    card.desc.wait(Mode::Read).unwrap();
    read.store(true, Release);
    while sched::num_goroutine() != 1 {
        yield_now()
    }
}

#[test]
fn an_idle_cpu_looks_beside_a_hog_with_any_clock() {
    for clock in [Clock::Real, Clock::Virtual] {
        let cfg = Config {
            procs: Some(2),
            steal: Steal::Off,
            clock,
            ..Config::DEFAULT
        };
        run_with(cfg, 2, a_wait_beside_a_hog)
    }
}

fn virtual_clock(cpus: usize, f: fn()) {
    let cfg = Config {
        procs: Some(cpus as u32),
        clock: Clock::Virtual,
        ..Config::DEFAULT
    };
    run_with(cfg, cpus, f)
}

/// A device that has nothing to say interrupts an idle machine again and again: the time between counts.
#[test]
fn interrupts_do_not_hold_up_a_virtual_clock() {
    for cpus in [1, 2] {
        virtual_clock(cpus, || {
            let (s, card) = (this(), mute());
            let over = Arc::new(AtomicBool::new(false));
            let until = over.clone();
            let device = std::thread::spawn(move || {
                let interrupts = (1..4_000).take_while(|n| {
                    std::thread::sleep(Duration::from_millis(1));
                    s.device_interrupt(n % sched_cpus(s));
                    !until.load(Acquire)
                });
                interrupts.count()
            });
            let due_ns = now_ns() + 40_000_000;
            card.desc.set_deadline(Mode::Read, Some(due_ns));
            assert_eq!(card.desc.wait(Mode::Read), Err(PollError::Timeout));
            assert!(now_ns() >= due_ns);
            over.store(true, Release);
            let interrupts = device.join().unwrap();
            assert!(interrupts < 3_999, "the deadline came when they had ended");
        })
    }
}

fn sched_cpus(s: &sched::Sched) -> usize {
    s.mcount() as usize
}

/// A timer is due by the machine's clock while a G runs that the network has woken: the clock stands still all the same.
#[test]
fn a_virtual_clock_stands_while_one_runs() {
    const CPUS: usize = 4; // who is woken wakes one more, and some sleep on
    virtual_clock(CPUS, || {
        let (s, card) = (this(), mute());
        newproc(|| sleep_ns(40_000_000), Location::caller());
        // One of them waits for the timer; it does not matter which.
        for cpu in 0..CPUS {
            let device = std::thread::spawn(move || {
                hold_until("nobody waits", || s.netpoll_waiters() == 1);
                let halt = || s.allm.iter().all(|m| m.is_halted());
                hold_until("somebody is awake", || {
                    s.npidle() as usize == CPUS && halt()
                });
                card.came.store(true, Release);
                s.device_interrupt(cpu)
            });
            card.desc.reset(Mode::Read).unwrap();
            card.desc.wait(Mode::Read).unwrap();
            let before_ns = now_ns();
            std::thread::sleep(Duration::from_millis(80));
            assert_eq!(now_ns(), before_ns, "round {cpu}");
            device.join().unwrap();
        }
    })
}
