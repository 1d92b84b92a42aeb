//! Connections that others ask for.
//!
//! ```text
//!            SYN                        ACK of our SYN|ACK
//!   nothing ─────► half-open, 80 bytes ────────────────────► connection ─► queue ─► accept
//!      │ too many half-open:  │ RST, or no answer                         ▲
//!      │ SYN|ACK with a       └────────────────────► nothing              │
//!      └ cookie, nothing kept ────────────────────────────────────────────┘ ACK of the cookie
//! ```
//!
//! A flood of SYNs takes no memory beyond `half_open` entries. When the queue of those who wait to be accepted is full, SYNs and ACKs
//! are dropped, not refused: the other side tries again. The same with as many connections as there may be (`room.rs`).

use super::conn::{Opening, Shared};
use super::cookie;
use super::demux::{Slot, Tuple};
use super::number::{before, first};
use super::segment::{Segment, bare};
use crate::stack::common::SECOND_NS;
use crate::stack::timers::Target;
use crate::stack::{Counter, Net, Ready};
use alloc::{collections::VecDeque, sync::Arc};
use core::net::Ipv4Addr;
use smoltcp::wire::TcpControl;

/// SYN|ACKs before giving up, a second, two, four, … apart.
const TRIES: u32 = 5;

/// Who listens.
pub(crate) struct Listening<U> {
    pub id: u64,
    /// Unspecified: any of ours.
    pub addr: Ipv4Addr,
    pub backlog: usize,
    pub user: Arc<U>,
    /// Those who wait to be accepted.
    pub queue: VecDeque<Arc<Shared<U>>>,
    /// Slots that are `Half` and its.
    pub half: usize,
    /// Somebody was told that the queue is empty.
    pub wanted: bool,
    /// Cookies are out there until then.
    pub cookies_until_ns: u64,
}

impl<U> Listening<U> {
    pub fn is_full(&self) -> bool {
        self.queue.len() >= self.backlog
    }
}

/// A connection that was asked for.
#[derive(Clone, Copy)]
pub(crate) struct Half {
    pub listener: u64,
    pub opening: Opening,
    tries: u32,
    again_ns: u64,
}

impl<U> Net<'_, U> {
    /// A segment for who listens, of no connection.
    pub(super) fn listener_segment(&mut self, segment: &Segment<'_>) {
        match (segment.repr.control, segment.ack()) {
            (TcpControl::Rst, _) => (),
            (TcpControl::Syn, None) => self.new_half(segment, None),
            (TcpControl::Syn, _) | (_, None) => self.nobodys_segment(segment),
            (_, Some(_)) => self.maybe_cookie(segment),
        }
    }

    /// A SYN for who listens. `beyond`: the 4-tuple's last connection used numbers up to it.
    pub(super) fn new_half(&mut self, segment: &Segment<'_>, beyond: Option<u32>) {
        // For a record's sake that has been asked already.
        if beyond.is_none() && self.stack.tcp.rooms.is_full() {
            return;
        }
        let tuple = segment.tuple;
        let mut ours = first(&self.stack.tcp.numbers, &tuple, self.now_ns);
        if let Some(least) = beyond.map(|b| b.wrapping_add(1 << 17))
            && before(ours, least)
        {
            ours = least
        }
        let mut opening = Opening::of_syn(segment, ours);
        let again_ns = self.now_ns + SECOND_NS;
        {
            let mut demux = self.stack.tcp.demux.lock();
            let Some(l) = demux.listener(tuple.local) else {
                return;
            };
            if l.is_full() {
                return self.stack.stats.count(Counter::ListenQueueFull);
            }
            if l.half < self.stack.config.tcp.half_open {
                l.half += 1;
                let half = Half {
                    listener: l.id,
                    opening,
                    tries: 1,
                    again_ns,
                };
                demux.slots.insert(tuple, Slot::Half(half));
            } else {
                l.cookies_until_ns = self.now_ns + cookie::LIFE_NS;
                cookie::bake(&self.stack.tcp.cookies, &tuple, &mut opening, self.now_ns);
                self.stack.stats.count(Counter::CookieOut);
                drop(demux);
                return self.say_syn_ack(&tuple, &opening);
            }
        }
        self.stack.timers.remind(again_ns, Target::Half(tuple));
        self.say_syn_ack(&tuple, &opening)
    }

    /// A segment for what is half-open.
    pub(super) fn half_segment(&mut self, segment: &Segment<'_>) {
        let tuple = segment.tuple;
        let stats = &self.stack.stats;
        let half = match self.stack.tcp.demux.lock().slots.get(&tuple) {
            Some(Slot::Half(half)) => *half,
            _ => return,
        };
        let expected = half.opening.theirs.wrapping_add(1);
        match (segment.repr.control, segment.ack()) {
            (TcpControl::Rst, _) if segment.seq() == expected => {
                stats.count(Counter::HalfReset);
                self.drop_half(&tuple)
            }
            (TcpControl::Rst, _) => (),
            // Our SYN|ACK was lost, or they begin anew, and will tell us that by RST.
            (TcpControl::Syn, _) => self.say_syn_ack(&tuple, &half.opening),
            (_, None) => (),
            (_, Some(ack)) if ack != half.opening.ours.wrapping_add(1) => {
                self.nobodys_segment(segment)
            }
            // What overtook the ACK comes again.
            (_, Some(_)) if segment.seq() != expected => stats.count(Counter::HalfEarly),
            (_, Some(_)) => self.establish(segment, half.listener, half.opening, true),
        }
    }

    /// An ACK for who listens, of nothing that we know: of a cookie?
    fn maybe_cookie(&mut self, segment: &Segment<'_>) {
        let id = {
            let mut demux = self.stack.tcp.demux.lock();
            let listener = demux.listener(segment.tuple.local);
            let baking = listener.filter(|l| l.cookies_until_ns > self.now_ns);
            baking.map(|l| l.id)
        };
        let opening = cookie::taste(&self.stack.tcp.cookies, segment, self.now_ns);
        match (id, opening) {
            (Some(id), Some(opening)) => self.establish(segment, id, opening, false),
            _ => self.nobodys_segment(segment),
        }
    }

    /// The other side has confirmed: makes the connection, queues it, gives it the segment.
    fn establish(&mut self, segment: &Segment<'_>, id: u64, opening: Opening, was_half: bool) {
        let tuple = segment.tuple;
        let stack = self.stack;
        let count = |c| stack.stats.count(c);
        let port = tuple.local.port();
        // Before anything is built.
        match stack.tcp.demux.lock().listener_by_id(port, id) {
            Some(l) if l.is_full() => return count(Counter::AcceptQueueFull),
            Some(_) => (),
            None => return,
        }
        let Some(conn) = Shared::accepted(self, tuple, &opening) else {
            return;
        };
        let user = {
            let mut demux = stack.tcp.demux.lock();
            // Another CPU may have been faster.
            match demux.slots.get(&tuple) {
                Some(Slot::Half(half)) if was_half && half.listener == id => (),
                None if !was_half => (),
                _ => return,
            }
            let Some(l) = demux.listener_by_id(port, id) else {
                return;
            };
            if l.is_full() {
                return count(Counter::AcceptQueueFull);
            }
            l.half -= usize::from(was_half);
            l.queue.push_back(conn.clone());
            let user = core::mem::take(&mut l.wanted).then(|| l.user.clone());
            demux.slots.insert(tuple, Slot::Conn(conn.clone()));
            user
        };
        self.with_conn(&conn, |inner, net| {
            inner.came(net, segment);
            inner.check_name(net.stack, &tuple)
        });
        if let Some(user) = user {
            self.out.ready(&user, Ready::Readable)
        }
    }

    /// Nobody has confirmed for some time.
    pub(in crate::stack) fn half_fell_due(&mut self, tuple: Tuple) {
        let half = {
            let mut demux = self.stack.tcp.demux.lock();
            let Some(Slot::Half(half)) = demux.slots.get_mut(&tuple) else {
                return;
            };
            if half.again_ns > self.now_ns {
                return; // it has a reminder of its own
            }
            half.again_ns = self.now_ns + (SECOND_NS << half.tries);
            half.tries += 1;
            *half
        };
        if half.tries > TRIES {
            self.stack.stats.count(Counter::HalfTimedOut);
            return self.drop_half(&tuple);
        }
        self.say_syn_ack(&tuple, &half.opening);
        self.stack.timers.remind(half.again_ns, Target::Half(tuple))
    }

    pub(super) fn drop_half(&mut self, tuple: &Tuple) {
        let mut demux = self.stack.tcp.demux.lock();
        let id = match demux.slots.get(tuple) {
            Some(Slot::Half(half)) => half.listener,
            _ => return,
        };
        demux.remove(tuple);
        if let Some(l) = demux.listener_by_id(tuple.local.port(), id) {
            l.half -= 1
        }
    }

    fn say_syn_ack(&mut self, tuple: &Tuple, opening: &Opening) {
        let config = &self.stack.config;
        let window = config.tcp.recv_bytes.min(65535) as u16;
        let ack = opening.theirs.wrapping_add(1);
        let mut repr = bare(tuple, opening.ours, Some(ack), window);
        repr.control = TcpControl::Syn;
        repr.max_seg_size = Some((config.mtu - 40) as u16);
        repr.window_scale = opening.scale.map(|_| config.tcp.window_shift());
        repr.sack_permitted = opening.sack;
        self.say(tuple, &repr)
    }
}
