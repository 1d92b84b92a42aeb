//! Our address is ours no longer: what has a name under it ends.
//!
//! **I-NAMED** A connection is called by an address of ours, or it ends. Whoever changes the address does so first, and goes through the
//! table then; whoever puts a connection into the table looks at the address afterwards. So at least one of the two sees the other.

use super::TcpError;
use super::conn::Inner;
use super::demux::{Slot, Tuple};
use crate::stack::{Address, Net, Stack};
use core::net::Ipv4Addr;

impl<U> Stack<U> {
    /// Is this computer called so?
    pub(super) fn is_ours(&self, ip: Ipv4Addr) -> bool {
        ip.is_loopback() || self.address().is_some_and(|a| a.ip == ip)
    }
}

impl<U> Net<'_, U> {
    /// From now on this computer is called so. Connections under its old address end, for nobody finds them any more.
    pub(in crate::stack) fn rename(&mut self, address: Option<Address>) {
        let old = core::mem::replace(&mut *self.stack.address.lock(), address);
        if let Some(old) = old.filter(|old| address.is_none_or(|new| new.ip != old.ip)) {
            self.strand(old.ip)
        }
    }

    /// Each name once. One that is still there afterwards is its owner's to take out, who may have been switched away just then; waiting
    /// for him would be for ever on one CPU.
    fn strand(&mut self, ip: Ipv4Addr) {
        let named = |(name, _): (&Tuple, &Slot<U>)| (*name.local.ip() == ip).then_some(*name);
        // Memory may be what the program has used up: then they are left to themselves, and fall silent.
        let Some(names) = self.stack.tcp.demux.lock().collect(named) else {
            return;
        };
        for name in &names {
            // In this order: what is half-open may have become a connection meanwhile, but not the other way round.
            self.drop_half(name);
            let conn = match self.stack.tcp.demux.lock().slots.get(name) {
                Some(Slot::Conn(conn)) => conn.clone(),
                // Who has reserved it looks himself; a record says nothing unless it is asked.
                _ => continue,
            };
            self.with_conn(&conn, |inner, net| inner.check_name(net.stack, name))
        }
    }
}

impl<U> Inner<U> {
    /// I-NAMED.
    pub fn check_name(&mut self, stack: &Stack<U>, name: &Tuple) {
        if !self.left && !stack.is_ours(*name.local.ip()) {
            self.forget(TcpError::AddrNotAvailable)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::stack::tcp::demux::Slot;
    use crate::stack::tests::wire::{A, Host};
    use std::sync::Arc;

    /// One is about to be taken out by its owner, who does not come to it before we are done.
    #[test]
    fn nobody_is_waited_for() {
        let Host { stack, mut card } = Host::new(A);
        let to = "10.0.0.2:80".parse().unwrap();
        let conns = [0; 3].map(|_| stack.connect(to, Arc::default(), 0, &mut card).unwrap());
        conns[1].shared.inner.lock().left = true;
        stack.net(0, &mut card).rename(None);
        let errors = conns.each_ref().map(|conn| conn.error().is_some());
        assert_eq!(errors, [true, false, true]);
        let demux = stack.tcp.demux.lock();
        let left: Vec<_> = demux.slots.iter().collect();
        let [(name, Slot::Conn(_))] = left[..] else {
            panic!("{} names are left", left.len())
        };
        assert_eq!(name.local, conns[1].local())
    }
}
