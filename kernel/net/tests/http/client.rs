//! The client: what it asks, and each way a response ends or fails.

use crate::site::{LARGE, site};
use crate::wire::{Wire, peer};
use embedded_io::{ErrorKind, Read};
use net::http::{GetError, Limits, get};

/// Status and body, or why not; the same however the response is cut.
fn fetch(response: &str) -> Result<(u16, Vec<u8>), GetError> {
    let limits = Limits {
        head_bytes: 300,
        fields: 4,
        body_bytes: 20,
        extra_bytes: 20,
        ..Limits::default()
    };
    let fetch = |mut wire: Wire, room: usize| {
        let mut reply = get(&mut wire, "h:80", "/x?y", &limits)?;
        let (mut body, mut room) = (Vec::new(), vec![0; room]);
        loop {
            match reply.read(&mut room)? {
                0 => return Ok((reply.status(), body)),
                n => body.extend_from_slice(&room[..n]),
            }
        }
    };
    let whole = fetch(Wire::new([response]), 1024);
    for at in 0..=response.len() {
        let (one, two) = response.as_bytes().split_at(at);
        assert_eq!(
            fetch(Wire::new([one, two]), 7),
            whole,
            "{response:?} split at {at}"
        );
    }
    assert_eq!(
        fetch(Wire::new(response.as_bytes().chunks(1)), 1),
        whole,
        "{response:?}"
    );
    whole
}

#[test]
fn responses() {
    let ok = "HTTP/1.1 200 OK\r\n";
    let good = [
        (format!("{ok}Content-Length: 3\r\n\r\nabcNEXT"), 200, "abc"),
        (format!("{ok}Content-Length: 0\r\n\r\n"), 200, ""),
        (format!("{ok}\r\nto the end"), 200, "to the end"),
        ("HTTP/1.0 404\r\n\r\n".into(), 404, ""),
        (
            format!(
                "{ok}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\nT: v\r\n\r\nNEXT"
            ),
            200,
            "abcde",
        ),
        (
            format!(
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n{ok}Content-Length: 1\r\n\r\nz"
            ),
            200,
            "z",
        ),
        ("HTTP/1.1 204 No Content\r\n\r\nNEXT".into(), 204, ""),
        (
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n".into(),
            304,
            "",
        ),
        (
            format!("{ok}Content-Length: 20\r\n\r\n{}", "a".repeat(20)),
            200,
            "aaaaaaaaaaaaaaaaaaaa",
        ),
    ];
    for (response, status, body) in good {
        assert_eq!(fetch(&response), Ok((status, body.into())), "{response:?}");
    }
    let coded = format!("{ok}Transfer-Encoding: chunked\r\n\r\n");
    let bad = [
        ("".into(), GetError::CutOff),
        ("HTTP/1.1 200 OK\r\n".into(), GetError::CutOff),
        (format!("{ok}Content-Length: 3\r\n\r\nab"), GetError::CutOff),
        (format!("{coded}3\r\nab"), GetError::CutOff),
        (format!("{coded}3\r\nabc\r\n"), GetError::CutOff),
        (format!("{coded}x\r\n"), GetError::Chunk),
        (format!("{coded}15\r\n"), GetError::TooLarge),
        (
            format!("{coded}14\r\n{}\r\n1\r\n", "a".repeat(20)),
            GetError::TooLarge,
        ),
        (
            format!("{coded}1;{}\r\n", "x".repeat(30)),
            GetError::TooLarge,
        ),
        (
            format!("{ok}Content-Length: 21\r\n\r\n"),
            GetError::TooLarge,
        ),
        (format!("{ok}\r\n{}", "a".repeat(21)), GetError::TooLarge),
        (
            format!("{ok}{}\r\n", "X: y\r\n".repeat(5)),
            GetError::TooLarge,
        ),
        (format!("{ok}X: {}", "y".repeat(300)), GetError::TooLarge),
    ];
    for (response, error) in bad {
        assert_eq!(fetch(&response), Err(error), "{response:?}");
    }
    let not_http = [
        "SSH-2.0-x\r\n\r\n".into(),
        "HTTP/1.1 20 OK\r\n\r\n".into(),
        "HTTP/2.0 200 OK\r\n\r\n".into(),
        "HTTP/1.1 099 Low\r\n\r\n".into(),
        "HTTP/1.1 200 OK\nContent-Length: 1\n\nz".into(),
        format!("{ok}X : y\r\n\r\n"),
        format!("{ok}Content-Length: x\r\n\r\n"),
        format!("{ok}Content-Length: 1\r\nContent-Length: 1\r\n\r\nz"),
        format!("{ok}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
        format!("{ok}Transfer-Encoding: gzip\r\n\r\n"),
        "HTTP/1.1 100 Continue\r\n\r\n".repeat(20),
    ];
    for response in not_http {
        assert!(
            matches!(fetch(&response), Err(GetError::Head(_))),
            "{response:?}"
        );
    }
}

#[test]
fn what_is_asked() {
    let mut wire = Wire::new(["HTTP/1.1 200 OK\r\nX-A: \t1 \r\nContent-Length: 3\r\n\r\nabc"]);
    wire.at_once = 4;
    let reply = get(&mut wire, "h:80", "/x?y", &Limits::default()).unwrap();
    assert_eq!(
        (reply.len(), reply.fields().get("x-a")),
        (Some(3), Some(&b"1"[..]))
    );
    assert_eq!(
        wire.text(),
        "GET /x?y HTTP/1.1\r\nHost: h:80\r\nUser-Agent: ringo\r\nConnection: close\r\n\r\n"
    );
    for (host, target) in [
        ("", "/"),
        ("h h", "/"),
        ("h\r\nX: y", "/"),
        ("h", ""),
        ("h", "x"),
        ("h", "/ HTTP/1.1\r\nX: y"),
        ("h", "/#f"),
        ("h/", "/"),
    ] {
        let mut wire = Wire::new([""]);
        assert_eq!(
            get(&mut wire, host, target, &Limits::default()).err(),
            Some(GetError::Input)
        );
        assert_eq!(wire.text(), "");
    }
    let mut wire = Wire::new([""]).then(ErrorKind::TimedOut);
    let error = get(&mut wire, "h", "/", &Limits::default()).err();
    assert_eq!(error, Some(GetError::Stream(ErrorKind::TimedOut)));
    let mut wire = Wire::new([""]);
    wire.room = 10;
    let error = get(&mut wire, "h", "/", &Limits::default()).err();
    assert_eq!(error, Some(GetError::Stream(ErrorKind::BrokenPipe)));
}

/// The client reads what the server writes.
#[test]
fn both_sides() {
    for (path, status, body) in [
        ("/hello", 200, 6),
        ("/large", 200, LARGE),
        ("/chunks", 200, 13 + LARGE),
        ("/nowhere", 404, 10),
        ("/empty", 200, 0),
    ] {
        let mut asked = Wire::new([""]);
        assert!(get(&mut asked, "h", path, &Limits::default()).is_err());
        let mut served = Wire::new([asked.written]);
        site().serve_connection(&mut served, peer(), &|| false);
        let mut answer = Wire::new(served.written.chunks(1000));
        let mut reply = get(&mut answer, "h", path, &Limits::default()).unwrap();
        assert_eq!(
            (reply.status(), reply.read_to_end().unwrap().len()),
            (status, body),
            "{path}"
        );
    }
}
