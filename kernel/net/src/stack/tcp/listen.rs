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
            (TcpControl::Syn, None) => {
                if !self.new_half(segment) {
                    self.nobodys_segment(segment)
                }
            }
            (TcpControl::Syn, _) | (_, None) => self.nobodys_segment(segment),
            (_, Some(_)) => self.maybe_cookie(segment),
        }
    }

    /// A SYN for who listens, with a name that is free, or an ended connection's that makes way. What it cannot begin is not answered:
    /// it comes again. False: nobody listens any more.
    pub(super) fn new_half(&mut self, segment: &Segment<'_>) -> bool {
        let tcp = &self.stack.tcp;
        let tuple = segment.tuple;
        let mut opening = Opening::of_syn(segment, first(&tcp.numbers, &tuple, self.now_ns));
        let again_ns = self.now_ns + SECOND_NS;
        let is_half = {
            let mut demux = tcp.demux.lock();
            let last = match demux.slots.get(&tuple) {
                None => None,
                Some(Slot::Waiting(wait)) if wait.makes_way(segment) => Some(wait.next),
                Some(_) => return true, // another CPU was faster
            };
            let Some(l) = demux.listener(tuple.local) else {
                return false;
            };
            if tcp.rooms.is_full() {
                return true;
            }
            if l.is_full() {
                self.stack.stats.count(Counter::ListenQueueFull);
                return true;
            }
            // Beyond all numbers that the name's last connection used.
            if let Some(least) = last.map(|next| next.wrapping_add(1 << 17))
                && before(opening.ours, least)
            {
                opening.ours = least
            }
            let listener = l.id;
            let is_half = l.half < self.stack.config.tcp.half_open;
            if is_half {
                l.half += 1
            } else {
                l.cookies_until_ns = self.now_ns + cookie::LIFE_NS
            }
            if last.is_some() {
                demux.remove(&tuple);
                demux.waiting -= 1
            }
            if is_half {
                let half = Half {
                    listener,
                    opening,
                    tries: 1,
                    again_ns,
                };
                demux.slots.insert(tuple, Slot::Half(half));
            }
            is_half
        };
        if is_half {
            self.stack.timers.remind(again_ns, Target::Half(tuple))
        } else {
            cookie::bake(&tcp.cookies, &tuple, &mut opening, self.now_ns);
            self.stack.stats.count(Counter::CookieOut)
        }
        self.say_syn_ack(&tuple, &opening);
        true
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

#[cfg(test)]
mod tests {
    use super::{Listening, Segment, Slot, Tuple, bare, before};
    use crate::stack::Counter;
    use crate::stack::tcp::timewait::TimeWait;
    use crate::stack::tests::wire::{A, B, Host, Told};
    use smoltcp::wire::TcpControl;
    use std::net::SocketAddrV4;
    use std::sync::Arc;

    const NAME: Tuple = Tuple {
        local: SocketAddrV4::new(A, 80),
        remote: SocketAddrV4::new(B, 1000),
    };

    fn syn(seq: u32) -> Segment<'static> {
        let mut repr = bare(&NAME, seq, None, 1000);
        repr.control = TcpControl::Syn;
        Segment {
            tuple: NAME,
            repr,
            packet: &[],
        }
    }

    fn listen(host: &Host) {
        host.stack.listen(NAME.local, 8, Arc::default()).unwrap();
    }

    fn listener<R>(host: &Host, f: impl FnOnce(&mut Listening<Told>) -> R) -> R {
        f(host.stack.tcp.demux.lock().listener(NAME.local).unwrap())
    }

    /// Two CPUs bring the same SYN, and both have found its name free.
    #[test]
    fn one_name_is_half_open_once() {
        let mut host = Host::new(A);
        listen(&host);
        let mut net = host.stack.net(0, &mut host.card);
        assert_eq!([7, 7].map(|seq| net.new_half(&syn(seq))), [true; 2]);
        net.drop_half(&NAME);
        assert_eq!(host.stack.connections(), 0);
        assert_eq!(listener(&host, |l| l.half), 0)
    }

    /// An ended connection makes way for what takes its place, and for nothing else.
    #[test]
    fn who_makes_way() {
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        enum Case {
            Half,
            Cookie,
            NoListener,
            QueueFull,
            NoPlace,
            Old,
            Lingers,
        }
        use Case::*;
        for case in [Half, Cookie, NoListener, QueueFull, NoPlace, Old, Lingers] {
            let mut host = Host::with(A, |c| {
                if case == Cookie {
                    c.tcp.half_open = 0
                }
                if case == NoPlace {
                    c.tcp.connections = 0
                }
            });
            if case != NoListener {
                listen(&host)
            }
            if case == QueueFull {
                listener(&host, |l| l.backlog = 0)
            }
            let ours = super::first(&host.stack.tcp.numbers, &NAME, 0);
            let wait = TimeWait {
                ended: case != Lingers,
                next: ours.wrapping_add(5),
                acked: 100,
                since_ns: 0,
                until_ns: 100,
                reminded_ns: 100,
            };
            {
                let mut demux = host.stack.tcp.demux.lock();
                demux.slots.insert(NAME, Slot::Waiting(wait));
                demux.waiting = 1
            }
            let seq = if case == Old { 100 } else { 101 };
            let mut net = host.stack.net(0, &mut host.card);
            assert_eq!(net.new_half(&syn(seq)), case != NoListener, "{case:?}");
            let begins = matches!(case, Half | Cookie);
            let (waiting, slots) = (
                host.stack.remembered_connections(),
                host.stack.connections(),
            );
            let cookies = host.stack.stats.get(Counter::CookieOut);
            assert_eq!(waiting, usize::from(!begins), "{case:?}");
            assert_eq!(slots, usize::from(case != Cookie), "{case:?}");
            assert_eq!(cookies, u64::from(case == Cookie), "{case:?}");
            if case == Half {
                let number = host.stack.tcp.half_number(1000).unwrap();
                assert!(before(wait.next, number), "its numbers come again")
            }
        }
    }
}
