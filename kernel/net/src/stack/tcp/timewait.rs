//! What is left of a connection that we ended first: enough to answer a FIN that comes again, for as long as old segments live. It
//! is a record without buffers, and there are so many of them at most.
//!
//! ```text
//!                                     their FIN                 time_wait_ns
//!   closed by its owner ──► ended: no ──────────► ended: yes ──────────────► nothing
//!   and acknowledged         │ │ linger_ns, RST        ▲
//!                  bytes:    │ └──────────► nothing    │
//!                  RST ◄─────┘              their FIN came before we had closed, or with the acknowledgement
//! ```
//!
//! - Whoever closed does not receive any more, so what comes before their FIN is answered by RST (RFC 9293, 3.6.1), as long as the
//!   connection is one (Linux keeps FIN-WAIT-2 in the same way). But only what begins in the window that was open to them: anything
//!   else, and a SYN, may be a stranger's guess, and is answered by an acknowledgement, which has who is lost find back (RFC 5961, 4
//!   and 5).
//! - RST is not heeded, so nobody ends the wait early (RFC 1337).
//! - A SYN beyond all that was received begins a new connection at once (RFC 9293, 3.6.1; RFC 6191 does it by time stamps, which we do
//!   not send). Where there is no room for one it is not answered, and the record stays.
//! - What has a length is acknowledged; a bare acknowledgement is not answered, so two that wait do not talk for ever.

use super::Config;
use super::demux::{Slot, Tuple};
use super::number::before;
use super::segment::{Segment, bare};
use crate::stack::timers::Target;
use crate::stack::{Counter, Net};
use smoltcp::wire::TcpControl;

/// An ended connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeWait {
    /// Their FIN has come. If not they have until `until_ns` to send it.
    pub ended: bool,
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
    /// Puts `tuple`, whose slot is the caller's to give, into time-wait, or, not `ended`, before it.
    pub(super) fn begin_wait(&mut self, tuple: &Tuple, next: u32, acked: u32, ended: bool) {
        let config = &self.stack.config.tcp;
        let until_ns = self.now_ns
            + if ended {
                config.time_wait_ns
            } else {
                config.linger_ns
            };
        let wait = TimeWait {
            ended,
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
        let (wait, answer) = {
            let mut demux = self.stack.tcp.demux.lock();
            let Some(Slot::Waiting(wait)) = demux.slots.get_mut(tuple) else {
                return;
            };
            let answer = wait.came(segment, self.now_ns, &self.stack.config.tcp);
            let wait = *wait;
            if matches!(answer, Answer::Reset | Answer::Gone) {
                demux.remove(tuple);
                demux.waiting -= 1
            }
            (wait, answer)
        };
        let mut repr = bare(tuple, wait.next, Some(wait.acked), 0);
        match answer {
            Answer::Anew => {
                if !self.new_half(segment) {
                    self.say(tuple, &repr)
                }
            }
            Answer::Acknowledge => self.say(tuple, &repr),
            Answer::Reset => {
                self.stack.stats.count(Counter::TcpUnreceived);
                repr.control = TcpControl::Rst;
                self.say(tuple, &repr)
            }
            Answer::Gone | Answer::Nothing => (),
        }
    }
}

/// What becomes of a segment, and of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Nothing,
    Acknowledge,
    /// It begins a new connection, if somebody takes it; else an acknowledgement.
    Anew,
    /// RST, and it is forgotten.
    Reset,
    /// It is forgotten.
    Gone,
}

impl TimeWait {
    /// Does a SYN begin a new connection here, beyond all that this one received?
    pub fn makes_way(&self, segment: &Segment<'_>) -> bool {
        let asks = segment.is(TcpControl::Syn) && segment.ack().is_none();
        asks && self.ended && before(self.acked, segment.seq())
    }

    fn came(&mut self, segment: &Segment<'_>, now_ns: u64, config: &Config) -> Answer {
        let until_ns = now_ns + config.time_wait_ns;
        let seq = segment.seq();
        let in_window = (seq.wrapping_sub(self.acked) as usize) < config.recv_bytes;
        let data_end = seq.wrapping_add(segment.repr.payload.len() as u32);
        match segment.repr.control {
            TcpControl::Rst if !self.ended && seq == self.acked => return Answer::Gone,
            TcpControl::Rst => return Answer::Nothing,
            TcpControl::Syn if self.makes_way(segment) => return Answer::Anew,
            TcpControl::Syn => return Answer::Acknowledge,
            TcpControl::Fin if self.ended => self.until_ns = until_ns,
            _ if !self.ended && in_window && before(self.acked, data_end) => return Answer::Reset,
            TcpControl::Fin if data_end == self.acked => {
                self.acked = segment.end();
                self.ended = true;
                (self.since_ns, self.until_ns) = (now_ns, until_ns)
            }
            _ => (),
        }
        if segment.repr.segment_len() > 0 {
            Answer::Acknowledge
        } else {
            Answer::Nothing
        }
    }
}
