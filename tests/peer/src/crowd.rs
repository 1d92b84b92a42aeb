//! Very many connections of one client. A stack would cost this side more than the machine: here each is two numbers, and what
//! is said on it is made by hand. So it takes a cable without faults.

use super::{Flags, Peer, Segment};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::mpsc::{Receiver, channel};

/// Its ports: from here on. `Peer::dial` uses higher ones.
const PORT_FIRST: u16 = 1_024;
/// And so many at most.
const MOST: u16 = 20_000;

/// What one connection knows.
struct Member {
    port: u16,
    /// Number of our next byte, and of theirs.
    seq: u32,
    ack: u32,
    stands: bool,
    ended: bool,
    /// Bytes that are still to come back, and the byte that they are made of.
    due: usize,
    byte: u8,
}

/// Connections from one address to one port of the machine.
pub struct Crowd {
    from: ([u8; 6], Ipv4Addr),
    to: ([u8; 6], SocketAddrV4),
    came: Receiver<Segment>,
    members: Vec<Member>,
}

impl Crowd {
    /// Nobody yet. `peer` hears no more of its ports. (It is the sniffer.)
    pub fn new(peer: &mut Peer, mac: [u8; 6], to: SocketAddrV4) -> Crowd {
        let (says, came) = channel();
        peer.sniff(move |frame| {
            let ports = PORT_FIRST..PORT_FIRST + MOST;
            let segment =
                Segment::parse(frame).filter(|s| s.from == to && ports.contains(&s.to.port()));
            let ours = segment.is_some();
            // Nobody wants it once the crowd has gone.
            segment.map(|segment| says.send(segment));
            ours
        });
        let from = (peer.setup().mac, peer.setup().ip);
        let (to, members) = ((mac, to), Vec::new());
        Crowd {
            from,
            to,
            came,
            members,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Nobody?
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// `n` more connect, `window` of them at a time.
    ///
    /// # Errors
    /// One is refused, or not answered.
    pub fn join(&mut self, peer: &mut Peer, n: usize, window: usize) -> Result<(), String> {
        let old = self.len();
        assert!(old + n <= MOST.into(), "too many for its ports");
        self.members.extend((old..old + n).map(|i| Member {
            port: PORT_FIRST + i as u16,
            seq: 0x1000_0000 + i as u32 * 77_777,
            ack: 0,
            stands: false,
            ended: false,
            due: 0,
            byte: 0,
        }));
        self.each(peer, old, window, Flags::Syn, &[], |m| m.stands)
    }

    /// One after the other says `bytes` times the same byte, and hears it again; `window` of them at a time.
    ///
    /// # Errors
    /// Something else comes back, or nothing.
    pub fn talk(
        &mut self,
        peer: &mut Peer,
        bytes: usize,
        byte: u8,
        window: usize,
    ) -> Result<(), String> {
        for m in &mut self.members {
            (m.due, m.byte) = (bytes, byte)
        }
        self.each(peer, 0, window, Flags::None, &vec![byte; bytes], |m| {
            m.due == 0
        })
    }

    /// All of them end in peace.
    ///
    /// # Errors
    /// The machine does not end its half.
    pub fn leave(&mut self, peer: &mut Peer, window: usize) -> Result<(), String> {
        self.each(peer, 0, window, Flags::Fin, &[], |m| m.ended)?;
        self.members.clear();
        Ok(())
    }

    /// From member `first` on each sends this, and is then waited for until it is `done`.
    fn each(
        &mut self,
        peer: &mut Peer,
        first: usize,
        window: usize,
        flags: Flags,
        bytes: &[u8],
        done: impl Fn(&Member) -> bool,
    ) -> Result<(), String> {
        let (mut next, mut under_way) = (first, 0);
        while next < self.len() || under_way != 0 {
            while next < self.len() && under_way < window {
                let member = &mut self.members[next];
                let (seq, ack) = (member.seq, member.stands.then_some(member.ack));
                member.seq = seq.wrapping_add(bytes.len() as u32 + u32::from(flags != Flags::None));
                self.send(peer, next, flags, seq, ack, bytes.to_vec());
                (next, under_way) = (next + 1, under_way + 1)
            }
            let came = &self.came;
            let segment = peer.until("the machine's answer to one of very many", |_| {
                Ok(came.try_recv().ok())
            })?;
            let i = usize::from(segment.to.port() - PORT_FIRST);
            let was = self.members.get(i).is_none_or(&done);
            self.came(peer, i, &segment)?;
            if !was && done(&self.members[i]) {
                under_way -= 1
            }
        }
        Ok(())
    }

    fn send(
        &self,
        peer: &mut Peer,
        i: usize,
        flags: Flags,
        seq: u32,
        ack: Option<u32>,
        bytes: Vec<u8>,
    ) {
        let segment = Segment {
            from: SocketAddrV4::new(self.from.1, self.members[i].port),
            to: self.to.1,
            flags,
            seq,
            ack,
            window: 64_000,
            bytes,
        };
        peer.send_raw(&segment.frame(self.from.0, self.to.0))
    }

    /// The machine said something to member `i`, who acknowledges it.
    fn came(&mut self, peer: &mut Peer, i: usize, segment: &Segment) -> Result<(), String> {
        let Some(member) = self.members.get_mut(i) else {
            return Ok(()); // of those that have left
        };
        let problem = |what: &str| Err(format!("connection {i}: {what}"));
        match segment.flags {
            Flags::Rst => return problem("the machine has reset it"),
            Flags::Syn => {
                member.ack = segment.seq.wrapping_add(1);
                member.stands = true
            }
            _ if segment.bytes.is_empty() && segment.flags == Flags::None => return Ok(()),
            // Said again: it is acknowledged again.
            _ if segment.seq != member.ack => {}
            flags => {
                let (n, wanted) = (segment.bytes.len(), member.byte);
                if n > member.due || segment.bytes.iter().any(|byte| *byte != wanted) {
                    return problem("what came back was not what it has said");
                }
                member.due -= n;
                member.ended = flags == Flags::Fin;
                member.ack = member.ack.wrapping_add(n as u32 + u32::from(member.ended))
            }
        }
        let (seq, ack) = (member.seq, Some(member.ack));
        self.send(peer, i, Flags::None, seq, ack, Vec::new());
        Ok(())
    }
}
