//! The machine's network: one stack, and under it the card if there is one. It comes up when a program first asks for it.
//!
//! ```text
//!    a goroutine's call                     the netpoller (g0)
//!          │  ▲                                 │  ▲
//!          ▼  │ list: who can go on             ▼  │
//!    ┌─────────────────────── Stack ───────────────────────┐
//!    └────────┬──────────────────────────────────▲─────────┘
//!       transmitter (a lock, shared)       receiver (I-ONE-POLLER)
//!             ▼                                  │
//!    ═════════ the card's rings ═════════════════╧══ interrupt ──► pending bit ──► netpoller
//! ```

use super::Result;
use super::card::{Card, Out, QueuePair};
use super::lease::Waiters;
use super::lookup::Flights;
use super::wire::{Bell, has_memory, memory_bytes, open, seed};
use crate::stack::{Config, NEVER, Stack, tcp};
use alloc::vec::Vec;
use base::PreemptGuard;
use core::net::{Ipv4Addr, SocketAddrV4};
use csp::sync::{Mutex, OnceLock};
use sched::netpoll::{Connections, PollDesc, Poller, ReadyList};

/// How long the end of the program waits for others to take what they were sent.
const LINGER_NS: u64 = 1_000_000_000;

/// The network of this machine.
pub(super) struct Machine {
    pub(super) stack: Stack<PollDesc>,
    card: Option<Card<Bell>>,
    lease: Waiters,
    pub(super) flights: Flights,
}

static MACHINE: OnceLock<Machine> = OnceLock::new();

/// It; the first caller brings it up.
pub(super) fn machine() -> &'static Machine {
    let machine = MACHINE.get_or_init(Machine::new);
    if !sched::this().has_poller() {
        start(machine)
    }
    machine
}

/// What went through each pair of queues of the machine's card: a pair for each CPU where the card has that many (`--net tap:IF` of an
/// interface with several), one otherwise; none without a card.
///
/// ```
/// # sched::testing::run(1, 1, || {
/// assert!(net::socket::queue_pairs().is_empty()); // the host machine has no card
/// # });
/// ```
pub fn queue_pairs() -> Vec<QueuePair> {
    machine().card.as_ref().map_or_else(Vec::new, Card::counts)
}

/// How many connections the machine may have at a time: half of its memory is theirs, unless `connections=` says something else.
///
/// ```
/// # sched::testing::run(1, 1, || {
/// assert!(net::socket::most_connections() > 1000);
/// # });
/// ```
pub fn most_connections() -> usize {
    machine().stack.places().most
}

/// From here on the scheduler asks it what has come.
#[cold]
fn start(machine: &'static Machine) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock();
    if sched::this().has_poller() {
        return;
    }
    sched::this().set_poller(machine);
    if machine.card.is_some() {
        machine.lease.ask()
    }
}

/// For the runner, which forwards a port of the host's to this one. Only ports that others can reach are worth it.
pub(super) fn say_listens(protocol: &str, at: SocketAddrV4) {
    if machine().card.is_none() || at.ip().is_loopback() {
        return;
    }
    let port = at.port();
    let event =
        alloc::format!("\u{1}{{\"event\":\"listen\",\"proto\":\"{protocol}\",\"port\":{port}}}\n");
    arch::control_write(event.as_bytes())
}

/// Is there a network besides the machine itself?
pub(super) fn has_card() -> bool {
    machine().card.is_some()
}

/// Waits until the machine has an address, if it has a card.
pub(super) fn await_address() -> Result<()> {
    let machine = machine();
    if machine.card.is_none() || machine.stack.address().is_some() {
        return Ok(());
    }
    machine.lease.wait(machine)
}

/// The same if `ip` is not this computer.
pub(super) fn await_route(ip: &Ipv4Addr) -> Result<()> {
    if ip.is_loopback() || ip.is_unspecified() {
        return Ok(());
    }
    await_address()
}

/// Calls `f` with the stack, the time, and a place for its effects; they have come about when this returns.
pub(super) fn effects<T>(f: impl FnOnce(&Stack<PollDesc>, u64, &mut Out<'_, Bell>) -> T) -> T {
    let machine = machine();
    let mut list = ReadyList::new();
    let mut out = Out::new(machine.card.as_ref(), &mut list);
    let result = f(&machine.stack, sched::machine_now_ns(), &mut out);
    drop(out);
    list.inject();
    if machine.stack.has_looped() {
        // I-BATCH: the rest is the poller's.
        sched::this().look_at_network()
    }
    result
}

/// How many connections there may be, unless `connections=` says so: half of the memory is theirs. The other half is the program's.
fn bound(tcp: &mut tcp::Config) {
    let room = memory_bytes().map(|all| all / 2 / tcp.connection_bytes());
    let room = room.unwrap_or(tcp.connections);
    let told = sched::this().cfg.connections;
    tcp.connections = told.map_or(room, |n| n as usize);
    tcp.has_memory = has_memory;
    // A record of what has ended takes a few hundred bytes with all that belongs to it.
    tcp.time_waits = (2 * tcp.connections).clamp(1 << 10, tcp.time_waits)
}

impl Machine {
    fn new() -> Machine {
        let card = open();
        let mut config = Config::new([2, 0, 0, 0, 0, 1], seed());
        bound(&mut config.tcp);
        if let Some(card) = &card {
            config.mac = card.mac;
            config.offload = card.offers.sends_checksums
        }
        Machine {
            stack: Stack::new(config),
            card,
            lease: Waiters::new(),
            flights: Flights::new(),
        }
    }
}

impl Poller for Machine {
    fn netpoll(&self, list: &mut ReadyList) {
        let now_ns = sched::machine_now_ns();
        let mut out = Out::new(self.card.as_ref(), list);
        if let Some(card) = &self.card {
            card.watch(now_ns);
            card.receive(|frame| {
                self.stack
                    .input(frame.bytes, frame.checked, now_ns, &mut out)
            });
            if card.has_room_again() {
                self.stack.room(now_ns, &mut out)
            }
        }
        self.stack.tick(now_ns, &mut out)
    }

    fn listen(&self) -> bool {
        let came = self.card.as_ref().is_some_and(Card::listen);
        came || self.stack.has_more(sched::machine_now_ns())
    }

    fn connections(&self) -> Connections {
        let places = self.stack.places();
        Connections {
            open: places.taken as u64,
            most: places.most as u64,
            turned_away: places.turned_away,
            remembered: self.stack.remembered_connections() as u64,
        }
    }

    fn next_deadline_ns(&self) -> u64 {
        let watch_ns = self.card.as_ref().map_or(NEVER, Card::watch_ns);
        self.stack.next_deadline_ns().min(watch_ns)
    }

    fn has_device(&self) -> bool {
        self.card.is_some()
    }

    /// It looks at the network itself, again and again: nobody else need be able to, and what the machine would do else is no matter
    /// any more.
    fn end(&self) {
        let Some(card) = &self.card else { return };
        let begin_ns = sched::machine_now_ns();
        let mut ending = effects(|stack, now_ns, out| stack.end(now_ns, out));
        while !(card.is_broken() || ending.is_done() && card.has_sent_all()) {
            if sched::machine_now_ns() - begin_ns > LINGER_NS {
                log::info!("the program has ended, and not all that it has sent has arrived");
                return;
            }
            let guard = PreemptGuard::new();
            let mut list = ReadyList::new();
            self.netpoll(&mut list);
            drop(list);
            drop(guard);
            core::hint::spin_loop()
        }
    }
}
