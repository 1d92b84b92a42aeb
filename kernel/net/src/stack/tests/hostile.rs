//! Damaged frames in the middle of real conversations: a stack says what it counts, never falls over, and keeps nothing.

use super::wire::{A, B, Host, Told, settle};
use crate::stack::tcp::{Conn, Listener};
use crate::stack::{Counter, NEVER, fuzz};
use base::Rng;
use smoltcp::wire::{Ipv4Packet, TcpPacket};
use std::sync::Arc;

const MS: u64 = 1_000_000;
/// Damaged copies of each frame.
const COPIES: u64 = 12;

struct Stage {
    a: Host,
    b: Host,
    now_ns: u64,
    rng: Rng,
    inputs: u64,
}

impl Stage {
    /// Makes sums right again in some of the damaged frames, so that what lies behind them is reached.
    fn mend(&mut self, frame: &mut [u8]) {
        let Some(bytes) = frame.get_mut(14..) else {
            return;
        };
        let Ok(mut ip) = Ipv4Packet::new_checked(&mut bytes[..]) else {
            return;
        };
        if self.rng.below(8) != 0 {
            ip.fill_checksum()
        }
        let (source, dest) = (ip.src_addr().into(), ip.dst_addr().into());
        if self.rng.below(4) != 0
            && let Ok(mut tcp) = TcpPacket::new_checked(ip.payload_mut())
        {
            tcp.fill_checksum(&source, &dest)
        }
    }

    /// Carries what is under way, each frame after damaged copies of it.
    fn carry(&mut self) {
        for _ in 0..60 {
            self.now_ns += MS / 10;
            let now = self.now_ns;
            let mut quiet = true;
            for to_b in [true, false] {
                let (from, to) = match to_b {
                    true => (&mut self.a, B),
                    false => (&mut self.b, A),
                };
                let Some(frame) = from.card.sent.pop_front() else {
                    continue;
                };
                quiet = false;
                for _ in 0..COPIES {
                    let mut copy = frame.clone();
                    for _ in 0..1 + self.rng.below(3) {
                        fuzz::damage(&mut copy, &mut self.rng)
                    }
                    self.mend(&mut copy);
                    self.inputs += 1;
                    let host = if to == B { &mut self.b } else { &mut self.a };
                    host.input(&copy, now)
                }
                let host = if to == B { &mut self.b } else { &mut self.a };
                host.input(&frame, now);
                // What damaged frames have called forth does not pile up.
                host.card.sent.truncate(8)
            }
            if quiet {
                return;
            }
        }
    }

    fn tick(&mut self, ns: u64) {
        self.now_ns += ns;
        for host in [&mut self.a, &mut self.b] {
            host.stack.tick(self.now_ns, &mut host.card)
        }
    }

    /// A conversation, as far as it goes.
    fn talk(&mut self, listener: &Listener<Told>, served: &mut Vec<Conn<Told>>) {
        let to = "10.0.0.2:80".parse().unwrap();
        let now = self.now_ns;
        let asked = self
            .a
            .stack
            .connect(to, Arc::default(), now, &mut self.a.card);
        let Ok(conn) = asked else {
            return;
        };
        self.carry();
        if self.rng.below(4) != 0 {
            served.extend(listener.accept(&self.b.stack, Arc::default()))
        }
        for _ in 0..self.rng.below(4) {
            let data = vec![1; 1 + self.rng.below(3000) as usize];
            let now = self.now_ns;
            let _ = conn.send(&self.a.stack, &data, now, &mut self.a.card);
            for conn in &*served {
                let _ = conn.send(&self.b.stack, &data[..1], now, &mut self.b.card);
            }
            self.carry();
            let now = self.now_ns;
            for conn in &*served {
                let _ = conn.recv(&self.b.stack, &mut [0; 2000], now, &mut self.b.card);
            }
            if self.rng.below(4) == 0 {
                self.tick(2000 * MS)
            }
        }
        let now = self.now_ns;
        match self.rng.below(4) {
            0 => conn.abort(&self.a.stack, now, &mut self.a.card),
            _ => conn.close(&self.a.stack, now, &mut self.a.card),
        }
        self.carry();
        if self.rng.below(2) == 0 || served.len() > 4 {
            let now = self.now_ns;
            for conn in served.drain(..) {
                conn.close(&self.b.stack, now, &mut self.b.card)
            }
        }
        self.carry()
    }
}

#[test]
fn damaged_frames() {
    let small = |c: &mut crate::stack::Config| {
        (c.tcp.half_open, c.tcp.time_waits) = (4, 1);
        (c.tcp.recv_bytes, c.tcp.send_bytes) = (4000, 4000)
    };
    let mut stage = Stage {
        a: Host::with(A, small),
        b: Host::with(B, small),
        now_ns: MS,
        rng: Rng::new(fuzz::inputs()),
        inputs: 0,
    };
    let at = "0.0.0.0:80".parse().unwrap();
    let listener = stage.b.stack.listen(at, 3, Arc::default()).unwrap();
    let mut served = Vec::new();
    while stage.inputs < fuzz::inputs() {
        stage.talk(&listener, &mut served)
    }
    let count = |c| stage.a.stack.stats.get(c) + stage.b.stack.stats.get(c);
    let all: Vec<_> = Counter::ALL
        .iter()
        .map(|&c| (c, count(c)))
        .filter(|&(_, n)| n > 0)
        .collect();
    println!("{} inputs: {all:?}", stage.inputs);
    for reached in REACHED {
        assert!(count(*reached) > 0, "{reached:?} was never reached")
    }
    // Nothing is left of it all.
    let now = stage.now_ns;
    for conn in served {
        conn.close(&stage.b.stack, now, &mut stage.b.card)
    }
    listener.close(&stage.b.stack, now, &mut stage.b.card);
    for _ in 0..3000 {
        settle(&mut stage.a, &mut stage.b, stage.now_ns);
        stage.tick(1000 * MS)
    }
    let left = [&stage.a, &stage.b].map(|h| (h.stack.connections(), h.stack.next_deadline_ns()));
    assert_eq!(left, [(0, NEVER); 2])
}

const REACHED: &[Counter] = &[
    Counter::FrameShort,
    Counter::FrameForOther,
    Counter::FrameType,
    Counter::Ipv4Malformed,
    Counter::Ipv4Checksum,
    Counter::Ipv4Fragment,
    Counter::Ipv4Source,
    Counter::Ipv4NotOurs,
    Counter::NoProtocol,
    Counter::TcpMalformed,
    Counter::TcpChecksum,
    Counter::TcpNotUnicast,
    Counter::TcpNobody,
    Counter::TcpResetOut,
    Counter::TcpResetIn,
    Counter::TcpUnreceived,
    Counter::ListenQueueFull,
    Counter::CookieOut,
    Counter::HalfReset,
    Counter::HalfEarly,
    Counter::HalfTimedOut,
    Counter::TimeWaitFull,
];
