//! The table of keys and of what each accepts.

use super::Word;
use core::fmt;

use super::{Clock, LogLevel, Netpoll, Policy, Preempt, Queue, Steal};

/// CPUs at most, and so Ps at most: the kernel keeps sets of them in one 64-bit mask.
const MAX_CPUS: u64 = 64;

const ON_OFF: &[&str] = &["on", "off"];

/// What a key accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// One of these words.
    Words(&'static [&'static str]),
    /// A whole number between these, both included.
    Number(u64, u64),
    /// A power of two between these, both included.
    PowerOfTwo(u64, u64),
    /// `none` or `NAME:ACTION`, several separated by commas.
    Point,
    /// Any text.
    Text,
}

impl Values {
    pub(super) fn allow(self, value: &str) -> bool {
        match self {
            Values::Words(words) => words.contains(&value),
            Values::Number(min, max) => {
                parse_number(value).is_some_and(|n| (min..=max).contains(&n))
            }
            Values::PowerOfTwo(min, max) => {
                parse_number(value).is_some_and(|n| n.is_power_of_two() && (min..=max).contains(&n))
            }
            Values::Point => {
                value == "none"
                    || value.len() <= Word::CAPACITY
                        && value
                            .split_once(':')
                            .is_some_and(|(name, act)| !name.is_empty() && !act.is_empty())
            }
            Values::Text => !value.is_empty(),
        }
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Values::Words([only]) => write!(f, "{only}"),
            Values::Words(words) => {
                for (i, word) in words.iter().enumerate() {
                    let before = if i == 0 {
                        ""
                    } else if i + 1 == words.len() {
                        " or "
                    } else {
                        ", "
                    };
                    write!(f, "{before}{word}")?;
                }
                Ok(())
            }
            Values::Number(0, u64::MAX) => f.write_str("a whole number below 2^64"),
            Values::Number(min, max) => write!(f, "a whole number from {min} to {max}"),
            Values::PowerOfTwo(min, max) => write!(f, "a power of two from {min} to {max}"),
            Values::Point => write!(
                f,
                "none or NAME:ACTION, several with commas, {} bytes at most",
                Word::CAPACITY
            ),
            Values::Text => f.write_str("a word"),
        }
    }
}

/// A key of the command line.
#[derive(Debug, PartialEq, Eq)]
pub struct Key {
    pub(super) name: &'static str,
    pub(super) values: Values,
    /// Whether users set it with `--set`; the runner sets the others itself.
    pub(super) for_users: bool,
}

impl Key {
    const fn user(name: &'static str, values: Values) -> Key {
        Key {
            name,
            values,
            for_users: true,
        }
    }

    const fn runner(name: &'static str, values: Values) -> Key {
        Key {
            name,
            values,
            for_users: false,
        }
    }

    /// The key's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What it takes, in words: "async, coop or off".
    pub fn takes(&self) -> impl fmt::Display {
        self.values
    }

    /// Whether `--set` takes it; the others have flags of their own.
    pub fn is_for_users(&self) -> bool {
        self.for_users
    }
}

/// All keys, those of `--set` first and in the order of the contract.
pub const KEYS: &[Key] = &[
    Key::user("procs", Values::Number(1, MAX_CPUS)),
    Key::user("preempt", Values::Words(Preempt::WORDS)),
    Key::user("slice_us", Values::Number(20, 1_000_000)),
    Key::user("wakeup", Values::Words(ON_OFF)),
    Key::user("min_run_us", Values::Number(0, 1_000_000)),
    Key::user("steal", Values::Words(Steal::WORDS)),
    Key::user("queue", Values::Words(Queue::WORDS)),
    Key::user("runnext", Values::Words(ON_OFF)),
    Key::user("sysmon", Values::Words(ON_OFF)),
    Key::user("handoff", Values::Words(ON_OFF)),
    Key::user("spin", Values::Words(ON_OFF)),
    Key::user("mcache", Values::Words(ON_OFF)),
    Key::user("netpoll", Values::Words(Netpoll::WORDS)),
    Key::user("connections", Values::Number(1, 1_000_000)),
    Key::user("policy", Values::Words(Policy::WORDS)),
    Key::user("stack_kib", Values::PowerOfTwo(16, 1024)),
    Key::user("clock", Values::Words(Clock::WORDS)),
    Key::user("seed", Values::Number(0, u64::MAX)),
    Key::user("schedtrace", Values::Number(0, 3_600_000)),
    Key::user("scheddetail", Values::Words(&["0", "1"])),
    Key::user("point", Values::Point),
    Key::runner("log", Values::Words(LogLevel::WORDS)),
    Key::runner("json", Values::Words(&["0", "1"])),
    Key::runner("tty", Values::Words(&["0", "1"])),
    Key::runner("events", Values::Number(0, 1 << 22)),
    Key::runner("icount", Values::Words(&["0", "1"])),
    Key::runner("smp", Values::Number(1, MAX_CPUS)),
    Key::runner("program", Values::Text),
];

/// Digits only: Rust's own parser would take a leading `+`.
pub(super) fn parse_number(text: &str) -> Option<u64> {
    if text.bytes().all(|b| b.is_ascii_digit()) {
        text.parse().ok()
    } else {
        None
    }
}
