//! Requests and what they get: each refusal, each way a response is framed.

use crate::site::{LARGE, site};
use crate::wire::{Answer, Seen, Wire, answer, answers, peer};
use embedded_io::Write;
use net::http::{Counters, End, Error, Outcome, Refusal, Request, Response, Server, Status};

/// Serves one piece of input.
pub fn ask(input: &[u8]) -> (Wire, Outcome) {
    let mut wire = Wire::new([input]);
    let outcome = site().serve_connection(&mut wire, peer(), &|| false);
    (wire, outcome)
}

fn one(input: &str) -> (Answer, End) {
    let (wire, outcome) = ask(input.as_bytes());
    let to_head = input.starts_with("HEAD");
    let (one, len) =
        answer(&wire.written, to_head).unwrap_or_else(|why| panic!("{why} to {input:?}"));
    assert_eq!(
        len,
        wire.written.len(),
        "one answer to {input:?}: {}",
        wire.text()
    );
    (one, outcome.end)
}

/// Heads are written without their ends of lines; a body begins after the empty line.
pub fn crlf(text: &str) -> String {
    let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
    format!(
        "{}\r\n\r\n{body}",
        head.trim_end_matches('\n').replace('\n', "\r\n")
    )
}

#[test]
fn to_the_byte() {
    let cases = [
        (
            "GET /hello HTTP/1.1\nHost: h",
            "HTTP/1.1 200 OK\nContent-Type: text/plain\nContent-Length: 6\n\nhello\n",
        ),
        (
            "GET /hello HTTP/1.0",
            "HTTP/1.1 200 OK\nContent-Type: text/plain\nContent-Length: 6\nConnection: close\n\nhello\n",
        ),
        (
            "GET /hello HTTP/1.0\nConnection: Keep-Alive",
            "HTTP/1.1 200 OK\nContent-Type: text/plain\nContent-Length: 6\nConnection: keep-alive\n\nhello\n",
        ),
        (
            "HEAD /hello HTTP/1.1\nHost: h",
            "HTTP/1.1 200 OK\nContent-Type: text/plain\nContent-Length: 6\n\n",
        ),
        (
            "HEAD /chunks HTTP/1.1\nHost: h",
            "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n",
        ),
        (
            "HEAD /sized HTTP/1.1\nHost: h",
            "HTTP/1.1 200 OK\nContent-Length: 6\n\n",
        ),
        (
            "GET /empty HTTP/1.1\nHost: h",
            "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
        ),
        (
            "DELETE /empty HTTP/1.1\nHost: h",
            "HTTP/1.1 204 No Content\n\n",
        ),
        (
            "OPTIONS * HTTP/1.1\nHost: h",
            "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
        ),
        (
            "GET /teapot HTTP/1.1\nHost: h",
            "HTTP/1.1 418 \nContent-Type: text/plain\nContent-Length: 1\n\n\n",
        ),
        (
            "GET /inject HTTP/1.1\nHost: h",
            "HTTP/1.1 500 Internal Server Error\nContent-Type: text/plain\nContent-Length: 22\n\nInternal Server Error\n",
        ),
        (
            "GET /nowhere HTTP/1.1\nHost: h",
            "HTTP/1.1 404 Not Found\nContent-Type: text/plain\nContent-Length: 10\n\nNot Found\n",
        ),
        (
            "DELETE /echo HTTP/1.1\nHost: h",
            "HTTP/1.1 405 Method Not Allowed\nAllow: POST, PUT\nContent-Type: text/plain\nContent-Length: 19\n\nMethod Not Allowed\n",
        ),
        (
            "PUT /empty HTTP/1.1\nHost: h",
            "HTTP/1.1 405 Method Not Allowed\nAllow: GET, HEAD, DELETE\nContent-Type: text/plain\nContent-Length: 19\n\nMethod Not Allowed\n",
        ),
        (
            "GET / HTTP/1.1",
            "HTTP/1.1 400 Bad Request\nContent-Type: text/plain\nContent-Length: 39\nConnection: close\n\na request of HTTP/1.1 has a Host field\n",
        ),
    ];
    for (request, response) in cases {
        let (wire, outcome) = ask(crlf(request).as_bytes());
        let want = crlf(response);
        assert_eq!(wire.text(), want, "{request:?}");
        assert_eq!(outcome.requests, u64::from(!want.contains("400")));
    }
}

#[test]
fn answered() {
    let h = "\r\nHost: h\r\n";
    let long = |n: usize| "a".repeat(n);
    let cases: Vec<(String, u16, &str, End)> = vec![
        (
            format!("GET /users/7/a/b?x=1&q=2 HTTP/1.1{h}\r\n"),
            200,
            "7 a/b 2 h 4711",
            End::PeerClosed,
        ),
        (
            format!("GET http://other:81/users/7/?q HTTP/1.1{h}\r\n"),
            200,
            "7   other:81 4711",
            End::PeerClosed,
        ),
        (
            "GET /users/7/x HTTP/1.0\r\n\r\n".into(),
            200,
            "7 x -  4711",
            End::Asked,
        ),
        (
            format!("\r\n\r\nGET /sized HTTP/1.1{h}\r\n"),
            200,
            "abcdef",
            End::PeerClosed,
        ),
        (
            format!("GET /twice HTTP/1.1{h}\r\n"),
            200,
            "once",
            End::PeerClosed,
        ),
        (
            format!("GET /close HTTP/1.1{h}\r\n"),
            200,
            "last\n",
            End::Asked,
        ),
        (
            format!("GET /sized HTTP/1.1{h}Connection: x, CLOSE\r\n\r\n"),
            200,
            "abcdef",
            End::Asked,
        ),
        (
            format!("GET /sized HTTP/1.1{h}Connection: keep-alive\r\nConnection: close\r\n\r\n"),
            200,
            "abcdef",
            End::Asked,
        ),
        (
            format!("POST /echo HTTP/1.1{h}Content-Length: 3\r\n\r\nabc"),
            200,
            "abc",
            End::PeerClosed,
        ),
        (
            format!("POST /echo HTTP/1.1{h}Content-Length: \t 003 \r\n\r\nabc"),
            200,
            "abc",
            End::PeerClosed,
        ),
        (
            format!("POST /echo HTTP/1.1{h}\r\n"),
            200,
            "",
            End::PeerClosed,
        ),
        (
            format!("PUT /echo HTTP/1.1{h}Content-Length: 0\r\n\r\n"),
            201,
            "",
            End::PeerClosed,
        ),
        (
            format!(
                "POST /echo HTTP/1.1{h}transfer-encoding: CHUNKED\r\n\r\n3;x=y\r\nabc\r\n1\r\nd\r\n0\r\nT: v\r\n\r\n"
            ),
            200,
            "abcd",
            End::PeerClosed,
        ),
        (
            format!("POST /echo HTTP/1.1{h}Content-Length: 3\r\nExpect: 100-continue\r\n\r\nabc"),
            200,
            "abc",
            End::PeerClosed,
        ),
        (
            "POST /echo HTTP/1.0\r\nExpect: x\r\nContent-Length: 1\r\n\r\na".into(),
            200,
            "a",
            End::Asked,
        ),
        (
            format!("GET /sized HTTP/1.1{h}X: {}\r\n\r\n", "\u{fc}"),
            200,
            "abcdef",
            End::PeerClosed,
        ),
        (
            format!("GET /sized?{} HTTP/1.1{h}\r\n", long(4000)),
            200,
            "abcdef",
            End::PeerClosed,
        ),
    ];
    for (request, status, body, end) in cases {
        let (answer, ended) = one(&request);
        assert_eq!((answer.status, ended), (status, end), "{request:?}");
        assert_eq!(String::from_utf8_lossy(&answer.body), body, "{request:?}");
    }
}

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

#[test]
fn responses_that_go_wrong() {
    let h = "\r\nHost: h\r\n\r\n";
    for path in ["/short", "/late"] {
        let (wire, outcome) =
            ask(format!("GET {path} HTTP/1.1{h}GET /hello HTTP/1.1{h}").as_bytes());
        assert_eq!(outcome.end, End::Failed, "{path}");
        assert!(
            answer(&wire.written, false).is_err(),
            "{path}: {}",
            wire.text()
        );
    }
    // More than promised: nothing of it goes out.
    let (wire, outcome) = ask(format!("GET /long HTTP/1.1{h}").as_bytes());
    assert_eq!(outcome.end, End::Failed);
    assert!(!wire.text().contains("abc"));
    // A stream that takes no more.
    for room in [0, 1, 30, 80, 5000] {
        let mut wire = Wire::new([format!("GET /large HTTP/1.1{h}")]);
        wire.room = room;
        let outcome = site().serve_connection(&mut wire, peer(), &|| false);
        assert_eq!(outcome.end, End::Broken(embedded_io::ErrorKind::BrokenPipe));
    }
}

/// Nobody knows how much of a write that failed went out: nothing follows it, whatever the handler makes of the error.
#[test]
fn a_failed_write_is_the_last() {
    let server = Server::new(|request: &Request, response: &mut Response| {
        let mut body = response.sized(3 * LARGE as u64)?;
        let failed = (0..3)
            .map(|_| body.write_all(&[b'z'; LARGE]))
            .filter(Result::is_err);
        assert_eq!(failed.count(), 2);
        match request.path() {
            "/fine" => Ok(()),
            _ => Err(Status::NOT_FOUND.into()),
        }
    });
    for path in ["/fine", "/not"] {
        let mut wire = Wire::new([format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n").repeat(2)]);
        wire.fails_once = Some(LARGE + 100);
        let outcome = server.serve_connection(&mut wire, peer(), &|| false);
        assert_eq!(
            outcome.end,
            End::Broken(embedded_io::ErrorKind::TimedOut),
            "{path}"
        );
        assert!(wire.written.len() <= LARGE + 100);
    }
}

#[test]
fn large_bodies_are_not_copied() {
    let h = "\r\nHost: h\r\n\r\n";
    let (wire, _) = ask(format!("GET /large HTTP/1.1{h}").as_bytes());
    let (answer, _) = answer(&wire.written, false).unwrap();
    assert_eq!(answer.body, vec![b'y'; LARGE]);
    assert!(
        wire.seen.contains(&Seen::Wrote(LARGE)),
        "in one piece: {:?}",
        wire.seen
    );
    let (wire, _) = ask(format!("GET /chunks HTTP/1.1{h}").as_bytes());
    let [chunks] = &answers(&wire.written).unwrap()[..] else {
        panic!("one answer");
    };
    assert_eq!(chunks.body.len(), "one two three".len() + LARGE);
    assert!(wire.seen.contains(&Seen::Wrote(LARGE)));
    // An old client gets them as they are, to the end.
    let (answer, end) = one("GET /chunks HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_eq!((answer.field("Transfer-Encoding"), end), (None, End::Asked));
    assert_eq!(answer.body, chunks.body);
}

#[test]
fn fields_that_cannot_be_sent() {
    let bad = [
        ("", "v"),
        ("a b", "v"),
        ("a:", "v"),
        ("a\r\nb", "v"),
        ("\u{fc}", "v"),
        ("X", "a\rb"),
        ("X", "a\nb"),
        ("X", "a\0b"),
        ("X", "\u{7f}"),
        ("Content-Length", "1"),
        ("transfer-encoding", "x"),
        ("CONNECTION", "x"),
        ("Keep-Alive", "x"),
        ("Upgrade", "x"),
        ("Trailer", "x"),
    ];
    let server = Server::new(move |_: &Request, response: &mut Response| {
        for (name, value) in bad {
            assert_eq!(
                response.header(name, value).err(),
                Some(Error::Field),
                "{name:?} {value:?}"
            );
        }
        response.status(Status::NOT_MODIFIED);
        assert_eq!(response.body("x"), Err(Error::Length));
        response.header("X-Fine", "a\tb \u{fc}")?.body("")
    });
    let mut wire = Wire::new(["GET / HTTP/1.0\r\n\r\n"]);
    server.serve_connection(&mut wire, peer(), &|| false);
    assert_eq!(
        wire.text(),
        "HTTP/1.1 304 Not Modified\r\nX-Fine: a\tb \u{fc}\r\nConnection: close\r\n\r\n"
    );
}

#[test]
fn continue_is_said_where_it_is_awaited() {
    let head =
        "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n";
    let server = site();
    let mut wire = Wire::new([head, "abc"]);
    let outcome = server.serve_connection(&mut wire, peer(), &|| false);
    let all = answers(&wire.written).unwrap();
    assert_eq!(all.iter().map(|a| a.status).collect::<Vec<_>>(), [100, 200]);
    assert_eq!(outcome.end, End::PeerClosed);
    // It is out before the body is read.
    let wrote = wire.seen.iter().position(|seen| *seen == Seen::Wrote(25));
    let read = wire.seen.iter().position(|seen| *seen == Seen::Read(3));
    assert!(wrote.is_some() && wrote < read, "{:?}", wire.seen);
    // Nobody would take the body: it is not asked for.
    for (path, status) in [("/nowhere", 404), ("/hello", 405)] {
        let mut wire = Wire::new([head.replace("/echo", path)]);
        let outcome = server.serve_connection(&mut wire, peer(), &|| false);
        let [answer] = &answers(&wire.written).unwrap()[..] else {
            panic!("one answer: {}", wire.text());
        };
        assert_eq!(
            (answer.status, answer.field("Connection")),
            (status, Some("close"))
        );
        assert_eq!(outcome.end, End::Asked);
    }
    // Nothing is awaited where nothing comes.
    let (wire, _) = ask(b"GET /sized HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(answers(&wire.written).unwrap().len(), 1);
}
