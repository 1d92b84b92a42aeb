//! The flush points of the bare machine. On the host machine nothing is unmapped, so nothing happens at them.

/// This CPU runs from now on.
pub fn cpu_online() {}

/// A point at which this CPU can forget what it remembers of page tables.
#[inline]
pub fn flush_point() -> bool {
    false
}

/// This CPU halts next.
#[inline]
pub fn before_halt() {}

/// This CPU woke from a halt.
#[inline]
pub fn after_halt() {}
