//! First sequence numbers (RFC 6528): a clock, and for each 4-tuple a place on it that others cannot guess. So numbers of one
//! 4-tuple rise from connection to connection, and old segments do not fit into new ones.
//!
//! smoltcp draws a connection's first number from its interface's generator. That is how it is given ours: the generator is a
//! linear congruential one (`rand.rs`, sPCG32), so it runs backwards as well, from the state that yields the number to the seed
//! that leads there. A test holds smoltcp to it, and its version is pinned.

use super::demux::Tuple;
use crate::stack::secret::Secret;

/// A connection that sends faster than one byte in this time ends beyond where the next one of its 4-tuple begins. RFC 6528 has 4 µs,
/// which any connection outruns today; this is Linux's, and the numbers come round in 275 s.
const CLOCK_NS: u64 = 64;
const STEP_MUL: u64 = 0xbb2e_fcec_3c39_611d;
const STEP_ADD: u64 = 0x7590_ef39;
/// [`STEP_MUL`]'s inverse.
const BACK_MUL: u64 = inverse(STEP_MUL);

/// Of an odd number modulo 2⁶⁴: Newton's iteration doubles the bits that are right, of which three are at the start.
const fn inverse(x: u64) -> u64 {
    let mut y = x;
    let mut i = 0;
    while i < 5 {
        y = y.wrapping_mul(2u64.wrapping_sub(x.wrapping_mul(y)));
        i += 1
    }
    y
}

/// The first number of a connection called `tuple` that begins now.
pub(super) fn first(secret: &Secret, tuple: &Tuple, now_ns: u64) -> u32 {
    let place = secret.of(&tuple.words()) as u32;
    place.wrapping_add((now_ns / CLOCK_NS) as u32)
}

/// The seed of an interface whose first connection begins with `number`.
pub(super) fn seed_for(number: u32) -> u64 {
    let output = |s: u64| (s >> (29 - (s >> 61))) as u32;
    let back = |s: u64| s.wrapping_sub(STEP_ADD).wrapping_mul(BACK_MUL);
    let mut low = 0;
    loop {
        // With its three highest bits clear a state puts out bits 29 to 60.
        let state = u64::from(number) << 29 | low;
        let before = back(state);
        // The draw before becomes the interface's first IPv4 identifier, and is repeated if that is zero.
        let id = output(before);
        if (id ^ id >> 16) as u16 != 0 {
            return back(before);
        }
        low += 1
    }
}

/// Is `a` before `b`?
pub(super) fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::{CLOCK_NS, first, seed_for};
    use crate::stack::secret::Secret;
    use crate::stack::tcp::Tuple;
    use base::Rng;
    use smoltcp::iface::{Config, Interface, SocketSet};
    use smoltcp::phy::{Device, Loopback, Medium, RxToken};
    use smoltcp::socket::tcp::{Socket, SocketBuffer};
    use smoltcp::time::Instant;
    use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, TcpPacket};

    /// The number of the SYN that smoltcp sends with that seed.
    fn number_of(seed: u64) -> u32 {
        let mut device = Loopback::new(Medium::Ip);
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = seed;
        let mut iface = Interface::new(config, &mut device, Instant::ZERO);
        let ip = IpAddress::v4(10, 0, 0, 1);
        iface.update_ip_addrs(|a| a.push(IpCidr::new(ip, 32)).unwrap());
        let buffer = || SocketBuffer::new(vec![0; 64]);
        let mut set = SocketSet::new(vec![]);
        let handle = set.add(Socket::new(buffer(), buffer()));
        let socket = set.get_mut::<Socket<'_>>(handle);
        let to = (IpAddress::v4(10, 0, 0, 2), 80);
        socket.connect(iface.context(), to, (ip, 1)).unwrap();
        iface.poll_egress(Instant::ZERO, &mut device, &mut set);
        let (syn, _) = device.receive(Instant::ZERO).unwrap();
        syn.consume(|p| TcpPacket::new_unchecked(&p[20..]).seq_number().0 as u32)
    }

    #[test]
    fn connections_begin_where_they_are_told() {
        let mut rng = Rng::new(1);
        let some = [0, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX];
        for number in some
            .into_iter()
            .chain((0..500).map(|_| rng.next_u64() as u32))
        {
            assert_eq!(number_of(seed_for(number)), number)
        }
    }

    /// Numbers of one 4-tuple rise; those of two have nothing to do with each other.
    #[test]
    fn first_numbers() {
        let secret = Secret::new(7, 1);
        let tuple = |port| Tuple {
            local: std::net::SocketAddrV4::new([10, 0, 0, 1].into(), port),
            remote: std::net::SocketAddrV4::new([10, 0, 0, 2].into(), 80),
        };
        let at = |port, ns| first(&secret, &tuple(port), ns);
        assert_eq!(at(1, 1000 * CLOCK_NS).wrapping_sub(at(1, 0)), 1000);
        let near = (0..1000).filter(|&p| at(p, 0).abs_diff(at(p + 1, 0)) < 1 << 20);
        assert!(near.count() < 10)
    }
}
