//! Time histogram (Go: histogram.go, `timeHistogram`): four linear buckets in each power of two, so that a value is known to
//! a quarter of itself at worst, from 64 ns to three days.
//!
//! ```text
//!   super-bucket   values in ns            each of its 4 buckets
//!        0         0 ..        256          64 ns wide
//!        1         256 ..      512          64
//!        2         512 ..    1 024         128
//!        …
//!       39         2^46 ..   2^47        2^44
//!   from 2^47 on: overflow
//! ```

extern crate alloc;
use alloc::boxed::Box;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Values with fewer bits share the first super-bucket (Go: `timeHistMinBucketBits`).
const MIN_BITS: u32 = 9;
/// Values with more bits overflow (Go: `timeHistMaxBucketBits`).
const MAX_BITS: u32 = 48;
/// Buckets in a super-bucket, as a power of two (Go: `timeHistSubBucketBits`).
const SUB_BITS: u32 = 2;
/// The same as a number.
const SUBS: usize = 1 << SUB_BITS;
/// Number of buckets.
pub const BUCKETS: usize = ((MAX_BITS - MIN_BITS + 1) as usize) * SUBS;

/// The bucket that a value belongs to, `None` if it is above all.
#[inline]
pub const fn bucket(ns: u64) -> Option<usize> {
    let bits = u64::BITS - ns.leading_zeros();
    let (upper, sub) = if bits < MIN_BITS {
        (0, ns >> (MIN_BITS - 1 - SUB_BITS))
    } else {
        (
            (bits - MIN_BITS + 1) as usize,
            (ns >> (bits - 1 - SUB_BITS)) % SUBS as u64,
        )
    };
    let index = upper * SUBS + sub as usize;
    if index < BUCKETS { Some(index) } else { None }
}

/// Smallest value of a bucket, in ns. That of bucket [`BUCKETS`] is where overflow begins.
pub const fn bucket_start_ns(index: usize) -> u64 {
    let (upper, sub) = ((index / SUBS) as u32, (index % SUBS) as u64);
    if upper == 0 {
        return sub << (MIN_BITS - 1 - SUB_BITS);
    }
    let bits = upper + MIN_BITS - 1; // values of `bits` bits
    (1 << (bits - 1)) + (sub << (bits - 1 - SUB_BITS))
}

/// A histogram that one writer fills and anybody reads.
pub struct TimeHistogram {
    counts: [AtomicU64; BUCKETS],
    overflow: AtomicU64,
}

impl TimeHistogram {
    /// An empty one.
    pub const fn new() -> Self {
        Self {
            counts: [const { AtomicU64::new(0) }; BUCKETS],
            overflow: AtomicU64::new(0),
        }
    }

    /// Count one value. Two writers at a time may lose one of them.
    pub fn record(&self, ns: u64) {
        let c = bucket(ns).map_or(&self.overflow, |i| &self.counts[i]);
        c.store(c.load(Relaxed) + 1, Relaxed) // Relaxed: figures, which order nothing
    }

    /// Add what it holds to a copy.
    pub fn add_to(&self, sum: &mut Counts) {
        for (to, from) in sum.counts.iter_mut().zip(&self.counts) {
            *to += from.load(Relaxed)
        }
        sum.overflow += self.overflow.load(Relaxed)
    }
}

impl Default for TimeHistogram {
    fn default() -> Self {
        Self::new()
    }
}

/// What a histogram held at some instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Values in each bucket. In the heap: a dozen of these on a small stack would be too much for it.
    pub counts: Box<[u64; BUCKETS]>,
    /// Values above all buckets.
    pub overflow: u64,
}

impl Counts {
    /// Nothing.
    pub fn new() -> Self {
        Self {
            counts: Box::new([0; BUCKETS]),
            overflow: 0,
        }
    }

    /// How many values.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum::<u64>() + self.overflow
    }

    /// An upper bound for the smallest value that at least `per_mille` thousandths of all values do not exceed: 500 is the
    /// median, 999 is p99.9. In ns: the end of that value's bucket, less than a quarter above it. None without values.
    ///
    /// # Panics
    /// If `per_mille` is above 1000.
    pub fn quantile_ns(&self, per_mille: u32) -> Option<u64> {
        assert!(per_mille <= 1000, "{per_mille} thousandths");
        let total = self.total();
        if total == 0 {
            return None;
        }
        let rank = (u128::from(total) * u128::from(per_mille)).div_ceil(1000) as u64;
        let mut seen = 0;
        let at = self.counts.iter().position(|n| {
            seen += n;
            seen >= rank.max(1)
        });
        Some(at.map_or(u64::MAX, |i| bucket_start_ns(i + 1) - 1))
    }

    /// The values that came since `before` was taken.
    pub fn since(&self, before: &Counts) -> Counts {
        let mut d = self.clone();
        for (to, from) in d.counts.iter_mut().zip(before.counts.iter()) {
            *to = to.saturating_sub(*from)
        }
        d.overflow = d.overflow.saturating_sub(before.overflow);
        d
    }
}

impl Default for Counts {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(any(ringo_loom, ringo_shuttle))))]
mod tests {
    use super::*;

    /// Go: histogram_test.go, TestTimeHistogram and TestTimeHistogramMetricsBuckets.
    #[test]
    fn bucket_bounds() {
        let starts: Vec<u64> = (0..=BUCKETS).map(bucket_start_ns).collect();
        assert_eq!(
            starts[..13],
            [
                0, 64, 128, 192, 256, 320, 384, 448, 512, 640, 768, 896, 1024
            ]
        );
        assert!(starts.windows(2).all(|w| w[0] < w[1]), "rising");
        for i in 0..BUCKETS {
            let (lo, hi) = (starts[i], starts[i + 1]);
            assert_eq!(bucket(lo), Some(i), "first of {i}");
            assert_eq!(bucket(hi - 1), Some(i), "last of {i}");
            assert!(i < 4 || (hi - lo) * 4 <= lo, "bucket {i} is too wide");
        }
        assert_eq!(starts[BUCKETS], 1 << 47);
        assert_eq!(bucket(1 << 47), None);
        assert_eq!(bucket(u64::MAX), None);
    }

    #[test]
    fn every_value_is_counted_once_in_its_bucket() {
        let h = TimeHistogram::new();
        let mut want = Counts::new();
        for i in 0..BUCKETS {
            for n in 0..=i % 5 {
                h.record(bucket_start_ns(i) + n as u64);
                want.counts[i] += 1
            }
        }
        h.record(u64::MAX);
        want.overflow = 1;
        let mut got = Counts::new();
        h.add_to(&mut got);
        assert_eq!(got, want);
        h.add_to(&mut got);
        assert_eq!(got.since(&want), want);
    }

    #[test]
    fn quantiles_bound_from_above() {
        let h = TimeHistogram::new();
        for us in 1..=1000 {
            h.record(us * 1000)
        }
        let mut c = Counts::new();
        assert_eq!(c.quantile_ns(500), None);
        h.add_to(&mut c);
        for (per_mille, true_ns) in [
            (500, 500_000),
            (900, 900_000),
            (990, 990_000),
            (999, 999_000),
        ] {
            let q = c.quantile_ns(per_mille).unwrap();
            assert!(
                true_ns <= q && q < true_ns * 5 / 4,
                "{per_mille}: {q} for {true_ns}"
            );
        }
        assert!(c.quantile_ns(0).unwrap() >= 1000);
        h.record(u64::MAX);
        h.add_to(&mut c);
        assert_eq!(c.quantile_ns(1000), Some(u64::MAX));
    }
}
