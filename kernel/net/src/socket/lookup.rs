//! Names to addresses, as goroutines ask for them (Go: net/dnsclient_unix.go).

use super::machine::{await_address, has_card, machine};
use super::{ErrorKind, Result, UdpSocket};
use crate::stack::dns::{Answer, Begin, DnsError, Lookup};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use csp::sync::{Mutex, OnceLock};
use csp::time::{Duration, Instant};

/// Longer answers are cut, and say so (RFC 1035, 4.2.1).
const ANSWER_BYTES: usize = 512;

/// The addresses of a name, at least one, or of an address in text, itself.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use net::socket::lookup;
/// assert_eq!(lookup("localhost").unwrap(), ["127.0.0.1".parse::<core::net::Ipv4Addr>().unwrap()]);
/// assert!(lookup("no name at all").is_err());
/// # });
/// ```
///
/// # Errors
/// `NotFound`: nobody is called so, or has no address of IPv4, or no server knows. `TimedOut`: no server answers. `ConnectionRefused`
/// and other kinds: that is what the last server's computer said, or sending to it. `NetworkDown`: there is no network;
/// `NetworkUnreachable`: there is one, and no name server is known. `InvalidInput`: no name looks like this.
pub fn lookup(name: &str) -> Result<Vec<Ipv4Addr>> {
    let dns = &machine().stack.dns;
    let begin = dns.begin(name, sched::machine_now_ns());
    let begin = match begin {
        Begin::Known(Err(DnsError::NoServers)) if !has_card() => {
            return Err(ErrorKind::NetworkDown.into());
        }
        // The servers come with the address.
        Begin::Known(Err(DnsError::NoServers)) => {
            await_address()?;
            dns.begin(name, sched::machine_now_ns())
        }
        begin => begin,
    };
    match begin {
        Begin::Known(answer) => Ok(answer?),
        Begin::Ask(lookup) => machine().flights.ask(name, lookup),
    }
}

/// Lookups under way: who asks for a name that somebody is asking for gets the same answer (Go: net/lookup.go, `lookupGroup`).
///
/// ```text
///   first ──► takes off ──► ask ──► answer ──► lands: the next begins anew, or finds it remembered
///   others ─────┴─ wait ──────────────┴─► the same answer
/// ```
pub(super) struct Flights(Mutex<Vec<Flight>>);

/// The name, and what comes of it.
type Flight = (Vec<u8>, Arc<OnceLock<Found>>);

/// What a lookup comes to.
type Found = Result<Vec<Ipv4Addr>>;

impl Flights {
    pub(super) fn new() -> Flights {
        Flights(Mutex::new(Vec::new()))
    }

    fn ask(&self, text: &str, lookup: Lookup) -> Found {
        let name = lookup.name().to_vec();
        let flight = {
            let mut all = self.0.lock();
            match all.iter().find(|(other, _)| *other == name) {
                Some((_, flight)) => flight.clone(),
                None => {
                    // One may have landed since the caller looked.
                    let dns = &machine().stack.dns;
                    if let Begin::Known(answer) = dns.begin(text, sched::machine_now_ns()) {
                        return Ok(answer?);
                    }
                    let flight = Arc::new(OnceLock::new());
                    all.push((name, flight.clone()));
                    flight
                }
            }
        };
        let answer = flight.get_or_init(|| ask(lookup)).clone();
        // Whoever is the first to know.
        self.0
            .lock()
            .retain(|(_, other)| !Arc::ptr_eq(other, &flight));
        answer
    }
}

/// Server by server, until one knows.
fn ask(mut lookup: Lookup) -> Found {
    // What has kept the last one from answering, other than time.
    let mut hindrance = None;
    while let Some(ask) = lookup.ask() {
        let until = Instant::now() + Duration::from_nanos(ask.wait_ns);
        let asked = || -> Result<UdpSocket> {
            // A port for each question: who wants to lie must guess it.
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
            socket.connect(ask.server)?;
            socket.set_read_deadline(Some(until));
            socket.send(ask.query)?;
            Ok(socket)
        };
        match asked().and_then(|socket| listen(&mut lookup, &socket)) {
            Ok(Err(DnsError::ServerFailed)) => {}
            Ok(answer) => return Ok(answer?),
            Err(error) => hindrance = Some(error).filter(|e| e.kind() != ErrorKind::TimedOut),
        }
    }
    Err(match (lookup.error(), hindrance) {
        (DnsError::TimedOut, Some(error)) => error.of_name_server(),
        (error, _) => error.into(),
    })
}

/// What the server says.
///
/// # Errors
/// Nothing in time, or what its computer says instead.
fn listen(lookup: &mut Lookup, socket: &UdpSocket) -> Result<Answer> {
    let mut bytes = [0; ANSWER_BYTES];
    loop {
        let n = socket.recv(&mut bytes)?;
        let answer = lookup.answer(&machine().stack.dns, &bytes[..n], sched::machine_now_ns());
        if let Some(answer) = answer {
            return Ok(answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ErrorKind, lookup, machine};
    use crate::socket::UdpSocket;
    use csp::time::{Duration, Instant};
    use smoltcp::wire::{DnsPacket, DnsQuestion};
    use std::collections::BTreeSet;
    use std::net::Ipv4Addr;
    use std::sync::Mutex;
    use std::vec::Vec;

    /// There is one machine.
    static TURN: Mutex<()> = Mutex::new(());

    /// The answer to a query: one address.
    fn answer(query: &[u8]) -> Vec<u8> {
        let packet = DnsPacket::new_checked(query).unwrap();
        let (rest, _) = DnsQuestion::parse(packet.payload()).unwrap();
        let mut bytes = query[..query.len() - rest.len()].to_vec();
        // It is an answer, recursion was to be had, there is one record.
        (bytes[2], bytes[3], bytes[7]) = (0x81, 0x80, 1);
        // The name at 12, an address, of the Internet, for a minute, four bytes.
        bytes.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 10, 9, 8, 7]);
        bytes
    }

    /// Each reason has its kind and its words; a closed port is no passing of time.
    #[test]
    fn why_there_is_no_address() {
        let _turn = TURN.lock();
        sched::testing::run(2, 2, || {
            let dns = &machine().stack.dns;
            let why = |name: &str| {
                let error = lookup(name).unwrap_err();
                (error.kind(), error.to_string())
            };
            dns.set_servers([Ipv4Addr::LOCALHOST].into());
            let (kind, text) = why("somebody.example");
            assert_eq!(kind, ErrorKind::ConnectionRefused);
            assert_eq!(text, "the name server: nobody listens there");
            dns.set_servers(Vec::new());
            let (kind, text) = why("somebody.example");
            assert_eq!(kind, ErrorKind::NetworkDown, "{text}");
            let (kind, text) = why("a b");
            assert_eq!(kind, ErrorKind::InvalidInput);
            assert_eq!(text, "it is no address, and no name can look like this")
        })
    }

    /// Eight at once, in two spellings: one question, and all of them know.
    #[test]
    fn those_at_once_ask_once() {
        let _turn = TURN.lock();
        sched::testing::run(2, 2, || {
            let server = UdpSocket::bind("127.0.0.1:53").unwrap();
            let dns = &machine().stack.dns;
            dns.set_servers([Ipv4Addr::LOCALHOST].into());
            let name = |i| {
                if i % 2 == 0 {
                    "Where.example"
                } else {
                    "where.EXAMPLE."
                }
            };
            let all: Vec<_> = (0..8)
                .map(|i| csp::spawn(move || lookup(name(i))))
                .collect();
            let mut bytes = [0; 512];
            let (n, from) = server.recv_from(&mut bytes).unwrap();
            let (first, to) = (answer(&bytes[..n]), from);
            // Each question has a number. The others have time to ask before the first is answered; whoever comes later knows.
            let mut asked = BTreeSet::from([[bytes[0], bytes[1]]]);
            server.set_read_deadline(Some(Instant::now() + Duration::from_millis(50)));
            while let Ok((n, from)) = server.recv_from(&mut bytes) {
                asked.insert([bytes[0], bytes[1]]);
                server.send_to(&answer(&bytes[..n]), from).unwrap();
            }
            server.send_to(&first, to).unwrap();
            for one in all {
                assert_eq!(one.join().unwrap(), [Ipv4Addr::new(10, 9, 8, 7)])
            }
            server.set_read_deadline(Some(Instant::now()));
            while server.recv_from(&mut bytes).is_ok() {
                asked.insert([bytes[0], bytes[1]]);
            }
            assert_eq!(asked.len(), 1);
            assert_eq!(machine().flights.0.lock().len(), 0);
            dns.set_servers(Vec::new())
        })
    }
}
