//! What a handler makes of its response: too little, too much, too large, what cannot be sent.

use crate::site::{LARGE, site};
use crate::table::{ask, one};
use crate::wire::{Seen, Wire, answer, answers, peer};
use embedded_io::Write;
use net::http::{End, Error, Request, Response, Server, Status};

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
