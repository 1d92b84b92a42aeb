//! A client, and servers made by hand.

use super::*;
use crate::stack::fuzz;
use smoltcp::wire::{DhcpOption, DhcpPacket, DhcpRepr, EthernetAddress};

mod vain;

const MAC: [u8; 6] = [0x52, 0x54, 0, 1, 2, 3];
const OURS: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 15);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);
const NONE: Ipv4Addr = Ipv4Addr::UNSPECIFIED;
const ALL: Ipv4Addr = Ipv4Addr::BROADCAST;

fn fallback() -> Lease {
    Lease {
        address: Address {
            ip: Ipv4Addr::new(192, 168, 0, 9),
            prefix: 24,
            gateway: None,
        },
        dns: vec![],
    }
}

fn client() -> Client {
    Client::new(MAC, 7, Some(fallback()), 0)
}

/// What a server says.
#[derive(Clone)]
struct Says {
    kind: Kind,
    transaction: u32,
    mac: [u8; 6],
    ip: Ipv4Addr,
    server: Option<Ipv4Addr>,
    mask: Option<Ipv4Addr>,
    seconds: Option<u32>,
    options: Vec<(u8, Vec<u8>)>,
}

impl Says {
    fn new(kind: Kind, client: &Client) -> Says {
        Says {
            kind,
            transaction: client.transaction,
            mac: MAC,
            ip: OURS,
            server: Some(SERVER),
            mask: Some(Ipv4Addr::new(255, 255, 255, 0)),
            seconds: Some(3600),
            options: vec![(3, vec![10, 0, 2, 2]), (6, vec![10, 0, 2, 3])],
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let all = self.options.iter();
        let options: Vec<_> = all
            .map(|(kind, data)| DhcpOption { kind: *kind, data })
            .collect();
        let repr = DhcpRepr {
            message_type: self.kind,
            transaction_id: self.transaction,
            secs: 0,
            client_hardware_address: EthernetAddress(self.mac),
            client_ip: NONE,
            your_ip: self.ip,
            server_ip: NONE,
            router: None,
            subnet_mask: self.mask,
            relay_agent_ip: NONE,
            broadcast: false,
            requested_ip: None,
            client_identifier: None,
            server_identifier: self.server,
            parameter_request_list: None,
            dns_servers: None,
            max_size: None,
            lease_duration: self.seconds,
            renew_duration: None,
            rebind_duration: None,
            additional_options: &options,
        };
        let mut bytes = vec![0; repr.buffer_len()];
        repr.emit(&mut DhcpPacket::new_unchecked(&mut bytes[..]))
            .unwrap();
        bytes
    }
}

/// Of a message of the client's: what matters.
fn read(
    message: &Message,
) -> (
    Kind,
    u32,
    Option<Ipv4Addr>,
    Option<Ipv4Addr>,
    Ipv4Addr,
    bool,
) {
    assert!(message.bytes.len() >= 300);
    let packet = DhcpPacket::new_checked(&message.bytes[..]).unwrap();
    let repr = DhcpRepr::parse(&packet).unwrap();
    assert_eq!(repr.client_hardware_address.0, MAC);
    (
        repr.message_type,
        repr.transaction_id,
        repr.requested_ip,
        repr.server_identifier,
        repr.client_ip,
        repr.broadcast,
    )
}

/// A client with a lease of `seconds` since 0.
fn bound(seconds: u32, options: &[(u8, Vec<u8>)]) -> Client {
    let mut client = client();
    client.tick(0).unwrap();
    client
        .input(0, &Says::new(Kind::Offer, &client).bytes())
        .unwrap();
    let mut ack = Says::new(Kind::Ack, &client);
    ack.seconds = Some(seconds);
    ack.options.extend_from_slice(options);
    assert_eq!(client.input(0, &ack.bytes()), Some(None));
    assert!(client.is_bound());
    client
}

#[test]
fn discover_offer_request_ack() {
    let mut client = client();
    assert_eq!(client.next_ns(), 0);
    let discover = client.tick(0).unwrap();
    assert_eq!((discover.source, discover.dest), (NONE, ALL));
    let transaction = client.transaction;
    let wanted = (Kind::Discover, transaction, None, None, NONE, true);
    assert_eq!(read(&discover), wanted);
    let offer = Says::new(Kind::Offer, &client);
    let request = client.input(5, &offer.bytes()).unwrap().unwrap();
    assert_eq!((request.source, request.dest), (NONE, ALL));
    let (ip, server) = (Some(OURS), Some(SERVER));
    assert_eq!(
        read(&request),
        (Kind::Request, transaction, ip, server, NONE, true)
    );
    // A second offer comes too late.
    assert_eq!(client.input(5, &offer.bytes()), None);
    assert_eq!(client.lease(), None);
    let ack = Says::new(Kind::Ack, &client);
    assert_eq!(client.input(9, &ack.bytes()), Some(None));
    let lease = Lease {
        address: Address {
            ip: OURS,
            prefix: 24,
            gateway: Some(SERVER),
        },
        dns: vec![Ipv4Addr::new(10, 0, 2, 3)],
    };
    assert_eq!(client.lease(), Some(&lease));
    assert_eq!(client.next_ns(), 9 + 1800 * SECOND_NS);
    // Once is enough.
    assert_eq!(client.input(9, &ack.bytes()), None);
}

#[test]
fn nobody_answers_and_then_somebody_does() {
    let mut client = client();
    let mut waits = vec![];
    let mut now_ns = 0;
    for asked in 0..12 {
        if asked != 0 {
            assert_eq!(client.tick(now_ns - 1), None)
        }
        let (kind, ..) = read(&client.tick(now_ns).unwrap());
        assert_eq!(kind, Kind::Discover);
        assert_eq!(client.lease().is_some(), asked >= 2, "question {asked}");
        waits.push((client.next_ns() - now_ns) as f64 / SECOND_NS as f64);
        now_ns = client.next_ns()
    }
    for (asked, wait) in waits.iter().enumerate() {
        let least = f64::from(1 << asked.min(6));
        assert!((least..least * 1.25).contains(wait), "{waits:?}");
    }
    assert_eq!(client.lease(), Some(&fallback()));
    assert!(!client.is_bound());
    // An offer whose server falls silent is given up.
    let offer = Says::new(Kind::Offer, &client);
    client.input(now_ns, &offer.bytes()).unwrap();
    let kinds: Vec<_> = (0..5)
        .map(|_| read(&client.tick(client.next_ns()).unwrap()).0)
        .collect();
    use Kind::{Discover, Request};
    assert_eq!(kinds, [Request, Request, Request, Discover, Discover]);
    assert_ne!(client.transaction, offer.transaction);
    assert_eq!(client.lease(), Some(&fallback()));
    let now_ns = client.next_ns();
    client.input(now_ns, &Says::new(Kind::Offer, &client).bytes());
    client.input(now_ns, &Says::new(Kind::Ack, &client).bytes());
    assert!(client.is_bound());
    assert_eq!(client.lease().unwrap().address.ip, OURS);
}

#[test]
fn a_lease_is_renewed_where_it_came_from() {
    let mut client = bound(3600, &[]);
    assert_eq!(client.tick(client.next_ns() - 1), None);
    let renew = client.tick(1800 * SECOND_NS).unwrap();
    assert_eq!((renew.source, renew.dest), (OURS, SERVER));
    let (kind, transaction, ip, server, held, broadcast) = read(&renew);
    assert_eq!((kind, ip, server), (Kind::Request, None, None));
    assert_eq!((held, broadcast), (OURS, false));
    assert_eq!(transaction, client.transaction);
    // Another address than the one that it has is nothing for it.
    let mut ack = Says::new(Kind::Ack, &client);
    ack.ip = Ipv4Addr::new(10, 0, 2, 16);
    assert_eq!(client.input(1801 * SECOND_NS, &ack.bytes()), None);
    ack.ip = OURS;
    assert_eq!(client.input(1801 * SECOND_NS, &ack.bytes()), Some(None));
    assert_eq!(client.next_ns(), (1801 + 1800) * SECOND_NS);
}

#[test]
fn a_lease_that_nobody_renews_ends() {
    let mut client = bound(3600, &[]);
    let mut log = vec![];
    while client.is_bound() {
        let now_ns = client.next_ns();
        let message = client.tick(now_ns).unwrap();
        log.push((now_ns / SECOND_NS, message.dest, read(&message).0))
    }
    let seconds: Vec<_> = log.iter().map(|&(seconds, ..)| seconds).collect();
    // Half of what is left each time, but not more often than once a minute; T2 is 3150.
    let wanted = [
        1800, 2475, 2812, 2981, 3065, 3125, 3150, 3375, 3487, 3547, 3600,
    ];
    assert_eq!(seconds, wanted);
    for &(seconds, dest, kind) in &log {
        let renews = seconds < 3600;
        let wanted = if renews {
            Kind::Request
        } else {
            Kind::Discover
        };
        assert_eq!(dest, if seconds < 3150 { SERVER } else { ALL });
        assert_eq!(kind, wanted)
    }
    assert_eq!(client.lease(), Some(&fallback()));
    // Another server may go on with a lease, at the last.
    let mut client = bound(3600, &[]);
    client.tick(3200 * SECOND_NS).unwrap();
    let mut ack = Says::new(Kind::Ack, &client);
    ack.server = Some(Ipv4Addr::new(10, 0, 2, 77));
    assert_eq!(client.input(3201 * SECOND_NS, &ack.bytes()), Some(None));
    let renew = client.tick(client.next_ns()).unwrap();
    assert_eq!(renew.dest, Ipv4Addr::new(10, 0, 2, 77));
}

#[test]
fn a_server_may_refuse() {
    let mut client = client();
    client.tick(0);
    // Nothing was requested that could be refused.
    assert_eq!(
        client.input(0, &Says::new(Kind::Nak, &client).bytes()),
        None
    );
    client
        .input(0, &Says::new(Kind::Offer, &client).bytes())
        .unwrap();
    let nak = Says::new(Kind::Nak, &client);
    assert_eq!(client.input(0, &nak.bytes()), Some(None));
    assert!(client.next_ns() >= SECOND_NS);
    let again = client.tick(client.next_ns()).unwrap();
    assert_eq!(read(&again).0, Kind::Discover);
    assert_ne!(read(&again).1, nak.transaction);
    assert_eq!(client.lease(), None);

    let mut client = bound(3600, &[]);
    // Unasked, it is of no interest.
    assert_eq!(
        client.input(1, &Says::new(Kind::Nak, &client).bytes()),
        None
    );
    client.tick(1800 * SECOND_NS);
    let nak = Says::new(Kind::Nak, &client);
    assert_eq!(client.input(1800 * SECOND_NS, &nak.bytes()), Some(None));
    assert_eq!(client.lease(), Some(&fallback()));
    assert!(!client.is_bound());
}

#[test]
fn what_makes_no_sense_is_ignored() {
    let mut client = client();
    let early = Says::new(Kind::Offer, &client);
    // Nobody was asked yet.
    assert_eq!(client.input(0, &early.bytes()), None);
    client.tick(0);
    let mut refused = |change: &dyn Fn(&mut Says)| {
        let mut offer = Says::new(Kind::Offer, &client);
        change(&mut offer);
        assert_eq!(client.input(0, &offer.bytes()), None)
    };
    refused(&|offer| offer.transaction ^= 1);
    refused(&|offer| offer.mac[5] ^= 1);
    refused(&|offer| offer.kind = Kind::Request);
    refused(&|offer| offer.kind = Kind::Ack);
    refused(&|offer| offer.server = None);
    refused(&|offer| offer.server = Some(ALL));
    refused(&|offer| offer.seconds = None);
    refused(&|offer| offer.seconds = Some(9));
    for ip in [
        "0.0.0.0",
        "127.0.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "10.0.2.255",
    ] {
        refused(&|offer| offer.ip = ip.parse().unwrap());
    }
    for mask in ["0.0.0.0", "255.0.255.0", "0.255.255.255"] {
        refused(&|offer| offer.mask = Some(mask.parse().unwrap()));
    }
    let offer = Says::new(Kind::Offer, &client).bytes();
    assert_eq!(client.input(0, &offer[..239]), None);
    let mut magic = offer.clone();
    magic[236] ^= 1;
    assert_eq!(client.input(0, &magic), None);
    assert!(client.input(0, &offer).is_some());
    // Another server's word does not count.
    let mut ack = Says::new(Kind::Ack, &client);
    ack.server = Some(Ipv4Addr::new(10, 0, 2, 77));
    assert_eq!(client.input(0, &ack.bytes()), None);
    ack.server = None;
    assert_eq!(client.input(0, &ack.bytes()), Some(None));
}

#[test]
fn terms() {
    let seconds = |s: u32| s.to_be_bytes().to_vec();
    let first = |seconds: u32, options: &[(u8, Vec<u8>)]| {
        let client = bound(seconds, options);
        let State::Bound(held) = client.state else {
            panic!("not bound")
        };
        let in_s = |ns: u64| ns.checked_div(SECOND_NS).filter(|_| ns != NEVER);
        (
            in_s(client.next_ns()),
            in_s(held.rebind_ns),
            in_s(held.end_ns),
        )
    };
    let told = [(58, seconds(100)), (59, seconds(200))];
    assert_eq!(first(1000, &told), (Some(100), Some(200), Some(1000)));
    // Out of order, or beyond the end: the usual ones.
    let usual = (Some(500), Some(875), Some(1000));
    for (t1, t2) in [(200, 100), (0, 100), (100, 1000), (100, 100)] {
        let told = [(58, seconds(t1)), (59, seconds(t2))];
        assert_eq!(first(1000, &told), usual);
    }
    assert_eq!(first(1000, &told[..1]), usual);
    assert_eq!(first(u32::MAX, &[]), (None, None, None));
    // Without a mask it is the class's; of several routers the first; one that is elsewhere is none.
    let mut client = client();
    client.tick(0);
    client.input(0, &Says::new(Kind::Offer, &client).bytes());
    let mut ack = Says::new(Kind::Ack, &client);
    ack.mask = None;
    ack.options = vec![(3, vec![10, 9, 9, 9, 10, 0, 2, 1])];
    client.input(0, &ack.bytes());
    let address = client.lease().unwrap().address;
    assert_eq!(address.prefix, 8);
    assert_eq!(address.gateway, Some(Ipv4Addr::new(10, 9, 9, 9)));
    let mut ack = Says::new(Kind::Ack, &client);
    client.tick(client.next_ns());
    ack.transaction = client.transaction;
    ack.options = vec![(3, vec![11, 9, 9, 9])];
    client.input(client.next_ns(), &ack.bytes()).unwrap();
    assert_eq!(client.lease().unwrap().address.gateway, None);
}

#[test]
fn fuzz_messages() {
    let mut client = client();
    client.tick(0);
    let transaction = client.transaction;
    let seeds: Vec<_> = [Kind::Offer, Kind::Ack, Kind::Nak]
        .into_iter()
        .map(|kind| Says::new(kind, &client).bytes())
        .collect();
    let (mut ignored, mut sent, mut leased, mut now_ns) = (0, 0, 0, 0);
    fuzz::run(&seeds, |bytes| {
        now_ns += SECOND_NS / 100;
        match client.input(now_ns, bytes) {
            None => ignored += 1,
            Some(message) => {
                sent += u64::from(message.is_some());
                leased += u64::from(client.is_bound())
            }
        }
        client.tick(now_ns);
        assert!(client.next_ns() > now_ns, "it would be called without end");
        if let Some(lease) = client.lease() {
            let ip = lease.address.ip;
            assert!(!ip.is_unspecified() && !ip.is_multicast() && !lease.address.is_broadcast(ip))
        }
        // The messages are answers to this.
        client.transaction = transaction
    });
    assert!(
        ignored > 0 && sent > 0 && leased > 0,
        "{ignored} {sent} {leased}"
    );
}
