//! DHCP and name lookup over a wire: clients of one stack, servers that are sockets of another.

use super::wire::{A, B, Host, Told, settle};
use crate::stack::common::SECOND_NS;
use crate::stack::dhcp::{CLIENT_PORT, Lease, SERVER_PORT};
use crate::stack::dns::{Answer, Begin, DnsError};
use crate::stack::udp::{Socket, UdpError};
use crate::stack::{Address, Counter};
use smoltcp::wire::{DhcpMessageType as Kind, DhcpOption, DhcpPacket, DhcpRepr};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

const ANY: Ipv4Addr = Ipv4Addr::UNSPECIFIED;
const ALL: Ipv4Addr = Ipv4Addr::BROADCAST;

type Sock = Arc<Socket<Told>>;

fn bind(host: &Host, port: u16) -> Sock {
    let socket = host
        .stack
        .udp_bind(SocketAddrV4::new(ANY, port), Arc::default());
    let socket = socket.unwrap();
    socket.set_broadcast(true);
    socket
}

fn start(host: &mut Host, fallback: Option<Lease>) -> Arc<Told> {
    host.stack.set_address(None);
    let user: Arc<Told> = Arc::default();
    let stack = &host.stack;
    stack.dhcp_start(fallback, user.clone(), 0, &mut host.card);
    user
}

/// Answers what has come to `socket`, a server's, with a lease of a minute of [`A`]. How many it answered.
fn serve(host: &mut Host, socket: &Sock, now_ns: u64) -> u32 {
    let mut buffer = [0; 1500];
    let mut answered = 0;
    while let Ok(got) = socket.recv(&mut buffer) {
        let packet = DhcpPacket::new_checked(&buffer[..got.len]).unwrap();
        let asked = DhcpRepr::parse(&packet).unwrap();
        let dns = B.octets();
        let options = [(3, &dns[..]), (6, &dns)].map(|(kind, data)| DhcpOption { kind, data });
        let says = DhcpRepr {
            message_type: match asked.message_type {
                Kind::Discover => Kind::Offer,
                _ => Kind::Ack,
            },
            your_ip: A,
            client_identifier: None,
            server_identifier: Some(B),
            requested_ip: None,
            parameter_request_list: None,
            max_size: None,
            subnet_mask: Some(Ipv4Addr::new(255, 255, 255, 0)),
            lease_duration: Some(60),
            additional_options: &options,
            ..asked
        };
        let mut bytes = vec![0; says.buffer_len()];
        says.emit(&mut DhcpPacket::new_unchecked(&mut bytes[..]))
            .unwrap();
        let to = if asked.broadcast { ALL } else { *got.from.ip() };
        let to = SocketAddrV4::new(to, CLIENT_PORT);
        let sent = host
            .stack
            .udp_send(socket, Some(to), &bytes, now_ns, &mut host.card);
        sent.unwrap();
        answered += 1
    }
    answered
}

/// Time goes on to `until_ns`, from one deadline of the client's to the next, its server answering. How often it answered.
fn pass(a: &mut Host, b: &mut Host, server: Option<&Sock>, until_ns: u64) -> u32 {
    let mut answered = 0;
    loop {
        let now_ns = a.stack.next_deadline_ns().min(until_ns);
        a.stack.tick(now_ns, &mut a.card);
        for _ in 0..3 {
            settle(a, b, now_ns);
            answered += server.map_or(0, |server| serve(b, server, now_ns));
        }
        settle(a, b, now_ns);
        if now_ns == until_ns {
            return answered;
        }
    }
}

fn fallback() -> Lease {
    Lease {
        address: Address {
            ip: Ipv4Addr::new(10, 0, 0, 99),
            prefix: 24,
            gateway: None,
        },
        dns: vec![A],
    }
}

/// Neighbours may remember another card under the address that is ours from now on: they are told, once.
#[test]
fn an_address_is_announced() {
    let mut a = Host::new(A);
    start(&mut a, Some(fallback()));
    let mut arp = Vec::new();
    for _ in 0..6 {
        let now_ns = a.stack.next_deadline_ns();
        a.stack.tick(now_ns, &mut a.card);
        let frames = a.card.sent.drain(..);
        arp.extend(frames.filter(|frame| frame[12..14] == [8, 6]))
    }
    let [frame] = &arp[..] else { panic!("{arp:?}") };
    assert_eq!(frame[..6], [0xff; 6]);
    // A question for ourselves, by ourselves.
    assert_eq!(frame[20..22], [0, 1]);
    let ip = fallback().address.ip.octets();
    assert_eq!([&frame[28..32], &frame[38..42]], [ip; 2])
}

#[test]
fn an_address_comes_and_stays() {
    let (mut a, mut b) = (Host::new(A), Host::new(B));
    let server = bind(&b, SERVER_PORT);
    let user = start(&mut a, Some(fallback()));
    assert_eq!(a.stack.address(), None);
    assert_eq!(pass(&mut a, &mut b, Some(&server), 1), 2);
    assert!(a.stack.is_leased());
    let address = a.stack.address().unwrap();
    assert_eq!((address.ip, address.gateway), (A, Some(B)));
    assert_eq!(a.stack.dns.servers(), [B]);
    assert_eq!(a.stack.lease().unwrap().address, address);
    // Renewed in the middle of each minute, by a packet to the server alone.
    assert_eq!(pass(&mut a, &mut b, Some(&server), 301 * SECOND_NS), 10);
    assert_eq!(user.readable.load(Relaxed), 1);
    // The server is gone: at first nothing changes; then the lease is over.
    drop(server);
    let last_ns = 360 * SECOND_NS;
    pass(&mut a, &mut b, None, last_ns - 100);
    assert_eq!(a.stack.address().unwrap().ip, A);
    pass(&mut a, &mut b, None, last_ns + 100);
    assert_eq!(a.stack.address(), Some(fallback().address));
    assert_eq!(a.stack.dns.servers(), [A]);
    assert_eq!(user.readable.load(Relaxed), 2);
}

#[test]
fn without_a_server_the_fallback_is_used_until_there_is_one() {
    let (mut a, mut b) = (Host::new(A), Host::new(B));
    let user = start(&mut a, Some(fallback()));
    pass(&mut a, &mut b, None, 2 * SECOND_NS);
    assert_eq!(a.stack.address(), None);
    pass(&mut a, &mut b, None, 4 * SECOND_NS);
    assert_eq!(a.stack.address(), Some(fallback().address));
    assert!(!a.stack.is_leased());
    let server = bind(&b, SERVER_PORT);
    pass(&mut a, &mut b, Some(&server), 200 * SECOND_NS);
    assert!(a.stack.is_leased());
    assert_eq!(a.stack.address().unwrap().ip, A);
    assert_eq!(user.readable.load(Relaxed), 2);
    // There may be none.
    start(&mut a, None);
    pass(&mut a, &mut b, None, 100 * SECOND_NS);
    assert_eq!(a.stack.address(), None);
}

#[test]
fn what_others_send_to_the_client_is_counted() {
    let (mut a, mut b) = (Host::new(A), Host::new(B));
    start(&mut a, None);
    settle(&mut a, &mut b, 0);
    let server = bind(&b, SERVER_PORT);
    let to = Some(SocketAddrV4::new(ALL, CLIENT_PORT));
    let sent = b.stack.udp_send(&server, to, b"hello", 0, &mut b.card);
    sent.unwrap();
    // From another port it is nobody's.
    let other = bind(&b, 66);
    let sent = b.stack.udp_send(&other, to, b"hello", 0, &mut b.card);
    sent.unwrap();
    settle(&mut a, &mut b, 0);
    let get = |counter| a.stack.stats.get(counter);
    assert_eq!((get(Counter::DhcpIgnored), get(Counter::UdpNobody)), (1, 1));
}

/// Looks a name up as a goroutine would, with a socket for each question; `serve` runs when a question has arrived. The answer, and
/// the ports that asked.
fn lookup(
    a: &mut Host,
    b: &mut Host,
    name: &str,
    serve: &mut dyn FnMut(&mut Host),
) -> (Answer, Vec<u16>) {
    let mut ports = vec![];
    let mut lookup = match a.stack.dns.begin(name, 0) {
        Begin::Known(answer) => return (answer, ports),
        Begin::Ask(lookup) => lookup,
    };
    while let Some(ask) = lookup.ask() {
        let socket = bind(a, 0);
        ports.push(socket.local().port());
        a.stack.udp_connect(&socket, ask.server).unwrap();
        let sent = a.stack.udp_send(&socket, None, ask.query, 0, &mut a.card);
        sent.unwrap();
        settle(a, b, 0);
        serve(b);
        settle(a, b, 0);
        let mut buffer = [0; 512];
        let answer = loop {
            match socket.recv(&mut buffer) {
                Ok(got) => match lookup.answer(&a.stack.dns, &buffer[..got.len], 0) {
                    None => continue,
                    answer => break answer,
                },
                Err(UdpError::WouldBlock | UdpError::Refused) => break None,
                Err(error) => panic!("{error:?}"),
            }
        };
        a.stack.udp_close(&socket);
        match answer {
            None | Some(Err(DnsError::ServerFailed)) => continue,
            Some(answer) => return (answer, ports),
        }
    }
    (Err(lookup.error()), ports)
}

#[test]
fn names_over_the_wire() {
    let (mut a, mut b) = (Host::new(A), Host::new(B));
    let nobody = Ipv4Addr::new(10, 0, 0, 77);
    a.stack.dns.set_servers(vec![nobody, B]);
    // Nobody has the port: as if nobody answered.
    let (answer, ports) = lookup(&mut a, &mut b, "a.example", &mut |_| ());
    assert_eq!(answer, Err(DnsError::TimedOut));
    assert_eq!(ports.len(), 4);
    let server = bind(&b, 53);
    let mut asked = 0;
    let mut serve = |b: &mut Host| {
        let mut buffer = [0; 512];
        while let Ok(got) = server.recv(&mut buffer) {
            asked += 1;
            let mut says = buffer[..got.len].to_vec();
            says[2..8].copy_from_slice(&[0x81, 0x80, 0, 1, 0, 1]);
            says.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1]);
            // A lie comes first, from somewhere else; and one that does not know the identifier.
            let liar = bind(b, 0);
            let mut lie = says.clone();
            lie[got.len + 15] = 66;
            let mut guess = lie.clone();
            guess[0] ^= 1;
            for (socket, says) in [(&liar, &lie), (&server, &guess), (&server, &says)] {
                let to = Some(got.from);
                let sent = b.stack.udp_send(socket, to, says, 0, &mut b.card);
                sent.unwrap();
            }
        }
    };
    let found = Ok(vec![Ipv4Addr::new(192, 0, 2, 1)]);
    let (answer, ports) = lookup(&mut a, &mut b, "a.example", &mut serve);
    assert_eq!((answer, ports.len()), (found.clone(), 2));
    assert_ne!(ports[0], ports[1]);
    // It is known now.
    let (answer, ports) = lookup(&mut a, &mut b, "A.example.", &mut serve);
    assert_eq!((answer, ports.len()), (found, 0));
    assert_eq!(asked, 1);
    assert_eq!(b.stack.stats.get(Counter::UdpNobody), 2);
}
