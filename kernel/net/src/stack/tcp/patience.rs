//! How long a connection waits for another side that is silent.

use super::TcpError;
use super::conn::Inner;
use crate::stack::{Counter, NEVER, Net};
use smoltcp::socket::tcp::State;

/// Questions without an answer before the other side is taken for gone (Linux: `tcp_keepalive_probes`).
const KEEP_TRIES: u64 = 9;

impl<U> Inner<U> {
    /// Gives up on another side that is silent.
    pub fn give_up(&mut self, net: &Net<'_, U>) {
        let now = net.now_ns;
        let unsent = self.socket().send_queue();
        if unsent < self.unsent {
            self.progress_ns = now
        }
        self.unsent = unsent;
        let owed = unsent > 0
            || matches!(
                self.socket().state(),
                State::SynSent
                    | State::SynReceived
                    | State::FinWait1
                    | State::LastAck
                    | State::Closing
            );
        self.owed_ns = if owed {
            self.owed_ns.or(Some(now))
        } else {
            None
        };
        if self.patience_ns(net) <= now {
            net.stack.stats.count(Counter::TcpTimedOut);
            // The other side has received all and may still be busy with it.
            if self.closed_ns.is_some() && self.socket().state() == State::FinWait2 {
                self.forgotten = true
            } else {
                self.abort(self.soft_error.unwrap_or(TcpError::TimedOut))
            }
        }
    }

    /// When it is given up.
    pub fn patience_ns(&mut self, net: &Net<'_, U>) -> u64 {
        let config = &net.stack.config.tcp;
        if self.left || !self.socket().is_open() {
            return NEVER;
        }
        if let Some(closed_ns) = self.closed_ns {
            return closed_ns.max(self.progress_ns) + config.linger_ns;
        }
        let opening = self.is_opening();
        let answer = match self.owed_ns {
            Some(since) if opening => since + config.connect_ns,
            Some(since) => since.max(self.heard_ns) + config.silence_ns,
            None => NEVER,
        };
        let alive = match self.keep_ns {
            0 => NEVER,
            _ if opening => NEVER,
            ns => self
                .heard_ns
                .saturating_add(ns.saturating_mul(KEEP_TRIES + 1)),
        };
        answer.min(alive)
    }
}
