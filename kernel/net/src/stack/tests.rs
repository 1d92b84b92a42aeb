//! Two stacks on a wire made by hand.

mod addressing;
mod datagrams;
mod faults;
mod leases;
mod lives;
mod streams;
mod talk;
pub(crate) mod wire;
mod world;
