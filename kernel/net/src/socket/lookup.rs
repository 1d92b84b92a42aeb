//! Names to addresses, as goroutines ask for them (Go: net/dnsclient_unix.go).

use super::machine::{await_address, machine};
use super::{Error, ErrorKind, Result, UdpSocket};
use crate::stack::dns::{Answer, Begin, DnsError, Lookup};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
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
/// `NotFound`: nobody is called so, or has no address of IPv4. `TimedOut`: no server answers. `NetworkDown`: there is none.
/// `InvalidInput`: no name looks like this.
pub fn lookup(name: &str) -> Result<Vec<Ipv4Addr>> {
    let dns = &machine().stack.dns;
    let begin = dns.begin(name, sched::machine_now_ns());
    let begin = match begin {
        // The servers come with the address.
        Begin::Known(Err(DnsError::NoServers)) => {
            await_address()?;
            dns.begin(name, sched::machine_now_ns())
        }
        begin => begin,
    };
    match begin {
        Begin::Known(answer) => Ok(answer?),
        Begin::Ask(lookup) => Ok(ask(lookup)?),
    }
}

/// Server by server, until one knows.
fn ask(mut lookup: Lookup) -> Answer {
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
        let Ok(socket) = asked() else {
            continue;
        };
        match listen(&mut lookup, &socket) {
            Some(Err(DnsError::ServerFailed)) | None => {}
            Some(answer) => return answer,
        }
    }
    Err(lookup.error())
}

/// What the server says. None: nothing in time.
fn listen(lookup: &mut Lookup, socket: &UdpSocket) -> Option<Answer> {
    let mut bytes = [0; ANSWER_BYTES];
    loop {
        let n = socket.recv(&mut bytes).ok()?;
        let answer = lookup.answer(&machine().stack.dns, &bytes[..n], sched::machine_now_ns());
        if answer.is_some() {
            return answer;
        }
    }
}

impl From<DnsError> for Error {
    fn from(error: DnsError) -> Error {
        match error {
            DnsError::BadName => ErrorKind::InvalidInput,
            DnsError::NotFound | DnsError::NoAddress => ErrorKind::NotFound,
            DnsError::NoServers => ErrorKind::NetworkDown,
            DnsError::ServerFailed | DnsError::Truncated => ErrorKind::NotFound,
            DnsError::TimedOut => ErrorKind::TimedOut,
        }
        .into()
    }
}
