//! How a connection is run: whoever has something for it takes its lock, does that, lets it send, and finds out what has changed; what
//! others are to be told is told when the lock is free (I-ONE).

use super::TcpError;
use super::conn::{Inner, Shared, instant};
use super::demux::{Slot, Tuple};
use super::segment::Segment;
use super::starving::Spot;
use super::wire::{Egress, Wire};
use crate::stack::ipv4::Sent;
use crate::stack::timers::Target;
use crate::stack::{Counter, NEVER, Net, Ready};
use alloc::sync::Arc;
use smoltcp::socket::tcp::State;
use smoltcp::wire::{IpProtocol, TcpControl};

/// Where smoltcp would be asked again at once although it has nothing to do.
const AGAIN_NS: u64 = 1_000_000;

/// What is to be done with the lock free.
pub(super) struct After<U> {
    user: Option<Arc<U>>,
    readable: bool,
    writable: bool,
    closed: bool,
    leave: Option<Leave>,
    remind_ns: Option<u64>,
    pub(super) starve: Option<Spot>,
}

/// It leaves the table.
enum Leave {
    Gone,
    /// `ended`: their FIN has come.
    Wait {
        next: u32,
        acked: u32,
        ended: bool,
    },
}

impl<U> Net<'_, U> {
    /// Does `f` to a connection, and whatever follows from it.
    pub(super) fn with_conn<R>(
        &mut self,
        conn: &Arc<Shared<U>>,
        f: impl FnOnce(&mut Inner<U>, &mut Self) -> R,
    ) -> R {
        let (r, after) = self.run(&mut conn.inner.lock(), f);
        self.follow(conn, after);
        r
    }

    /// The part of it that needs the connection's lock; [`Net::follow`] is the other.
    pub(super) fn run<R>(
        &mut self,
        inner: &mut Inner<U>,
        f: impl FnOnce(&mut Inner<U>, &mut Self) -> R,
    ) -> (R, After<U>) {
        let unanswered = inner.socket().send_queue() != 0;
        let near = self.queue;
        self.queue = inner.egress.queue_for(near, unanswered);
        let r = f(inner, self);
        inner.give_up(self);
        inner.pump(self);
        self.queue = near;
        (r, inner.after(self))
    }

    pub(super) fn conn_segment(&mut self, conn: &Arc<Shared<U>>, segment: &Segment<'_>) {
        self.with_conn(conn, |inner, net| inner.came(net, segment))
    }

    /// Reminded of a connection, if it is still there.
    pub(in crate::stack) fn conn_fell_due(&mut self, tuple: &Tuple) {
        let conn = match self.stack.tcp.demux.lock().slots.get(tuple) {
            Some(Slot::Conn(conn)) => conn.clone(),
            _ => return,
        };
        self.with_conn(&conn, |inner, net| inner.disarm(net.now_ns))
    }

    /// Does what is left to do with the lock free.
    pub(super) fn follow(&mut self, conn: &Arc<Shared<U>>, after: After<U>) {
        let tcp = &self.stack.tcp;
        match after.leave {
            Some(Leave::Wait { next, acked, ended }) => {
                self.begin_wait(&conn.tuple, next, acked, ended)
            }
            Some(Leave::Gone) => {
                let mut demux = tcp.demux.lock();
                let ours = |s: &Slot<U>| matches!(s, Slot::Conn(c) if Arc::ptr_eq(c, conn));
                if demux.slots.get(&conn.tuple).is_some_and(ours) {
                    let gone = demux.remove(&conn.tuple);
                    drop(demux);
                    drop(gone)
                }
            }
            None => (),
        }
        if let Some(at_ns) = after.remind_ns {
            let target = Target::Conn(conn.tuple);
            self.stack.timers.remind(at_ns, target)
        }
        if let Some(spot) = after.starve {
            tcp.starving.put(conn.clone(), spot);
            // There may have been room before that was noted, and whoever said so has found nobody.
            self.with_conn(conn, |_, _| ());
            tcp.starving.take_back(conn, spot)
        }
        let Some(user) = after.user else {
            return;
        };
        let told = [
            (after.readable, Ready::Readable),
            (after.writable, Ready::Writable),
            (after.closed, Ready::Closed),
        ];
        for (_, mode) in told.into_iter().filter(|&(is, _)| is) {
            self.out.ready(&user, mode)
        }
    }
}

impl<'a, U> Wire<'a, '_, U> {
    /// What goes out there is thrown away.
    pub(super) fn silent(egress: &'a mut Egress) -> Self {
        Wire {
            packet: None,
            egress,
            net: None,
            sent: 0,
        }
    }
}

impl<U> Inner<U> {
    /// A packet comes to a connection that says nothing yet.
    pub fn play(&mut self, packet: &[u8], now_ns: u64) {
        let Inner {
            iface, set, egress, ..
        } = self;
        let mut wire = Wire::<U> {
            packet: Some(packet),
            ..Wire::silent(egress)
        };
        iface.poll(instant(now_ns), &mut wire, set);
    }

    /// A segment of it has come.
    pub fn came(&mut self, net: &mut Net<'_, U>, segment: &Segment<'_>) {
        if self.left {
            return; // just now; it comes again
        }
        let before = self.socket().state();
        self.heard_ns = net.now_ns;
        self.soft_error = None;
        if segment.is(TcpControl::Fin) {
            self.fin_end = Some(segment.end())
        }
        if let Some(ack) = segment.ack() {
            self.egress.sight.answered(ack)
        }
        let Inner {
            iface, set, egress, ..
        } = self;
        let at = instant(net.now_ns);
        let mut wire = Wire {
            packet: Some(segment.packet),
            egress,
            net: Some(net),
            sent: 0,
        };
        iface.poll_ingress_single(at, &mut wire, set);
        let stats = &net.stack.stats;
        match self.socket().state() {
            // smoltcp goes back to where it came from, if it is reset before it stood.
            State::Listen => {
                stats.count(Counter::TcpResetIn);
                self.abort(TcpError::Reset)
            }
            State::Closed if before != State::Closed && segment.is(TcpControl::Rst) => {
                stats.count(Counter::TcpResetIn);
                let refused = before == State::SynSent;
                let why = if refused {
                    TcpError::Refused
                } else {
                    TcpError::Reset
                };
                self.error.get_or_insert(why);
            }
            _ => (),
        }
        if self.socket().can_recv() {
            if self.closed_ns.is_some() {
                // Nobody will ever receive it, and the other side is told (RFC 9293, 3.6.1; RFC 2525, 2.17).
                stats.count(Counter::TcpUnreceived);
                self.abort(TcpError::NotConnected)
            } else if self.read_shut {
                self.discard()
            }
        }
    }

    /// Throws away what has come.
    pub fn discard(&mut self) {
        let mut all = || self.socket().recv(|bytes| (bytes.len(), bytes.len()));
        while all().is_ok_and(|n| n > 0) {}
    }

    /// Sends what is to be sent.
    fn pump(&mut self, net: &mut Net<'_, U>) {
        while let Some(packet) = self.egress.kept.front() {
            let mut fill = |to: &mut [u8]| to.copy_from_slice(packet);
            let remote = self.egress.remote;
            if net.send_ipv4(remote, IpProtocol::Tcp, packet.len(), &mut fill) == Sent::Full {
                return;
            }
            self.egress.kept.pop_front();
            self.fed()
        }
        if self.left || self.forgotten {
            return;
        }
        let at = instant(net.now_ns);
        loop {
            let Inner {
                iface, set, egress, ..
            } = self;
            let mut wire = Wire {
                packet: None,
                egress,
                net: Some(net),
                sent: 0,
            };
            iface.poll_egress(at, &mut wire, set);
            if wire.sent == 0 {
                return;
            }
        }
    }

    /// What has changed.
    fn after(&mut self, net: &mut Net<'_, U>) -> After<U> {
        let now = net.now_ns;
        let starve = self.starve();
        let leave = self.leave(now);
        self.left |= leave.is_some();
        let readable = self.want_read && self.is_readable();
        let writable = self.want_write && self.is_writable();
        let closed = leave.is_some() && self.error.is_some();
        self.want_read &= !readable;
        self.want_write &= !writable;
        After {
            user: self.user.clone().filter(|_| readable || writable || closed),
            readable,
            writable,
            closed,
            leave,
            remind_ns: self.remind_ns(net, now),
            starve,
        }
    }

    fn leave(&mut self, now_ns: u64) -> Option<Leave> {
        if self.left || !self.egress.kept.is_empty() {
            return None;
        }
        if self.forgotten {
            return Some(Leave::Gone);
        }
        let sight = self.egress.sight;
        match self.socket().state() {
            // With its name still there it has an RST to send.
            State::Closed if self.socket().local_endpoint().is_none() => Some(Leave::Gone),
            // Their FIN is acknowledged.
            State::TimeWait if self.fin_end == Some(sight.acked) => Some(Leave::Wait {
                next: sight.next,
                acked: sight.acked,
                ended: true,
            }),
            // They have all that we had to say, and nobody receives what they say: no buffers are needed.
            State::FinWait2 if self.closed_ns.is_some() && self.rests(now_ns) => {
                Some(Leave::Wait {
                    next: sight.next,
                    acked: sight.acked,
                    ended: false,
                })
            }
            _ => None,
        }
    }

    /// Nothing is to be sent, now or later: what has come is acknowledged.
    fn rests(&mut self, now_ns: u64) -> bool {
        let Inner { iface, set, .. } = self;
        iface.poll_at(instant(now_ns), set).is_none()
    }

    /// Receiving would not block.
    pub fn is_readable(&mut self) -> bool {
        let opening = self.is_opening();
        let has_ended =
            self.error.is_some() || self.read_shut || !opening && !self.socket().may_recv();
        has_ended || self.socket().can_recv()
    }

    /// Sending would not block, or there is that much room that it is worth while (as Linux: a third).
    fn is_writable(&mut self) -> bool {
        if self.is_opening() {
            return false;
        }
        let socket = self.socket();
        let room = socket.send_capacity() - socket.send_queue();
        !socket.may_send() || room * 3 >= socket.send_capacity()
    }

    fn remind_ns(&mut self, net: &Net<'_, U>, now_ns: u64) -> Option<u64> {
        if self.left {
            return None;
        }
        let mut at_ns = self.patience_ns(net);
        if self.egress.kept.is_empty() {
            let Inner { iface, set, .. } = self;
            if let Some(at) = iface.poll_at(instant(now_ns), set) {
                let ns = (at.total_micros() as u64).saturating_mul(1000);
                at_ns = at_ns.min(ns.max(now_ns + 1))
            }
        }
        if at_ns <= now_ns + 1 {
            at_ns = now_ns + AGAIN_NS
        }
        self.arm(at_ns).then_some(at_ns)
    }

    /// Is a reminder needed, for none comes as early?
    fn arm(&mut self, at_ns: u64) -> bool {
        let earlier = at_ns < self.armed[0];
        if earlier {
            self.armed.copy_within(..3, 1);
            self.armed[0] = at_ns
        }
        earlier
    }

    /// Reminders until now have come.
    fn disarm(&mut self, now_ns: u64) {
        while self.armed[0] <= now_ns {
            self.armed.copy_within(1.., 0);
            self.armed[3] = NEVER
        }
    }
}
