//! Names to addresses (RFC 1035): what a stub asks, and what it believes.
//!
//! ```text
//!   Resolver::begin ──► Begin::Known ─────────────────────────────────────────┐
//!         │                                                                   ▼
//!         └──► Begin::Ask(Lookup) ──► ask: server, query ──► answer? ──► addresses, or why there are none
//!                                      ▲                       │
//!                                      └── time out, refused ──┘ server by server, twice round
//! ```
//!
//! Nothing here sends or waits: who looks something up binds a socket for each question (so that its port is one that nobody can
//! guess), connects it to the server, sends the query, and gives what comes to [`Lookup::answer`] until that has an opinion or time
//! is up (Go: net/dnsclient_unix.go, `tryOneName` and `exchange`). Who wants to lie to us from afar must guess port and identifier.
//! Over UDP alone: an answer that does not fit is an error. Only addresses of IPv4.

mod answer;
mod cache;
mod name;
#[cfg(test)]
mod tests;

use super::secret::Secret;
use alloc::vec;
use alloc::vec::Vec;
use base::{Rank, SpinLock};
use cache::Cache;
use core::fmt;
use core::net::{Ipv4Addr, SocketAddrV4};
use smoltcp::wire::{DnsFlags, DnsOpcode, DnsPacket, DnsQueryType, DnsQuestion, DnsRepr};

/// Where servers listen.
const PORT: u16 = 53;
/// Rounds over all servers (Go, resolv.conf: `attempts:2`).
const ROUNDS: usize = 2;
/// Servers that are asked, at most (resolv.conf: likewise).
const SERVERS: usize = 3;
/// How long a server may think (Go, resolv.conf: `timeout:5`).
const WAIT_NS: u64 = 5_000_000_000;

/// Why there is no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DnsError {
    /// No name can look like this.
    BadName,
    /// Nobody is called so.
    NotFound,
    /// Somebody is, and has no address of IPv4.
    NoAddress,
    /// No server is known.
    NoServers,
    /// No server could say.
    ServerFailed,
    /// The answer does not fit into a datagram.
    Truncated,
    /// No server has answered.
    TimedOut,
    /// No server has, and the last one's computer, or ours, says why.
    Unheard,
}

impl fmt::Display for DnsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BadName => "it is no address, and no name can look like this",
            Self::NotFound => "nobody is called so",
            Self::NoAddress => "the name has no address of IPv4",
            Self::NoServers => "no name server is known",
            Self::ServerFailed => "no name server could say",
            Self::Truncated => "the name server's answer is too long",
            Self::TimedOut => "no name server has answered",
            Self::Unheard => "no name server can be reached",
        })
    }
}

/// What is found under a name.
pub type Answer = Result<Vec<Ipv4Addr>, DnsError>;

/// Servers, and what they have said.
pub struct Resolver {
    inner: SpinLock<Inner>,
}

struct Inner {
    servers: Vec<Ipv4Addr>,
    cache: Cache,
    secret: Secret,
    /// Identifiers drawn.
    drawn: u64,
}

/// How a lookup begins.
#[derive(Debug)]
pub enum Begin {
    /// Nobody need be asked.
    Known(Answer),
    /// Somebody must be.
    Ask(Lookup),
}

/// A name that is being looked up.
#[derive(Debug)]
pub struct Lookup {
    /// As it stands in messages.
    name: Vec<u8>,
    servers: Vec<Ipv4Addr>,
    /// Questions asked.
    asked: usize,
    /// Identifiers of the questions: as many as there can be.
    ids: Vec<u16>,
    query: Vec<u8>,
    /// The best reason so far.
    error: DnsError,
}

/// A question for a server.
#[derive(Debug)]
pub struct Ask<'a> {
    /// Whom to ask.
    pub server: SocketAddrV4,
    /// What to send.
    pub query: &'a [u8],
    /// How long to wait for an answer.
    pub wait_ns: u64,
}

impl Resolver {
    /// Knows nobody. `seed`: of identifiers, to be kept from others.
    pub fn new(seed: u64) -> Resolver {
        Resolver {
            inner: SpinLock::new(
                Rank::NetTable,
                Inner {
                    servers: Vec::new(),
                    cache: Cache::new(),
                    secret: Secret::new(seed, 0x646e_7300),
                    drawn: 0,
                },
            ),
        }
    }

    /// Whom to ask from now on, the best first. What others have said is forgotten.
    pub fn set_servers(&self, servers: Vec<Ipv4Addr>) {
        let mut inner = self.inner.lock();
        if inner.servers != servers {
            inner.servers = servers;
            inner.cache = Cache::new()
        }
    }

    /// Whom it asks.
    pub fn servers(&self) -> Vec<Ipv4Addr> {
        self.inner.lock().servers.clone()
    }

    /// Begins to look up `text`: a name, with or without the dot at its end, or an address. `localhost` is this computer (RFC 6761).
    pub fn begin(&self, text: &str, now_ns: u64) -> Begin {
        if let Ok(ip) = text.parse() {
            return Begin::Known(Ok(vec![ip]));
        }
        let Some(name) = name::from_text(text) else {
            return Begin::Known(Err(DnsError::BadName));
        };
        if name::is_localhost(&name) {
            return Begin::Known(Ok(vec![Ipv4Addr::LOCALHOST]));
        }
        let mut inner = self.inner.lock();
        if let Some(known) = inner.cache.get(&name, now_ns) {
            return Begin::Known(known);
        }
        let servers: Vec<_> = inner.servers.iter().copied().take(SERVERS).collect();
        if servers.is_empty() {
            return Begin::Known(Err(DnsError::NoServers));
        }
        let ids = (0..servers.len() * ROUNDS).map(|_| inner.draw());
        let ids = ids.collect();
        Begin::Ask(Lookup {
            name,
            servers,
            asked: 0,
            ids,
            query: Vec::new(),
            error: DnsError::TimedOut,
        })
    }

    /// A server has answered the lookup: others who ask the same need not ask it. `seconds`: for how long.
    fn learn(&self, name: &[u8], answer: &Answer, seconds: u32, now_ns: u64) {
        let mut inner = self.inner.lock();
        inner.cache.put(name, answer, seconds, now_ns)
    }
}

impl Inner {
    fn draw(&mut self) -> u16 {
        self.drawn += 1;
        self.secret.of(&[self.drawn]) as u16
    }
}

impl Lookup {
    /// What is looked up, in one spelling: two lookups of it have the same answer.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// The next question. None: everybody was asked; [`Lookup::error`] says what came of it.
    pub fn ask(&mut self) -> Option<Ask<'_>> {
        let &id = self.ids.get(self.asked)?;
        let server = self.servers[self.asked % self.servers.len()];
        self.asked += 1;
        let repr = DnsRepr {
            transaction_id: id,
            opcode: DnsOpcode::Query,
            flags: DnsFlags::RECURSION_DESIRED,
            question: DnsQuestion {
                name: &self.name,
                type_: DnsQueryType::A,
            },
        };
        self.query.clear();
        self.query.resize(repr.buffer_len(), 0);
        repr.emit(&mut DnsPacket::new_unchecked(&mut self.query[..]));
        Some(Ask {
            server: SocketAddrV4::new(server, PORT),
            query: &self.query,
            wait_ns: WAIT_NS,
        })
    }

    /// A datagram has come from the server that was asked last. None: it is no answer to that question; wait on. Some: the lookup is
    /// over, or, with `ServerFailed`, this server is no help: [`Lookup::ask`] the next.
    pub fn answer(&mut self, from: &Resolver, bytes: &[u8], now_ns: u64) -> Option<Answer> {
        let id = *self.ids.get(self.asked.checked_sub(1)?)?;
        let answer::Read { answer, seconds } = answer::read(bytes, id, &self.name)?;
        match answer {
            // Another server may do better.
            Err(DnsError::ServerFailed) => self.error = DnsError::ServerFailed,
            Err(DnsError::Truncated) => (),
            _ => from.learn(&self.name, &answer, seconds, now_ns),
        }
        Some(answer)
    }

    /// Why there is no address, after everybody was asked.
    pub fn error(&self) -> DnsError {
        self.error
    }
}
