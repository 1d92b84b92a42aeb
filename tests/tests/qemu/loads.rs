//! A server on the machine under loads: very many connections, floods, storms of frames, clients that do not read or break off; and
//! `wrk`.

mod beside;
mod crowd;
mod rough;
mod storm;
mod web;

use base::Rng;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};
use tests::peer::{Peer, Setup, SocketHandle, Wire};
use tests::{Board, Case, NO_NET, hung};

const IP: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 15);
const ECHO: SocketAddrV4 = SocketAddrV4::new(IP, 7);
const CONTROL: SocketAddrV4 = SocketAddrV4::new(IP, 9);
/// Tables grow and keep a little; a connection that stays takes two buffers of 16 KiB.
const SLACK_BYTES: u64 = 64 << 10;

/// How the machine is.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    goroutines: u64,
    /// Of them those who wait for the network.
    waiters: u64,
    heap_bytes: u64,
    /// TCP connections that take memory, how many may, and how often somebody found no place.
    connections: u64,
    most: u64,
    turned_away: u64,
    /// How often somebody gave way to one who was woken.
    gave_way: u64,
}

/// The script's side: a peer, and a connection on which the machine says how it is.
struct Load {
    peer: Peer,
    control: SocketHandle,
    /// The machine's hardware address.
    mac: [u8; 6],
    rest: State,
    rng: Rng,
}

impl Load {
    /// Does `script` to the machine, and ends that whatever comes of it.
    fn run(
        wire: Wire,
        seed: u64,
        script: impl FnOnce(&mut Load) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut load = Load::new(wire, seed)?;
        let done = script(&mut load);
        let ended = load.end();
        done.and(ended).map_err(|why| format!("seed {seed}: {why}"))
    }

    fn new(wire: Wire, seed: u64) -> Result<Load, String> {
        let mut peer = Peer::new(
            wire,
            Setup {
                seed,
                ..Setup::default()
            },
        );
        peer.serve_dhcp(IP);
        let (says, heard) = std::sync::mpsc::channel();
        peer.sniff(move |frame| {
            // Nobody listens any more when the first one is known.
            _ = says.send(frame.get(6..12).and_then(|mac| mac.try_into().ok()));
            false
        });
        peer.until("the machine to ask for an address", |peer| {
            Ok((peer.leases() != 0).then_some(()))
        })?;
        let mac = heard.try_iter().flatten().next();
        let mac = mac.ok_or("it has asked without a frame")?;
        peer.sniff(|_| false);
        let control = peer.connect_when_it_listens(CONTROL)?;
        let mut load = Load {
            peer,
            control,
            mac,
            rest: State::default(),
            rng: Rng::new(seed),
        };
        load.echo_once(1)?;
        // Main, and who accepts.
        load.rest = load.settled("before all loads", 2)?;
        Ok(load)
    }

    fn state(&mut self) -> Result<State, String> {
        self.tell(b'?')
    }

    /// Tells the machine something, to which it answers with its state.
    fn tell(&mut self, what: u8) -> Result<State, String> {
        self.peer.send_all(self.control, &[what])?;
        let bytes = self.peer.recv_exact(self.control, 56)?;
        let (words, _) = bytes.as_chunks::<8>();
        let word = |i: usize| u64::from_be_bytes(words[i]);
        Ok(State {
            goroutines: word(0),
            waiters: word(1),
            heap_bytes: word(2),
            connections: word(3),
            most: word(4),
            turned_away: word(5),
            gave_way: word(6),
        })
    }

    /// The state, when so many goroutines are left, and who waited for the network at rest does so again: it was just served.
    fn settled(&mut self, what: &str, goroutines: u64) -> Result<State, String> {
        let begin = Instant::now();
        loop {
            let state = self.state()?;
            if state.goroutines == goroutines && state.waiters >= self.rest.waiters {
                return Ok(state);
            }
            if begin.elapsed() > hung() {
                let waiters = self.rest.waiters;
                return Err(format!(
                    "{what}: not {goroutines} goroutines, of which {waiters} wait: {state:?}"
                ));
            }
            self.peer.run_for(Duration::from_millis(20))
        }
    }

    /// Twice the same: after the second time no more is in use than after the first.
    fn twice(
        &mut self,
        what: &str,
        load: impl Fn(&mut Load) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut after = [self.rest; 2];
        for after in &mut after {
            load(self).map_err(|why| format!("{what}: {why}"))?;
            *after = self.settled(what, self.rest.goroutines)?
        }
        let [first, second] = after;
        if second.waiters != self.rest.waiters || second.heap_bytes > first.heap_bytes + SLACK_BYTES
        {
            return Err(format!(
                "{what}: {:?} before, {first:?} after it, {second:?} after it again",
                self.rest
            ));
        }
        Ok(())
    }

    /// Bytes there and back on a connection of their own.
    fn echo_once(&mut self, seed: u64) -> Result<(), String> {
        let at = self.peer.connect(ECHO)?;
        self.echo_on(at, seed)?;
        self.peer.finish(at)
    }

    fn echo_on(&mut self, at: SocketHandle, seed: u64) -> Result<(), String> {
        let sent: Vec<u8> = (0..500).map(|i: u64| (i * i + seed) as u8).collect();
        self.peer.send_all(at, &sent)?;
        let back = self.peer.recv_exact(at, sent.len())?;
        (back == sent)
            .then_some(())
            .ok_or("it came back otherwise".into())
    }

    fn end(mut self) -> Result<(), String> {
        self.peer.send_all(self.control, b"e")?;
        // The machine ends, whatever becomes of the connection.
        drop(self.peer.finish(self.control));
        Ok(())
    }
}

pub fn cases() -> Vec<Case> {
    let serve = |name: &str| Case::new("loads", "loads_serve").named(name).limit(150);
    // Without the look twice a second, which would make up for what the rings lose.
    let storm = || serve("storm").word("point=net.watch:lose");
    let memory = |case: Case, bytes: u64| case.machine(move |machine| machine.mem_bytes = bytes);
    vec![
        memory(serve("crowd").smp(2).no_events(), 1 << 30).peer(|wire| crowd::crowds(wire, 2)),
        memory(serve("as many as there may be").smp(1), 64 << 20).peer(crowd::bound),
        serve("so many and no more")
            .word("connections=20")
            .smp(2)
            .peer(|wire| crowd::bound_of(wire, 20)),
        serve("beside hogs").smp(1).peer(beside::hogs),
        serve("rough").smp(2).peer(|wire| rough::rough(wire, 1)),
        serve("rough")
            .smp(1)
            .mode(NO_NET)
            .peer(|wire| rough::rough(wire, 2)),
        storm()
            .smp(1)
            .mode(NO_NET)
            .peer(|wire| storm::storms(wire, 3)),
        storm().smp(2).peer(|wire| storm::storms(wire, 4)),
        storm()
            .smp(4)
            .mode(NO_NET)
            .peer(|wire| storm::storms(wire, 5)),
        serve("all kicks and interrupts lost")
            .word("point=net.kick:lose,net.interrupt:lose")
            .smp(2)
            .peer(storm::unheard),
        web::web(2, Board::Q35, false),
        web::web(2, Board::Q35, true),
        web::web(4, Board::Microvm, true),
    ]
}
