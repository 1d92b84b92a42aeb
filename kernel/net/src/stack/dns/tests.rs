//! Servers made by hand, honest and other.

use super::answer::Read;
use super::*;
use crate::stack::common::SECOND_NS;
use crate::stack::fuzz;

const NAME: &[u8] = b"\x03www\x07example\x03com\x00";
const ID: u16 = 0x1234;

fn ip(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(192, 0, 2, last)
}

/// A message: what stands in the header, and the records as they are.
struct Says {
    id: u16,
    flags: u16,
    questions: u16,
    question: Vec<u8>,
    records: Vec<Vec<u8>>,
}

/// A pointer to the question's name.
const SAME: &[u8] = &[0xc0, 12];

fn record(owner: &[u8], kind: u16, ttl: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = owner.to_vec();
    bytes.extend(kind.to_be_bytes());
    bytes.extend([0, 1]);
    bytes.extend(ttl.to_be_bytes());
    bytes.extend((data.len() as u16).to_be_bytes());
    bytes.extend(data);
    bytes
}

fn a(owner: &[u8], last: u8) -> Vec<u8> {
    record(owner, 1, 60, &ip(last).octets())
}

fn alias(owner: &[u8], to: &[u8]) -> Vec<u8> {
    record(owner, 5, 30, to)
}

impl Says {
    fn new(records: Vec<Vec<u8>>) -> Says {
        Says {
            id: ID,
            flags: 0x8180,
            questions: 1,
            question: [NAME, &[0, 1, 0, 1]].concat(),
            records,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.id.to_be_bytes().to_vec();
        for word in [self.flags, self.questions, self.records.len() as u16, 0, 0] {
            bytes.extend(word.to_be_bytes())
        }
        bytes.extend(&self.question);
        bytes.extend(self.records.concat());
        bytes
    }

    fn read(&self) -> Option<Read> {
        answer::read(&self.bytes(), ID, NAME)
    }
}

fn found(records: Vec<Vec<u8>>) -> Option<(Vec<u8>, u32)> {
    let read = Says::new(records).read()?;
    let last = |ips: Vec<Ipv4Addr>| ips.iter().map(|ip| ip.octets()[3]).collect();
    Some((last(read.answer.ok()?), read.seconds))
}

fn failed(records: Vec<Vec<u8>>) -> Option<DnsError> {
    Says::new(records).read()?.answer.err()
}

#[test]
fn addresses_and_aliases() {
    assert_eq!(found(vec![a(SAME, 1)]), Some((vec![1], 60)));
    assert_eq!(found(vec![a(NAME, 1), a(SAME, 2)]), Some((vec![1, 2], 60)));
    // The shortest time on the way counts, and the order does not.
    let other = b"\x05other\xc0\x10";
    let whole = b"\x05OTHER\x07example\x03com\x00";
    let chain = vec![alias(SAME, other), a(whole, 3)];
    assert_eq!(found(chain.clone()), Some((vec![3], 30)));
    assert_eq!(
        found(chain.into_iter().rev().collect()),
        Some((vec![3], 30))
    );
    // Others' records, and those of other kinds, are passed over.
    let mixed = vec![record(SAME, 16, 1, b"text"), a(b"\x01x\x00", 9), a(SAME, 4)];
    assert_eq!(found(mixed), Some((vec![4], 60)));
    assert_eq!(failed(vec![alias(SAME, other)]), Some(DnsError::NoAddress));
    assert_eq!(failed(vec![]), Some(DnsError::NoAddress));
    let many = (0..40).map(|i| a(SAME, i)).collect();
    assert_eq!(found(many).unwrap().0.len(), 16);
    // A time with its highest bit is none.
    let mistake = vec![record(SAME, 1, 0x8000_0000, &ip(1).octets())];
    assert_eq!(found(mistake), Some((vec![1], 0)));
}

#[test]
fn chains_end() {
    let name = |i: u8| [1, b'a' + i, 0];
    let chain = |n: u8| {
        let mut records = vec![alias(SAME, &name(0))];
        records.extend((1..n).map(|i| alias(&name(i - 1), &name(i))));
        records.push(a(&name(n - 1), 5));
        records
    };
    assert_eq!(found(chain(8)), Some((vec![5], 30)));
    assert_eq!(failed(chain(9)), Some(DnsError::ServerFailed));
    let ring = vec![alias(SAME, &name(0)), alias(&name(0), NAME)];
    assert_eq!(failed(ring), Some(DnsError::ServerFailed));
}

#[test]
fn pointers_that_lead_nowhere() {
    let at = 12 + NAME.len() + 4;
    let here = [0xc0, at as u8];
    let ahead = [0xc0, at as u8 + 40];
    let outside = [0xff, 0xff];
    // A label in front of a pointer to itself: each round is longer.
    let growing = [1, b'x', 0xc0, at as u8];
    let wrong = [0x80, 0];
    for owner in [&here[..], &ahead, &outside, &growing, &wrong] {
        assert_eq!(
            failed(vec![a(owner, 1)]),
            Some(DnsError::ServerFailed),
            "{owner:?}"
        );
    }
    // Longer than a name can be, made of parts that can.
    let label = [&[63][..], &[b'x'; 63]].concat();
    let three = [&label[..], &label, &label, &[0]].concat();
    let behind = at + 10 + three.len();
    let four = [&label[..], &[0xc0, (at + 12) as u8]].concat();
    let records = vec![alias(SAME, &three), a(&four, 1)];
    assert!(behind < 512);
    assert_eq!(failed(records), Some(DnsError::ServerFailed));
    assert_eq!(failed(vec![alias(SAME, &three)]), Some(DnsError::NoAddress));
}

#[test]
fn only_the_answer_to_the_question_is_one() {
    let not_ours = |change: &dyn Fn(&mut Says)| {
        let mut says = Says::new(vec![a(SAME, 1)]);
        change(&mut says);
        assert_eq!(says.read(), None)
    };
    not_ours(&|says| says.id ^= 1);
    not_ours(&|says| says.flags &= 0x7fff);
    not_ours(&|says| says.flags |= 0x0800);
    not_ours(&|says| says.questions = 0);
    not_ours(&|says| says.questions = 2);
    not_ours(&|says| says.question[1] = b'v');
    not_ours(&|says| *says.question.last_mut().unwrap() = 3);
    not_ours(&|says| says.question[NAME.len() + 1] = 28);
    not_ours(&|says| says.question.truncate(5));
    let whole = Says::new(vec![a(SAME, 1)]).bytes();
    for len in 0..12 + NAME.len() + 4 {
        assert_eq!(answer::read(&whole[..len], ID, NAME), None);
    }
    // From there on it is the answer, if a broken one.
    for len in 12 + NAME.len() + 4..whole.len() {
        let read = answer::read(&whole[..len], ID, NAME).unwrap();
        assert_eq!(read.answer, Err(DnsError::ServerFailed));
    }
    // Servers may write our question in letters of their own.
    let mut loud = Says::new(vec![a(SAME, 1)]);
    loud.question[..NAME.len()].make_ascii_uppercase();
    assert!(loud.read().unwrap().answer.is_ok());
}

#[test]
fn reasons() {
    let with = |flags| {
        let mut says = Says::new(vec![a(SAME, 1)]);
        says.flags |= flags;
        says.read().unwrap().answer
    };
    assert_eq!(with(0), Ok(vec![ip(1)]));
    assert_eq!(with(3), Err(DnsError::NotFound));
    assert_eq!(with(0x200), Err(DnsError::Truncated));
    for rcode in [1, 2, 4, 5, 9, 15] {
        assert_eq!(with(rcode), Err(DnsError::ServerFailed));
    }
}

#[test]
fn names() {
    let long = ["x"; 128].join(".");
    let longest = ["x"; 127].join(".");
    assert_eq!(name::from_text("www.Example.com").unwrap(), NAME);
    assert_eq!(name::from_text("www.example.com.").unwrap(), NAME);
    assert_eq!(name::from_text(&longest).unwrap().len(), 255);
    let bad = [
        "",
        ".",
        "a..b",
        ".a",
        "a b",
        "ä",
        "a.b..",
        &"x".repeat(64),
        &long,
    ];
    for bad in bad {
        assert_eq!(name::from_text(bad), None, "{bad:?}");
    }
}

fn resolver() -> Resolver {
    let resolver = Resolver::new(1);
    resolver.set_servers(vec![ip(101), ip(102)]);
    resolver
}

fn begin(resolver: &Resolver, name: &str, now_ns: u64) -> Lookup {
    match resolver.begin(name, now_ns) {
        Begin::Ask(lookup) => lookup,
        known => panic!("{known:?}"),
    }
}

fn known(resolver: &Resolver, name: &str, now_ns: u64) -> Option<Answer> {
    match resolver.begin(name, now_ns) {
        Begin::Known(answer) => Some(answer),
        Begin::Ask(_) => None,
    }
}

/// Asks the next server, which says this. Its address, and what the lookup makes of it.
fn exchange(
    lookup: &mut Lookup,
    resolver: &Resolver,
    mut says: Says,
    now_ns: u64,
) -> (u8, Option<Answer>) {
    let ask = lookup.ask().unwrap();
    let server = ask.server.ip().octets()[3];
    assert_eq!(ask.server.port(), 53);
    says.id = u16::from_be_bytes([ask.query[0], ask.query[1]]);
    assert_eq!(ask.query[2..12], [1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(ask.query[12..], says.question);
    (server, lookup.answer(resolver, &says.bytes(), now_ns))
}

#[test]
fn nobody_need_be_asked() {
    let resolver = Resolver::new(1);
    let ask = |name| known(&resolver, name, 0);
    assert_eq!(ask("192.0.2.7"), Some(Ok(vec![ip(7)])));
    for home in ["localhost", "LOCALHOST.", "a.b.localhost"] {
        assert_eq!(ask(home), Some(Ok(vec![Ipv4Addr::LOCALHOST])), "{home}");
    }
    assert_eq!(ask("notlocalhost"), Some(Err(DnsError::NoServers)));
    assert_eq!(ask("localhost.com"), Some(Err(DnsError::NoServers)));
    assert_eq!(ask("no name"), Some(Err(DnsError::BadName)));
}

#[test]
fn servers_are_asked_in_turn() {
    let resolver = resolver();
    let mut lookup = begin(&resolver, "www.example.com", 0);
    let servers: Vec<_> = (0..4)
        .map(|_| lookup.ask().unwrap().server.ip().octets()[3])
        .collect();
    assert_eq!(servers, [101, 102, 101, 102]);
    assert!(lookup.ask().is_none());
    assert_eq!(lookup.error(), DnsError::TimedOut);

    let mut lookup = begin(&resolver, "www.example.com", 0);
    let refuses = Says {
        flags: 0x8185,
        ..Says::new(vec![])
    };
    let failed = Some(Err(DnsError::ServerFailed));
    assert_eq!(exchange(&mut lookup, &resolver, refuses, 0), (101, failed));
    assert_eq!(lookup.error(), DnsError::ServerFailed);
    let good = Says::new(vec![a(SAME, 1)]);
    let answer = Some(Ok(vec![ip(1)]));
    assert_eq!(exchange(&mut lookup, &resolver, good, 0), (102, answer));
}

#[test]
fn identifiers_are_not_to_be_guessed() {
    let resolver = resolver();
    let mut ids = std::collections::BTreeSet::new();
    for i in 0..250 {
        let mut lookup = begin(&resolver, &format!("n{i}.example"), 0);
        while let Some(ask) = lookup.ask() {
            ids.insert([ask.query[0], ask.query[1]]);
        }
    }
    assert!(ids.len() > 980, "{} of 1000", ids.len());
    // An answer under the identifier of an earlier question, or to none, is none.
    let mut lookup = begin(&resolver, "www.example.com", 0);
    let good = |id| {
        Says {
            id,
            ..Says::new(vec![a(SAME, 1)])
        }
        .bytes()
    };
    for id in 0..=u16::MAX {
        assert_eq!(lookup.answer(&resolver, &good(id), 0), None);
    }
    let first = lookup.ask().unwrap().query[..2].try_into().unwrap();
    lookup.ask();
    let late = good(u16::from_be_bytes(first));
    assert_eq!(lookup.answer(&resolver, &late, 0), None);
}

#[test]
fn what_was_said_holds_for_a_time() {
    let resolver = resolver();
    let learn = |name: &str, says: Says, now_ns| {
        let mut lookup = begin(&resolver, name, now_ns);
        exchange(&mut lookup, &resolver, says, now_ns).1
    };
    let name = "www.example.com";
    learn(name, Says::new(vec![a(SAME, 1)]), 0);
    let answer = Some(Ok(vec![ip(1)]));
    assert_eq!(
        known(&resolver, "WWW.example.com.", 60 * SECOND_NS - 1),
        answer
    );
    assert_eq!(known(&resolver, name, 60 * SECOND_NS), None);
    // Not for longer than an hour, and that there is nothing for some seconds.
    learn(
        name,
        Says::new(vec![record(SAME, 1, 1 << 30, &ip(2).octets())]),
        0,
    );
    assert!(known(&resolver, name, 3600 * SECOND_NS - 1).is_some());
    assert_eq!(known(&resolver, name, 3600 * SECOND_NS), None);
    let nobody = Says {
        flags: 0x8183,
        ..Says::new(vec![])
    };
    learn(name, nobody, 0);
    let not_found = Some(Err(DnsError::NotFound));
    assert_eq!(known(&resolver, name, 9 * SECOND_NS), not_found);
    assert_eq!(known(&resolver, name, 10 * SECOND_NS), None);
    // What holds for no time, and what is no answer, is not kept.
    learn(
        name,
        Says::new(vec![record(SAME, 1, 0, &ip(2).octets())]),
        0,
    );
    let cut = Says {
        flags: 0x8380,
        ..Says::new(vec![])
    };
    learn(name, cut, 0);
    assert_eq!(known(&resolver, name, 0), None);
    // Other servers may know other things.
    learn(name, Says::new(vec![a(SAME, 1)]), 0);
    resolver.set_servers(vec![ip(101), ip(102)]);
    assert!(known(&resolver, name, 0).is_some());
    resolver.set_servers(vec![ip(102)]);
    assert_eq!(known(&resolver, name, 0), None);
}

#[test]
fn the_cache_has_a_bound() {
    let mut cache = Cache::new();
    for i in 0..1000u32 {
        let name = i.to_be_bytes();
        cache.put(&name, &Ok(vec![ip(1)]), 1000 - i, 0);
        assert!(cache.get(&name, 0).is_some());
        assert!(cache.len() <= 256);
    }
    // Those went that would have gone first.
    assert!(cache.get(&0u32.to_be_bytes(), 0).is_some());
    assert!(cache.get(&998u32.to_be_bytes(), 0).is_none());
}

#[test]
fn fuzz_answers() {
    let seeds = [
        Says::new(vec![a(SAME, 1), a(NAME, 2)]),
        Says::new(vec![alias(SAME, b"\x05other\xc0\x10"), a(b"\xc0\x2d", 3)]),
        Says::new(vec![]),
        Says {
            flags: 0x8183,
            ..Says::new(vec![])
        },
    ];
    let seeds = seeds.map(|says| says.bytes());
    let mut seen = [0u64; 6];
    fuzz::run(&seeds, |bytes| {
        let read = answer::read(bytes, ID, NAME);
        let kind = match read.map(|read| read.answer) {
            None => 0,
            Some(Ok(ips)) => {
                assert!((1..=16).contains(&ips.len()));
                1
            }
            Some(Err(DnsError::NotFound)) => 2,
            Some(Err(DnsError::NoAddress)) => 3,
            Some(Err(DnsError::ServerFailed)) => 4,
            Some(Err(DnsError::Truncated)) => 5,
            Some(Err(other)) => panic!("{other:?}"),
        };
        seen[kind] += 1
    });
    assert!(seen.iter().all(|&n| n != 0), "{seen:?}");
}
