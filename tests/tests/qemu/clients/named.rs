//! A page by its name: the peer is the DHCP server, the name server and the web server.

use std::net::Ipv4Addr;
use tests::peer::{Peer, Setup, Wire};
use tests::{Case, demo};

const MACHINE: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 15);
const BODY: &str = "this is the page\n";
/// Of a message to a name server: behind it comes the question.
const HEAD: usize = 12;

/// The name in a question, with dots, and the question's length.
fn question(query: &[u8]) -> Option<(String, usize)> {
    let (mut name, mut at) = (String::new(), HEAD);
    loop {
        let n = usize::from(*query.get(at)?);
        at += 1;
        if n == 0 {
            return Some((name, at + 4 - HEAD)); // type and class
        }
        name += core::str::from_utf8(query.get(at..at + n)?).ok()?;
        name.push('.');
        at += n
    }
}

/// An answer (RFC 1035, 4.1): an address for a minute, or that nobody is called so.
fn answer(query: &[u8], question_bytes: usize, ip: Option<Ipv4Addr>) -> Vec<u8> {
    let mut bytes = query[..HEAD + question_bytes].to_vec();
    let found = ip.is_some();
    // It is an answer, recursion is to be had; NXDOMAIN is 3; so many records.
    (bytes[2], bytes[3], bytes[7]) = (0x81, if found { 0x80 } else { 0x83 }, u8::from(found));
    if let Some(ip) = ip {
        // The question's name, an address, of the Internet, seconds, four bytes.
        bytes.extend([0xc0, HEAD as u8, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
        bytes.extend(ip.octets())
    }
    bytes
}

/// Answers one question after another, up to one for a name that is there; serves a page to whoever comes then.
fn serve(wire: Wire) -> Result<(), String> {
    let setup = Setup::default();
    let mut peer = Peer::new(wire, setup);
    peer.serve_dhcp(MACHINE);
    let names = peer.udp_socket(53)?;
    let web = peer.listen(8000)?;
    for known in [false, true] {
        let (query, from) = peer.recv_from(names)?;
        let (name, len) = question(&query).ok_or_else(|| format!("a question: {query:?}"))?;
        let wanted = if known {
            "somebody.example."
        } else {
            "nobody.example."
        };
        if name != wanted {
            return Err(format!("asked for {name} instead of {wanted}"));
        }
        let ip = known.then_some(setup.ip);
        peer.send_to(names, &answer(&query, len, ip), from)?
    }
    peer.accepted(web)?;
    let mut asked = Vec::new();
    while !asked.ends_with(b"\r\n\r\n") {
        asked.extend(peer.recv_some(web)?)
    }
    let asked = String::from_utf8_lossy(&asked).into_owned();
    if !asked.starts_with("GET /page HTTP/1.1\r\n")
        || !asked.contains("Host: somebody.example:8000")
    {
        return Err(format!("it asks: {asked}"));
    }
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", BODY.len());
    peer.send_all(web, head.as_bytes())?;
    peer.send_all(web, BODY.as_bytes())?;
    // The machine ends with its program, whatever becomes of the connection.
    drop(peer.finish(web));
    Ok(())
}

/// Two names, of which one is nobody's.
pub fn wget() -> Case {
    Case::new("clients", "wget")
        .named("by name")
        .arguments([
            "http://nobody.example/",
            "http://somebody.example:8000/page",
        ])
        .kernel(|| demo("wget"))
        .peer(serve)
        .exit(1)
        .says("nobody.example/: nobody is called so")
        .says(BODY)
}
