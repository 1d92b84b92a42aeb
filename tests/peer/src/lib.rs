//! The other end of the machine's network cable: a host of its own, with a TCP/IP of its own, in this process.
//!
//! ```text
//!  the test's script ── Peer ── smoltcp ── faults ── Wire ── Unix socket ── QEMU ── virtio-net ── the kernel
//!                        └───────── raw frames ──────┘
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `wire.rs` | frames over a Unix socket, as `--net stream:PATH` speaks; where QEMU finds it |
//! | `faults.rs` | frames lost, doubled, out of order, damaged, by a seed |
//! | `card.rs` | the wire's end as smoltcp wants it |
//! | `tcp.rs` `udp.rs` | what a client or a server does, as calls that wait |
//! | `dhcp.rs` | who gives the machine its address |
//! | `raw.rs` | frames made by hand: floods, resets, nonsense |
//! | `crowd.rs` | thousands of connections that cost this side nothing |
//!
//! A script never fails by the clock: each wait has a limit for hangs only (`RINGO_PATIENCE`).

mod card;
mod crowd;
mod dhcp;
mod faults;
mod raw;
mod tcp;
#[cfg(test)]
mod tests;
mod udp;
mod wire;

pub use crowd::Crowd;
pub use faults::{Faults, Tally};
pub use raw::{Flags, Segment, arp_reply, arp_request, datagram, datagram_in, ethernet};
pub use smoltcp::iface::SocketHandle;
pub use smoltcp::socket::tcp::State;
pub use wire::{Listener, Wire};

use card::Card;
use dhcp::Dhcp;
use faults::Injector;
use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::time::Instant as Moment;
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpCidr};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

/// How long a script waits for anything before it takes the machine for hung.
const LIMIT: Duration = Duration::from_secs(60);
/// Longest sleep: held frames and timers of the stack are looked at in between.
const NAP: Duration = Duration::from_millis(10);

/// Who the peer is.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Its hardware address.
    pub mac: [u8; 6],
    /// Its address.
    pub ip: Ipv4Addr,
    /// Bits of the network's address.
    pub prefix: u8,
    /// Of its choices, and of the faults.
    pub seed: u64,
    /// So many times faster does its TCP's clock run: what was lost comes again sooner.
    pub haste: u32,
    /// What happens to frames that the machine sends.
    pub from_machine: Faults,
    /// What happens to frames that the machine is sent.
    pub to_machine: Faults,
}

impl Default for Setup {
    /// The gateway of QEMU's own network, 10.0.2.2/24, on a cable without faults.
    fn default() -> Setup {
        Setup {
            mac: [0x52, 0x55, 10, 0, 2, 2],
            ip: Ipv4Addr::new(10, 0, 2, 2),
            prefix: 24,
            seed: 1,
            haste: 1,
            from_machine: Faults::NONE,
            to_machine: Faults::NONE,
        }
    }
}

/// Sees each frame that arrives, before the stack does. True: the stack need not.
type Sniffer = Box<dyn FnMut(&[u8]) -> bool + Send>;

/// A host at the other end of the wire.
pub struct Peer {
    setup: Setup,
    wire: Wire,
    card: Card,
    iface: Interface,
    sockets: SocketSet<'static>,
    /// What the machine sent, what it is sent.
    from_machine: Injector,
    to_machine: Injector,
    begin: Instant,
    sniffer: Option<Sniffer>,
    dhcp: Option<Dhcp>,
    next_port: u16,
}

impl Peer {
    /// A host on `wire`.
    pub fn new(wire: Wire, setup: Setup) -> Peer {
        let mut card = Card::default();
        let mut config = Config::new(HardwareAddress::Ethernet(EthernetAddress(setup.mac)));
        config.random_seed = setup.seed;
        let mut iface = Interface::new(config, &mut card, Moment::ZERO);
        iface.update_ip_addrs(|all| {
            let full = all.push(IpCidr::new(setup.ip.into(), setup.prefix));
            full.expect("room for one address")
        });
        let ports = base::Rng::new(setup.seed).below(10_000) as u16;
        Peer {
            from_machine: Injector::new(setup.from_machine, setup.seed ^ 0x5eed),
            to_machine: Injector::new(setup.to_machine, setup.seed),
            setup,
            wire,
            card,
            iface,
            sockets: SocketSet::new(Vec::new()),
            begin: Instant::now(),
            sniffer: None,
            dhcp: None,
            next_port: 40_000 + ports,
        }
    }

    /// Who it is.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// What the faults have done so far: to frames that the machine sent, and to those that it was sent.
    pub fn tallies(&self) -> [Tally; 2] {
        [self.from_machine.tally(), self.to_machine.tally()]
    }

    /// From here on `sniffer` sees each frame that arrives, after the faults; what it answers with true goes no further.
    pub fn sniff(&mut self, sniffer: impl FnMut(&[u8]) -> bool + Send + 'static) {
        self.sniffer = Some(Box::new(sniffer))
    }

    /// From here on gives `lease` to the machine that asks for an address by DHCP; itself as the router and the name server.
    pub fn serve_dhcp(&mut self, lease: Ipv4Addr) {
        let prefix = u32::from(self.setup.prefix.min(32));
        let mask = u32::MAX.checked_shl(32 - prefix).unwrap_or(0);
        self.dhcp = Some(Dhcp {
            ip: self.setup.ip,
            mac: self.setup.mac,
            lease,
            mask: Ipv4Addr::from(mask),
            given: 0,
        })
    }

    /// How often the machine has been given its address.
    pub fn leases(&self) -> u32 {
        self.dhcp.as_ref().map_or(0, |dhcp| dhcp.given)
    }

    /// Processor time that the machine's process has taken so far, all its threads together.
    ///
    /// # Errors
    /// The system does not say.
    pub fn machine_cpu_time(&self) -> Result<Duration, String> {
        self.wire.other_cpu_time()
    }

    /// Sends a frame made by hand, past the faults.
    pub fn send_raw(&mut self, frame: &[u8]) {
        self.wire.send(frame)
    }

    fn now(&self) -> Moment {
        let real = self.begin.elapsed() * self.setup.haste;
        Moment::from_micros(real.as_micros() as i64)
    }

    /// Takes what has come, lets the stack work, sends what it has to say. Does not wait. False: the machine has hung up.
    pub fn poll(&mut self) -> bool {
        let open = self.wire.pump(Duration::ZERO);
        self.round();
        open
    }

    fn round(&mut self) {
        let at = self.begin.elapsed();
        while let Some(frame) = self.wire.next() {
            self.from_machine.put(frame, at)
        }
        while let Some(frame) = self.from_machine.take(at) {
            let swallowed = self.sniffer.as_mut().is_some_and(|sniffer| sniffer(&frame));
            let answer = self.dhcp.as_mut().and_then(|dhcp| dhcp.answer(&frame));
            if let Some(answer) = answer {
                self.to_machine.put(answer, at)
            } else if !swallowed {
                self.card.arrived.push_back(frame)
            }
        }
        let now = self.now();
        self.iface.poll(now, &mut self.card, &mut self.sockets);
        while let Some(frame) = self.card.leaving.pop_front() {
            self.to_machine.put(frame, at)
        }
        while let Some(frame) = self.to_machine.take(at) {
            self.wire.send(&frame)
        }
    }

    /// Works until `done` gives something.
    ///
    /// # Errors
    /// `done` gives an error, the machine hangs up, or nothing comes of it for very long.
    pub fn until<T>(
        &mut self,
        what: &str,
        mut done: impl FnMut(&mut Peer) -> Result<Option<T>, String>,
    ) -> Result<T, String> {
        let limit = hung();
        let begin = Instant::now();
        let mut open = self.poll();
        loop {
            if let Some(result) = done(self)? {
                self.round();
                return Ok(result);
            }
            if !open {
                return Err(format!("{what}: the other end of the wire is closed"));
            }
            if begin.elapsed() > limit {
                return Err(format!("{what}: nothing for {} s", limit.as_secs()));
            }
            // What `done` wrote goes out first.
            self.round();
            let now = self.now();
            let delay = self.iface.poll_delay(now, &self.sockets);
            let nap = delay.map_or(NAP, |d| (Duration::from(d) / self.setup.haste).min(NAP));
            open = self.wire.pump(nap);
            self.round()
        }
    }

    /// Works for a while, whatever happens.
    pub fn run_for(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end && self.wire.pump(NAP) {
            self.round()
        }
    }
}

/// What a wait for a machine that runs may take before it is hung.
pub fn hung() -> Duration {
    LIMIT * patience() as u32
}

/// How many times wider time limits are: `RINGO_PATIENCE=N` makes them N times as wide.
pub fn patience() -> u64 {
    let given = std::env::var("RINGO_PATIENCE").ok();
    given.and_then(|n| n.parse().ok()).unwrap_or(1)
}
