//! Whose is a segment? A hash table of 4-tuples, and one of ports that are listened on.

use super::conn::Shared;
use super::listen::{Half, Listening};
use super::timewait::TimeWait;
use crate::stack::common::{EPHEMERAL, shrink_to};
use crate::stack::secret::Secret;
use alloc::{sync::Arc, vec::Vec};
use core::hash::{Hash, Hasher};
use core::net::{Ipv4Addr, SocketAddrV4};
use hashbrown::HashMap;

/// A connection's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tuple {
    pub local: SocketAddrV4,
    pub remote: SocketAddrV4,
}

impl Tuple {
    /// As two words.
    pub fn words(&self) -> [u64; 2] {
        [self.local, self.remote]
            .map(|end| u64::from(end.ip().to_bits()) << 16 | u64::from(end.port()))
    }
}

impl Hash for Tuple {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for word in self.words() {
            state.write_u64(word)
        }
    }
}

/// Who has a 4-tuple.
pub(crate) enum Slot<U> {
    /// A connection that is about to be made.
    Reserved,
    /// A connection.
    Conn(Arc<Shared<U>>),
    /// Asked for, not confirmed.
    Half(Half),
    /// Ended.
    Waiting(TimeWait),
}

/// Who has what.
pub(crate) struct Demux<U> {
    pub slots: HashMap<Tuple, Slot<U>, Secret>,
    pub listening: HashMap<u16, Vec<Listening<U>>, Secret>,
    /// Slots that are `Waiting`.
    pub waiting: usize,
    /// The next listener's number.
    pub next_id: u64,
    /// For each remote end a place to begin at.
    places: Secret,
    /// Ports that were looked for so far.
    drawn: u32,
}

impl<U> Demux<U> {
    pub fn new(seed: u64) -> Self {
        Self {
            slots: HashMap::with_hasher(Secret::new(seed, 3)),
            listening: HashMap::with_hasher(Secret::new(seed, 4)),
            waiting: 0,
            next_id: 0,
            places: Secret::new(seed, 5),
            drawn: 0,
        }
    }

    /// What `f` finds in the slots. None: there is no memory for so many.
    pub fn collect<T>(&self, f: impl FnMut((&Tuple, &Slot<U>)) -> Option<T>) -> Option<Vec<T>> {
        let mut all = Vec::new();
        all.try_reserve_exact(self.slots.len()).ok()?;
        all.extend(self.slots.iter().filter_map(f));
        Some(all)
    }

    /// Takes a slot out. What a peak took of memory is given back.
    pub fn remove(&mut self, tuple: &Tuple) -> Option<Slot<U>> {
        let gone = self.slots.remove(tuple);
        self.shrink();
        gone
    }

    fn shrink(&mut self) {
        if let Some(less) = shrink_to(self.slots.len(), self.slots.capacity()) {
            self.slots.shrink_to(less)
        }
    }

    /// Who listens at `local`: who has asked for this very address before who takes any.
    pub fn listener(&mut self, local: SocketAddrV4) -> Option<&mut Listening<U>> {
        let at_port = self.listening.get_mut(&local.port())?;
        let exact = at_port.iter().position(|l| l.addr == *local.ip());
        let any = || at_port.iter().position(|l| l.addr.is_unspecified());
        let i = exact.or_else(any)?;
        Some(&mut at_port[i])
    }

    /// The listener of that number.
    pub fn listener_by_id(&mut self, port: u16, id: u64) -> Option<&mut Listening<U>> {
        let at_port = self.listening.get_mut(&port)?;
        at_port.iter_mut().find(|l| l.id == id)
    }

    /// Would a listener there take another's connections?
    pub fn is_taken(&self, addr: Ipv4Addr, port: u16) -> bool {
        let overlap =
            |l: &Listening<U>| l.addr == addr || l.addr.is_unspecified() || addr.is_unspecified();
        let at_port = self.listening.get(&port);
        at_port.is_some_and(|at_port| at_port.iter().any(overlap))
    }

    /// Takes a listener out, and what is half-open for it.
    pub fn remove_listener(&mut self, port: u16, id: u64) -> Option<Listening<U>> {
        let at_port = self.listening.get_mut(&port)?;
        let i = at_port.iter().position(|l| l.id == id)?;
        let gone = at_port.swap_remove(i);
        if at_port.is_empty() {
            self.listening.remove(&port);
        }
        self.slots
            .retain(|_, slot| !matches!(slot, Slot::Half(half) if half.listener == id));
        self.shrink();
        Some(gone)
    }

    /// Reserves a 4-tuple to `remote`, with a port that cannot be guessed; if there is none, one of what has ended that `reuse`
    /// lets go.
    pub fn reserve(
        &mut self,
        local: Ipv4Addr,
        remote: SocketAddrV4,
        reuse: impl Fn(&Tuple, &TimeWait) -> bool,
    ) -> Option<Tuple> {
        let mut old = None;
        for port in self.ports(remote) {
            let local = SocketAddrV4::new(local, port);
            let tuple = Tuple { local, remote };
            match self.slots.get(&tuple) {
                _ if local == remote => (), // nobody talks to himself
                None => {
                    self.slots.insert(tuple, Slot::Reserved);
                    return Some(tuple);
                }
                Some(Slot::Waiting(w)) if old.is_none() && reuse(&tuple, w) => old = Some(tuple),
                Some(_) => (),
            }
        }
        self.slots.insert(old?, Slot::Reserved);
        self.waiting -= 1;
        old
    }

    /// A port to listen on that nobody else does.
    pub fn free_port(&mut self, addr: Ipv4Addr) -> Option<u16> {
        let nobody = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
        self.ports(nobody).find(|&port| !self.is_taken(addr, port))
    }

    /// All ephemeral ports, from one on that cannot be guessed and was not used for long (RFC 6056, algorithm 3): the next port each
    /// time, counted from a secret place for each remote end. A port at random may be one that the other end still remembers, and
    /// it drops what does not begin after the old connection's end.
    fn ports(&mut self, remote: SocketAddrV4) -> impl Iterator<Item = u16> + use<U> {
        let n = EPHEMERAL.len() as u32;
        let remote = u64::from(remote.ip().to_bits()) << 16 | u64::from(remote.port());
        let place = (self.places.of(&[remote]) % u64::from(n)) as u32;
        let start = (place + self.drawn) % n;
        self.drawn = (self.drawn + 1) % n;
        (0..n).map(move |i| EPHEMERAL.start + ((start + i) % n) as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::{Demux, EPHEMERAL, Tuple};
    use core::net::{Ipv4Addr, SocketAddrV4};

    /// The port that a connection gets that ends at once, and leaves nothing behind here.
    fn port(demux: &mut Demux<()>, to: SocketAddrV4) -> u16 {
        let local = Ipv4Addr::new(10, 0, 0, 1);
        let tuple = demux.reserve(local, to, |_, _| false).unwrap();
        demux.slots.remove(&tuple);
        tuple.local.port()
    }

    #[test]
    fn nothing_is_left_out() {
        let mut demux = Demux::<()>::new(3);
        let local = Ipv4Addr::new(10, 0, 0, 1);
        let mut names: Vec<Tuple> = (1..=1000)
            .map(|n| SocketAddrV4::new(Ipv4Addr::from_bits(n), 80))
            .map(|to| demux.reserve(local, to, |_, _| false).unwrap())
            .collect();
        let mut all = demux.collect(|(name, _)| Some(*name)).unwrap();
        assert!(all.capacity() >= 1000);
        for list in [&mut names, &mut all] {
            list.sort_unstable_by_key(|name| name.remote)
        }
        assert_eq!(all, names);
        let odd = demux.collect(|(name, _)| (name.remote.ip().to_bits() % 2 == 1).then_some(()));
        assert_eq!(odd.unwrap().len(), 500)
    }

    /// Go: TestSelfConnect. Of all ports the one is left out that would be the other end itself.
    #[test]
    fn nobody_talks_to_himself() {
        let mut demux = Demux::<()>::new(3);
        let to = SocketAddrV4::new(Ipv4Addr::LOCALHOST, EPHEMERAL.start + 7);
        let all = core::iter::from_fn(|| demux.reserve(*to.ip(), to, |_, _| false));
        let mut ports = 0;
        for tuple in all {
            assert_ne!(tuple.local, to);
            ports += 1
        }
        assert_eq!(ports, EPHEMERAL.len() - 1)
    }

    /// The other end may remember a connection that has left nothing here.
    #[test]
    fn a_port_comes_again_after_all_others() {
        let mut demux = Demux::new(3);
        let to = SocketAddrV4::new([10, 0, 0, 2].into(), 80);
        let n = EPHEMERAL.len();
        let ports: Vec<u16> = (0..2 * n).map(|_| port(&mut demux, to)).collect();
        assert_eq!(ports[..n], ports[n..]);
        let mut once = ports[..n].to_vec();
        once.sort_unstable();
        assert!(once.into_iter().eq(EPHEMERAL))
    }

    /// Neither another boot's nor another remote end's ports say where one begins.
    #[test]
    fn ports_begin_anywhere() {
        let first = |seed, host| {
            let to = SocketAddrV4::new([10, 0, 0, host].into(), 80);
            port(&mut Demux::new(seed), to)
        };
        let mut firsts: Vec<u16> = (0..1000).map(|i| first(i / 50, i as u8)).collect();
        let rising = firsts.windows(2).filter(|w| w[0] < w[1]).count();
        assert!((400..600).contains(&rising), "{rising} of 1000 rise");
        firsts.sort_unstable();
        let quarters = firsts.chunks(250).map(|quarter| quarter[0]);
        assert!(quarters.zip(0..).all(|(port, i)| {
            port.abs_diff(EPHEMERAL.start + i * (EPHEMERAL.len() / 4) as u16) < 1500
        }))
    }
}
