//! Events: 16 bytes each, a stamp and a packed word.
//!
//! ```text
//!  63      52 51                             0
//!  +---------+--------------------------------+
//!  | seq     | ns, 52 days of them            |
//!  +---------+--------------------------------+
//!  63          32 31        12 11    6 5     0
//!  +-------------+------------+-------+-------+
//!  | goid, low   | arg, cut   | cpu   | kind  |
//!  +-------------+------------+-------+-------+
//! ```
//!
//! **I-SEQ** The events about one G are numbered from its creation on, by whoever owns it at that moment (I-STATE). So their
//! order is known however equal or skewed the stamps of two CPUs are, and a gap shows that one is missing.

use core::fmt;

/// Largest `arg` that an event holds; a larger one is stored as this.
pub const ARG_MAX: u32 = (1 << 20) - 1;

/// Numbers of a G's events begin again after so many.
pub const SEQS: u32 = 1 << 12;
const NS_BITS: u32 = 52;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What happened. The comments say what `goid` and `arg` are.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Kind {
            $($(#[$doc])* $name,)*
        }
        impl Kind {
            /// All kinds, in the order of their numbers.
            pub const ALL: &[Kind] = &[$(Kind::$name),*];
            /// The name, as in Go's execution tracer where it has the event.
            pub const fn name(self) -> &'static str {
                match self { $(Kind::$name => stringify!($name),)* }
            }
        }
    };
}

kinds! {
    /// `goid` was created; `arg`: low bits of its creator's number.
    GoCreate,
    /// `goid` begins or goes on to run on this CPU; `arg`: its P.
    GoStart,
    /// `goid` gave up the CPU by itself and is queued.
    GoYield,
    /// `goid` was made to give up the CPU and is queued; `arg`: 0 its slice was over, 1 the world stops, 2 it gives way to
    /// a G that was woken.
    GoPreempt,
    /// `goid` waits; `arg`: the reason's number.
    GoPark,
    /// `goid` was made runnable; `arg`: low bits of who did it, 0 for nobody.
    GoReady,
    /// `goid` ended.
    GoEnd,
    /// `goid` entered a system call or a blocking section.
    GoSyscall,
    /// `goid` came back from one; `arg`: 0 it is queued for want of a P, else twice the number of its P, plus 1.
    GoSyscallExit,
    /// `goid` was the first of a stolen batch; `arg`: P that it was stolen from.
    Steal,
    /// `goid` was the first of a batch taken from the global queue.
    GlobalGet,
    /// An idle CPU was woken; `arg`: its number.
    Wake,
    /// This CPU found nothing and starts to look around; `arg`: how many CPUs do so.
    Spin,
    /// This CPU halts.
    Idle,
    /// This CPU came back from a halt; `arg`: the pending bits that it found.
    Unidle,
    /// Timers fired; `arg`: how many.
    TimerFire,
    /// A P was handed to another CPU; `arg`: the P.
    Handoff,
    /// A P was taken back from a system call; `arg`: the P.
    Retake,
    /// The netpoller made Gs runnable; `arg`: how many.
    NetPoll,
    /// The world was stopped (`arg` 1) or started again (0).
    StopTheWorld,
    /// P `arg` is on the idle list from here on.
    ProcIdle,
    /// P `arg` was taken off it, by this CPU for itself or for another.
    ProcTake,
    /// `goid` runs on this CPU alone from here on.
    GoLock,
    /// It may run anywhere again.
    GoUnlock,
    /// `goid` goes on on P `arg`: its own went away.
    GoMove,
    /// The CPU looked at its clock, as it does once a slice while it is busy.
    Tick,
    /// The CPU served its timer `arg` µs late: interrupts or preemption were off, under `goid` if it is not 0.
    Late,
    /// A mark of the program's own.
    User,
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, nanoseconds since machine start.
    pub ns: u64,
    /// What.
    pub kind: Kind,
    /// CPU that recorded it.
    pub cpu: u8,
    /// Low half of the G's number, 0 for no G.
    pub goid: u32,
    /// See [`Kind`]; [`ARG_MAX`] if it was that or more.
    pub arg: u32,
    /// Number among the events about this G, modulo [`SEQS`]: 1 for its creation. 0 where it is about none.
    pub seq: u16,
}

/// An event without its time, packed.
pub(crate) fn pack(kind: Kind, cpu: usize, goid: u64, arg: u32) -> u64 {
    (goid & 0xffff_ffff) << 32
        | u64::from(arg.min(ARG_MAX)) << 12
        | (cpu as u64 & 0x3f) << 6
        | kind as u64
}

/// The stamp of an event.
#[inline]
pub(crate) fn stamp(ns: u64, seq: u32) -> u64 {
    ns & ((1 << NS_BITS) - 1) | u64::from(seq % SEQS) << NS_BITS
}

impl Event {
    /// From the two words of a slot; `None` if they hold no kind: written by a later version, or not at all.
    #[inline]
    pub fn unpack(stamp: u64, word: u64) -> Option<Event> {
        Some(Event {
            ns: stamp & ((1 << NS_BITS) - 1),
            seq: (stamp >> NS_BITS) as u16,
            kind: *Kind::ALL.get(word as usize & 0x3f)?,
            cpu: (word >> 6 & 0x3f) as u8,
            goid: (word >> 32) as u32,
            arg: (word >> 12) as u32 & ARG_MAX,
        })
    }
}

/// One line without its end: `   12.345678 s  cpu 0  GoPark  G 7  3`.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (s, ns) = (self.ns / 1_000_000_000, self.ns % 1_000_000_000);
        write!(
            f,
            "{s:4}.{ns:09} s  cpu {}  {:<13}",
            self.cpu,
            self.kind.name()
        )?;
        match self.goid {
            0 => f.write_str("  -")?,
            goid => write!(f, "  G {goid}")?,
        }
        write!(f, "  {}", self.arg)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_keeps_all_fields() {
        for &kind in Kind::ALL {
            let word = pack(kind, 63, 0x1_2345_6789, ARG_MAX + 5);
            let event = Event::unpack(stamp(17, SEQS + 5), word).unwrap();
            let want = Event {
                ns: 17,
                kind,
                cpu: 63,
                goid: 0x2345_6789,
                arg: ARG_MAX,
                seq: 5,
            };
            assert_eq!(event, want);
        }
        assert!(Kind::ALL.len() < 64);
        assert_eq!(Event::unpack(0, 63), None);
    }

    #[test]
    fn an_event_is_a_readable_line() {
        let event = Event::unpack(1_002_003_004, pack(Kind::GoPark, 2, 7, 3)).unwrap();
        assert_eq!(
            event.to_string(),
            "   1.002003004 s  cpu 2  GoPark         G 7  3"
        );
    }
}
