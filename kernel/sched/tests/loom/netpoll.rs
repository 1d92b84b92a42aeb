//! Descriptors (`polldesc.rs`, `pollwait.rs`, `polldeadline.rs` of the scheduler) and who asks the poller (`netpoll.rs`): I-EDGE,
//! I-INFO, I-WAITERS, I-LISTEN, I-ONE-POLLER.
use crate::world::{Gs, check_end, work};
use base::explore;
use base::shim::Cell;
use loom::sync::atomic::{AtomicBool, Ordering::*, fence};
use loom::thread;
use sched::models::{as_m, free, parks, run_gs, sched, set_clock};
use sched::netpoll::{Mode, PollDesc, PollError, Poller, ReadyList};
use sched::{GRef, M, Sched};
use std::cell::RefCell;
use std::collections::BTreeSet;

thread_local! {
    /// What has come to pass in any interleaving. Beside the model.
    static SEEN: RefCell<BTreeSet<&'static str>> = const { RefCell::new(BTreeSet::new()) };
}

fn saw(outcome: &'static str) {
    SEEN.with_borrow_mut(|s| s.insert(outcome));
}

/// Explores, and each of `outcomes` must come to pass and nothing else.
fn see(bound: usize, outcomes: &[&'static str], f: impl Fn() + Send + Sync + 'static) {
    SEEN.take();
    explore(bound, f);
    assert_eq!(SEEN.take(), outcomes.iter().copied().collect(), "outcomes")
}

/// A socket: a letter for its reader, and its descriptor.
struct Socket {
    letter: Cell<u32>,
    came: AtomicBool,
    desc: PollDesc,
}

// SAFETY: the letter is what loom watches.
unsafe impl Sync for Socket {}

impl Socket {
    fn new() -> Socket {
        Socket {
            letter: Cell::new(0),
            came: AtomicBool::new(false),
            desc: PollDesc::new(),
        }
    }

    fn put(&self) {
        self.letter.set(7);
        self.came.store(true, Release);
    }
    fn ready(&self) {
        self.desc.ready(Mode::Read, &mut ReadyList::new())
    }

    fn read(&self) -> Result<(), PollError> {
        loop {
            self.desc.reset(Mode::Read)?;
            if self.came.load(Acquire) {
                assert_eq!(self.letter.replace(0), 7);
                return Ok(());
            }
            self.desc.wait(Mode::Read)?
        }
    }
}

/// Gs that are threads, each on an M of its own: `f` gets those.
fn gs(f: impl FnOnce(&'static Sched, [&'static M; 3])) {
    set_clock(1, 0);
    let s = sched(3, 3);
    let ms = [0, 1, 2].map(|i| s.model_hold(i, i, false));
    as_m(ms[0], || f(s, ms));
    assert_eq!(s.netpoll_waiters(), 0, "waiters left");
    // SAFETY: the threads have ended.
    unsafe { free(s) }
}

fn on<'a>(m: &'static M, f: impl FnOnce() + 'a) -> Box<dyn FnOnce() + 'a> {
    Box::new(move || as_m(m, f))
}

/// A letter comes while its reader looks for it. What came before the look was left behind in the descriptor.
#[test]
fn wait_against_ready() {
    see(3, &["it was there", "waited"], || {
        gs(|_, [m0, m1, _]| {
            let socket = Socket::new();
            socket.ready();
            run_gs(
                0,
                [
                    on(m0, || {
                        socket.read().unwrap();
                        saw(["it was there", "waited"][parks() as usize])
                    }),
                    on(m1, || {
                        socket.put();
                        socket.ready()
                    }),
                ],
            )
        })
    })
}

#[test]
fn wait_against_close() {
    see(3, &["it was closed", "waited"], || {
        gs(|_, [m0, m1, _]| {
            let socket = Socket::new();
            run_gs(
                0,
                [
                    on(m0, || {
                        assert_eq!(socket.read(), Err(PollError::Closing));
                        saw(["it was closed", "waited"][parks() as usize])
                    }),
                    on(m1, || socket.desc.unblock(&mut ReadyList::new())),
                ],
            )
        })
    })
}

/// Two CPUs find that a socket can be read; its reader is readied once.
#[test]
fn two_readies() {
    see(2, &["it was there", "waited"], || {
        gs(|_, [m0, m1, m2]| {
            let socket = Socket::new();
            run_gs(
                0,
                [
                    on(m0, || {
                        socket.read().unwrap();
                        saw(["it was there", "waited"][parks().min(1) as usize])
                    }),
                    on(m1, || {
                        socket.put();
                        socket.ready()
                    }),
                    on(m2, || socket.ready()),
                ],
            )
        })
    })
}

const FIRST_NS: u64 = 100;
const LATER_NS: u64 = 1_000;

/// What is due on M0's P by then fires on `m`.
fn fire(s: &Sched, m: &'static M, now_ns: u64) -> u32 {
    as_m(m, || s.model_run_timers(m, 0, now_ns))
}

/// The deadline passes as the letter comes.
#[test]
fn deadline_against_ready() {
    see(2, &["read", "too late"], || {
        gs(|s, [m0, m1, m2]| {
            let socket = Socket::new();
            socket.desc.set_deadline(Mode::Read, Some(FIRST_NS));
            run_gs(
                0,
                [
                    on(m0, || match socket.read() {
                        Ok(()) => saw("read"),
                        Err(e) => {
                            assert_eq!(e, PollError::Timeout);
                            saw("too late")
                        }
                    }),
                    on(m1, || assert_eq!(fire(s, m1, FIRST_NS), 1)),
                    on(m2, || {
                        socket.put();
                        socket.ready()
                    }),
                ],
            )
        })
    })
}

/// The deadline is moved as it expires, perhaps under somebody who waits: that one goes on when the new one passes.
#[test]
fn deadline_moved_as_it_expires() {
    see(2, &["at once", "once more", "waited"], || {
        gs(|s, [m0, m1, m2]| {
            let socket = Socket::new();
            socket.desc.set_deadline(Mode::Read, Some(FIRST_NS));
            let (moved, done) = (AtomicBool::new(false), loom::sync::mpsc::channel());
            run_gs(
                0,
                [
                    on(m0, || {
                        assert_eq!(socket.read(), Err(PollError::Timeout));
                        saw(["at once", "waited", "once more"][parks() as usize])
                    }),
                    on(m1, || {
                        fire(s, m1, FIRST_NS);
                        done.0.send(()).unwrap()
                    }),
                    on(m2, || {
                        as_m(m0, || socket.desc.set_deadline(Mode::Read, Some(LATER_NS)));
                        moved.store(true, Relaxed);
                        done.1.recv().unwrap();
                        assert_eq!(fire(s, m2, LATER_NS), 1, "deadlines that pass later")
                    }),
                ],
            )
        })
    })
}

/// The same with nobody who waits: what was set last holds, whether the old one has just expired or not.
#[test]
fn deadline_moved_is_not_over() {
    see(3, &["expired", "not yet"], || {
        gs(|s, [m0, m1, _]| {
            let socket = Socket::new();
            socket.desc.set_deadline(Mode::Read, Some(FIRST_NS));
            run_gs(
                0,
                [
                    on(m0, || {
                        socket.desc.set_deadline(Mode::Read, Some(LATER_NS));
                        let over = socket.desc.reset(Mode::Read);
                        assert_eq!(over, Ok(()), "it was moved")
                    }),
                    on(m1, || {
                        saw(["not yet", "expired"][fire(s, m1, FIRST_NS) as usize])
                    }),
                ],
            );
            assert_eq!(fire(s, m1, LATER_NS), 1, "deadlines that pass later");
            assert_eq!(socket.desc.reset(Mode::Read), Err(PollError::Timeout))
        })
    })
}

/// A card with one socket: it interrupts CPU `cpu` if it is to.
struct Card {
    socket: Socket,
    /// Something lies in its ring.
    ring: AtomicBool,
    armed: AtomicBool,
    cpu: usize,
}

impl Poller for Card {
    fn netpoll(&self, list: &mut ReadyList) {
        if self.ring.swap(false, AcqRel) {
            self.socket.desc.ready(Mode::Read, list)
        }
    }
    fn listen(&self) -> bool {
        self.armed.swap(true, AcqRel);
        fence(SeqCst);
        self.ring.load(Relaxed)
    }
    fn next_deadline_ns(&self) -> u64 {
        sched::timers::NEVER
    }
}

impl Card {
    fn new(s: &'static Sched, cpu: usize) -> &'static Card {
        let card: &'static Card = Box::leak(Box::new(Card {
            socket: Socket::new(),
            ring: AtomicBool::new(false),
            armed: AtomicBool::new(false),
            cpu,
        }));
        s.set_poller(card);
        card
    }

    fn frame(&self) {
        self.ring.swap(true, AcqRel); // loom orders the changes of one place only if they read it
        fence(SeqCst)
    }
    /// What the device does.
    fn frame_and_interrupt(&self, s: &Sched) {
        self.frame();
        if self.armed.swap(false, AcqRel) {
            s.device_interrupt(self.cpu)
        }
    }

    /// G `g` runs on `m` and waits for a frame.
    fn wait(&self, s: &Sched, m: &'static M, g: GRef) {
        as_m(m, || {
            s.model_run(m, g);
            assert!(s.model_poll_wait(m, g, &self.socket.desc))
        })
    }

    fn end(&'static self, s: &'static Sched, gs: &Gs) {
        assert_eq!(s.netpoll_waiters(), 0, "waiters left");
        check_end(s, gs);
        // SAFETY: the threads have ended, and the scheduler is gone.
        drop(unsafe { Box::from_raw(core::ptr::from_ref(self).cast_mut()) })
    }
}

/// M0's G waits for a frame, and M0 halts as it comes.
#[test]
fn halt_against_interrupt() {
    explore(3, || {
        let (s, gs) = (sched(1, 1), Gs::new(1));
        let m0 = s.model_hold(0, 0, false);
        gs.make_all_runnable();
        let card = Card::new(s, 0);
        card.wait(s, m0, gs.g(0));
        let device = thread::spawn(move || card.frame_and_interrupt(s));
        as_m(m0, || work(s, m0, &gs, |_| {}));
        device.join().unwrap();
        card.end(s, &gs)
    })
}

/// The same, with the only P on M0 and the interrupt on M1, which has none.
#[test]
fn interrupt_without_p() {
    explore(1, || {
        let (s, gs) = (sched(2, 1), Gs::new(1));
        let m0 = s.model_hold(0, 0, false);
        gs.make_all_runnable();
        let card = Card::new(s, 1);
        card.wait(s, m0, gs.g(0));
        let device = thread::spawn(move || card.frame_and_interrupt(s));
        let other = {
            let (gs, m1) = (gs.clone(), &s.allm[1]);
            thread::spawn(move || as_m(m1, || work(s, m1, &gs, |_| {})))
        };
        as_m(m0, || work(s, m0, &gs, |_| {}));
        other.join().unwrap();
        device.join().unwrap();
        card.end(s, &gs)
    })
}

/// M1 has just dropped its P and counts as spinning; M0, which has none, finds that nobody looks at the network.
#[test]
fn ask_against_spinner() {
    explore(2, || {
        let (s, gs) = (sched(2, 1), Gs::new(1));
        gs.make_all_runnable();
        let card = Card::new(s, 0);
        let m1 = s.model_dropped_p(1);
        card.wait(s, m1, gs.g(0));
        as_m(m1, || s.model_netpoll(m1)); // the first visit
        let other = {
            let gs = gs.clone();
            thread::spawn(move || {
                as_m(m1, || {
                    s.model_stop_looking(m1);
                    work(s, m1, &gs, |_| {})
                })
            })
        };
        let m0 = &s.allm[0];
        card.frame();
        as_m(m0, || {
            s.model_ask_netpoll();
            gs.await_found(0);
            loom::skip_branch();
            work(s, m0, &gs, |_| {})
        });
        other.join().unwrap();
        card.end(s, &gs)
    })
}

/// M0 is in the poller for some reason of its own when M1 is interrupted for a frame, finds it taken, and goes on with its G.
/// Both Gs need the one that the frame is for; M2 halts.
#[test]
fn interrupt_while_another_polls() {
    explore(2, || {
        let (s, gs) = (sched(3, 3), Gs::new(1));
        let [m0, m1] = [0, 1].map(|i| s.model_hold(i, i, false));
        let m2 = s.model_listed(2);
        gs.make_all_runnable();
        let card = Card::new(s, 1);
        card.wait(s, m0, gs.g(0));
        let (done, found) = loom::sync::mpsc::channel();
        let other = {
            let gs = gs.clone();
            thread::spawn(move || {
                card.frame();
                as_m(m1, || s.model_netpoll(m1));
                found.recv().unwrap();
                as_m(m1, || work(s, m1, &gs, |_| {}))
            })
        };
        let idle = {
            let gs = gs.clone();
            thread::spawn(move || {
                s.model_sleep(m2);
                as_m(m2, || work(s, m2, &gs, |_| {}))
            })
        };
        as_m(m0, || s.model_netpoll(m0));
        gs.await_found(0);
        loom::skip_branch();
        done.send(()).unwrap();
        as_m(m0, || work(s, m0, &gs, |_| {}));
        other.join().unwrap();
        idle.join().unwrap();
        card.end(s, &gs)
    })
}
