//! Two stacks on a wire made by hand.

mod addressing;
pub(crate) mod wire;
