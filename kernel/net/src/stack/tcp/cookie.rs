//! SYN cookies (RFC 4987, 3.6): what would be kept of a SYN goes out as our first sequence number and comes back in the ACK. 5 bits of
//! clock, 2 of the longest segment, 25 that nobody can guess. Window scaling and selective acknowledgements do not fit in.

use super::conn::Opening;
use super::demux::Tuple;
use super::segment::Segment;
use crate::stack::secret::Secret;

/// Its clock.
const TURN_NS: u64 = 64_000_000_000;
/// A cookie is good for its own turn and the next.
pub(super) const LIFE_NS: u64 = 2 * TURN_NS;
/// Longest segments that a cookie remembers, rising.
const MSS: [u16; 4] = [536, 1220, 1440, 1460];

/// Makes `opening` one that is known again from its number.
pub(super) fn bake(secret: &Secret, tuple: &Tuple, opening: &mut Opening, now_ns: u64) {
    let index = MSS.iter().rposition(|&m| m <= opening.mss).unwrap_or(0);
    *opening = plain(opening.theirs, index);
    opening.ours = seal(secret, tuple, opening.theirs, now_ns / TURN_NS, index)
}

/// What was asked for with the SYN that `segment` confirms, if its number is one of ours.
pub(super) fn taste(secret: &Secret, segment: &Segment<'_>, now_ns: u64) -> Option<Opening> {
    let theirs = segment.seq().wrapping_sub(1);
    let ours = segment.ack()?.wrapping_sub(1);
    let index = ours as usize >> 25 & 3;
    let now = now_ns / TURN_NS;
    let good = |turn| seal(secret, &segment.tuple, theirs, turn, index) == ours;
    (good(now) || now > 0 && good(now - 1)).then(|| Opening {
        ours,
        window: segment.repr.window_len,
        ..plain(theirs, index)
    })
}

fn plain(theirs: u32, index: usize) -> Opening {
    Opening {
        ours: 0,
        theirs,
        window: 0,
        mss: MSS[index],
        scale: None,
        sack: false,
    }
}

fn seal(secret: &Secret, tuple: &Tuple, theirs: u32, turn: u64, index: usize) -> u32 {
    let [a, b] = tuple.words();
    let hash = secret.of(&[a, b, u64::from(theirs), turn, index as u64]);
    (turn as u32 & 31) << 27 | (index as u32) << 25 | hash as u32 & 0x1ff_ffff
}
