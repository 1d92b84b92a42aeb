//! Two stacks on a wire made by hand.

mod addressing;
mod datagrams;
mod leases;
pub(crate) mod wire;
