//! Connections that the full card has stopped.
//!
//! Each of the card's queues has a list of its own: that one is full says nothing of the others, and who waits for it is not asked again
//! as long as it is.

use super::conn::{Inner, Shared};
use crate::stack::{Net, Stack};
use alloc::{collections::VecDeque, sync::Arc, vec::Vec};
use base::{Rank, SpinLock};

/// Who waits for the queue of that number, the longest first.
pub(super) struct Starving<U>(SpinLock<Vec<VecDeque<Arc<Shared<U>>>>>);

/// Where a connection waits.
#[derive(Clone, Copy)]
pub(super) struct Place {
    queue: u16,
    /// It was its turn, and nothing of it has gone.
    first: bool,
}

impl<U> Starving<U> {
    pub fn new() -> Self {
        Self(SpinLock::new(Rank::NetTable, Vec::new()))
    }

    /// The caller tries once more to send then: there may have been room before.
    pub fn put(&self, conn: Arc<Shared<U>>, place: Place) {
        let queue = usize::from(place.queue);
        let mut lists = self.0.lock();
        if lists.len() <= queue {
            lists.resize_with(queue + 1, VecDeque::new)
        }
        match place.first {
            true => lists[queue].push_front(conn),
            false => lists[queue].push_back(conn),
        }
    }

    fn is_empty(&self) -> bool {
        self.0.lock().iter().all(VecDeque::is_empty)
    }

    /// Queues for which somebody has waited so far.
    fn queues(&self) -> usize {
        self.0.lock().len()
    }

    fn len(&self, queue: usize) -> usize {
        self.0.lock()[queue].len()
    }

    fn pop(&self, queue: usize) -> Option<Arc<Shared<U>>> {
        self.0.lock()[queue].pop_front()
    }
}

impl<U> Stack<U> {
    /// Does a connection wait for room in the card?
    pub(in crate::stack) fn tcp_is_starving(&self) -> bool {
        !self.tcp.starving.is_empty()
    }
}

impl<U> Net<'_, U> {
    /// The card has room: for some of those who wait for a queue, each once, until one finds it full again. Whoever finds it so is told
    /// of room (I-FULL), and the others are fed then.
    pub(in crate::stack) fn feed_starving(&mut self) {
        let starving = &self.stack.tcp.starving;
        for queue in 0..starving.queues() {
            for _ in 0..starving.len(queue) {
                let Some(conn) = starving.pop(queue) else {
                    break;
                };
                self.with_conn(&conn, |inner, _| {
                    inner.starving = false;
                    inner.its_turn = true
                });
                if conn.inner.lock().starves_by(queue) {
                    break;
                }
            }
        }
    }
}

impl<U> Inner<U> {
    /// After an attempt to send, of which something was `sent`, or nothing: is it to wait, and where?
    pub fn starve(&mut self, sent: bool) -> Option<Place> {
        let first = core::mem::take(&mut self.its_turn) && !sent;
        let starve = !self.egress.kept.is_empty() && !self.starving;
        self.starving |= starve;
        let queue = self.egress.queue();
        starve.then_some(Place { queue, first })
    }

    fn starves_by(&self, queue: usize) -> bool {
        self.starving && usize::from(self.egress.queue()) == queue
    }
}

#[cfg(test)]
mod tests {
    use crate::device::Checksum;
    use crate::stack::tcp::TcpError;
    use crate::stack::tests::wire::{A, B, Host, Told, settle};
    use crate::stack::{Out, Ready};
    use std::net::SocketAddrV4;
    use std::sync::Arc;

    /// A card of two queues.
    struct Card {
        near: u16,
        /// Frames that each has room for.
        room: [usize; 2],
        /// From which port a frame of a connection went.
        went: Vec<u16>,
        tried: usize,
    }

    impl Out<Told> for Card {
        fn near(&self) -> u16 {
            self.near
        }

        fn frame(
            &mut self,
            queue: Option<u16>,
            bytes: usize,
            _: Option<Checksum>,
            fill: &mut dyn FnMut(&mut [u8]),
        ) -> bool {
            let Some(queue) = queue else {
                fill(&mut vec![0; bytes]);
                return true; // no connection's
            };
            self.tried += 1;
            let room = &mut self.room[usize::from(queue)];
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

    /// A queue with room is not left alone because another is full, and each queue's keep their order.
    #[test]
    fn one_full_queue_does_not_stop_another() {
        let (mut a, mut b) = (Host::new(A), Host::new(B));
        let to = SocketAddrV4::new(B, 80);
        // Where it lives is known from now on.
        let asked = a.stack.connect(to, Arc::default(), 0, &mut a.card);
        settle(&mut a, &mut b, 0);
        assert_eq!(asked.unwrap().connected(), Err(TcpError::Refused));
        let stack = a.stack;
        let mut card = Card {
            near: 0,
            room: [0, 0],
            went: Vec::new(),
            tried: 0,
        };
        let queues = [0, 0, 0, 1, 0, 1];
        let conns = queues.map(|near| {
            card.near = near;
            stack.connect(to, Arc::default(), 0, &mut card).unwrap()
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
}
