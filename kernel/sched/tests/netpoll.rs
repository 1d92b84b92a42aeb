//! Descriptors and the poller on threads of the host machine: a device made by hand, which is a thread, interrupts CPUs.
#![cfg(not(any(ringo_loom, ringo_shuttle)))]

use base::config::{Clock, Config, Netpoll};
use sched::netpoll::{Mode, PollDesc, PollError, Poller, ReadyList};
use sched::testing::run_with;
use sched::{blocking, newproc, now_ns, num_goroutine, sleep_ns, this, yield_now};
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*, fence};
use std::time::{Duration, Instant};

/// A card with a message box for each of its descriptors.
struct Card {
    descs: Vec<Arc<PollDesc>>,
    boxes: Vec<AtomicU64>,
    /// Boxes that something came to since the last look.
    came: AtomicU64,
    /// It is to interrupt when something comes.
    armed: AtomicBool,
    interrupts: AtomicU64,
    next_ns: AtomicU64,
    timers: AtomicU32,
    no_device: bool,
}

impl Poller for Card {
    fn netpoll(&self, list: &mut ReadyList) {
        let came = self.came.swap(0, AcqRel);
        for (i, desc) in self.descs.iter().enumerate() {
            if came & 1 << i != 0 {
                desc.ready(Mode::Read, list)
            }
        }
        let next_ns = self.next_ns.load(Acquire);
        if sched::machine_now_ns() >= next_ns {
            self.next_ns.store(u64::MAX, Release);
            self.timers.fetch_add(1, AcqRel);
            self.descs[0].ready(Mode::Write, list)
        }
    }
    fn listen(&self) -> bool {
        self.armed.store(true, Relaxed);
        fence(SeqCst);
        self.came.load(Relaxed) != 0
    }
    fn next_deadline_ns(&self) -> u64 {
        self.next_ns.load(Acquire)
    }
    fn has_device(&self) -> bool {
        !self.no_device
    }
}

impl Card {
    fn with(n: usize, no_device: bool) -> &'static Card {
        let card: &'static Card = Box::leak(Box::new(Card {
            descs: (0..n).map(|_| Arc::new(PollDesc::new())).collect(),
            boxes: (0..n).map(|_| AtomicU64::new(0)).collect(),
            came: AtomicU64::new(0),
            armed: AtomicBool::new(false),
            interrupts: AtomicU64::new(0),
            next_ns: AtomicU64::new(u64::MAX),
            timers: AtomicU32::new(0),
            no_device,
        }));
        this().set_poller(card);
        card
    }
    fn new(n: usize) -> &'static Card {
        Self::with(n, false)
    }

    /// A message comes to box `i`; if need be CPU `cpu` is interrupted.
    fn put(&self, s: &sched::Sched, i: usize, cpu: usize) {
        self.boxes[i].fetch_add(1, AcqRel);
        self.came.fetch_or(1 << i, AcqRel);
        fence(SeqCst);
        if self.armed.swap(false, AcqRel) {
            self.interrupts.fetch_add(1, Relaxed);
            s.device_interrupt(cpu)
        }
    }

    fn try_take(&self, i: usize) -> bool {
        let took = self.boxes[i].fetch_update(AcqRel, Acquire, |n| n.checked_sub(1));
        took.is_ok()
    }

    /// What a socket's `read` does.
    fn take(&self, i: usize) -> Result<(), PollError> {
        loop {
            self.descs[i].reset(Mode::Read)?;
            if self.try_take(i) {
                return Ok(());
            }
            self.descs[i].wait(Mode::Read)?
        }
    }
}

fn go(f: impl FnOnce() + Send + 'static) {
    newproc(f, Location::caller());
}

fn until(done: impl Fn() -> bool) {
    while !done() {
        yield_now()
    }
}

/// Waits with whatever way of waiting `how` is, on so many CPUs and Ps.
fn each_way(f: fn()) {
    let ways = [Netpoll::Park, Netpoll::Block, Netpoll::Poll];
    for netpoll in ways {
        for (cpus, procs) in [(1, 1), (2, 1), (2, 2), (4, 4)] {
            let cfg = Config {
                procs: Some(procs),
                netpoll,
                ..Config::DEFAULT
            };
            run_with(cfg, cpus, f)
        }
    }
}

fn park(cpus: usize, procs: u32, f: fn()) {
    let cfg = Config {
        procs: Some(procs),
        ..Config::DEFAULT
    };
    run_with(cfg, cpus, f)
}

#[test]
fn messages_of_a_device_all_come() {
    each_way(|| {
        const EACH: u64 = 200;
        let s = this();
        let card = Card::new(3);
        let cpus = sched::num_cpu();
        let device = std::thread::spawn(move || {
            for n in 0..EACH {
                for i in 0..3 {
                    card.put(s, i, (n as usize + i) % cpus);
                    if n % 8 == 0 {
                        std::thread::sleep(Duration::from_micros(50))
                    }
                }
            }
        });
        // With one M to a wait there is nobody left to run two on one CPU.
        let readers = if s.cfg.netpoll == Netpoll::Block {
            1
        } else {
            3
        };
        let left = Arc::new(AtomicU64::new(readers));
        for i in 1..readers as usize {
            let left = left.clone();
            go(move || {
                (0..EACH).for_each(|_| card.take(i).unwrap());
                left.fetch_sub(1, AcqRel);
            })
        }
        (0..EACH).for_each(|_| card.take(0).unwrap());
        left.fetch_sub(1, AcqRel);
        until(|| left.load(Acquire) == 0 && num_goroutine() == 1);
        assert_eq!(s.netpoll_waiters(), 0);
        device.join().unwrap();
    })
}

#[test]
fn a_deadline_ends_a_wait_and_not_before() {
    each_way(|| {
        let card = Card::new(1);
        let desc = &card.descs[0];
        for ms in [1, 3, 7] {
            let when_ns = now_ns() + ms * 1_000_000;
            desc.set_deadline(Mode::Read, Some(when_ns));
            assert_eq!(card.take(0), Err(PollError::Timeout));
            assert!(now_ns() >= when_ns, "it was not over");
            assert_eq!(card.take(0), Err(PollError::Timeout), "it stays over");
        }
        // The other direction has its own; past ones work at once; each can be taken back.
        assert_eq!(desc.reset(Mode::Write), Ok(()));
        desc.set_deadline(Mode::Write, Some(1));
        assert_eq!(desc.wait(Mode::Write), Err(PollError::Timeout));
        desc.set_deadline(Mode::Write, None);
        assert_eq!(desc.reset(Mode::Write), Ok(()));
        desc.set_deadline(Mode::Read, Some(u64::MAX));
        card.put(this(), 0, 0);
        assert_eq!(card.take(0), Ok(()));
        assert_eq!(this().netpoll_waiters(), 0);
    })
}

/// Go: ReadWriteProlongedTimeout. The deadline is moved again and again while somebody reads; it fires once it is left alone.
#[test]
fn a_deadline_moved_while_one_waits() {
    for (cpus, procs) in [(1, 1), (2, 2), (4, 4)] {
        // A host that is busy may let one pass before it is moved.
        let in_time = (0..50).any(|_| {
            let cfg = Config {
                procs: Some(procs),
                ..Config::DEFAULT
            };
            run_with(cfg, cpus, moves_in_time)
        });
        assert!(in_time, "the host never came to move a deadline in time")
    }
}

/// False: one that was to be moved had passed already.
fn moves_in_time() -> bool {
    let card = Card::new(1);
    let desc = &card.descs[0];
    let (last, in_time) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(true)));
    let (moved, early) = (last.clone(), in_time.clone());
    desc.set_deadline(Mode::Read, Some(now_ns() + 500_000_000));
    go(move || {
        for n in 0..100 {
            let when_ns = now_ns() + 5_000_000;
            let before_ns = moved.swap(when_ns, AcqRel);
            card.descs[0].set_deadline(Mode::Read, Some(when_ns));
            if n != 0 && now_ns() >= before_ns {
                early.store(false, Release)
            }
            sleep_ns(20_000)
        }
    });
    until(|| last.load(Acquire) != 0);
    assert_eq!(card.take(0), Err(PollError::Timeout));
    let ended_ns = now_ns();
    until(|| num_goroutine() == 1);
    let in_time = in_time.load(Acquire);
    assert!(
        !in_time || ended_ns >= last.load(Acquire),
        "an old deadline fired"
    );
    in_time
}

#[test]
fn closing_ends_all_waits() {
    for (cpus, procs) in [(1, 1), (2, 1), (2, 2), (4, 4)] {
        park(cpus, procs, || {
            let card = Card::new(1);
            let ended = Arc::new(AtomicU32::new(0));
            for mode in [Mode::Read, Mode::Write] {
                let ended = ended.clone();
                card.descs[0].set_deadline(mode, Some(now_ns() + 3_600_000_000_000));
                go(move || {
                    assert_eq!(card.descs[0].wait(mode), Err(PollError::Closing));
                    ended.fetch_add(1, AcqRel);
                })
            }
            until(|| this().netpoll_waiters() == 2);
            for _ in 0..2 {
                card.descs[0].unblock(&mut ReadyList::new())
            }
            until(|| ended.load(Acquire) == 2);
            assert_eq!(card.descs[0].reset(Mode::Read), Err(PollError::Closing));
            card.descs[0].set_deadline(Mode::Read, Some(1));
            assert_eq!(card.descs[0].wait(Mode::Read), Err(PollError::Closing));
            assert_eq!(this().netpoll_waiters(), 0);
        })
    }
}

/// Go #14548: what comes late for a socket that is gone wakes nobody who uses the next one.
#[test]
fn late_events_go_nowhere() {
    park(2, 2, || {
        let _card = Card::new(1);
        for _ in 0..200 {
            let (old, new) = (Arc::new(PollDesc::new()), Arc::new(PollDesc::new()));
            let late = old.clone();
            old.unblock(&mut ReadyList::new());
            drop(old);
            go(move || late.ready(Mode::Read, &mut ReadyList::new()));
            new.reset(Mode::Read).unwrap();
            new.set_deadline(Mode::Read, Some(now_ns() + 200_000));
            assert_eq!(new.wait(Mode::Read), Err(PollError::Timeout));
        }
        until(|| num_goroutine() == 1)
    })
}

/// An idle machine wakes for the protocols, and a G that keeps yielding keeps nobody from the network.
#[test]
fn protocols_and_busy_loops() {
    for (cpus, procs) in [(1, 1), (2, 1), (2, 2)] {
        park(cpus, procs, || {
            let s = this();
            let card = Card::new(1);
            for _ in 0..20 {
                let due_ns = now_ns() + 300_000;
                card.descs[0].reset(Mode::Write).unwrap();
                card.next_ns.store(due_ns, Release);
                card.descs[0].wait(Mode::Write).unwrap();
                assert!(now_ns() >= due_ns);
            }
            assert_eq!(card.timers.load(Acquire), 20);
            let got = Arc::new(AtomicBool::new(false));
            let g = got.clone();
            go(move || {
                card.take(0).unwrap();
                g.store(true, Release)
            });
            go(|| {
                loop {
                    yield_now()
                }
            });
            until(|| s.netpoll_waiters() == 1);
            card.put(s, 0, 0);
            until(|| got.load(Acquire));
            assert_eq!(s.netpoll_waiters(), 0);
            let (polls, readied) = s.netpolls();
            // The last one may have come while its reader was on its way to wait, who then need not be readied.
            assert!(polls >= readied && readied >= 20, "{polls} {readied}");
        })
    }
}

/// A message that comes while its reader's CPU is in a blocking call is served by another, or by the call's own.
#[test]
fn messages_beside_blocking_calls() {
    for (cpus, procs) in [(2, 1), (2, 2), (4, 4)] {
        park(cpus, procs, || {
            let s = this();
            let card = Card::new(1);
            let got = Arc::new(AtomicU32::new(0));
            let g = got.clone();
            go(move || {
                for _ in 0..20 {
                    card.take(0).unwrap();
                    g.fetch_add(1, AcqRel);
                }
            });
            for n in 1..=20 {
                until(|| s.netpoll_waiters() == 1);
                let g = got.clone();
                blocking(move || {
                    let begin = Instant::now();
                    card.put(s, 0, n as usize % 2);
                    while g.load(Acquire) != n {
                        assert!(begin.elapsed() < Duration::from_secs(30), "message {n}");
                        std::thread::yield_now();
                        sched::checkpoint() // here the interrupt comes through
                    }
                })
            }
        })
    }
}

/// With a virtual clock, a wait that nothing can end but its deadline takes no time; one that a device could end takes the
/// machine's.
#[test]
fn virtual_clock() {
    let cfg = |procs| Config {
        procs: Some(procs),
        clock: Clock::Virtual,
        ..Config::DEFAULT
    };
    for procs in [1, 2] {
        run_with(cfg(procs), 2, || {
            let card = Card::with(1, true);
            let hour_ns = 3_600_000_000_000;
            card.descs[0].set_deadline(Mode::Read, Some(now_ns() + hour_ns));
            assert_eq!(card.take(0), Err(PollError::Timeout));
        });
        run_with(cfg(procs), 2, || {
            let card = Card::new(1);
            let (begin, real) = (now_ns(), Instant::now());
            let ns = 20_000_000;
            card.descs[0].set_deadline(Mode::Read, Some(begin + ns));
            assert_eq!(card.take(0), Err(PollError::Timeout));
            assert!(
                real.elapsed().as_nanos() as u64 >= ns,
                "the clock ran ahead"
            );
            assert!(now_ns() >= begin + ns);
            // Nobody waits for it any more: an hour takes no time.
            sleep_ns(3_600_000_000_000)
        })
    }
}

/// A second reader is a mistake that is named.
#[test]
fn two_readers_are_one_too_many() {
    let result = std::thread::spawn(|| {
        park(1, 1, || {
            let card = Card::new(1);
            go(move || _ = card.take(0));
            until(|| this().netpoll_waiters() == 1);
            let second = std::panic::catch_unwind(|| card.take(0));
            let text = second.unwrap_err();
            let text = text.downcast_ref::<String>().unwrap();
            assert_eq!(*text, "two goroutines wait on one side of a socket");
        })
    });
    result.join().unwrap()
}
