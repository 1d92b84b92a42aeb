//! Whence the machine has its address: DHCP, and what is taken if nobody answers.

use super::Result;
use super::fd::Fd;
use super::machine::{Machine, effects};
use crate::stack::Address;
use crate::stack::dhcp::Lease;
use core::net::Ipv4Addr;
use sched::netpoll::Mode;

/// What QEMU's own network would say.
fn fallback() -> Lease {
    Lease {
        address: Address {
            ip: Ipv4Addr::new(10, 0, 2, 15),
            prefix: 24,
            gateway: Some(Ipv4Addr::new(10, 0, 2, 2)),
        },
        dns: [Ipv4Addr::new(10, 0, 2, 3)].into(),
    }
}

/// Who waits for the first address.
pub(super) struct Waiters(Fd);

impl Waiters {
    pub(super) fn new() -> Waiters {
        Waiters(Fd::new())
    }

    /// Asks the network for an address.
    pub(super) fn ask(&self) {
        effects(|stack, now_ns, out| {
            stack.dhcp_start(Some(fallback()), self.0.pd.clone(), now_ns, out)
        })
    }

    /// Waits until there is one.
    pub(super) fn wait(&self, machine: &Machine) -> Result<()> {
        let address = || Ok(machine.stack.address().map(|_| ()));
        self.0.retry(Mode::Read, address)
    }
}
