//! The DHCP client as a part of the stack.

use super::{CLIENT_PORT, Client, Lease, Message, SERVER_PORT};
use crate::stack::common::TTL;
use crate::stack::ipv4::{Came, Head};
use crate::stack::timers::Target;
use crate::stack::udp::{self, HEADER_BYTES};
use crate::stack::{Counter, NEVER, Net, Out, Ready, Stack};
use alloc::sync::Arc;
use smoltcp::wire::{IpProtocol, UdpPacket};

/// The client, and who is told when there is an address.
pub(crate) struct Service<U> {
    client: Client,
    user: Arc<U>,
    /// When it was last promised to be called.
    reminded_ns: u64,
    /// Has the stack been told what the client knows?
    told: Option<Lease>,
}

impl<U> Stack<U> {
    /// Asks the network for an address, and goes on with that for good. If nobody answers within some seconds, `fallback` is used
    /// until somebody does. `user` becomes readable whenever the address changes.
    pub fn dhcp_start(
        &self,
        fallback: Option<Lease>,
        user: Arc<U>,
        now_ns: u64,
        out: &mut dyn Out<U>,
    ) {
        let config = &self.config;
        let service = Service {
            client: Client::new(config.mac, config.seed, fallback, now_ns),
            user,
            reminded_ns: NEVER,
            told: None,
        };
        *self.dhcp.lock() = Some(service);
        let mut net = self.net(now_ns, out);
        net.dhcp_due();
        net.run_looped()
    }

    /// What DHCP, or its fallback, says that this computer is called.
    pub fn lease(&self) -> Option<Lease> {
        let service = self.dhcp.lock();
        service.as_ref()?.client.lease().cloned()
    }

    /// Has a server said so?
    pub fn is_leased(&self) -> bool {
        let service = self.dhcp.lock();
        service.as_ref().is_some_and(|s| s.client.is_bound())
    }
}

impl<U> Net<'_, U> {
    /// The client's time has come, or somebody thinks so.
    pub(in crate::stack) fn dhcp_due(&mut self) {
        let now_ns = self.now_ns;
        let message = {
            let mut service = self.stack.dhcp.lock();
            let Some(service) = &mut *service else {
                return;
            };
            // Reminders from before the deadline moved come as well, and change nothing.
            if now_ns >= service.reminded_ns {
                service.reminded_ns = NEVER
            }
            service.client.tick(now_ns)
        };
        self.dhcp_changed(message)
    }

    /// A UDP packet for us. False: it is not for the client.
    pub(in crate::stack) fn dhcp_came(&mut self, packet: &Came<'_>) -> bool {
        let Ok(datagram) = UdpPacket::new_checked(packet.payload) else {
            return false;
        };
        let to_client = datagram.dst_port() == CLIENT_PORT && datagram.src_port() == SERVER_PORT;
        let whole =
            packet.checked || datagram.verify_checksum(&packet.source.into(), &packet.dest.into());
        if !to_client || !whole || self.stack.dhcp.lock().is_none() {
            return false;
        }
        let step = {
            let mut service = self.stack.dhcp.lock();
            let client = service.as_mut().map(|service| &mut service.client);
            client.and_then(|client| client.input(self.now_ns, datagram.payload()))
        };
        match step {
            Some(message) => self.dhcp_changed(message),
            None => self.stack.stats.count(Counter::DhcpIgnored),
        }
        true
    }

    /// Sends what the client says, tells the stack of a new address, and sees to it that the client is called again.
    fn dhcp_changed(&mut self, message: Option<Message>) {
        let (changed, remind) = {
            let mut service = self.stack.dhcp.lock();
            let Some(service) = &mut *service else {
                return;
            };
            let lease = service.client.lease().cloned();
            let changed = lease != service.told;
            let change = changed.then(|| (lease.clone(), service.user.clone()));
            service.told = lease;
            let next_ns = service.client.next_ns();
            // One that comes too early asks for the next.
            let remind = next_ns < service.reminded_ns;
            if remind {
                service.reminded_ns = next_ns
            }
            (change, remind.then_some(next_ns))
        };
        if let Some(next_ns) = remind {
            self.stack.timers.remind(next_ns, Target::Dhcp)
        }
        if let Some((lease, user)) = changed {
            self.rename(lease.as_ref().map(|l| l.address));
            self.stack
                .dns
                .set_servers(lease.map(|l| l.dns).unwrap_or_default());
            self.out.ready(&user, Ready::Readable)
        }
        if let Some(message) = message {
            self.send_dhcp(&message)
        }
    }

    fn send_dhcp(&mut self, message: &Message) {
        let header = udp::header(CLIENT_PORT, SERVER_PORT, message.bytes.len());
        let head = Head {
            source: message.source,
            dest: message.dest,
            protocol: IpProtocol::Udp,
            ttl: TTL,
            payload_bytes: HEADER_BYTES + message.bytes.len(),
        };
        self.send_packet(&head, &mut |to| {
            to[..HEADER_BYTES].copy_from_slice(&header);
            to[HEADER_BYTES..].copy_from_slice(&message.bytes)
        });
    }
}
