//! What a bad cable does to frames, by a seed: the same seed and the same frames, the same faults.

use base::Rng;
use std::collections::VecDeque;
use std::time::Duration;

/// A held frame goes at the latest after so long: nothing may come that it could be late for.
const HELD_MOST: Duration = Duration::from_millis(20);
/// It goes after so many others at most.
const BEHIND_MOST: u32 = 4;

/// How many of a thousand frames suffer what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Lost.
    pub lost: u32,
    /// There twice.
    pub doubled: u32,
    /// Behind up to four later ones.
    pub late: u32,
    /// With one bit turned, anywhere.
    pub damaged: u32,
}

impl Faults {
    /// A good cable.
    pub const NONE: Faults = Faults {
        lost: 0,
        doubled: 0,
        late: 0,
        damaged: 0,
    };
}

/// What they have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Frames that were put in.
    pub frames: u64,
    /// Of them lost.
    pub lost: u64,
    /// Of them there twice.
    pub doubled: u64,
    /// Of them held back.
    pub late: u64,
    /// Of them damaged.
    pub damaged: u64,
}

impl Tally {
    /// Each kind of fault has happened.
    pub fn has_all(&self) -> bool {
        self.lost.min(self.doubled).min(self.late).min(self.damaged) != 0
    }
}

struct Held {
    frame: Vec<u8>,
    behind: u32,
    due: Duration,
}

/// One direction of the cable.
pub struct Injector {
    faults: Faults,
    rng: Rng,
    held: Vec<Held>,
    ready: VecDeque<Vec<u8>>,
    tally: Tally,
}

impl Injector {
    pub fn new(faults: Faults, seed: u64) -> Injector {
        Injector {
            faults,
            rng: Rng::new(seed),
            held: Vec::new(),
            ready: VecDeque::new(),
            tally: Tally::default(),
        }
    }

    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// A frame goes in at this time.
    pub fn put(&mut self, mut frame: Vec<u8>, now: Duration) {
        self.tally.frames += 1;
        // Always as many numbers a frame, so that one kind of fault does not move the others.
        let [lost, doubled, late, damaged] = [(); 4].map(|()| self.rng.below(1000));
        let (bit, behind) = (self.rng.next_u64(), 1 + self.rng.below(BEHIND_MOST));
        if lost < self.faults.lost {
            self.tally.lost += 1;
            return;
        }
        if damaged < self.faults.damaged && !frame.is_empty() {
            self.tally.damaged += 1;
            let bit = bit % (8 * frame.len() as u64);
            frame[bit as usize / 8] ^= 1 << (bit % 8)
        }
        if doubled < self.faults.doubled {
            self.tally.doubled += 1;
            self.ready.push_back(frame.clone())
        }
        if late < self.faults.late {
            self.tally.late += 1;
            let due = now + HELD_MOST;
            self.held.push(Held { frame, behind, due });
            return;
        }
        self.ready.push_back(frame);
        self.held.iter_mut().for_each(|held| held.behind -= 1);
        self.release(|held| held.behind == 0)
    }

    fn release(&mut self, goes: impl Fn(&Held) -> bool) {
        let freed = self.held.extract_if(.., |held| goes(held));
        self.ready.extend(freed.map(|held| held.frame))
    }

    /// A frame that comes out at this time.
    pub fn take(&mut self, now: Duration) -> Option<Vec<u8>> {
        self.release(|held| held.due <= now);
        self.ready.pop_front()
    }
}
