//! What several protocols share.

use core::ops::Range;

/// Nanoseconds in a second.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// Routers that a packet may pass, unless its sender says otherwise (Linux: `ip_default_ttl`).
pub(crate) const TTL: u8 = 64;

/// Ports that are given to who wants any (Linux: `ip_local_port_range`).
pub(crate) const EPHEMERAL: Range<u16> = 32768..61000;

/// Room for so many is kept in a table, whatever is in it.
const KEPT: usize = 256;

/// Gives back what a peak took of memory: to how much a table is to be shrunk that has `len` in it and room for `capacity`. None: it is
/// to be left alone.
pub(crate) fn shrink_to(len: usize, capacity: usize) -> Option<usize> {
    // Moves an eighth at most, and not again before half of that has gone.
    (len < capacity / 8 && capacity > KEPT).then_some(capacity / 4)
}
