//! Connections that we ask for.

use super::TcpError;
use super::api::Conn;
use super::conn::{Shared, Space};
use super::demux::{Slot, Tuple};
use super::number::{before, first};
use crate::stack::common::SECOND_NS;
use crate::stack::{Out, Stack};
use alloc::sync::Arc;
use core::net::{Ipv4Addr, SocketAddrV4};

impl<U> Stack<U> {
    /// Asks for a connection to `remote`: [`Conn::connected`] says when it stands.
    ///
    /// # Errors
    /// [`TcpError::Invalid`], [`TcpError::Unreachable`], [`TcpError::AddrNotAvailable`]: all ports to there are in use,
    /// [`TcpError::NoRoom`].
    pub fn connect(
        &self,
        remote: SocketAddrV4,
        user: Arc<U>,
        now_ns: u64,
        out: &mut dyn Out<U>,
    ) -> Result<Conn<U>, TcpError> {
        let mut ip = *remote.ip();
        if ip.is_unspecified() {
            ip = Ipv4Addr::LOCALHOST
        }
        let remote = SocketAddrV4::new(ip, remote.port());
        let all = ip.is_broadcast() || self.address().is_some_and(|a| a.is_broadcast(ip));
        if remote.port() == 0 || ip.is_multicast() || all {
            return Err(TcpError::Invalid);
        }
        let local = self.source_for(ip).ok_or(TcpError::Unreachable)?;
        // Before a name is taken, which may be an ended connection's: no record is given up for nothing.
        let space = Space::take(self).ok_or(TcpError::NoRoom)?;
        let number = |tuple: &Tuple| first(&self.tcp.numbers, tuple, now_ns);
        let tuple = self
            .tcp
            .demux
            .lock()
            .reserve(local, remote, |tuple, wait| {
                // What the old connection sent cannot be taken for the new one's.
                wait.ended
                    && wait.since_ns + SECOND_NS <= now_ns
                    && before(wait.next, number(tuple))
            })
            .ok_or(TcpError::AddrNotAvailable)?;
        Ok(self.open(tuple, space, user, now_ns, out))
    }

    /// Asks, under a name that is reserved.
    fn open(
        &self,
        tuple: Tuple,
        space: Space,
        user: Arc<U>,
        now_ns: u64,
        out: &mut dyn Out<U>,
    ) -> Conn<U> {
        let ours = first(&self.tcp.numbers, &tuple, now_ns);
        let mut net = self.net(now_ns, out);
        let shared = Shared::connecting(&net, tuple, ours, space, user);
        let slot = Slot::Conn(shared.clone());
        self.tcp.demux.lock().slots.insert(tuple, slot);
        net.with_conn(&shared, |inner, net| inner.check_name(net.stack, &tuple));
        net.run_looped();
        Conn { shared }
    }
}

#[cfg(test)]
mod tests {
    use super::{SECOND_NS, Slot, Space, Tuple, first};
    use crate::stack::common::EPHEMERAL;
    use crate::stack::tcp::TcpError;
    use crate::stack::tcp::timewait::TimeWait;
    use crate::stack::tests::wire::{A, Card, Host};
    use std::net::SocketAddrV4;
    use std::sync::Arc;
    use std::sync::atomic::Ordering::Relaxed;

    const TO: SocketAddrV4 = SocketAddrV4::new(crate::stack::tests::wire::B, 80);

    /// I-NAMED: our address changes after the name was chosen.
    #[test]
    fn another_address_while_connecting() {
        let Host { stack, mut card } = Host::new(A);
        let space = Space::take(&stack).unwrap();
        let name = stack.tcp.demux.lock().reserve(A, TO, |_, _| false);
        stack.net(0, &mut card).rename(None);
        assert_eq!(stack.connections(), 1, "the name is reserved");
        let told = Arc::default();
        let conn = stack.open(name.unwrap(), space, Arc::clone(&told), 0, &mut card);
        assert_eq!(conn.connected(), Err(TcpError::AddrNotAvailable));
        assert_eq!((stack.connections(), told.closed.load(Relaxed)), (0, 1));
        assert!(card.sent.is_empty(), "it says something")
    }

    /// Memory may end before the places do.
    #[test]
    fn no_memory_is_no_room() {
        let host = Host::with(A, |c| c.tcp.has_memory = |_| false);
        let conn = (host.stack).connect(TO, Arc::default(), 0, &mut Card::new());
        assert_eq!(conn.err(), Some(TcpError::NoRoom));
        let places = host.stack.places();
        assert_eq!((places.taken, places.turned_away), (0, 1))
    }

    /// With all ports taken by what has ended, a connection takes one of theirs, but not if there is no place for it.
    #[test]
    fn no_record_is_given_up_for_nothing() {
        let now_ns = 10 * SECOND_NS;
        for places in [0, 1] {
            let host = Host::with(A, |c| c.tcp.connections = places);
            let (stack, mut card) = (&host.stack, Card::new());
            {
                let mut demux = stack.tcp.demux.lock();
                for port in EPHEMERAL {
                    let local = SocketAddrV4::new(A, port);
                    let tuple = Tuple { local, remote: TO };
                    let ended = TimeWait {
                        ended: true,
                        next: first(&stack.tcp.numbers, &tuple, now_ns).wrapping_sub(1),
                        acked: 0,
                        since_ns: 0,
                        until_ns: 60 * SECOND_NS,
                        reminded_ns: 60 * SECOND_NS,
                    };
                    demux.slots.insert(tuple, Slot::Waiting(ended));
                    demux.waiting += 1
                }
            }
            let conn = stack.connect(TO, Arc::default(), now_ns, &mut card);
            assert_eq!(conn.err(), (places == 0).then_some(TcpError::NoRoom));
            assert_eq!(stack.remembered_connections(), EPHEMERAL.len() - places)
        }
    }
}
