//! DHCP (RFC 2131): an address from the network, for a time.
//!
//! ```text
//!   ┌──────────────────────── NAK, or the lease is over: its address is given up ────────────────┐
//!   ▼                                                                                            │
//!   Selecting ── offer ──► Requesting ── ACK ──► Bound ── T1 ──► Renewing ── T2 ──► Rebinding ───┤
//!   │  ▲  ▲                 │                     ▲               │  │               │  │        │
//!   └──┘  └── unanswered ───┘                     └───── ACK ─────┘  └───── ACK ─────┘  └────────┘
//!   asks on; twice without a lease, by silence or a NAK: the fallback is used meanwhile
//! ```
//!
//! A value that is told the time and what came, and says what is to be sent; `dhcp/calls.rs` binds it to the stack. Whether
//! somebody else uses the address already is not asked (2.2: the client SHOULD): the server does, and ARP counts conflicts.

mod calls;
mod message;
#[cfg(test)]
mod tests;

pub(crate) use calls::Service;

use super::NEVER;
use super::common::SECOND_NS;
use super::config::Address;
use super::secret::Secret;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use message::Grant;
use smoltcp::wire::DhcpMessageType as Kind;

/// Where servers listen.
pub const SERVER_PORT: u16 = 67;
/// Where clients do.
pub const CLIENT_PORT: u16 = 68;

/// Between two questions at most, while there is no lease.
const AGAIN_MOST_NS: u64 = 64 * SECOND_NS;
/// Questions in vain before the fallback is used: at 3 s or so.
const PATIENCE: u32 = 2;
/// Requests for an offer before it is given up.
const REQUESTS: u32 = 4;
/// Between two requests to go on with a lease at least (4.4.5).
const RENEW_LEAST_NS: u64 = 60 * SECOND_NS;

/// How this computer is called, and whom it may ask for names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Its address.
    pub address: Address,
    /// Servers for names, the best first.
    pub dns: Vec<Ipv4Addr>,
}

/// What is to be sent from [`CLIENT_PORT`] to [`SERVER_PORT`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// 0.0.0.0 without a lease.
    pub source: Ipv4Addr,
    pub dest: Ipv4Addr,
    pub bytes: Vec<u8>,
}

/// The client.
pub(crate) struct Client {
    mac: [u8; 6],
    secret: Secret,
    drawn: u64,
    state: State,
    /// Of this attempt to get a lease: what answers to it bears the same.
    transaction: u32,
    /// Questions since there was a lease that had no answer, or a refusal.
    in_vain: u32,
    began_ns: u64,
    /// When [`Client::tick`] has something to do.
    next_ns: u64,
    fallback: Option<Lease>,
    in_use: Option<Lease>,
}

#[derive(Clone, Copy)]
enum State {
    Selecting { asked: u32 },
    Requesting { offer: Offer, asked: u32 },
    Bound(Held),
    Renewing(Held),
    Rebinding(Held),
}

/// An address, and who gives it.
#[derive(Clone, Copy)]
struct Offer {
    ip: Ipv4Addr,
    server: Ipv4Addr,
}

/// A lease that runs.
#[derive(Clone, Copy)]
struct Held {
    offer: Offer,
    /// T2 (T1 is when the state changes first).
    rebind_ns: u64,
    end_ns: u64,
}

impl Client {
    /// Begins to ask. What is to be sent is in [`Client::tick`].
    pub fn new(mac: [u8; 6], seed: u64, fallback: Option<Lease>, now_ns: u64) -> Client {
        let mut client = Client {
            mac,
            secret: Secret::new(seed, 0x6468_6370),
            drawn: 0,
            state: State::Selecting { asked: 0 },
            transaction: 0,
            in_vain: 0,
            began_ns: now_ns,
            next_ns: now_ns,
            fallback,
            in_use: None,
        };
        client.begin(now_ns);
        client
    }

    /// What this computer is to be called at this time.
    pub fn lease(&self) -> Option<&Lease> {
        self.in_use.as_ref()
    }

    /// When to call [`Client::tick`]; [`NEVER`]: not before something comes.
    pub fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Has a server given what is in use?
    pub fn is_bound(&self) -> bool {
        matches!(
            self.state,
            State::Bound(_) | State::Renewing(_) | State::Rebinding(_)
        )
    }

    /// Does what is due.
    pub fn tick(&mut self, now_ns: u64) -> Option<Message> {
        if now_ns < self.next_ns {
            return None;
        }
        match self.state {
            State::Selecting { asked } => {
                if asked != 0 {
                    self.had_no_lease()
                }
                self.state = State::Selecting { asked: asked + 1 };
                self.again(now_ns, asked);
                Some(self.message(now_ns, Kind::Discover))
            }
            State::Requesting { offer, asked } if asked < REQUESTS => {
                if asked != 0 {
                    self.had_no_lease()
                }
                let asked = asked + 1;
                self.state = State::Requesting { offer, asked };
                self.again(now_ns, asked - 1);
                Some(self.message(now_ns, Kind::Request))
            }
            State::Requesting { .. } => {
                self.had_no_lease();
                self.begin(now_ns);
                self.tick(now_ns)
            }
            State::Bound(held) | State::Renewing(held) | State::Rebinding(held) => {
                self.go_on(now_ns, held)
            }
        }
    }

    /// A lease's time passes.
    fn go_on(&mut self, now_ns: u64, held: Held) -> Option<Message> {
        if now_ns >= held.end_ns {
            self.give_up(now_ns);
            return self.tick(now_ns);
        }
        if let State::Bound(_) = self.state {
            self.transaction = self.draw() as u32;
            self.began_ns = now_ns
        }
        let (state, until_ns) = if now_ns < held.rebind_ns {
            (State::Renewing(held), held.rebind_ns)
        } else {
            (State::Rebinding(held), held.end_ns)
        };
        self.state = state;
        let half_ns = (until_ns - now_ns) / 2;
        self.next_ns = (now_ns + half_ns.max(RENEW_LEAST_NS)).min(until_ns);
        Some(self.message(now_ns, Kind::Request))
    }

    /// Something came from a server's port. What is to be sent; None: it is not for us, or makes no sense here.
    pub fn input(&mut self, now_ns: u64, bytes: &[u8]) -> Option<Option<Message>> {
        let (kind, grant) = message::read(bytes, self.mac, self.transaction)?;
        match (kind, self.state) {
            (Kind::Offer, State::Selecting { asked: 1.. }) => {
                let offer = grant?.offer?;
                self.state = State::Requesting { offer, asked: 0 };
                self.next_ns = now_ns;
                Some(self.tick(now_ns))
            }
            (Kind::Ack, State::Requesting { offer, .. }) => {
                let grant = grant?;
                // Who does not say who he is, is the one that was asked.
                let same = grant.offer.is_none_or(|o| o.server == offer.server);
                let good = same && grant.address.ip == offer.ip;
                good.then(|| self.bind(now_ns, offer, grant))?;
                Some(None)
            }
            (Kind::Ack, State::Renewing(held) | State::Rebinding(held)) => {
                let grant = grant?;
                let offer = grant.offer.unwrap_or(held.offer);
                let good = grant.address.ip == held.offer.ip;
                good.then(|| self.bind(now_ns, offer, grant))?;
                Some(None)
            }
            (Kind::Nak, State::Requesting { .. } | State::Renewing(_) | State::Rebinding(_)) => {
                // Not at once: one who refuses is asked no faster than one who is silent.
                self.give_up(now_ns);
                self.had_no_lease();
                self.again(now_ns, 0);
                Some(None)
            }
            _ => None,
        }
    }

    fn bind(&mut self, now_ns: u64, offer: Offer, grant: Grant) {
        let after = |seconds: u32| match seconds {
            u32::MAX => NEVER,
            s => now_ns.saturating_add(u64::from(s) * SECOND_NS),
        };
        self.state = State::Bound(Held {
            offer,
            rebind_ns: after(grant.rebind_s),
            end_ns: after(grant.lease_s),
        });
        self.next_ns = after(grant.renew_s);
        self.in_vain = 0;
        self.in_use = Some(Lease {
            address: grant.address,
            dns: grant.dns,
        })
    }

    /// A question was in vain.
    fn had_no_lease(&mut self) {
        self.in_vain = self.in_vain.saturating_add(1);
        if self.in_vain >= PATIENCE && self.in_use.is_none() {
            self.in_use = self.fallback.clone()
        }
    }

    /// The address that a server gave is nobody's any more.
    fn give_up(&mut self, now_ns: u64) {
        if self.is_bound() {
            self.in_use = self.fallback.clone()
        }
        self.begin(now_ns)
    }

    fn begin(&mut self, now_ns: u64) {
        self.state = State::Selecting { asked: 0 };
        self.transaction = self.draw() as u32;
        self.began_ns = now_ns;
        self.next_ns = now_ns
    }

    /// The next question after a second, two, four, …, and something up to a quarter more: computers that start together part.
    fn again(&mut self, now_ns: u64, asked: u32) {
        let wait_ns = (SECOND_NS << asked.min(6)).min(AGAIN_MOST_NS);
        let more_ns = self.draw() % (wait_ns / 4);
        self.next_ns = now_ns + wait_ns + more_ns
    }

    fn draw(&mut self) -> u64 {
        self.drawn += 1;
        self.secret.of(&[self.drawn])
    }

    fn message(&self, now_ns: u64, kind: Kind) -> Message {
        let seconds = now_ns.saturating_sub(self.began_ns) / SECOND_NS;
        let ask = message::Ask {
            kind,
            mac: self.mac,
            transaction: self.transaction,
            seconds: seconds.min(u64::from(u16::MAX)) as u16,
            offer: None,
            held: None,
        };
        let all = Ipv4Addr::BROADCAST;
        let none = Ipv4Addr::UNSPECIFIED;
        let (source, dest, ask) = match self.state {
            State::Selecting { .. } => (none, all, ask),
            State::Requesting { offer, .. } => {
                let offer = Some((offer.ip, offer.server));
                (none, all, message::Ask { offer, ..ask })
            }
            State::Bound(held) | State::Renewing(held) => {
                let ip = held.offer.ip;
                let held_ip = Some(ip);
                let ask = message::Ask {
                    held: held_ip,
                    ..ask
                };
                (ip, held.offer.server, ask)
            }
            State::Rebinding(held) => {
                let ip = held.offer.ip;
                let ask = message::Ask {
                    held: Some(ip),
                    ..ask
                };
                (ip, all, ask)
            }
        };
        let bytes = message::write(&ask);
        Message {
            source,
            dest,
            bytes,
        }
    }
}
