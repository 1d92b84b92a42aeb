//! Each limit lets through what is just within, and nothing that is just beyond.

use crate::site::site;
use crate::wire::{Seen, Wire, answers, peer};
use net::http::{End, Limits, Refusal};

fn end(limits: Limits, request: &str) -> End {
    let mut wire = Wire::new([request]);
    site()
        .limits(limits)
        .serve_connection(&mut wire, peer(), &|| false)
        .end
}

#[test]
fn to_the_unit() {
    let few = Limits {
        line_bytes: 100,
        head_bytes: 200,
        fields: 3,
        body_bytes: 10,
        extra_bytes: 20,
        ..Limits::default()
    };
    let line = |n: usize| {
        let rest = "GET /sized? HTTP/1.1\r\n".len();
        format!(
            "GET /sized?{} HTTP/1.1\r\nHost: h\r\n\r\n",
            "a".repeat(n - rest)
        )
    };
    let head = |n: usize| {
        let rest = "GET /sized HTTP/1.1\r\nHost: h\r\nX: \r\n\r\n".len();
        format!(
            "GET /sized HTTP/1.1\r\nHost: h\r\nX: {}\r\n\r\n",
            "a".repeat(n - rest)
        )
    };
    let fields = |n: usize| {
        format!(
            "GET /sized HTTP/1.1\r\nHost: h\r\n{}\r\n",
            "X: y\r\n".repeat(n - 1)
        )
    };
    let body = |n: usize| {
        format!(
            "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: {n}\r\n\r\n{}",
            "a".repeat(n)
        )
    };
    let coded = |body: &str| {
        format!(
            "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n{body}0\r\n\r\n"
        )
    };
    let chunks = |n: usize| coded(&"1\r\na\r\n".repeat(n));
    let extra = |n: usize| coded(&format!("1;{}\r\na\r\n", "x".repeat(n - 1)));
    type Make<'m> = &'m dyn Fn(usize) -> String;
    let cases: [(Make<'_>, usize, Refusal); 6] = [
        (&line, 100, Refusal::LineTooLong),
        (&head, 200, Refusal::HeadTooLarge),
        (&fields, 3, Refusal::TooManyFields),
        (&body, 10, Refusal::BodyTooLarge),
        (&chunks, 10, Refusal::BodyTooLarge),
        (&extra, 20, Refusal::ChunkExtra),
    ];
    for (request, most, reason) in cases {
        assert_eq!(
            end(few, &request(most)),
            End::PeerClosed,
            "{:?}",
            request(most)
        );
        assert_eq!(
            end(few, &request(most + 1)),
            End::Refused(reason),
            "{:?}",
            request(most + 1)
        );
    }
}

#[test]
fn requests_of_a_connection() {
    let mut wire = Wire::new(["GET /sized HTTP/1.1\r\nHost: h\r\n\r\n".repeat(5)]);
    let limits = Limits {
        requests: 3,
        ..Limits::default()
    };
    let outcome = site()
        .limits(limits)
        .serve_connection(&mut wire, peer(), &|| false);
    assert_eq!((outcome.requests, outcome.end), (3, End::Asked));
    let closes: Vec<bool> = answers(&wire.written)
        .unwrap()
        .iter()
        .map(|a| a.field("Connection").is_some())
        .collect();
    assert_eq!(closes, [false, false, true]);
}

/// After a refusal the peer's bytes are read, so that closing does not reset the connection; but not for ever.
#[test]
fn lingering() {
    let piece = vec![b'x'; 1000];
    let head = b"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\n".to_vec();
    let mut pieces = vec![head];
    pieces.resize(101, piece);
    let mut wire = Wire::new(pieces);
    let limits = Limits {
        linger_bytes: 10_000,
        ..Limits::default()
    };
    let outcome = site()
        .limits(limits)
        .serve_connection(&mut wire, peer(), &|| false);
    assert_eq!(outcome.end, End::Refused(Refusal::BodyTooLarge));
    let read = 100_000 - wire.unread();
    assert!((10_000..11_000).contains(&read), "{read}");
    let closed = wire.seen.iter().position(|seen| *seen == Seen::Closed);
    let wrote = wire
        .seen
        .iter()
        .rposition(|seen| matches!(seen, Seen::Wrote(_)));
    assert!(
        wrote.is_some() && wrote < closed,
        "the answer first: {:?}",
        wire.seen
    );
}

/// A large body leaves no large buffer behind, and what a client only announces takes no memory: see `memory`.
#[test]
fn a_large_body_within_its_limit() {
    let body = "z".repeat(1 << 20);
    let request = format!(
        "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut wire = Wire::new(request.as_bytes().chunks(1500));
    let outcome = site().serve_connection(&mut wire, peer(), &|| false);
    assert_eq!(outcome.end, End::PeerClosed);
    assert_eq!(answers(&wire.written).unwrap()[0].body, body.as_bytes());
}
