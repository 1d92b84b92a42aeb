//! A connection: an interface of smoltcp's with nothing on it but one socket, under one lock. How it is run: `pump.rs`.
//!
//! So a segment costs the same at ten connections and at ten thousand: smoltcp looks at all sockets of an interface for each packet, and
//! here that is one. (docs/adr/0011)

use super::demux::Tuple;
use super::number::seed_for;
use super::room::Room;
use super::segment::{Segment, bare, whole_packet};
use super::starving::Wait;
use super::wire::{Egress, Wire};
use super::{Config, TcpError};
use crate::stack::{NEVER, Net, Stack};
use alloc::{boxed::Box, sync::Arc, vec::Vec};
use base::{Rank, SpinLock};
use core::any::Any;
use smoltcp::iface::{Interface, SocketHandle, SocketSet};
use smoltcp::socket::tcp::{Socket, SocketBuffer, State};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, IpEndpoint, TcpControl};

/// A connection, shared by who uses it and by who finds it for a segment.
pub(crate) struct Shared<U> {
    pub tuple: Tuple,
    pub(super) inner: SpinLock<Inner<U>>,
    /// I-ROOM: given back after the buffers, which are declared before it.
    _room: Room,
}

/// Something that ends with a connection's memory. Its `drop` takes no lock.
pub type Kept = Box<dyn Any + Send + Sync>;

/// What is under the lock.
pub(super) struct Inner<U> {
    pub iface: Interface,
    pub set: SocketSet<'static>,
    pub handle: SocketHandle,
    pub egress: Egress,
    /// Whom `Out::ready` tells; None: nobody has accepted yet, or it is closed.
    pub user: Option<Arc<U>>,
    /// **I-WANT** Somebody was told `WouldBlock`, and is told once when that changes.
    pub want_read: bool,
    pub want_write: bool,
    /// Why it ended, if not in peace.
    pub error: Option<TcpError>,
    /// Why nothing arrives, as somebody on the way says; for when it is given up. Nothing has come since.
    pub soft_error: Option<TcpError>,
    /// Nobody wants to receive any more.
    pub read_shut: bool,
    /// Closed by its owner, then.
    pub closed_ns: Option<u64>,
    /// The other side said something.
    pub heard_ns: u64,
    /// The other side owes us an answer since.
    pub owed_ns: Option<u64>,
    /// What was sent became less: how much there is, since when.
    pub unsent: usize,
    pub progress_ns: u64,
    /// Time between two questions whether the other side is still there; 0: it is not asked.
    pub keep_ns: u64,
    /// The number behind the other side's FIN.
    pub fin_end: Option<u32>,
    /// It is out of the table: nothing comes any more.
    pub left: bool,
    /// It leaves without a word.
    pub forgotten: bool,
    /// For room in the card.
    pub wait: Wait,
    /// Reminders that will come, the earliest first.
    pub armed: [u64; 4],
    /// Goes after the buffers, which are declared before it.
    pub kept: Option<Kept>,
}

/// What a connection begins with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    /// Our first sequence number.
    pub ours: u32,
    /// Theirs.
    pub theirs: u32,
    pub window: u16,
    pub mss: u16,
    pub scale: Option<u8>,
    pub sack: bool,
}

impl Opening {
    /// What a SYN asks for.
    pub fn of_syn(segment: &Segment<'_>, ours: u32) -> Self {
        let repr = &segment.repr;
        Self {
            ours,
            theirs: segment.seq(),
            window: repr.window_len,
            // RFC 9293, 3.7.1.
            mss: repr.max_seg_size.unwrap_or(536),
            scale: repr.window_scale,
            sack: repr.sack_permitted,
        }
    }
}

impl Config {
    /// By how much windows of ours are scaled, where the other side can (as smoltcp reckons).
    pub(super) fn window_shift(&self) -> u8 {
        (usize::BITS - self.recv_bytes.leading_zeros()).saturating_sub(16) as u8
    }
}

/// What a connection takes: a place, and two buffers.
pub(super) struct Space {
    receive: SocketBuffer<'static>,
    send: SocketBuffer<'static>,
    room: Room,
}

impl Space {
    /// None: there is not so much.
    pub fn take<U>(stack: &Stack<U>) -> Option<Self> {
        let room = stack.tcp.rooms.take()?;
        let config = &stack.config.tcp;
        let buffer = |bytes| {
            let bytes = (config.has_memory)(bytes).then_some(bytes)?;
            zeroed(bytes).map(SocketBuffer::new)
        };
        let (Some(receive), Some(send)) = (buffer(config.recv_bytes), buffer(config.send_bytes))
        else {
            stack.tcp.rooms.turn_away();
            return None;
        };
        Some(Space {
            receive,
            send,
            room,
        })
    }
}

/// So much memory. None: there is not.
fn zeroed(bytes: usize) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    all.try_reserve_exact(bytes).ok()?;
    all.resize(bytes, 0);
    Some(all)
}

/// smoltcp's way to write it.
pub(super) fn instant(ns: u64) -> Instant {
    Instant::from_micros((ns / 1000) as i64)
}

impl<U> Shared<U> {
    /// A connection that another has asked for, as it is when our SYN|ACK is on its way: the SYN is played to the socket, and what it
    /// says to that is not sent again. None: there is no room for it.
    pub(super) fn accepted(net: &Net<'_, U>, tuple: Tuple, opening: &Opening) -> Option<Arc<Self>> {
        let space = Space::take(net.stack)?;
        let mut inner = Inner::new(net, &tuple, opening.ours, space.receive, space.send);
        let local = IpEndpoint::new((*tuple.local.ip()).into(), tuple.local.port());
        // It is new, and the port is not 0.
        let listens = inner.socket().listen(local);
        debug_assert!(listens.is_ok());
        let back = Tuple {
            local: tuple.remote,
            remote: tuple.local,
        };
        let mut syn = bare(&back, opening.theirs, None, opening.window);
        syn.control = TcpControl::Syn;
        syn.max_seg_size = Some(opening.mss);
        syn.window_scale = opening.scale;
        syn.sack_permitted = opening.sack;
        inner.play(&whole_packet(&back, &syn), net.now_ns);
        debug_assert_eq!(inner.socket().state(), State::SynReceived);
        debug_assert_eq!(inner.egress.sight.next, opening.ours.wrapping_add(1));
        Some(Self::around(tuple, inner, space.room))
    }

    /// A connection that we ask for. Nothing is sent yet.
    pub fn connecting(
        net: &Net<'_, U>,
        tuple: Tuple,
        ours: u32,
        space: Space,
        user: Arc<U>,
    ) -> Arc<Self> {
        let mut inner = Inner::new(net, &tuple, ours, space.receive, space.send);
        let end = |a: core::net::SocketAddrV4| IpEndpoint::new((*a.ip()).into(), a.port());
        let Inner {
            iface, set, handle, ..
        } = &mut inner;
        let socket = set.get_mut::<Socket<'_>>(*handle);
        // It is new, and both addresses and ports are given.
        let asked = socket.connect(iface.context(), end(tuple.remote), end(tuple.local));
        debug_assert!(asked.is_ok());
        inner.user = Some(user);
        inner.want_write = true;
        Self::around(tuple, inner, space.room)
    }

    fn around(tuple: Tuple, inner: Inner<U>, room: Room) -> Arc<Self> {
        let inner = SpinLock::new(Rank::NetConn, inner);
        Arc::new(Self {
            tuple,
            inner,
            _room: room,
        })
    }
}

impl<U> Inner<U> {
    fn new(
        net: &Net<'_, U>,
        tuple: &Tuple,
        first: u32,
        receive: SocketBuffer<'static>,
        send: SocketBuffer<'static>,
    ) -> Self {
        let config = &net.stack.config;
        let mut egress = Egress::new(*tuple.remote.ip(), config.mtu);
        let mut of = smoltcp::iface::Config::new(HardwareAddress::Ip);
        of.random_seed = seed_for(first);
        let mut device = Wire::<U>::silent(&mut egress);
        let mut iface = Interface::new(of, &mut device, instant(net.now_ns));
        let local = IpAddress::from(*tuple.local.ip());
        iface.update_ip_addrs(|addrs| {
            // There is room for one.
            let pushed = addrs.push(IpCidr::new(local, 32));
            debug_assert!(pushed.is_ok())
        });
        let mut socket = Socket::new(receive, send);
        socket.set_nagle_enabled(false);
        let delay = config.tcp.ack_delay_ns;
        socket.set_ack_delay((delay > 0).then(|| Duration::from_micros(delay / 1000)));
        let mut set = SocketSet::new(Vec::with_capacity(1));
        let handle = set.add(socket);
        Self {
            iface,
            set,
            handle,
            egress,
            user: None,
            want_read: false,
            want_write: false,
            error: None,
            soft_error: None,
            read_shut: false,
            closed_ns: None,
            heard_ns: net.now_ns,
            owed_ns: None,
            unsent: 0,
            progress_ns: net.now_ns,
            keep_ns: 0,
            fin_end: None,
            left: false,
            forgotten: false,
            wait: Wait::No,
            armed: [NEVER; 4],
            kept: None,
        }
    }

    pub fn socket(&mut self) -> &mut Socket<'static> {
        self.set.get_mut::<Socket<'static>>(self.handle)
    }

    /// SYN was sent, or come, and no more.
    pub fn is_opening(&mut self) -> bool {
        matches!(self.socket().state(), State::SynSent | State::SynReceived)
    }

    /// Ends it with RST, for that reason.
    pub fn abort(&mut self, why: TcpError) {
        self.error.get_or_insert(why);
        self.socket().abort()
    }
}
