//! Two stacks on a wire made by hand.

mod addressing;
mod datagrams;
mod leases;
mod faults;
mod lives;
mod streams;
mod talk;
pub(crate) mod wire;
mod world;
