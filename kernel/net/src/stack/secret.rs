//! What others must not guess: where hashes fall, with which numbers connections begin.

use core::hash::{BuildHasher, Hasher};
use siphasher::sip::SipHasher13;

/// A key of this boot: hashes under it say nothing to who does not have it.
#[derive(Clone)]
pub(crate) struct Secret(u64, u64);

impl Secret {
    pub fn new(seed: u64, purpose: u64) -> Self {
        let mut rng = base::Rng::new(seed ^ purpose.rotate_left(32));
        Self(rng.next_u64(), rng.next_u64())
    }

    /// A hash of some words.
    pub fn of(&self, words: &[u64]) -> u64 {
        let mut hasher = self.build_hasher();
        for &word in words {
            hasher.write_u64(word)
        }
        hasher.finish()
    }
}

impl BuildHasher for Secret {
    type Hasher = SipHasher13;
    fn build_hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_keys(self.0, self.1)
    }
}
