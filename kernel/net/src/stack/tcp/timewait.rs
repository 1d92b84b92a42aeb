//! What is left of a connection that we ended first: enough to answer a FIN that comes again, for as long as old segments live.
//!
//! - RST is not heeded, so nobody ends the wait early (RFC 1337).
//! - A SYN beyond all that was received begins a new connection at once (RFC 9293, 3.6.1; RFC 6191 does it by time stamps, which we do
//!   not send).
//! - What has a length is acknowledged; a bare acknowledgement is not answered, so two that wait do not talk for ever.

use super::demux::{Slot, Tuple};
use super::number::before;
use super::segment::{Segment, bare};
use crate::stack::timers::Target;
use crate::stack::{Counter, Net};
use smoltcp::wire::TcpControl;

/// An ended connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeWait {
    /// Our next sequence number.
    pub next: u32,
    /// Theirs.
    pub acked: u32,
    pub since_ns: u64,
    /// It is forgotten then.
    pub until_ns: u64,
    /// The reminder that counts: those of earlier waits of the same tuple come as well, and are not asked for again.
    pub reminded_ns: u64,
}

impl<U> Net<'_, U> {
    /// Puts `tuple`, whose slot is the caller's to give, into time-wait.
    pub(super) fn begin_wait(&mut self, tuple: &Tuple, next: u32, acked: u32) {
        let until_ns = self.now_ns + self.stack.config.tcp.time_wait_ns;
        let wait = TimeWait {
            next,
            acked,
            since_ns: self.now_ns,
            until_ns,
            reminded_ns: until_ns,
        };
        {
            let mut demux = self.stack.tcp.demux.lock();
            if demux.waiting >= self.stack.config.tcp.time_waits {
                demux.remove(tuple);
                return self.stack.stats.count(Counter::TimeWaitFull);
            }
            demux.waiting += 1;
            demux.slots.insert(*tuple, Slot::Waiting(wait));
        }
        self.stack.timers.remind(until_ns, Target::TimeWait(*tuple))
    }

    /// A wait may be over.
    pub(in crate::stack) fn wait_fell_due(&mut self, tuple: Tuple) {
        let later = {
            let mut demux = self.stack.tcp.demux.lock();
            match demux.slots.get_mut(&tuple) {
                Some(Slot::Waiting(w)) if w.reminded_ns > self.now_ns => return,
                Some(Slot::Waiting(w)) if w.until_ns > self.now_ns => {
                    w.reminded_ns = w.until_ns;
                    w.until_ns
                }
                Some(Slot::Waiting(_)) => {
                    demux.remove(&tuple);
                    demux.waiting -= 1;
                    return;
                }
                _ => return,
            }
        };
        self.stack.timers.remind(later, Target::TimeWait(tuple))
    }

    pub(super) fn waiting_segment(&mut self, segment: &Segment<'_>) {
        let tuple = &segment.tuple;
        let (wait, anew) = {
            let mut demux = self.stack.tcp.demux.lock();
            let Some(Slot::Waiting(wait)) = demux.slots.get_mut(tuple) else {
                return;
            };
            if segment.is(TcpControl::Fin) {
                wait.until_ns = self.now_ns + self.stack.config.tcp.time_wait_ns
            }
            let wait = *wait;
            let anew = segment.is(TcpControl::Syn)
                && segment.ack().is_none()
                && before(wait.acked, segment.seq())
                && demux.listener(tuple.local).is_some();
            if anew {
                demux.remove(tuple);
                demux.waiting -= 1
            }
            (wait, anew)
        };
        if anew {
            self.new_half(segment, Some(wait.next))
        } else if !segment.is(TcpControl::Rst) && segment.repr.segment_len() > 0 {
            self.say(tuple, &bare(tuple, wait.next, Some(wait.acked), 0))
        }
    }
}
