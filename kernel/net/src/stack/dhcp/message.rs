//! DHCP's messages, as far as a client writes and reads them. `smoltcp` knows the options; what a server may say to us is decided
//! here.

use super::{Address, Offer};
use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use smoltcp::wire::{DhcpMessageType as Kind, DhcpPacket, DhcpRepr, EthernetAddress};

/// The shortest message: BOOTP's (RFC 951), which some servers insist on.
const LEAST_BYTES: usize = 300;
/// The longest that we take, in bytes, IP's header included.
const MOST_BYTES: u16 = 1500;
/// Options (RFC 2132).
const SUBNET_MASK: u8 = 1;
const ROUTER: u8 = 3;
const DNS: u8 = 6;
const LEASE_TIME: u8 = 51;
const RENEWAL_TIME: u8 = 58;
const REBINDING_TIME: u8 = 59;
/// Shorter leases would keep us busy with nothing else.
const LEASE_LEAST_S: u32 = 10;

/// What a client says.
pub(super) struct Ask {
    pub kind: Kind,
    pub mac: [u8; 6],
    pub transaction: u32,
    /// Since it began.
    pub seconds: u16,
    /// The address wanted, and of whom.
    pub offer: Option<(Ipv4Addr, Ipv4Addr)>,
    /// The address that it has.
    pub held: Option<Ipv4Addr>,
}

/// What a server grants.
pub(super) struct Grant {
    /// None: it does not say who it is.
    pub offer: Option<Offer>,
    pub address: Address,
    pub dns: Vec<Ipv4Addr>,
    /// T1, T2 and the end, in that order; `u32::MAX`: never.
    pub renew_s: u32,
    pub rebind_s: u32,
    pub lease_s: u32,
}

pub(super) fn write(ask: &Ask) -> Vec<u8> {
    let wanted = [
        SUBNET_MASK,
        ROUTER,
        DNS,
        LEASE_TIME,
        RENEWAL_TIME,
        REBINDING_TIME,
    ];
    let none = Ipv4Addr::UNSPECIFIED;
    let mac = EthernetAddress(ask.mac);
    let repr = DhcpRepr {
        message_type: ask.kind,
        transaction_id: ask.transaction,
        secs: ask.seconds,
        client_hardware_address: mac,
        client_ip: ask.held.unwrap_or(none),
        your_ip: none,
        server_ip: none,
        router: None,
        subnet_mask: None,
        relay_agent_ip: none,
        // Without an address we could not be answered otherwise.
        broadcast: ask.held.is_none(),
        requested_ip: ask.offer.map(|(ip, _)| ip),
        client_identifier: Some(mac),
        server_identifier: ask.offer.map(|(_, server)| server),
        parameter_request_list: Some(&wanted),
        dns_servers: None,
        max_size: Some(MOST_BYTES),
        lease_duration: None,
        renew_duration: None,
        rebind_duration: None,
        additional_options: &[],
    };
    let mut bytes = vec![0; repr.buffer_len().max(LEAST_BYTES)];
    let written = repr.emit(&mut DhcpPacket::new_unchecked(&mut bytes[..]));
    written.expect("a buffer as long as the message");
    bytes
}

/// What a server says to the client with this address in this transaction, and, if it is that, a sensible grant.
pub(super) fn read(bytes: &[u8], mac: [u8; 6], transaction: u32) -> Option<(Kind, Option<Grant>)> {
    let packet = DhcpPacket::new_checked(bytes).ok()?;
    let repr = DhcpRepr::parse(&packet).ok()?;
    let ours = repr.client_hardware_address.0 == mac && repr.transaction_id == transaction;
    ours.then(|| (repr.message_type, grant(&packet, &repr)))
}

fn grant(packet: &DhcpPacket<&[u8]>, repr: &DhcpRepr<'_>) -> Option<Grant> {
    let is_one = |ip: &Ipv4Addr| {
        let first = ip.octets()[0];
        first != 0 && first < 224 && !ip.is_loopback()
    };
    let ip = Some(repr.your_ip).filter(is_one)?;
    let prefix = match repr.subnet_mask {
        Some(mask) => prefix(mask)?,
        None => prefix_of_class(ip),
    };
    // There may be several routers; `smoltcp` knows one or none.
    let mut options = packet.options();
    let routers = options.find(|option| option.kind == ROUTER);
    let router = routers.and_then(|option| option.data.first_chunk::<4>());
    let router = router.map(|&octets| Ipv4Addr::from(octets)).filter(is_one);
    let mut address = Address {
        ip,
        prefix,
        gateway: None,
    };
    address.gateway = router.filter(|&ip| address.on_link(ip) && ip != address.ip);
    // It itself is not one of many.
    if address.is_broadcast(ip) {
        return None;
    }
    let servers = repr.dns_servers.iter().flatten().copied();
    let dns = servers.filter(is_one).collect();
    let server = repr.server_identifier.filter(is_one);
    let offer = server.map(|server| Offer { ip, server });
    let lease_s = repr.lease_duration.filter(|&s| s >= LEASE_LEAST_S)?;
    let (renew_s, rebind_s) = times(repr, lease_s);
    Some(Grant {
        offer,
        address,
        dns,
        renew_s,
        rebind_s,
        lease_s,
    })
}

/// T1 and T2: as told, if that makes sense, else at half and seven eighths (RFC 2131, 4.4.5).
fn times(repr: &DhcpRepr<'_>, lease_s: u32) -> (u32, u32) {
    if lease_s == u32::MAX {
        return (lease_s, lease_s);
    }
    match (repr.renew_duration, repr.rebind_duration) {
        (Some(renew_s), Some(rebind_s))
            if 0 < renew_s && renew_s < rebind_s && rebind_s < lease_s =>
        {
            (renew_s, rebind_s)
        }
        _ => (lease_s / 2, lease_s - lease_s / 8),
    }
}

fn prefix(mask: Ipv4Addr) -> Option<u8> {
    let bits = mask.to_bits();
    let ones = bits.leading_ones();
    (ones != 0 && ones == bits.count_ones()).then_some(ones as u8)
}

/// What was meant before there were masks (RFC 791, 3.2).
fn prefix_of_class(ip: Ipv4Addr) -> u8 {
    match ip.octets()[0] {
        0..128 => 8,
        128..192 => 16,
        _ => 24,
    }
}
