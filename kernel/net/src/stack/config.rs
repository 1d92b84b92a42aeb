//! What a stack is told at its start.

use super::tcp;
use core::net::Ipv4Addr;

/// What a stack is told at its start.
#[derive(Clone, Debug)]
pub struct Config {
    /// The card's address.
    pub mac: [u8; 6],
    /// The longest IP packet, in bytes.
    pub mtu: usize,
    /// The card finishes checksums of frames that go.
    pub offload: bool,
    /// Whence sequence numbers, ports and hashes are drawn; to be kept from others.
    pub seed: u64,
    /// How TCP behaves.
    pub tcp: tcp::Config,
}

impl Config {
    /// For a card of Ethernet that does nothing by itself.
    pub fn new(mac: [u8; 6], seed: u64) -> Self {
        Self {
            mac,
            mtu: 1500,
            offload: false,
            seed,
            tcp: tcp::Config::default(),
        }
    }
}

/// An address of IPv4, and what lies around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Ours.
    pub ip: Ipv4Addr,
    /// Bits of it that our neighbours share, 0 to 32.
    pub prefix: u8,
    /// Who takes packets for everybody else.
    pub gateway: Option<Ipv4Addr>,
}

impl Address {
    /// Is it in our own network?
    pub fn on_link(&self, ip: Ipv4Addr) -> bool {
        (self.ip.to_bits() ^ ip.to_bits()) & self.mask() == 0
    }

    /// All of our network, or everybody.
    pub fn is_broadcast(&self, ip: Ipv4Addr) -> bool {
        ip.is_broadcast()
            || self.prefix < 31 && self.on_link(ip) && ip.to_bits() | self.mask() == u32::MAX
    }

    fn mask(&self) -> u32 {
        u32::MAX
            .checked_shl(32 - u32::from(self.prefix))
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::Address;
    use core::net::Ipv4Addr;

    #[test]
    fn networks() {
        let of = |prefix| Address {
            ip: Ipv4Addr::new(10, 0, 2, 15),
            prefix,
            gateway: None,
        };
        let ip = Ipv4Addr::new;
        assert!(of(24).on_link(ip(10, 0, 2, 200)) && !of(24).on_link(ip(10, 0, 3, 1)));
        assert!(of(0).on_link(ip(99, 0, 3, 1)) && !of(32).on_link(ip(10, 0, 2, 14)));
        assert!(of(24).is_broadcast(ip(10, 0, 2, 255)) && !of(24).is_broadcast(ip(10, 0, 3, 255)));
        assert!(
            of(8).is_broadcast(ip(10, 255, 255, 255)) && of(32).is_broadcast(Ipv4Addr::BROADCAST)
        );
        // In networks of one or two nobody is all (RFC 3021).
        assert!(!of(32).is_broadcast(ip(10, 0, 2, 15)) && !of(31).is_broadcast(ip(10, 0, 2, 15)));
    }
}
