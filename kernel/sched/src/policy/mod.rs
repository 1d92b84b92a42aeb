//! Policies: where a G goes that became runnable, as pure functions. A policy of one's own is one file beside `go.rs`
//! and one line in [`place`].

pub mod go;

use base::config::{Config, Policy, Preempt, Queue};

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
    /// Behind the others that were woken and before the P's other Gs.
    Woken,
    /// First after those that were woken.
    BehindWoken,
}

/// Ask the policy that the configuration names, within what its switches allow.
#[inline]
pub fn place(cfg: &Config, event: Event) -> Place {
    let wanted = match cfg.policy {
        Policy::Go => go::place(event),
    };
    match (wanted, cfg.queue, cfg.runnext) {
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
