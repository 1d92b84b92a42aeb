//! The card between stack and netpoller: who may touch which half of which pair of queues, and what becomes of frames that find no room.
//!
//! **I-FULL** Who was told that there is no room is told of room: the transmitter is asked to interrupt before `full` is set, under
//! its lock, and the netpoller looks at `full` on each visit.
//!
//! **I-WATCH** Whatever is lost between driver and device, a kick or an interrupt, nothing rests for longer than [`WATCH_NS`]: so often
//! the netpoller is visited, by an idle CPU too, and the device told of all that it has. Rings lose nothing by that, and a device whose
//! event index was passed unseen would else be silent for 65,536 buffers (Linux: `dev_watchdog`).

#[cfg(ringo_kernel)]
use crate::device::Pair;
use crate::device::{Bell, Checksum, Error, Frame, Offers, Receiver, Transmitter};
use crate::stack::{self, NEVER, Ready};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
#[cfg(ringo_kernel)]
use base::Rank;
use base::{PreemptGuard, SpinLock};
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use sched::netpoll::{Mode, PollDesc, ReadyList};

/// Frames that one visit takes at most: others want the CPU too.
const BUDGET: usize = 64;

/// I-WATCH: twice a second, which costs an idle machine nothing that could be measured.
const WATCH_NS: u64 = 500_000_000;

/// A card's pairs of queues, each half under a lock of its own.
pub(super) struct Card<B: Bell> {
    pairs: Box<[Queues<B>]>,
    /// It has broken the rules, and is given up. Relaxed: nothing hangs on when that is seen.
    broken: AtomicBool,
    /// I-WATCH: when that is due. Relaxed: the netpoller's alone to write.
    watch_ns: AtomicU64,
    /// The pair that is looked at first. Relaxed: as above.
    first: AtomicUsize,
    pub(super) mac: [u8; 6],
    pub(super) offers: Offers,
}

struct Queues<B: Bell> {
    receiver: SpinLock<Receiver<B>>,
    sender: SpinLock<Sender<B>>,
    /// Written under the lock of the half, read by anybody; relaxed: they count and order nothing.
    frames_in: AtomicU64,
    frames_out: AtomicU64,
}

/// Adds to what is counted under the half's lock, which the caller holds.
fn count(counter: &AtomicU64, n: usize) {
    counter.store(counter.load(Relaxed) + n as u64, Relaxed)
}

/// What went through one of the card's pairs of queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueuePair {
    /// Frames that came.
    pub frames_in: u64,
    /// Frames that went.
    pub frames_out: u64,
}

struct Sender<B: Bell> {
    transmitter: Transmitter<B>,
    /// I-FULL: somebody waits for room.
    full: bool,
}

impl<B: Bell> Card<B> {
    #[cfg(ringo_kernel)]
    pub(super) fn new(mac: [u8; 6], offers: Offers, pairs: impl Iterator<Item = Pair<B>>) -> Self {
        let queues = |pair: Pair<B>| Queues {
            receiver: SpinLock::new(Rank::NetReceiver, pair.receiver),
            sender: SpinLock::new(
                Rank::NetDevice,
                Sender {
                    transmitter: pair.transmitter,
                    full: false,
                },
            ),
            frames_in: AtomicU64::new(0),
            frames_out: AtomicU64::new(0),
        };
        Card {
            pairs: pairs.map(queues).collect(),
            broken: AtomicBool::new(false),
            watch_ns: AtomicU64::new(0),
            first: AtomicUsize::new(0),
            mac,
            offers,
        }
    }

    /// The pair of the caller's CPU.
    fn near(&self) -> usize {
        arch::cpu_id() % self.pairs.len()
    }

    /// Calls `f` for some of the frames that have come, by another pair first each time.
    pub(super) fn receive(&self, mut f: impl FnMut(Frame<'_>)) {
        let first = self.first.load(Relaxed);
        self.first.store((first + 1) % self.pairs.len(), Relaxed);
        let (before, after) = self.pairs.split_at(first);
        let mut left = BUDGET;
        for pair in after.iter().chain(before) {
            let mut receiver = pair.receiver.lock();
            receiver.ignore();
            match receiver.receive(left, &mut f) {
                Ok(0) => {}
                Ok(n) => {
                    count(&pair.frames_in, n);
                    left -= n
                }
                Err(error) => self.say_broken(&error),
            }
        }
    }

    /// From here on it interrupts when a frame has come, or when one has gone and somebody waits for that; and it has been told of
    /// all frames (I-LATE). True: one has come or gone.
    pub(super) fn listen(&self) -> bool {
        if self.is_broken() {
            return false; // a broken ring never rests
        }
        let lost = trace::lost!("net.interrupt");
        let mut news = false;
        for pair in &self.pairs {
            news |= {
                let mut receiver = pair.receiver.lock();
                let came = receiver.listen();
                if lost {
                    receiver.ignore()
                }
                came && !lost
            };
            let bell = {
                let mut sender = pair.sender.lock();
                news |= !lost && sender.full && sender.transmitter.listen();
                sender.transmitter.settle()
            };
            if let Some(bell) = bell {
                bell.ring() // see `flush`
            }
        }
        news
    }

    /// I-WATCH: tells the device of all that it has, if that is due.
    pub(super) fn watch(&self, now_ns: u64) {
        if now_ns < self.watch_ns() {
            return;
        }
        self.watch_ns.store(now_ns + WATCH_NS, Relaxed);
        for pair in &self.pairs {
            pair.receiver.lock().remind();
            let bell = pair.sender.lock().transmitter.remind();
            bell.ring() // see `flush`
        }
    }

    /// When that is due.
    pub(super) fn watch_ns(&self) -> u64 {
        if self.is_broken() || trace::lost!("net.watch") {
            return NEVER;
        }
        self.watch_ns.load(Relaxed)
    }

    /// Somebody waits for room, and there is some.
    pub(super) fn has_room_again(&self) -> bool {
        let mut any = false;
        for pair in &self.pairs {
            let mut sender = pair.sender.lock();
            if !sender.full {
                continue;
            }
            if let Err(error) = sender.transmitter.reclaim() {
                self.say_broken(&error);
                return false;
            }
            sender.full = !sender.transmitter.has_room();
            if !sender.full {
                sender.transmitter.ignore();
                any = true
            }
        }
        any
    }

    /// What went through each pair.
    pub(super) fn counts(&self) -> Vec<QueuePair> {
        let counts = |pair: &Queues<B>| QueuePair {
            frames_in: pair.frames_in.load(Relaxed),
            frames_out: pair.frames_out.load(Relaxed),
        };
        self.pairs.iter().map(counts).collect()
    }

    /// Has the device taken all that was sent, or will it never?
    pub(super) fn has_sent_all(&self) -> bool {
        self.pairs.iter().all(|pair| {
            let mut sender = pair.sender.lock();
            if let Err(error) = sender.transmitter.reclaim() {
                self.say_broken(&error)
            }
            if let Some(bell) = sender.transmitter.settle() {
                bell.ring()
            }
            self.is_broken() || sender.transmitter.under_way() == 0
        })
    }

    /// Nothing comes or goes any more.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.load(Relaxed)
    }

    fn send(
        &self,
        pair: usize,
        bytes: usize,
        checksum: Option<Checksum>,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> bool {
        let pair = &self.pairs[pair];
        let mut sender = pair.sender.lock();
        loop {
            match sender.transmitter.send(bytes, checksum, &mut *fill) {
                Ok(false) if !sender.transmitter.listen() => {
                    sender.full = true;
                    return false;
                }
                Ok(false) => {} // one has gone meanwhile
                Ok(true) => {
                    count(&pair.frames_out, 1);
                    return true;
                }
                Err(error) => {
                    self.say_broken(&error);
                    return true; // what is sent into it is lost
                }
            }
        }
    }

    /// Once: nothing comes or goes any more.
    #[cold]
    fn say_broken(&self, error: &Error) {
        if !self.broken.swap(true, Relaxed) {
            log::error!("network card: {error}")
        }
    }

    /// The bell is rung with the lock free: under an emulator that takes as long as the device's thread holds what both need, and
    /// others want to send meanwhile. Nobody is switched away between the two, since the frames wait for the bell.
    fn flush(&self, pair: usize) {
        let guard = PreemptGuard::new();
        let bell = self.pairs[pair].sender.lock().transmitter.publish();
        if let Some(bell) = bell {
            bell.ring()
        }
        drop(guard)
    }
}

/// Where a call's effects go.
pub(super) struct Out<'a, B: Bell> {
    card: Option<&'a Card<B>>,
    /// Who can go on.
    pub(super) list: &'a mut ReadyList,
    /// By which pairs something was sent, a bit each.
    sent: u64,
}

impl<'a, B: Bell> Out<'a, B> {
    pub(super) fn new(card: Option<&'a Card<B>>, list: &'a mut ReadyList) -> Self {
        Out {
            card,
            list,
            sent: 0,
        }
    }
}

/// What was sent leaves.
impl<B: Bell> Drop for Out<'_, B> {
    fn drop(&mut self) {
        let Some(card) = self.card else { return };
        while self.sent != 0 {
            card.flush(self.sent.trailing_zeros() as usize);
            self.sent &= self.sent - 1
        }
    }
}

impl<B: Bell> stack::Out<PollDesc> for Out<'_, B> {
    /// Whoever asks may be on another CPU by the time he sends: that is as good.
    fn near(&self) -> u16 {
        self.card.map_or(0, |card| card.near() as u16)
    }

    fn frame(
        &mut self,
        queue: u16,
        bytes: usize,
        checksum: Option<Checksum>,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> bool {
        let Some(card) = self.card else {
            return true; // there is no wire: it is lost
        };
        let sent = card.send(usize::from(queue), bytes, checksum, fill);
        self.sent |= u64::from(sent) << queue;
        sent
    }

    fn ready(&mut self, socket: &Arc<PollDesc>, mode: Ready) {
        if mode != Ready::Writable {
            socket.ready(Mode::Read, self.list)
        }
        if mode != Ready::Readable {
            socket.ready(Mode::Write, self.list)
        }
    }
}
