//! Who gives the machine its address (RFC 2131): one lease, as QEMU's own network gives it.

use super::raw::{datagram, datagram_in};
use smoltcp::wire::{DhcpMessageType, DhcpPacket, DhcpRepr, EthernetAddress};
use std::net::{Ipv4Addr, SocketAddrV4};

/// Ports of server and client.
const SERVER: u16 = 67;
const CLIENT: u16 = 68;
/// Where it goes: to everybody, since nobody knows yet who has the address.
const ALL_MACHINES: [u8; 6] = [0xff; 6];
const LEASE_S: u32 = 86_400;

/// A server with one address to give.
pub struct Dhcp {
    /// Its own address, which is that of the router and of the name server as well.
    pub ip: Ipv4Addr,
    pub mac: [u8; 6],
    /// The machine's.
    pub lease: Ipv4Addr,
    pub mask: Ipv4Addr,
    /// Leases confirmed so far.
    pub given: u32,
}

impl Dhcp {
    /// What it says to a frame; None: that is not for it.
    pub fn answer(&mut self, frame: &[u8]) -> Option<Vec<u8>> {
        let (_, to, bytes) = datagram_in(frame)?;
        if to.port() != SERVER {
            return None;
        }
        let packet = DhcpPacket::new_checked(bytes.as_slice()).ok()?;
        let asked = DhcpRepr::parse(&packet).ok()?;
        let kind = match asked.message_type {
            DhcpMessageType::Discover => DhcpMessageType::Offer,
            // Somebody else's offer was taken.
            DhcpMessageType::Request if asked.server_identifier.is_some_and(|ip| ip != self.ip) => {
                return None;
            }
            DhcpMessageType::Request if asked.requested_ip.is_some_and(|ip| ip != self.lease) => {
                DhcpMessageType::Nak
            }
            DhcpMessageType::Request => {
                self.given += 1;
                DhcpMessageType::Ack
            }
            _ => return None,
        };
        Some(self.reply(kind, asked.transaction_id, asked.client_hardware_address))
    }

    fn reply(&self, kind: DhcpMessageType, id: u32, client: EthernetAddress) -> Vec<u8> {
        let gives = kind != DhcpMessageType::Nak;
        let reply = DhcpRepr {
            message_type: kind,
            transaction_id: id,
            secs: 0,
            client_hardware_address: client,
            client_ip: Ipv4Addr::UNSPECIFIED,
            your_ip: if gives {
                self.lease
            } else {
                Ipv4Addr::UNSPECIFIED
            },
            server_ip: self.ip,
            router: gives.then_some(self.ip),
            subnet_mask: gives.then_some(self.mask),
            relay_agent_ip: Ipv4Addr::UNSPECIFIED,
            broadcast: true,
            requested_ip: None,
            client_identifier: None,
            server_identifier: Some(self.ip),
            parameter_request_list: None,
            dns_servers: gives.then(|| std::iter::once(self.ip).collect()),
            max_size: None,
            lease_duration: gives.then_some(LEASE_S),
            renew_duration: None,
            rebind_duration: None,
            additional_options: &[],
        };
        let mut bytes = vec![0; reply.buffer_len()];
        let mut packet = DhcpPacket::new_unchecked(&mut bytes[..]);
        reply.emit(&mut packet).expect("room for the options");
        let from = SocketAddrV4::new(self.ip, SERVER);
        let to = SocketAddrV4::new(Ipv4Addr::BROADCAST, CLIENT);
        datagram((self.mac, from), (ALL_MACHINES, to), &bytes)
    }
}
