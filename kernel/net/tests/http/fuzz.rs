//! A million damaged requests: nothing panics, every answer is whole, and every counter of errors is reached.

use crate::refusals::refused;
use crate::site::site;
use crate::wire::{Answer, Wire, answer, peer};
use embedded_io::ErrorKind;
use net::http::{End, GetError, Limits, Refusal, get};
use std::collections::BTreeSet;

/// xorshift64*.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize) % n.max(1)
    }

    fn of<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        &all[self.below(all.len())]
    }
}

const REQUESTS: &[&str] = &[
    "GET /hello HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET /users/7/a%20b?q=1 HTTP/1.1\r\nHost: h\r\nAccept: */*\r\n\r\n",
    "GET http://h:80/sized HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET /sized HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello",
    "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: v\r\n\r\n",
    "PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nabcd",
    "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET /late HTTP/1.1\r\nHost: h\r\n\r\n",
    "DELETE /empty HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
];

const WORDS: &[&str] = &[
    "\r\n",
    "\n",
    "\r",
    " ",
    "\t",
    ":",
    ";",
    ",",
    "0",
    "1",
    "9",
    "ffffffffffffffff",
    "\0",
    "\u{7f}",
    "\u{fc}",
    "%",
    "#",
    "/",
    "*",
    "\r\n\r\n",
    "Host: h\r\n",
    "Content-Length: 5\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: gzip, chunked\r\n",
    "Expect: x\r\n",
    "chunked",
    "HTTP/1.0",
    "HTTP/2.0",
    "X: y\r\n",
    "Content-Length: 99\r\n",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "BREW ",
    "+",
    "-",
    "X: y\r\nX: y\r\nX: y\r\nX: y\r\n",
];

/// Changes `bytes` in one to four places.
fn damage(bytes: &mut Vec<u8>, dice: &mut Dice) {
    for _ in 0..=dice.below(4) {
        let at = dice.below(bytes.len() + 1);
        let end = (at + dice.below(12)).min(bytes.len());
        match dice.below(7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
            1 if at < bytes.len() => bytes[at] = dice.below(256) as u8,
            2 => drop(bytes.drain(at..end)),
            3 => bytes.truncate(at),
            4 => {
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            _ => drop(bytes.splice(at..at, dice.of(WORDS).bytes())),
        }
    }
}

fn wire(bytes: &[u8], dice: &mut Dice) -> Wire {
    let (one, two) = bytes.split_at(dice.below(bytes.len() + 1));
    let mut wire = Wire::new([one, two]);
    wire.then = match dice.below(8) {
        0 => Some(ErrorKind::TimedOut),
        1 => Some(ErrorKind::ConnectionReset),
        _ => None,
    };
    if dice.below(16) == 0 {
        wire.room = dice.below(300);
    }
    wire
}

/// All answers but for one that is cut off; which of them are to HEAD is not known.
fn whole_answers(mut bytes: &[u8]) -> (Vec<Answer>, bool) {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let with_body = answer(bytes, false).ok().filter(|(_, len)| {
            let rest = &bytes[*len..];
            rest.is_empty() || rest.starts_with(b"HTTP/1.1 ")
        });
        match with_body.or_else(|| answer(bytes, true).ok()) {
            Some((one, len)) => {
                all.push(one);
                bytes = &bytes[len..];
            }
            None => return (all, true),
        }
    }
    (all, false)
}

fn few() -> Limits {
    Limits {
        line_bytes: 90,
        head_bytes: 160,
        fields: 6,
        body_bytes: 40,
        extra_bytes: 30,
        ..Limits::default()
    }
}

/// How many requests are damaged: `RINGO_FUZZ`, or a million.
fn inputs() -> u64 {
    let wanted = std::env::var("RINGO_FUZZ").ok();
    wanted.map_or(1_000_000, |n| n.parse().expect("a number of inputs"))
}

#[test]
fn a_million_requests() {
    let server = site().limits(few());
    let corpus: Vec<String> = REQUESTS
        .iter()
        .map(|text| text.to_string())
        .chain(
            refused()
                .into_iter()
                .map(|(text, _)| text)
                .filter(|text| text.len() < 300),
        )
        .collect();
    let half = |seed: u64| {
        let mut dice = Dice(seed);
        let mut bytes = Vec::new();
        for round in 0..inputs() / 2 {
            bytes.clear();
            for _ in 0..=dice.below(3) {
                let from_all = dice.below(4) == 0;
                bytes.extend_from_slice(match from_all {
                    true => dice.of(&corpus).as_bytes(),
                    false => dice.of(REQUESTS).as_bytes(),
                });
            }
            damage(&mut bytes, &mut dice);
            let mut wire = wire(&bytes, &mut dice);
            let outcome = server.serve_connection(&mut wire, peer(), &|| false);
            let (answers, cut) = whole_answers(&wire.written);
            let what = || {
                format!(
                    "seed {seed}, round {round}: {} gave {outcome:?}: {}",
                    bytes.escape_ascii(),
                    wire.text()
                )
            };
            match outcome.end {
                End::Failed | End::Broken(_) => {}
                end => {
                    assert!(!cut, "{}", what());
                    let refused = matches!(end, End::Refused(reason) if reason.status().is_some());
                    let got = answers.iter().filter(|answer| answer.status != 100).count() as u64;
                    assert_eq!(got, outcome.requests + u64::from(refused), "{}", what());
                }
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| half(0x1234_5678_9abc_def1));
        half(0x0fed_cba9_8765_4321);
    });
    server.turn_away(&mut Wire::new([""]));
    let counters = server.counters();
    for &reason in Refusal::ALL {
        assert!(counters.refused(reason) > 0, "{reason:?} was never reached");
    }
    for (name, n) in [
        ("idle", counters.idle()),
        ("broken", counters.broken()),
        ("failed", counters.failed()),
    ] {
        assert!(n > 0, "{name} was never reached");
    }
    assert_eq!(counters.connections(), inputs() / 2 * 2 + 1);
    println!("{} requests answered; {counters:?}", counters.requests());
}

#[test]
fn damaged_responses() {
    let corpus = [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: v\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\nX: y\r\n\r\nto the end of the stream",
        "HTTP/1.1 204 No Content\r\n\r\n",
    ];
    let mut dice = Dice(0x5eed_5eed_5eed_5eed);
    let mut seen = BTreeSet::new();
    for _ in 0..inputs() / 4 {
        let mut bytes = dice.of(&corpus).as_bytes().to_vec();
        damage(&mut bytes, &mut dice);
        let mut wire = wire(&bytes, &mut dice);
        let body = get(&mut wire, "h", "/", &few()).and_then(|mut reply| reply.read_to_end());
        seen.insert(match body {
            Ok(body) => {
                assert!(body.len() <= few().body_bytes);
                "fine"
            }
            Err(GetError::Input) => panic!("nothing is wrong with it"),
            Err(GetError::Head(_)) => "head",
            Err(GetError::Chunk) => "chunk",
            Err(GetError::TooLarge) => "too large",
            Err(GetError::CutOff) => "cut off",
            Err(GetError::Stream(_)) => "stream",
        });
    }
    assert_eq!(seen.len(), 6, "{seen:?}");
}
