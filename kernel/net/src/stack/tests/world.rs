//! Two computers, a wire with faults, and a clock that jumps to whatever comes next.

use super::wire::{A, B, Host};
use crate::stack::NEVER;
use base::Rng;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What the wire does to frames, in so many of a thousand.
#[derive(Clone, Copy, Default)]
pub(crate) struct Faults {
    pub lost: u32,
    pub doubled: u32,
    /// A bit is turned.
    pub corrupted: u32,
    /// No TCP arrives; all else does.
    pub tcp_lost: bool,
    /// They take up to so long more than others: they overtake each other.
    pub jitter_ns: u64,
}

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    A,
    B,
}

impl Side {
    pub fn other(self) -> Self {
        match self {
            Side::A => Side::B,
            Side::B => Side::A,
        }
    }
}

/// When, which one, to whom, the frame.
type Flight = Reverse<(u64, u64, Side, Vec<u8>)>;

pub(crate) struct World {
    pub a: Host,
    pub b: Host,
    pub now_ns: u64,
    pub faults: Faults,
    /// The way from one to the other.
    pub delay_ns: u64,
    pub rng: Rng,
    flights: BinaryHeap<Flight>,
    /// Frames that went over the wire.
    pub frames: u64,
    /// TCP segments with RST among them.
    pub resets: u64,
}

impl World {
    pub fn new(seed: u64) -> Self {
        Self::of(Host::new(A), Host::new(B), seed)
    }

    pub fn of(a: Host, b: Host, seed: u64) -> Self {
        Self {
            a,
            b,
            now_ns: 1_000_000_000,
            faults: Faults::default(),
            delay_ns: 100_000,
            rng: Rng::new(seed),
            flights: BinaryHeap::new(),
            frames: 0,
            resets: 0,
        }
    }

    pub fn host(&mut self, side: Side) -> &mut Host {
        match side {
            Side::A => &mut self.a,
            Side::B => &mut self.b,
        }
    }

    /// Puts what the cards have sent onto the wire.
    fn load(&mut self) {
        for side in [Side::A, Side::B] {
            while let Some(frame) = self.host(side).card.sent.pop_front() {
                self.frames += 1;
                self.resets += u64::from(is_reset(&frame));
                self.fly(side.other(), frame)
            }
        }
    }

    fn fly(&mut self, to: Side, mut frame: Vec<u8>) {
        let faults = self.faults;
        if self.rng.below(1000) < faults.lost || faults.tcp_lost && is_tcp(&frame) {
            return;
        }
        if self.rng.below(1000) < faults.corrupted {
            let bit = self.rng.below(frame.len() as u32 * 8) as usize;
            frame[bit / 8] ^= 1 << (bit % 8)
        }
        let copies = 1 + u32::from(self.rng.below(1000) < faults.doubled);
        for _ in 0..copies {
            let late = match faults.jitter_ns {
                0 => 0,
                ns => self.rng.next_u64() % ns,
            };
            let at = self.now_ns + self.delay_ns + late;
            self.flights
                .push(Reverse((at, self.frames, to, frame.clone())))
        }
    }

    /// Lets the next thing happen, by `until_ns` at the latest. False: there is none.
    pub fn step(&mut self, until_ns: u64) -> bool {
        self.load();
        let due = self
            .a
            .stack
            .next_deadline_ns()
            .min(self.b.stack.next_deadline_ns());
        let arrival = self.flights.peek().map_or(NEVER, |Reverse(f)| f.0);
        let next = due.min(arrival);
        if next > until_ns {
            self.now_ns = self.now_ns.max(until_ns);
            return false;
        }
        self.now_ns = self.now_ns.max(next);
        let now = self.now_ns;
        if arrival <= due {
            if let Some(Reverse((_, _, to, frame))) = self.flights.pop() {
                self.host(to).input(&frame, now)
            }
        } else {
            for side in [Side::A, Side::B] {
                let Host { stack, card } = self.host(side);
                stack.tick(now, card)
            }
        }
        self.load();
        true
    }

    /// Lets things happen until there is nothing more, or for `ns`.
    pub fn run(&mut self, ns: u64) {
        let until = self.now_ns + ns;
        while self.step(until) {}
    }
}

fn is_tcp(frame: &[u8]) -> bool {
    frame[12..14] == [8, 0] && frame[23] == 6
}

fn is_reset(frame: &[u8]) -> bool {
    is_tcp(frame) && frame.get(47).is_some_and(|flags| flags & 4 != 0)
}
