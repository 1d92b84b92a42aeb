//! The program ends: its connections are closed, and what they still have to say is waited for.

use super::TcpError;
use super::conn::{Inner, Shared};
use super::demux::Slot;
use crate::stack::{Out, Stack};
use alloc::{sync::Arc, vec::Vec};
use core::sync::atomic::Ordering::Relaxed;
use smoltcp::socket::tcp::State;

/// Connections that may still have something to say.
pub struct Ending<U>(Vec<Arc<Shared<U>>>);

impl<U> Stack<U> {
    /// The program has ended. Its connections are closed as by [`Conn::close`](super::Conn::close), but for a reset of those
    /// that were sent something that nobody has received: their last answer is not to be thrown away with that. Those that nobody
    /// has accepted are reset. What is written from here on is not sent: it gets [`TcpError::WouldBlock`] and is not told of room.
    ///
    /// Connections to ourselves are left alone: nobody is there any more.
    pub fn end(&self, now_ns: u64, out: &mut dyn Out<U>) -> Ending<U> {
        self.tcp.ended.store(true, Relaxed);
        let ours = self.address().map(|a| a.ip);
        let open = self.tcp.demux.lock().collect(|(name, slot)| {
            let ip = *name.remote.ip();
            match slot {
                Slot::Conn(conn) if !ip.is_loopback() && Some(ip) != ours => Some(conn.clone()),
                _ => None,
            }
        });
        // Memory may be what the program has used up: then they are left to themselves.
        let open = open.unwrap_or_default();
        let mut net = self.net(now_ns, out);
        for conn in &open {
            net.with_conn(conn, |inner, _| inner.end())
        }
        net.run_looped();
        Ending(open)
    }
}

impl<U> Ending<U> {
    /// Is all that they had to say acknowledged, or is nobody there who would do so?
    pub fn is_done(&mut self) -> bool {
        while let Some(conn) = self.0.last() {
            if conn.inner.lock().owes_the_end() {
                return false;
            }
            self.0.pop();
        }
        true
    }
}

impl<U> Inner<U> {
    fn end(&mut self) {
        if self.is_opening() {
            return; // nothing is written yet
        }
        let unaccepted = self.user.is_none() && self.closed_ns.is_none();
        if unaccepted {
            self.abort(TcpError::NotConnected)
        } else {
            self.socket().close()
        }
    }

    /// Is there something that the other side has not acknowledged? Behind all that was written comes a FIN.
    fn owes_the_end(&mut self) -> bool {
        let speaks = matches!(
            self.socket().state(),
            State::FinWait1 | State::Closing | State::LastAck
        );
        !self.left && (speaks || !self.egress.kept.is_empty())
    }
}
