//! How many connections there may be: each takes two buffers, and memory has an end.
//!
//! **I-ROOM** A connection has a place from before its buffers are there until after they are gone, whoever holds it last; so the
//! places that are taken tell the memory. With all taken a SYN is dropped as if it had been lost, and so is the ACK that would make a
//! half-open connection one: the other side tries again, as at a full queue (Linux does the same). Who connects is told at once.
//! So it is too when the machine has no memory to spare, whatever the places say.

use super::Tcp;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Places for connections.
pub(super) struct Rooms {
    most: usize,
    /// Relaxed, as below: numbers, of which nothing else follows.
    taken: AtomicUsize,
    turned_away: AtomicU64,
}

/// A connection's place; it is free when this is dropped.
pub(super) struct Room(Arc<Rooms>);

impl Rooms {
    pub fn new(most: usize) -> Arc<Rooms> {
        Arc::new(Rooms {
            most,
            taken: AtomicUsize::new(0),
            turned_away: AtomicU64::new(0),
        })
    }

    /// A place, if one is free; else somebody is turned away.
    pub fn take(self: &Arc<Self>) -> Option<Room> {
        let more = |n: usize| (n < self.most).then_some(n + 1);
        match self.taken.fetch_update(Relaxed, Relaxed, more) {
            Ok(_) => Some(Room(self.clone())),
            Err(_) => {
                self.turn_away();
                None
            }
        }
    }

    /// Is none free? Then somebody is turned away.
    pub fn is_full(&self) -> bool {
        let full = self.taken.load(Relaxed) >= self.most;
        if full {
            self.turn_away()
        }
        full
    }

    /// For want of a place, or of memory after all.
    pub fn turn_away(&self) {
        self.turned_away.fetch_add(1, Relaxed);
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Relaxed);
    }
}

/// Connections that take memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// So many do, those that are closed and still have something to say included.
    pub taken: usize,
    /// So many may.
    pub most: usize,
    /// SYNs, confirmations and own attempts that found no place.
    pub turned_away: u64,
}

impl<U> Tcp<U> {
    /// How many connections there are, and may be.
    pub fn places(&self) -> Places {
        Places {
            taken: self.rooms.taken.load(Relaxed),
            most: self.rooms.most,
            turned_away: self.rooms.turned_away.load(Relaxed),
        }
    }
}
