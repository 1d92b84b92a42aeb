//! Which limit of time stands while what is waited for; how a server shuts down.

use crate::site::site;
use crate::wire::{Seen, Wire, answers, peer};
use core::cell::Cell;
use core::time::Duration;
use embedded_io::ErrorKind::{ConnectionReset, TimedOut};
use embedded_io::{ErrorKind, ErrorType, Read, Write};
use net::http::{End, Refusal, Request, Response, Server, Side, Stream, Timeouts};

const SECOND: Duration = Duration::from_secs(1);

fn times() -> Timeouts {
    Timeouts {
        head: Some(SECOND),
        body: Some(2 * SECOND),
        idle: Some(3 * SECOND),
        write: Some(4 * SECOND),
        linger: Some(5 * SECOND),
    }
}

fn read(seconds: u32) -> Seen {
    Seen::Limit(Side::Read, Some(seconds * SECOND))
}

fn write() -> Seen {
    Seen::Limit(Side::Write, Some(4 * SECOND))
}

#[test]
fn what_stands_when() {
    let get = "GET /empty HTTP/1.1\r\nHost: h\r\n\r\n";
    let post = "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n";
    let mut wire = Wire::new([
        &get[..5],
        &get[5..],
        &get[..5],
        &get[5..9],
        &get[9..],
        post,
        "a",
        "b",
    ]);
    site()
        .timeouts(times())
        .serve_connection(&mut wire, peer(), &|| false);
    let empty = Seen::Wrote("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".len());
    let echo = Seen::Wrote("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab".len());
    let want = [
        // The first request has to come at once, and its limit is not renewed by a byte.
        read(1),
        Seen::Read(5),
        Seen::Read(get.len() - 5),
        write(),
        empty.clone(),
        read(3),
        Seen::Read(5),
        read(1),
        Seen::Read(4),
        Seen::Read(get.len() - 9),
        write(),
        empty,
        read(3),
        Seen::Read(post.len()),
        read(2),
        Seen::Read(1),
        Seen::Read(1),
        write(),
        echo,
        read(3),
    ];
    assert_eq!(wire.seen, want);
}

#[test]
fn no_limits_no_calls() {
    let none = Timeouts {
        head: None,
        body: None,
        idle: None,
        write: None,
        linger: None,
    };
    let mut wire = Wire::new(["GET /empty HTTP/1.1\r\nHost: h\r\n\r\n"; 2]);
    site()
        .timeouts(none)
        .serve_connection(&mut wire, peer(), &|| false);
    assert!(!wire.seen.iter().any(|seen| matches!(seen, Seen::Limit(..))));
    // One that stands is lifted where the next is none.
    let mut wire = Wire::new(["GET /empty HTTP/1.1\r\nHost: h\r\n\r\n"; 2]);
    let head = Timeouts {
        head: Some(SECOND),
        ..none
    };
    site()
        .timeouts(head)
        .serve_connection(&mut wire, peer(), &|| false);
    let limits: Vec<&Seen> = wire
        .seen
        .iter()
        .filter(|seen| matches!(seen, Seen::Limit(..)))
        .collect();
    assert_eq!(limits, [&read(1), &Seen::Limit(Side::Read, None)]);
}

#[test]
fn time_is_over() {
    let get = "GET /empty HTTP/1.1\r\nHost: h\r\n\r\n";
    let post = "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\na";
    let coded = "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na";
    let cases: [(&str, End, &[u16]); 6] = [
        ("", End::Idle, &[]),
        (get, End::Idle, &[200]),
        (&get[..10], End::Refused(Refusal::HeadTimeout), &[408]),
        ("\r\n", End::Refused(Refusal::HeadTimeout), &[408]),
        (post, End::Refused(Refusal::BodyTimeout), &[408]),
        (coded, End::Refused(Refusal::BodyTimeout), &[408]),
    ];
    for (input, end, statuses) in cases {
        let server = site();
        let mut wire = Wire::new([input]).then(TimedOut);
        let outcome = server.serve_connection(&mut wire, peer(), &|| false);
        assert_eq!(outcome.end, end, "{input:?}");
        let got: Vec<u16> = answers(&wire.written)
            .unwrap()
            .iter()
            .map(|a| a.status)
            .collect();
        assert_eq!(got, statuses);
        assert_eq!(server.counters().idle(), u64::from(end == End::Idle));
    }
    for input in ["", get, &get[..10], post] {
        let server = site();
        let mut wire = Wire::new([input]).then(ConnectionReset);
        let outcome = server.serve_connection(&mut wire, peer(), &|| false);
        assert_eq!(outcome.end, End::Broken(ConnectionReset), "{input:?}");
        assert_eq!(server.counters().broken(), 1);
    }
}

/// The request at hand is finished and the last; what came behind it is not served.
#[test]
fn shutdown() {
    let get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    let begun = Cell::new(false);
    let calls = Cell::new(0);
    let server = Server::new(|_: &Request, response: &mut Response| {
        calls.set(calls.get() + 1);
        begun.set(calls.get() == 2);
        response.body("done\n")
    });
    let mut wire = Wire::new([get.repeat(4)]);
    let outcome = server.serve_connection(&mut wire, peer(), &|| begun.get());
    assert_eq!((outcome.requests, outcome.end), (2, End::Asked));
    let all = answers(&wire.written).unwrap();
    let closes: Vec<Option<&str>> = all
        .iter()
        .map(|answer| answer.field("Connection"))
        .collect();
    assert_eq!(closes, [None, Some("close")]);
    assert_eq!(
        wire.seen
            .iter()
            .filter(|seen| **seen == Seen::Closed)
            .count(),
        1
    );

    // It begins while nothing is asked: the connection ends without a word more, and nothing is read.
    let said = Cell::new(0);
    let server = Server::new(|_: &Request, response: &mut Response| response.body("done\n"));
    let mut wire = Wire::new([get, get]);
    let later = || {
        said.set(said.get() + 1);
        said.get() > 1
    };
    let outcome = server.serve_connection(&mut wire, peer(), &later);
    assert_eq!((outcome.requests, outcome.end), (1, End::Shutdown));
    assert_eq!(wire.unread(), get.len());
}

/// A stream that somebody else wakes: the time for reading is over then, until it is set anew.
struct Woken<'a> {
    wire: Wire,
    over: &'a Cell<bool>,
    /// A read waited for all of its time.
    waited: bool,
}

impl ErrorType for Woken<'_> {
    type Error = ErrorKind;
}

impl Read for Woken<'_> {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        if self.wire.unread() > 0 {
            return self.wire.read(buf);
        }
        self.waited |= !self.over.get();
        Err(TimedOut)
    }
}

impl Write for Woken<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        self.wire.write(bytes)
    }
    fn flush(&mut self) -> Result<(), ErrorKind> {
        self.wire.flush()
    }
}

impl Stream for Woken<'_> {
    fn deadline(&mut self, side: Side, within: Option<Duration>) {
        if side == Side::Read {
            self.over.set(false)
        }
        self.wire.deadline(side, within)
    }
}

/// The end begins between two steps of a connection that is about to be idle, whichever they are, and wakes it: it does not
/// wait for its idle time.
#[test]
fn shutdown_wakes_who_is_about_to_wait() {
    let get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    let server = Server::new(|_: &Request, response: &mut Response| response.body("done\n"));
    let server = server.timeouts(times());
    // The first is asked with the response.
    for begins_after in [1, 2] {
        let (over, asked) = (Cell::new(false), Cell::new(0));
        let mut stream = Woken {
            wire: Wire::new([get]),
            over: &over,
            waited: false,
        };
        let shutdown = || {
            let begun = asked.get() >= begins_after;
            asked.set(asked.get() + 1);
            if asked.get() == begins_after {
                over.set(true)
            }
            begun
        };
        let outcome = server.serve_connection(&mut stream, peer(), &shutdown);
        assert!(!stream.waited, "it began after question {begins_after}");
        assert_eq!((outcome.requests, outcome.end), (1, End::Shutdown));
    }
}
