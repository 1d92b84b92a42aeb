//! What bad words get: one line.

use core::fmt;

use super::{KEYS, Key, Word};

/// What is wrong with a command line. Its `Display` is one line that says what would be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// A word without `=`.
    NoValue {
        /// The word.
        word: Word,
    },
    /// A key that does not exist.
    UnknownKey {
        /// What stands before the `=`.
        key: Word,
    },
    /// A value that the key never accepts.
    BadValue {
        /// The key.
        key: &'static Key,
        /// What stands after the `=`.
        value: Word,
    },
    /// `procs=` above `smp=`.
    MoreProcsThanCpus {
        /// Ps asked for.
        procs: u32,
        /// CPUs there are.
        smp: u32,
    },
    /// `clock=virtual` with waits for the network that do not park: such a clock moves when all have parked.
    VirtualClockWithoutPark,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::NoValue { word } => {
                write!(f, "\"{word}\" is not of the form key=value; ")?;
                list_keys(f)
            }
            ConfigError::UnknownKey { key } => {
                write!(f, "there is no key \"{key}\"; ")?;
                list_keys(f)
            }
            ConfigError::BadValue { key, value } => {
                write!(
                    f,
                    "{}={value} is not possible; {} takes {}",
                    key.name, key.name, key.values
                )
            }
            ConfigError::VirtualClockWithoutPark => f.write_str(
                "clock=virtual moves when all goroutines are parked, which netpoll=block and netpoll=poll keep them from; use netpoll=park",
            ),
            ConfigError::MoreProcsThanCpus { procs, smp } => {
                write!(
                    f,
                    "procs={procs} is more than the {smp} CPUs; it can be 1 to {smp}"
                )
            }
        }
    }
}

impl core::error::Error for ConfigError {}

fn list_keys(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("the keys are")?;
    KEYS.iter()
        .filter(|key| key.for_users)
        .try_for_each(|key| write!(f, " {}", key.name))
}
