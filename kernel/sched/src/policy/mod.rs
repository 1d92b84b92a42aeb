//! Policies: where a G goes that became runnable, from whom an M without work takes some first, and who loses its CPU at a
//! tick, as pure functions. A policy of one's own is one file beside `go.rs`, one line in `policies!` below, and one in
//! `base::config::Policy`, which names it on the command line: docs/policy.md.

use base::config::{Config, Policy, Preempt, Queue};

/// The modules, and the functions that ask the one that is in force.
macro_rules! policies {
    ($($variant:ident => $file:ident),+ $(,)?) => {
        $(pub mod $file;)+

        #[inline]
        fn wanted(policy: Policy, event: Event) -> Place {
            match policy {
                $(Policy::$variant => $file::place(event),)+
            }
        }

        /// In which order a thief that holds P `own` visits the `n` Ps. `coprimes` are the steps that visit all of them,
        /// `seed` is a random number.
        pub fn victims(policy: Policy, coprimes: &[u32], n: u32, own: u32, seed: u32) -> Victims {
            match policy {
                $(Policy::$variant => $file::victims(coprimes, n, own, seed),)+
            }
        }

        /// Has the running G to give its CPU up at this tick?
        pub fn preempt(policy: Policy, running: Running) -> bool {
            match policy {
                $(Policy::$variant => $file::preempt(running),)+
            }
        }

        #[cfg(test)]
        const ALL: &[Policy] = &[$(Policy::$variant),+];
    };
}

policies! {
    Go => go,
    Fifo => fifo,
    Lifo => lifo,
}

/// Why a G became runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It was just created (Go: `newproc`).
    New,
    /// Somebody woke it (Go: `ready`).
    Ready,
    /// It gave way by itself (Go: `Gosched`).
    Yielded,
    /// It gave way, but only to those on its own P (Go: `goyield`).
    YieldedLocally,
    /// The world is being stopped: it goes on right after (Go 1.26: `gopreempt_m` for a stop).
    Stopped,
    /// Its slice was over (Go: `gopreempt_m`).
    Preempted,
    /// The clock or a device woke it (in Go: `ready`, as if somebody had).
    Woken,
    /// A woken G takes its place for a moment.
    GaveWay,
}

/// Where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Next on this P; the G that was there moves to the local tail.
    RunNext,
    /// End of this P's ring.
    LocalTail,
    /// End of the global queue.
    GlobalTail,
    /// Front of the global queue.
    GlobalHead,
    /// Behind the others that were woken and before the P's other Gs.
    Woken,
    /// First after those that were woken.
    BehindWoken,
}

/// An order in which a thief visits the `n` Ps: `first`, and then each time `step` further, round. A `step` that has no common
/// divisor with `n` visits all, and a policy must return such a one. The thief's own P is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victims {
    /// The first one's number.
    pub first: u32,
    /// From each to the next.
    pub step: u32,
}

/// What is known at a tick, once in a slice's time, about the G that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    /// The tick before found it, or the chain whose slice it inherited, at the same slice.
    pub had_slice: bool,
    /// Somebody is runnable on its P or in the global queue.
    pub others_wait: bool,
}

/// Ask the policy that the configuration names, within what its switches allow.
#[inline]
pub fn place(cfg: &Config, event: Event) -> Place {
    match (wanted(cfg.policy, event), cfg.queue, cfg.runnext) {
        (Place::GlobalHead, Queue::Global, _) => Place::GlobalHead,
        (_, Queue::Global, _) => Place::GlobalTail,
        (Place::Woken, ..) if !cfg.wakeup || cfg.preempt == Preempt::Off => {
            place(cfg, Event::Ready)
        }
        (Place::RunNext, _, false) => Place::LocalTail,
        (place, ..) => place,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steal::StealOrder;

    #[test]
    fn every_policy_has_a_word() {
        let words: Vec<_> = ALL.iter().map(|policy| policy.word()).collect();
        assert_eq!(words, Policy::WORDS);
    }

    #[test]
    fn every_policy_visits_every_p() {
        for &policy in ALL {
            for n in 1..=64 {
                let order = StealOrder::new(n);
                for seed in 0..5 * n {
                    let mut seen: Vec<_> = order.walk(policy, seed % n, seed).collect();
                    seen.sort_unstable();
                    let all: Vec<_> = (0..n as usize).collect();
                    assert_eq!(seen, all, "{policy}, {n} Ps, seed {seed}");
                }
            }
        }
    }

    #[test]
    fn policies_differ() {
        let place = |policy, event| {
            let cfg = Config {
                policy,
                ..Config::DEFAULT
            };
            place(&cfg, event)
        };
        assert_eq!(place(Policy::Go, Event::New), Place::RunNext);
        assert_eq!(place(Policy::Fifo, Event::New), Place::LocalTail);
        assert_eq!(place(Policy::Lifo, Event::New), Place::GlobalHead);
        let first = |policy| StealOrder::new(5).walk(policy, 2, 0).next();
        assert_eq!(first(Policy::Go), Some(0));
        assert_eq!(first(Policy::Fifo), Some(3));
        assert_eq!(first(Policy::Lifo), Some(1));
        let alone = Running {
            had_slice: true,
            others_wait: false,
        };
        assert!(preempt(Policy::Go, alone) && !preempt(Policy::Fifo, alone));
    }

    #[test]
    fn switches_bound_the_policy() {
        let mut cfg = Config::DEFAULT;
        assert_eq!(place(&cfg, Event::Ready), Place::RunNext);
        assert_eq!(place(&cfg, Event::Woken), Place::Woken);
        cfg.wakeup = false;
        assert_eq!(place(&cfg, Event::Woken), Place::RunNext);
        assert_eq!(place(&cfg, Event::Yielded), Place::GlobalTail);
        cfg.runnext = false;
        assert_eq!(place(&cfg, Event::New), Place::LocalTail);
        cfg.queue = Queue::Global;
        assert_eq!(place(&cfg, Event::New), Place::GlobalTail);
        assert_eq!(place(&cfg, Event::YieldedLocally), Place::GlobalTail);
    }
}
