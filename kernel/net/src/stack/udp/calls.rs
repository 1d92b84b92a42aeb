//! UDP as a part of the stack: what callers of sockets call, and what the packets do.

use super::{BindError, Path, Socket, Udp, UdpError, Verdict};
use crate::stack::common::TTL;
use crate::stack::ipv4::{Came, Sent};
use crate::stack::{Counter, Net, Out, Ready, Stack};
use alloc::sync::Arc;
use core::mem;
use core::net::{Ipv4Addr, SocketAddrV4};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    IPV4_HEADER_LEN, Icmpv4DstUnreachable as Code, IpProtocol, Ipv4Packet, Ipv4Repr,
};

/// The longest packet to ourselves: what IPv4 can say.
const LOOPED_BYTES: usize = 65_535;

impl<U> Stack<U> {
    /// A socket at `local`: 0.0.0.0 is every address, port 0 one that is free and hard to guess. `user` is told of readiness. Its
    /// other calls are at [`Socket`].
    ///
    /// # Errors
    /// `NotOurs`, `InUse`.
    pub fn udp_bind(&self, local: SocketAddrV4, user: Arc<U>) -> Result<Arc<Socket<U>>, UdpError> {
        bind(self, &self.udp, local, user)
    }

    /// Frees the port. What was not received is gone, calls that follow get `Closed`; who waits is told by the caller.
    pub fn udp_close(&self, socket: &Arc<Socket<U>>) {
        self.udp.close(socket)
    }

    /// Talks to `peer` alone.
    ///
    /// # Errors
    /// `Unreachable`.
    pub fn udp_connect(&self, socket: &Socket<U>, peer: SocketAddrV4) -> Result<(), UdpError> {
        if peer.port() == 0 {
            return Err(UdpError::Unreachable);
        }
        self.source(*socket.local().ip(), *peer.ip())?;
        socket.connect(Some(peer));
        Ok(())
    }

    /// Where the socket is bound; a connected one: from where it sends.
    pub fn udp_local(&self, socket: &Socket<U>) -> SocketAddrV4 {
        let local = socket.local();
        let dest = socket.peer().map(|peer| *peer.ip());
        let source = dest.and_then(|dest| self.source(*local.ip(), dest).ok());
        SocketAddrV4::new(source.unwrap_or(*local.ip()), local.port())
    }

    /// Sends `data` to `dest` (None: to the peer). How many bytes: all.
    ///
    /// # Errors
    /// All but `NotOurs`, `InUse`. After `WouldBlock` the socket is told when to try again.
    pub fn udp_send(
        &self,
        socket: &Arc<Socket<U>>,
        dest: Option<SocketAddrV4>,
        data: &[u8],
        now_ns: u64,
        out: &mut dyn Out<U>,
    ) -> Result<usize, UdpError> {
        let dest = dest.or(socket.peer());
        let to_all = dest.is_some_and(|dest| self.is_for_all(*dest.ip()));
        let dest = socket.dest(dest, to_all)?;
        let source = self.source(*socket.local().ip(), *dest.ip())?;
        let source = SocketAddrV4::new(source, socket.local().port());
        let mut net = self.net(now_ns, out);
        let sent = net.send_datagram(source, dest, data)?;
        let sent = match sent {
            Sent::Full if !socket.set_waits(true) => {
                self.udp_waits.lock().push(socket.clone());
                // There may have been room before that was noted.
                net.send_datagram(source, dest, data)?
            }
            sent => sent,
        };
        net.run_looped();
        match sent {
            Sent::Full => Err(UdpError::WouldBlock),
            // What is lost on the way is lost.
            Sent::Gone | Sent::Dropped => Ok(data.len()),
        }
    }

    fn is_for_all(&self, ip: Ipv4Addr) -> bool {
        ip.is_broadcast() || self.address().is_some_and(|a| a.is_broadcast(ip))
    }

    /// From which address a socket that is bound to `local` sends to `dest`.
    pub(crate) fn source(&self, local: Ipv4Addr, dest: Ipv4Addr) -> Result<Ipv4Addr, UdpError> {
        let nowhere = dest.is_unspecified() || dest.is_multicast();
        let found = match self.address() {
            Some(ours) if dest.is_broadcast() => Some(ours.ip),
            _ => self.source_for(dest).filter(|_| !nowhere),
        };
        let source = found.ok_or(UdpError::Unreachable)?;
        let looped = dest.is_loopback() || source == dest;
        if local.is_unspecified() {
            Ok(source)
        } else if local.is_loopback() && !looped {
            // What is this computer's own does not leave it.
            Err(UdpError::Unreachable)
        } else {
            Ok(local)
        }
    }
}

/// A socket in `table`, if the address is ours.
pub(in crate::stack) fn bind<U>(
    stack: &Stack<U>,
    table: &Udp<U>,
    local: SocketAddrV4,
    user: Arc<U>,
) -> Result<Arc<Socket<U>>, UdpError> {
    let ip = *local.ip();
    let any = ip.is_unspecified() || ip.is_loopback();
    if !any && stack.address().is_none_or(|a| a.ip != ip) {
        return Err(UdpError::NotOurs);
    }
    table.bind(local, user).map_err(|error| match error {
        BindError::InUse | BindError::NoPorts => UdpError::InUse,
    })
}

impl<U> Net<'_, U> {
    /// A UDP packet for us.
    pub(in crate::stack) fn udp_came(&mut self, packet: &Came<'_>) {
        let path = Path {
            source: packet.source,
            dest: packet.dest,
            to_all: packet.broadcast,
        };
        let out = &mut *self.out;
        let mut readable = |user: &Arc<U>| out.ready(user, Ready::Readable);
        let udp = &self.stack.udp;
        let verdict = udp.input(path, packet.payload, packet.checked, &mut readable);
        let counter = match verdict {
            Verdict::Delivered => return,
            Verdict::Nobody => Counter::UdpNobody,
            Verdict::Malformed => Counter::UdpMalformed,
            Verdict::Checksum => Counter::UdpChecksum,
            Verdict::QueueFull => Counter::UdpQueueFull,
        };
        self.stack.stats.count(counter);
        if verdict == Verdict::Nobody {
            self.complain(Code::PortUnreachable, packet)
        }
    }

    /// The card has room again: who waits for that may try.
    pub(in crate::stack) fn udp_room(&mut self) {
        let waiting = mem::take(&mut *self.stack.udp_waits.lock());
        for socket in waiting {
            socket.set_waits(false);
            self.out.ready(socket.user(), Ready::Writable)
        }
    }

    /// A datagram, as IP carries it.
    fn send_datagram(
        &mut self,
        source: SocketAddrV4,
        dest: SocketAddrV4,
        data: &[u8],
    ) -> Result<Sent, UdpError> {
        let looped = dest.ip().is_loopback() || dest.ip() == source.ip();
        let most = if looped {
            LOOPED_BYTES
        } else {
            self.stack.config.mtu
        };
        let bytes = IPV4_HEADER_LEN + super::HEADER_BYTES + data.len();
        if bytes > most {
            return Err(UdpError::TooLong);
        }
        let header = super::header(source.port(), dest.port(), data.len());
        let repr = Ipv4Repr {
            src_addr: *source.ip(),
            dst_addr: *dest.ip(),
            next_header: IpProtocol::Udp,
            payload_len: header.len() + data.len(),
            hop_limit: TTL,
        };
        let mut fill = |to: &mut [u8]| {
            let (ip, rest) = to.split_at_mut(IPV4_HEADER_LEN);
            let caps = ChecksumCapabilities::default();
            repr.emit(&mut Ipv4Packet::new_unchecked(ip), &caps);
            rest[..header.len()].copy_from_slice(&header);
            rest[header.len()..].copy_from_slice(data)
        };
        Ok(self.send_ipv4(*dest.ip(), IpProtocol::Udp, bytes, &mut fill))
    }
}
