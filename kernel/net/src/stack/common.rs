//! Numbers that several protocols share.

use core::ops::Range;

/// Nanoseconds in a second.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// Routers that a packet may pass, unless its sender says otherwise (Linux: `ip_default_ttl`).
pub(crate) const TTL: u8 = 64;

/// Ports that are given to who wants any (Linux: `ip_local_port_range`).
pub(crate) const EPHEMERAL: Range<u16> = 32768..61000;
