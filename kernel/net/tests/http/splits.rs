//! The pieces that bytes come in mean nothing.

use crate::refusals::refused;
use crate::site::site;
use crate::wire::{Wire, answers, peer};
use net::http::{End, Outcome};

const PIPELINE: &str = "\r\nGET /sized HTTP/1.1\r\nHost: h\r\n\r\n\
    POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\nGET / HTTP/\
    POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n6\r\n world\r\n0\r\nX: y\r\n\r\n\
    GET /nowhere HTTP/1.1\r\nHost: h\r\n\r\n\r\n\
    DELETE /empty HTTP/1.1\r\nHost: h\r\n\r\n\
    GET /users/1/2?q=3 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\nGET /sized HTTP/1.1";

fn serve<P: AsRef<[u8]>>(
    pieces: impl IntoIterator<Item = P>,
    coalesce: bool,
) -> (Vec<u8>, Outcome) {
    let mut wire = Wire::new(pieces);
    let outcome = site()
        .coalesce(coalesce)
        .serve_connection(&mut wire, peer(), &|| false);
    (wire.written, outcome)
}

#[test]
fn every_boundary() {
    let bytes = PIPELINE.as_bytes();
    let whole = serve([bytes], false);
    let statuses: Vec<u16> = answers(&whole.0)
        .unwrap()
        .iter()
        .map(|answer| answer.status)
        .collect();
    assert_eq!(statuses, [200, 200, 200, 404, 204, 200]);
    assert_eq!(
        whole.1,
        Outcome {
            requests: 6,
            end: End::Asked
        }
    );
    assert_eq!(answers(&whole.0).unwrap()[1].body, b"GET / HTTP/");
    assert_eq!(answers(&whole.0).unwrap()[2].body, b"hello world");
    for coalesce in [false, true] {
        for at in 0..=bytes.len() {
            let (one, two) = bytes.split_at(at);
            assert_eq!(serve([one, two], coalesce), whole, "split at {at}");
        }
        for len in 1..40 {
            assert_eq!(serve(bytes.chunks(len), coalesce), whole, "pieces of {len}");
        }
    }
    // A peer that takes a few bytes at a time.
    let mut wire = Wire::new([bytes]);
    wire.at_once = 3;
    let outcome = site().serve_connection(&mut wire, peer(), &|| false);
    assert_eq!((wire.written, outcome), whole);
}

#[test]
fn every_pair_of_boundaries() {
    let bytes = b"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\nGET /sized HTTP/1.0\r\n\r\n";
    let whole = serve([bytes], false);
    assert_eq!(
        whole.1,
        Outcome {
            requests: 2,
            end: End::Asked
        }
    );
    for one in 0..bytes.len() {
        for two in one..bytes.len() {
            assert_eq!(
                serve([&bytes[..one], &bytes[one..two], &bytes[two..]], false),
                whole,
                "split at {one} and {two}"
            );
        }
    }
}

#[test]
fn refusals_too() {
    for (request, reason) in refused() {
        let bytes = request.as_bytes();
        let whole = serve([bytes], false);
        assert_eq!(whole.1.end, End::Refused(reason));
        let step = bytes.len().div_ceil(300);
        for at in (0..=bytes.len()).step_by(step) {
            let (one, two) = bytes.split_at(at);
            assert_eq!(serve([one, two], false), whole, "{request:?} split at {at}");
        }
        assert_eq!(
            serve(bytes.chunks(1), false),
            whole,
            "{request:?} byte by byte"
        );
    }
}
