//! First sequence numbers (RFC 6528): a clock of 4 µs, and for each 4-tuple a place on it that others cannot guess. So numbers of one
//! 4-tuple rise from connection to connection, and old segments do not fit into new ones.
//!
//! smoltcp draws a connection's first number from its interface's generator. That is how it is given ours: the generator is a
//! linear congruential one (`rand.rs`, sPCG32), so it runs backwards as well, from the state that yields the number to the seed
//! that leads there. A test holds smoltcp to it, and its version is pinned.

use super::demux::Tuple;
use crate::stack::secret::Secret;

const STEP_MUL: u64 = 0xbb2e_fcec_3c39_611d;
const STEP_ADD: u64 = 0x7590_ef39;
/// [`STEP_MUL`]'s inverse.
const BACK_MUL: u64 = inverse(STEP_MUL);

/// Of an odd number modulo 2⁶⁴: Newton's iteration doubles the bits that are right, of which three are at the start.
const fn inverse(x: u64) -> u64 {
    let mut y = x;
    let mut i = 0;
    while i < 5 {
        y = y.wrapping_mul(2u64.wrapping_sub(x.wrapping_mul(y)));
        i += 1
    }
    y
}

/// The first number of a connection called `tuple` that begins now.
pub(super) fn first(secret: &Secret, tuple: &Tuple, now_ns: u64) -> u32 {
    let place = secret.of(&tuple.words()) as u32;
    place.wrapping_add((now_ns / 4_000) as u32)
}

/// The seed of an interface whose first connection begins with `number`.
pub(super) fn seed_for(number: u32) -> u64 {
    let output = |s: u64| (s >> (29 - (s >> 61))) as u32;
    let back = |s: u64| s.wrapping_sub(STEP_ADD).wrapping_mul(BACK_MUL);
    let mut low = 0;
    loop {
        // With its three highest bits clear a state puts out bits 29 to 60.
        let state = u64::from(number) << 29 | low;
        let before = back(state);
        // The draw before becomes the interface's first IPv4 identifier, and is repeated if that is zero.
        let id = output(before);
        if (id ^ id >> 16) as u16 != 0 {
            return back(before);
        }
        low += 1
    }
}

/// Is `a` before `b`?
pub(super) fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}
