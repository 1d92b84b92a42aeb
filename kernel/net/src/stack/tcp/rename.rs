//! Our address is ours no longer: what has a name under it ends.
//!
//! **I-NAMED** A connection is called by an address of ours, or it ends. Whoever changes the address does so first, and goes through the
//! table then; whoever puts a connection into the table looks at the address afterwards. So at least one of the two sees the other.
//!
//! There may be very many of them: while the table's lock is held their names are written down, no more, and each is a reminder's matter
//! then, of which a tick serves some.

use super::TcpError;
use super::conn::Inner;
use super::demux::{Slot, Tuple};
use crate::stack::timers::Target;
use crate::stack::{Address, Net, Stack};
use alloc::vec::Vec;
use core::net::Ipv4Addr;

impl<U> Net<'_, U> {
    /// From now on this computer is called so, and its neighbours know. Connections under its old address end, for nobody finds them any
    /// more.
    pub(in crate::stack) fn rename(&mut self, address: Option<Address>) {
        let old = core::mem::replace(&mut *self.stack.address.lock(), address);
        if old.map(|old| old.ip) == address.map(|new| new.ip) {
            return;
        }
        if let Some(old) = old {
            self.strand(old.ip)
        }
        self.announce()
    }

    /// Notes who is called `ip`.
    fn strand(&mut self, ip: Ipv4Addr) {
        let tcp = &self.stack.tcp;
        let named = |(name, slot): (&Tuple, &Slot<U>)| {
            // Who has reserved one looks himself; a record says nothing unless it is asked.
            let ends = matches!(slot, Slot::Conn(_) | Slot::Half(_));
            (ends && *name.local.ip() == ip).then_some(*name)
        };
        // Memory may be what the program has used up: then they are left to themselves, and fall silent.
        let Some(mut names) = tcp.demux.lock().collect(named) else {
            return;
        };
        {
            let mut stranded = tcp.stranded.lock();
            if stranded.is_empty() {
                *stranded = names
            } else if stranded.try_reserve_exact(names.len()).is_ok() {
                stranded.append(&mut names)
            } else {
                return;
            }
        }
        self.stack.timers.remind(self.now_ns, Target::Stranded)
    }

    /// One of those that are noted ends, unless its name has become ours again. If it is still there afterwards it is its owner's to take
    /// out, who may have been switched away just then; waiting for him would be for ever on one CPU.
    pub(in crate::stack) fn strand_next(&mut self) {
        let tcp = &self.stack.tcp;
        let name = {
            let mut stranded = tcp.stranded.lock();
            let Some(name) = stranded.pop() else {
                return *stranded = Vec::new();
            };
            name
        };
        self.stack.timers.remind(self.now_ns, Target::Stranded);
        if self.stack.is_ours(*name.local.ip()) {
            return;
        }
        // In this order: what is half-open may have become a connection meanwhile, but not the other way round.
        self.drop_half(&name);
        let conn = match tcp.demux.lock().slots.get(&name) {
            Some(Slot::Conn(conn)) => conn.clone(),
            _ => return,
        };
        self.with_conn(&conn, |inner, net| inner.check_name(net.stack, &name))
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
    use crate::stack::DUE_AT_ONCE;
    use crate::stack::tcp::demux::Slot;
    use crate::stack::tests::wire::{A, B, Host};
    use std::net::SocketAddrV4;
    use std::sync::Arc;

    /// One is about to be taken out by its owner, who does not come to it before we are done.
    #[test]
    fn nobody_is_waited_for() {
        let Host { stack, mut card } = Host::new(A);
        let to = "10.0.0.2:80".parse().unwrap();
        let conns = [0; 3].map(|_| stack.connect(to, Arc::default(), 0, &mut card).unwrap());
        conns[1].shared.inner.lock().left = true;
        stack.net(0, &mut card).rename(None);
        stack.tick(0, &mut card);
        let errors = conns.each_ref().map(|conn| conn.error().is_some());
        assert_eq!(errors, [true, false, true]);
        let demux = stack.tcp.demux.lock();
        let left: Vec<_> = demux.slots.iter().collect();
        let [(name, Slot::Conn(_))] = left[..] else {
            panic!("{} names are left", left.len())
        };
        assert_eq!(name.local, conns[1].local())
    }

    #[test]
    fn many_end_by_and_by() {
        let Host { stack, mut card } = Host::new(A);
        let to = "10.0.0.2:80".parse().unwrap();
        let all = 2 * DUE_AT_ONCE + 1;
        let connect = |_| stack.connect(to, Arc::default(), 0, &mut card).unwrap();
        let conns: Vec<_> = (0..all).map(connect).collect();
        let ended = || conns.iter().filter(|conn| conn.error().is_some()).count();
        stack.net(0, &mut card).rename(None);
        for tick in 0..=2 {
            assert_eq!((ended(), stack.has_more(0)), (tick * DUE_AT_ONCE, true));
            stack.tick(0, &mut card)
        }
        assert_eq!((ended(), stack.has_more(0)), (all, false));
        assert_eq!(stack.connections(), 0)
    }

    /// Who is called by an address that is ours again has lost nothing, half-open or not.
    #[test]
    fn an_address_comes_back() {
        let (mut a, mut b) = (Host::new(A), Host::new(B));
        let at = SocketAddrV4::new(A, 80);
        a.stack.listen(at, 8, Arc::default()).unwrap();
        let _theirs = b.stack.connect(at, Arc::default(), 0, &mut b.card);
        for _ in 0..10 {
            if a.stack.connections() != 0 {
                break;
            }
            let frame = b.card.sent.pop_front();
            frame.into_iter().for_each(|frame| a.input(&frame, 0));
            let frame = a.card.sent.pop_front();
            frame.into_iter().for_each(|frame| b.input(&frame, 0))
        }
        let Host { stack, card } = &mut a;
        let to = SocketAddrV4::new(B, 80);
        let conn = stack.connect(to, Arc::default(), 0, card).unwrap();
        let ours = stack.address();
        for address in [None, ours] {
            stack.net(0, card).rename(address)
        }
        stack.tick(0, card);
        assert_eq!((conn.error(), stack.has_more(0)), (None, false));
        assert_eq!(stack.connections(), 2)
    }
}
