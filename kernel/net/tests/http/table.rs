//! Requests and what they get, to the byte: each way a response is framed.

use crate::site::site;
use crate::wire::{Answer, Wire, answer, peer};
use net::http::{End, Outcome};

/// Serves one piece of input.
pub fn ask(input: &[u8]) -> (Wire, Outcome) {
    let mut wire = Wire::new([input]);
    let outcome = site().serve_connection(&mut wire, peer(), &|| false);
    (wire, outcome)
}

pub fn one(input: &str) -> (Answer, End) {
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
