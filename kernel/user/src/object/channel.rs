//! Channels of messages between processes, as Go's channels: with room for some, or for none, and then who sends waits for who
//! receives.
//!
//! Without room, one message at a time lies there all the same, and its sender waits until it is taken, or takes it back.

use crate::account::{Charge, heap_bytes};
use crate::wait::Wait;
use abi::Error;
use alloc::collections::LinkedList;
use alloc::sync::Arc;
use alloc::vec::Vec;
use base::{Rank, SpinLock};
use csp::waitq::{Batch, WaitQueue};

/// Largest capacity of a channel, in messages.
pub const CAPACITY_MAX: u64 = 1024;

/// What a message takes beside its bytes: its place in the queue, a link to each side.
pub const MESSAGE_BYTES: u64 = heap_bytes(size_of::<Message>() + 2 * size_of::<usize>());

/// What is sent.
pub struct Message {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Whose memory it is, if a process's.
    pub charge: Option<Charge>,
}

/// What each end of a channel takes, and half of what is between them.
pub const END_BYTES: u64 = heap_bytes(8 + ARC_BYTES) + heap_bytes(size_of::<Channel>() + ARC_BYTES);
const ARC_BYTES: usize = 2 * size_of::<usize>();

/// The sending end; the last reference that is dropped closes the channel.
pub struct SendEnd(Arc<Channel>);

/// The receiving end; the last reference that is dropped makes sends fail.
pub struct ReceiveEnd(Arc<Channel>);

struct Channel {
    state: SpinLock<State>,
    capacity: usize,
}

struct State {
    /// Each is an object of its own, which is charged: a queue that was long keeps nothing.
    messages: LinkedList<Message>,
    /// How many were put in, and taken out, so far.
    sent: u64,
    taken: u64,
    no_sender: bool,
    no_receiver: bool,
    /// Who waits for room, who for a message, and, without room, who waits for his to be taken.
    senders: WaitQueue,
    receivers: WaitQueue,
    offering: WaitQueue,
}

/// A channel with room for `capacity` messages.
pub fn channel(capacity: usize) -> (Arc<SendEnd>, Arc<ReceiveEnd>) {
    let state = State {
        messages: LinkedList::new(),
        sent: 0,
        taken: 0,
        no_sender: false,
        no_receiver: false,
        senders: WaitQueue::new(),
        receivers: WaitQueue::new(),
        offering: WaitQueue::new(),
    };
    let channel = Arc::new(Channel {
        state: SpinLock::new(Rank::Channel, state),
        capacity,
    });
    (
        Arc::new(SendEnd(channel.clone())),
        Arc::new(ReceiveEnd(channel)),
    )
}

impl SendEnd {
    /// Sends; waits for room, or for a receiver.
    ///
    /// # Errors
    /// `Closed`: nobody can receive. Those of the wait; nothing was sent then.
    pub fn send(&self, mut wait: Wait<'_>, message: Message) -> Result<(), Error> {
        let room = self.0.capacity.max(1);
        let mut message = LinkedList::from([message]); // not allocated under the lock
        let put = |s: &mut State| s.put(room, &mut message);
        let number = wait.until(&self.0.state, |s| &mut s.senders, put)??;
        if self.0.capacity != 0 {
            return Ok(());
        }
        let taken = |s: &mut State| s.is_taken(number);
        wait.until(&self.0.state, |s| &mut s.offering, taken)
            .unwrap_or_else(|error| self.take_back(number, error))
    }

    /// Message `number` is sent no more, because of `error`, unless it was taken by now.
    fn take_back(&self, number: u64, error: Error) -> Result<(), Error> {
        let mut state = self.0.state.lock();
        let result = if state.taken < number {
            Err(error)
        } else {
            Ok(())
        };
        // The only one that lies there, unless the receiver has gone.
        let back = result.err().and_then(|_| state.messages.pop_back());
        state.taken = state.taken.max(number);
        let next = state.senders.pop_up_to(1, |_| true);
        drop(state);
        drop(back);
        next.ready(true);
        result
    }
}

impl ReceiveEnd {
    /// The next message; waits for it.
    ///
    /// # Errors
    /// `Closed`: nobody can send, and nothing is left. Those of the wait.
    pub fn receive(&self, mut wait: Wait<'_>) -> Result<Message, Error> {
        let room = self.0.capacity != 0;
        wait.until(&self.0.state, |s| &mut s.receivers, |s| s.take(room))?
    }
}

/// What it was, and who can go on.
type Done<T> = Option<(Result<T, Error>, Option<Batch>)>;

impl State {
    /// Puts it in, if there is room; its number.
    fn put(&mut self, room: usize, message: &mut LinkedList<Message>) -> Done<u64> {
        if self.no_receiver {
            return Some((Err(Error::Closed), None));
        }
        if self.messages.len() >= room {
            return None;
        }
        self.messages.append(message);
        self.sent += 1;
        Some((Ok(self.sent), Some(self.receivers.pop_up_to(1, |_| true))))
    }

    /// Whether message `number` has been taken: then the next may offer his.
    fn is_taken(&mut self, number: u64) -> Done<()> {
        if self.taken >= number {
            return Some((Ok(()), Some(self.senders.pop_up_to(1, |_| true))));
        }
        self.no_receiver.then_some((Err(Error::Closed), None))
    }

    fn take(&mut self, room: bool) -> Done<Message> {
        let Some(message) = self.messages.pop_front() else {
            return self.no_sender.then_some((Err(Error::Closed), None));
        };
        self.taken += 1;
        let next = if room {
            self.senders.pop_up_to(1, |_| true)
        } else {
            self.offering.pop_all()
        };
        Some((Ok(message), Some(next)))
    }
}

impl Drop for SendEnd {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.no_sender = true;
        let receivers = state.receivers.pop_all();
        drop(state);
        receivers.ready(true)
    }
}

impl Drop for ReceiveEnd {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.no_receiver = true;
        let lost = core::mem::take(&mut state.messages);
        let (senders, offering) = (state.senders.pop_all(), state.offering.pop_all());
        drop(state);
        drop(lost);
        senders.ready(true);
        offering.ready(true)
    }
}
