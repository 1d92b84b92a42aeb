//! UDP, likewise.

use super::{Peer, SocketHandle};
use smoltcp::socket::udp::{PacketBuffer, PacketMetadata, Socket};
use smoltcp::wire::{IpAddress, IpEndpoint};
use std::net::SocketAddrV4;

/// Datagrams, and bytes of them, that a socket holds.
const DATAGRAMS: usize = 64;
const BYTES: usize = 64 << 10;

impl Peer {
    /// A socket on `port`.
    ///
    /// # Errors
    /// The port is none.
    pub fn udp_socket(&mut self, port: u16) -> Result<SocketHandle, String> {
        let buffer = || PacketBuffer::new(vec![PacketMetadata::EMPTY; DATAGRAMS], vec![0; BYTES]);
        let mut socket = Socket::new(buffer(), buffer());
        let bound = socket.bind(port);
        bound.map_err(|e| format!("bind to UDP port {port}: {e}"))?;
        Ok(self.sockets.add(socket))
    }

    /// Sends a datagram.
    ///
    /// # Errors
    /// It is too long, or there is nowhere to send it.
    pub fn send_to(
        &mut self,
        at: SocketHandle,
        bytes: &[u8],
        to: SocketAddrV4,
    ) -> Result<(), String> {
        let to = IpEndpoint::new((*to.ip()).into(), to.port());
        self.until("room for a datagram", |peer| {
            let socket = peer.sockets.get_mut::<Socket>(at);
            if !socket.can_send() {
                return Ok(None);
            }
            let sent = socket.send_slice(bytes, to);
            sent.map(Some).map_err(|e| format!("send to {to}: {e}"))
        })
    }

    /// The next datagram, and whose it is.
    ///
    /// # Errors
    /// None comes.
    pub fn recv_from(&mut self, at: SocketHandle) -> Result<(Vec<u8>, SocketAddrV4), String> {
        self.until("a datagram", |peer| {
            let socket = peer.sockets.get_mut::<Socket>(at);
            let Ok((bytes, meta)) = socket.recv() else {
                return Ok(None);
            };
            let IpAddress::Ipv4(ip) = meta.endpoint.addr;
            let from = SocketAddrV4::new(ip, meta.endpoint.port);
            Ok(Some((bytes.to_vec(), from)))
        })
    }
}
