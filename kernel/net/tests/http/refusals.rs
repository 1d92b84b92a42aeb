//! Each refusal that a request can bring about.

use crate::site::site;
use crate::wire::{Seen, Wire, answers, peer};
use net::http::{Counters, End, Refusal};

/// A request for each refusal that input can bring about, and what is refused for it.
pub fn refused() -> Vec<(String, Refusal)> {
    use Refusal::*;
    let h = "\r\nHost: h\r\n";
    let post = |fields: &str| format!("POST /echo HTTP/1.1{h}{fields}\r\n\r\nabc");
    let coded =
        |body: &str| format!("POST /echo HTTP/1.1{h}Transfer-Encoding: chunked\r\n\r\n{body}");
    vec![
        ("GET / HTTP/1.1\nHost: h\r\n\r\n".into(), BareLineFeed),
        ("GET / HTTP/1.1\r\nHost: h\n\n".into(), BareLineFeed),
        ("\n".into(), BareLineFeed),
        ("\r\n\r\n\r\n".into(), RequestLine),
        ("GET /\r\n\r\n".into(), RequestLine),
        ("GET\r\n\r\n".into(), RequestLine),
        (format!("GET  / HTTP/1.1{h}\r\n"), RequestLine),
        (format!("GET /  HTTP/1.1{h}\r\n"), RequestLine),
        (format!(" GET / HTTP/1.1{h}\r\n"), RequestLine),
        (format!("GET / HTTP/1.1 {h}\r\n"), RequestLine),
        (format!("GET / http/1.1{h}\r\n"), RequestLine),
        (format!("GET / HTTP/1{h}\r\n"), RequestLine),
        (format!("GET / HTTP/1.10{h}\r\n"), RequestLine),
        (format!("G(T / HTTP/1.1{h}\r\n"), RequestLine),
        (format!("GET /\u{1} HTTP/1.1{h}\r\n"), RequestLine),
        (format!("GET x HTTP/1.1{h}\r\n"), Target),
        (format!("GET * HTTP/1.1{h}\r\n"), Target),
        (format!("GET /#x HTTP/1.1{h}\r\n"), Target),
        (format!("GET /%2 HTTP/1.1{h}\r\n"), Target),
        (format!("GET /\u{fc} HTTP/1.1{h}\r\n"), Target),
        (format!("GET https://h/ HTTP/1.1{h}\r\n"), Target),
        (format!("GET http://u@h/ HTTP/1.1{h}\r\n"), Target),
        (format!("GET / HTTP/1.1{h}X\r\n\r\n"), Field),
        (format!("GET / HTTP/1.1{h}X : y\r\n\r\n"), Field),
        (format!("GET / HTTP/1.1{h}: y\r\n\r\n"), Field),
        (format!("GET / HTTP/1.1{h}X: y\r\n folded\r\n\r\n"), Field),
        (format!("GET / HTTP/1.1\r\n X: y{h}\r\n"), Field),
        (format!("GET / HTTP/1.1{h}X: a\0b\r\n\r\n"), Field),
        (format!("GET / HTTP/1.1{h}X: a\rb\r\n\r\n"), Field),
        (format!("GET / HTTP/1.1{h}X\u{fc}: a\r\n\r\n"), Field),
        ("GET / HTTP/1.1\r\n\r\n".into(), NoHost),
        ("GET http://h/ HTTP/1.1\r\n\r\n".into(), NoHost),
        (format!("GET / HTTP/1.1{h}Host: h\r\n\r\n"), Host),
        ("GET / HTTP/1.0\r\nHost: h\r\nHost: i\r\n\r\n".into(), Host),
        ("GET / HTTP/1.1\r\nHost: h/x\r\n\r\n".into(), Host),
        ("GET / HTTP/1.1\r\nHost: h h\r\n\r\n".into(), Host),
        (post("Content-Length: +3"), Length),
        (post("Content-Length: -3"), Length),
        (post("Content-Length: 0x3"), Length),
        (post("Content-Length: 3 3"), Length),
        (post("Content-Length:"), Length),
        (post("Content-Length: 3\r\nContent-Length: 3"), Lengths),
        (post("Content-Length: 3\r\nContent-Length: 4"), Lengths),
        (post("Content-Length: 3, 3"), Lengths),
        (
            post("Content-Length: 3\r\nTransfer-Encoding: chunked"),
            LengthAndEncoding,
        ),
        (
            post("Transfer-Encoding: chunked\r\nContent-Length: 3"),
            LengthAndEncoding,
        ),
        (post("Transfer-Encoding: chunked, identity"), EncodingOrder),
        (
            post("Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip"),
            EncodingOrder,
        ),
        (post("Transfer-Encoding: chunked, chunked"), EncodingOrder),
        (post("Transfer-Encoding: xchunked"), EncodingOrder),
        (post("Transfer-Encoding: chunked;q=1"), EncodingOrder),
        (post("Transfer-Encoding:"), EncodingOrder),
        (post("Transfer-Encoding: chunked,"), EncodingOrder),
        (
            "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".into(),
            EncodingOld,
        ),
        (coded("x\r\n"), Chunk),
        (coded("-1\r\n"), Chunk),
        (coded("3\nabc\r\n0\r\n\r\n"), Chunk),
        (coded("3\r\nabcd\r\n0\r\n\r\n"), Chunk),
        (coded("3\r\nabc\r\n0\r\n\n"), Chunk),
        (coded("11112222333344445\r\n"), Chunk),
        (coded("ffffffffffffffff\r\n"), BodyTooLarge),
        (coded("100001\r\n"), BodyTooLarge),
        (post("Content-Length: 1048577"), BodyTooLarge),
        (
            post("Content-Length: 99999999999999999999999999"),
            BodyTooLarge,
        ),
        (
            format!("GET /{} HTTP/1.1{h}\r\n", "a".repeat(5000)),
            LineTooLong,
        ),
        ("a".repeat(5000), LineTooLong),
        (post("Expect: 200-ok"), Expectation),
        (post("Expect: 100-continue\r\nExpect: x"), Expectation),
        (
            format!("GET / HTTP/1.1{h}X: {}\r\n\r\n", "a".repeat(9000)),
            HeadTooLarge,
        ),
        (
            format!("GET / HTTP/1.1{h}X: {}", "a".repeat(9000)),
            HeadTooLarge,
        ),
        (
            format!("GET / HTTP/1.1{h}{}\r\n", "X: y\r\n".repeat(64)),
            TooManyFields,
        ),
        (coded(&format!("1;{}\r\n", "a".repeat(5000))), ChunkExtra),
        (
            coded(&format!("0\r\n{}", "T: v\r\n".repeat(1500))),
            ChunkExtra,
        ),
        (format!("BREW / HTTP/1.1{h}\r\n"), Method),
        (format!("get / HTTP/1.1{h}\r\n"), Method),
        (format!("CONNECT h:80 HTTP/1.1{h}\r\n"), Method),
        (format!("TRACE / HTTP/1.1{h}\r\n"), Method),
        (post("Transfer-Encoding: gzip, chunked"), Coding),
        (format!("GET / HTTP/1.2{h}\r\n"), Version),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".into(), Version),
        ("GET / HTTP/0.9\r\n\r\n".into(), Version),
        ("GET / HTTP/1.1\r\nHost".into(), HeadCutOff),
        ("G".into(), HeadCutOff),
        (post("Content-Length: 4"), BodyCutOff),
        (coded("3\r\nab"), BodyCutOff),
        (coded("3\r\nabc\r\n0\r\n\r"), BodyCutOff),
    ]
}

/// Behind a request that is refused nothing is served, as its end is not known: a smuggled request stays one.
#[test]
fn each_refusal() {
    let smuggled = "GET /hello HTTP/1.1\r\nHost: h\r\n\r\n";
    for (request, reason) in refused() {
        let server = site();
        let mut wire = Wire::new([format!(
            "{request}{}",
            if reason.status().is_some() {
                smuggled
            } else {
                ""
            }
        )]);
        let outcome = server.serve_connection(&mut wire, peer(), &|| false);
        assert_eq!(outcome.end, End::Refused(reason), "{request:?}");
        assert_eq!((outcome.requests, wire.unread()), (0, 0), "{request:?}");
        let counted = |counters: &Counters| {
            Refusal::ALL
                .iter()
                .map(|&r| counters.refused(r))
                .sum::<u64>()
        };
        assert_eq!(
            (
                server.counters().refused(reason),
                counted(server.counters())
            ),
            (1, 1)
        );
        let answers = answers(&wire.written).unwrap();
        let Some(status) = reason.status() else {
            assert_eq!(answers, []);
            continue;
        };
        let [answer] = &answers[..] else {
            panic!("one answer to {request:?}: {}", wire.text());
        };
        assert_eq!(answer.status, status.code(), "{request:?}");
        assert_eq!(answer.body, format!("{}\n", reason.line()).as_bytes());
        assert_eq!(answer.field("Connection"), Some("close"));
        assert!(wire.seen.contains(&Seen::Closed));
    }
    // Time and load are not input's to bring about.
    let other = [Refusal::HeadTimeout, Refusal::BodyTimeout, Refusal::Busy];
    for reason in Refusal::ALL {
        let is_there = refused().iter().any(|(_, other)| other == reason);
        assert!(is_there != other.contains(reason), "{reason:?}");
    }
}
