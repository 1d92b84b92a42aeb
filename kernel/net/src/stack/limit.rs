//! So many a second and no more: for answers that anybody out there can ask for.

use super::common::SECOND_NS;

/// A bucket of tokens: it fills at an even rate, and whoever takes one may do what is limited.
pub struct Limit {
    /// Time that a token costs.
    token_ns: u64,
    /// Time that a full bucket is worth.
    full_ns: u64,
    /// What the bucket was worth at `since_ns`.
    worth_ns: u64,
    since_ns: u64,
}

impl Limit {
    /// A full bucket: `per_second` tokens a second, `burst` at once.
    ///
    /// # Panics
    /// If `per_second` is 0.
    pub const fn new(per_second: u64, burst: u64) -> Limit {
        let token_ns = SECOND_NS / per_second;
        let full_ns = token_ns * burst;
        Limit {
            token_ns,
            full_ns,
            worth_ns: full_ns,
            since_ns: 0,
        }
    }

    /// Takes a token. False: there is none at this time.
    pub fn take(&mut self, now_ns: u64) -> bool {
        let passed_ns = now_ns.saturating_sub(self.since_ns);
        self.worth_ns = self.worth_ns.saturating_add(passed_ns).min(self.full_ns);
        self.since_ns = self.since_ns.max(now_ns);
        let has = self.worth_ns >= self.token_ns;
        if has {
            self.worth_ns -= self.token_ns
        }
        has
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_the_rate() {
        let mut limit = Limit::new(100, 5);
        let taken = |limit: &mut Limit, now_ns| (0..50).filter(|_| limit.take(now_ns)).count();
        assert_eq!(taken(&mut limit, SECOND_NS), 5);
        assert_eq!(taken(&mut limit, SECOND_NS), 0);
        assert_eq!(taken(&mut limit, SECOND_NS + 9_999_999), 0);
        assert_eq!(taken(&mut limit, SECOND_NS + 30_000_000), 3);
        // A clock that went back gives nothing, and takes nothing.
        assert_eq!(taken(&mut limit, 0), 0);
        assert_eq!(taken(&mut limit, SECOND_NS + 40_000_000), 1);
        assert_eq!(taken(&mut limit, 100 * SECOND_NS), 5);
    }
}
