//! Two stacks on a wire made by hand.

mod addressing;
mod asked;
mod datagrams;
mod ended;
mod faults;
mod hostile;
mod leases;
mod lives;
mod looped;
mod many;
mod queues;
mod room;
mod silence;
mod streams;
mod talk;
mod undeliverable;
pub(crate) mod wire;
mod world;
