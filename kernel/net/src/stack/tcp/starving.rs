//! Connections that the full card has stopped.
//!
//! Each of the card's queues has a list of its own: that one is full says nothing of the others, and who waits for it is not asked again
//! as long as it is.
//!
//! ```text
//!                    queue q is full             its turn: q has room
//!   Wait::No ─────────────────────────► For(q) ──────────────────────► Turn ──► No: something has gone
//!                 at the list's end      │  ▲                           │
//!                                        │  └───────────────────────────┘ nothing has: at the list's head
//!                                        ├─► No: it is its turn, and it has sent by itself
//!                                        └─► For(p): it has sent by itself, and found p full the next time; in q's list a stale
//!                                            entry is left, which says nothing
//! ```

use super::conn::{Inner, Shared};
use crate::stack::Net;
#[cfg(test)]
use crate::stack::Stack;
use alloc::{collections::VecDeque, sync::Arc, vec::Vec};
use base::{Rank, SpinLock};

/// Who waits for the queue of that number, the longest first.
pub(super) struct Starving<U>(SpinLock<Vec<VecDeque<Arc<Shared<U>>>>>);

/// Does a connection wait for room in the card?
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    No,
    /// It is in that queue's list, or about to be put there. (An entry that it has left in another's says nothing.)
    For(u16),
    /// It was at the head of its queue's list, and tries; nothing of it has gone so far.
    Turn,
}

/// Where a connection is to wait: for which queue, at which end of the list.
#[derive(Clone, Copy)]
pub(super) enum Spot {
    First(u16),
    Last(u16),
}

impl<U> Starving<U> {
    pub fn new() -> Self {
        Self(SpinLock::new(Rank::NetTable, Vec::new()))
    }

    /// The caller tries once more to send then: there may have been room before.
    pub fn put(&self, conn: Arc<Shared<U>>, spot: Spot) {
        let (Spot::First(queue) | Spot::Last(queue)) = spot;
        let queue = usize::from(queue);
        let mut lists = self.0.lock();
        if lists.len() <= queue {
            lists.resize_with(queue + 1, VecDeque::new)
        }
        match spot {
            Spot::First(_) => lists[queue].push_front(conn),
            Spot::Last(_) => lists[queue].push_back(conn),
        }
    }

    /// Who has been put there and has sent by himself since, because there had been room before, waits no longer: nobody may look for
    /// long, and an entry keeps the connection and its buffers.
    pub fn take_back(&self, conn: &Arc<Shared<U>>, spot: Spot) {
        let mut inner = conn.inner.lock();
        let (Spot::First(queue) | Spot::Last(queue)) = spot;
        if inner.wait == Wait::For(queue) {
            if !inner.egress.kept.is_empty() {
                return;
            }
            inner.wait = Wait::No
        }
        let mut lists = self.0.lock();
        let list = &mut lists[usize::from(queue)];
        if let Some(at) = list.iter().rposition(|one| Arc::ptr_eq(one, conn)) {
            list.remove(at);
        }
    }

    /// How many wait for the queue, stale entries included. None: there is none of that number, or above, for which anybody has waited.
    fn len(&self, queue: u16) -> Option<usize> {
        self.0.lock().get(usize::from(queue)).map(VecDeque::len)
    }

    fn pop(&self, queue: u16) -> Option<Arc<Shared<U>>> {
        self.0.lock()[usize::from(queue)].pop_front()
    }
}

#[cfg(test)]
impl<U> Stack<U> {
    /// Does anybody wait for room in the card?
    pub(crate) fn is_starving(&self) -> bool {
        let tcp = |lists: &[VecDeque<_>]| lists.iter().any(|list| !list.is_empty());
        tcp(&self.tcp.starving.0.lock()) || !self.udp_waits.lock().is_empty()
    }
}

impl<U> Net<'_, U> {
    /// The card has room: for some of those who wait for a queue, each once, until one finds it full again. Whoever finds it so is told
    /// of room (I-FULL), and the others are fed then.
    pub(in crate::stack) fn feed_starving(&mut self) {
        let starving = &self.stack.tcp.starving;
        for queue in 0.. {
            let Some(most) = starving.len(queue) else {
                return;
            };
            for _ in 0..most {
                let Some(conn) = starving.pop(queue) else {
                    break;
                };
                if self.feed(&conn, queue) {
                    break;
                }
            }
        }
    }

    /// It is its turn. True: the queue is full again.
    fn feed(&mut self, conn: &Arc<Shared<U>>, queue: u16) -> bool {
        let after = {
            let mut inner = conn.inner.lock();
            if inner.wait != Wait::For(queue) {
                return false; // a stale entry
            }
            if inner.egress.kept.is_empty() {
                inner.wait = Wait::No;
                return false; // it has sent by itself
            }
            inner.wait = Wait::Turn;
            self.run(&mut inner, |_, _| ()).1
        };
        let full = after.starve.is_some(); // of the same queue, for something was kept
        self.follow(conn, after);
        full
    }
}

impl<U> Inner<U> {
    /// After an attempt to send: is it to wait, and where?
    pub fn starve(&mut self) -> Option<Spot> {
        let queue = self.egress.queue();
        let before = self.wait;
        if self.egress.kept.is_empty() {
            self.fed();
            return None; // its entry, if it has one, stands where it stood
        }
        self.wait = Wait::For(queue);
        match before {
            Wait::Turn => Some(Spot::First(queue)),
            Wait::For(q) if q == queue => None,
            _ => Some(Spot::Last(queue)),
        }
    }

    /// Something of it has gone, or nothing is to go any more.
    pub fn fed(&mut self) {
        if self.wait == Wait::Turn {
            self.wait = Wait::No
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::device::Checksum;
    use crate::stack::tcp::TcpError;
    use crate::stack::tests::wire::{A, B, Host, Told, settle};
    use crate::stack::{Out, Ready, Stack};
    use std::net::SocketAddrV4;
    use std::sync::Arc;

    const TO: SocketAddrV4 = SocketAddrV4::new(B, 80);

    /// A card of two queues.
    struct Card {
        near: u16,
        /// Frames that each has room for.
        room: [usize; 2],
        /// From which port a frame of a connection went.
        went: Vec<u16>,
        tried: usize,
        /// So often it is full, and has room right after.
        late: usize,
    }

    impl Out<Told> for Card {
        fn near(&self) -> u16 {
            self.near
        }

        fn frame(
            &mut self,
            queue: u16,
            bytes: usize,
            _: Option<Checksum>,
            fill: &mut dyn FnMut(&mut [u8]),
        ) -> bool {
            self.tried += 1;
            let room = &mut self.room[usize::from(queue)];
            if self.late != 0 {
                self.late -= 1;
                return false;
            }
            if *room == 0 {
                return false;
            }
            *room -= 1;
            let mut frame = vec![0; bytes];
            fill(&mut frame);
            self.went.push(u16::from_be_bytes([frame[34], frame[35]]));
            true
        }

        fn ready(&mut self, _: &Arc<Told>, _: Ready) {}
    }

    /// A stack that knows where B lives, and a full card.
    fn full() -> (Stack<Told>, Card) {
        let (mut a, mut b) = (Host::new(A), Host::new(B));
        let asked = a.stack.connect(TO, Arc::default(), 0, &mut a.card);
        settle(&mut a, &mut b, 0);
        assert_eq!(asked.unwrap().connected(), Err(TcpError::Refused));
        let card = Card {
            near: 0,
            room: [0, 0],
            went: Vec::new(),
            tried: 0,
            late: 0,
        };
        (a.stack, card)
    }

    /// Room between the attempt and the list: nobody says so again, and who has sent after all is in no list.
    #[test]
    fn who_has_been_late_waits_no_longer() {
        let (stack, mut card) = full();
        (card.room, card.late) = ([9, 9], 1);
        let conn = stack.connect(TO, Arc::default(), 0, &mut card).unwrap();
        assert_eq!(card.went, [conn.local().port()]);
        assert!(!stack.is_starving());
        // And waits as before when there is none.
        card.room = [0, 0];
        let other = stack.connect(TO, Arc::default(), 0, &mut card).unwrap();
        assert!(stack.is_starving());
        card.room = [1, 0];
        stack.room(0, &mut card);
        assert_eq!(card.went[1..], [other.local().port()])
    }

    /// A queue with room is not left alone because another is full, and each queue's keep their order.
    #[test]
    fn one_full_queue_does_not_stop_another() {
        let (stack, mut card) = full();
        let queues = [0, 0, 0, 1, 0, 1];
        let conns = queues.map(|near| {
            card.near = near;
            stack.connect(TO, Arc::default(), 0, &mut card).unwrap()
        });
        let ports = conns.each_ref().map(|conn| conn.local().port());
        assert!(stack.is_starving() && card.went.is_empty());
        card.tried = 0;
        card.room = [0, 9];
        stack.room(0, &mut card);
        assert_eq!(card.went, [ports[3], ports[5]]);
        assert!(card.tried < 6, "those behind a full queue are asked");
        card.room = [2, 0];
        stack.room(0, &mut card);
        assert_eq!(card.went[2..], [ports[0], ports[1]]);
        card.room = [9, 0];
        stack.room(0, &mut card);
        assert_eq!(card.went[4..], [ports[2], ports[4]]);
        assert!(!stack.is_starving())
    }

    /// One that is still in a queue's list, has sent by itself since, and waits for another queue by now is fed when that one has room.
    #[test]
    fn one_that_has_moved_waits_for_its_new_queue() {
        let (stack, mut card) = full();
        let [first, mover] =
            [0; 2].map(|_| stack.connect(TO, Arc::default(), 0, &mut card).unwrap());
        card.room = [1, 0];
        mover.set_keepalive(&stack, None, 0, &mut card);
        let port = mover.local().port();
        assert_eq!(card.went, [port], "its SYN");
        card.near = 1;
        // And again.
        stack.tick(2_000_000_000, &mut card);
        assert_eq!(card.went, [port]);
        card.room = [0, 9];
        stack.room(2_000_000_000, &mut card);
        assert_eq!(card.went, [port, port]);
        card.room = [9, 0];
        stack.room(2_000_000_000, &mut card);
        card.went.dedup(); // its SYN, and again
        assert_eq!(card.went, [port, first.local().port()]);
        assert!(!stack.is_starving())
    }
}
