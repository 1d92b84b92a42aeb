//! Two stacks on a wire made by hand.

mod addressing;
mod datagrams;
pub(crate) mod wire;
