//! What can go wrong with a disk.

use core::fmt;

/// Why a disk did not do what it was asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Error {
    /// The machine has none.
    NoDisk,
    /// There is one, but it cannot be used; the log has more.
    Unusable(&'static str),
    /// The buffer is not one or more whole sectors: its length in bytes.
    NotSectors(usize),
    /// Some of the sectors lie behind the end.
    OutOfRange {
        /// The first one asked for.
        sector: u64,
        /// How many.
        count: u64,
        /// How many the disk has.
        sectors: u64,
    },
    /// It takes no writes.
    ReadOnly,
    /// The device says that it failed.
    Failed,
    /// The device does not answer any more; neither will later requests be tried.
    Silent,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDisk => f.write_str(
                "this machine has no disk; a machine under QEMU gets one, except with --seed",
            ),
            Self::Unusable(why) => write!(f, "the disk cannot be used: {why}"),
            Self::NotSectors(bytes) => write!(
                f,
                "a buffer for the disk is one or more whole sectors of 512 bytes; this one has {bytes} bytes"
            ),
            Self::OutOfRange {
                sector,
                count,
                sectors,
            } => write!(
                f,
                "{count} sectors from {sector} on are not all on the disk, which has {sectors}"
            ),
            Self::ReadOnly => f.write_str("the disk is read-only"),
            Self::Failed => f.write_str("the disk reports an error"),
            Self::Silent => f.write_str("the disk does not answer"),
        }
    }
}

/// In words, as a program's `main` that returns it prints it so.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for Error {}
