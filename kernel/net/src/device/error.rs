//! Why a device cannot be used.

use crate::ring::Broken;
use core::fmt;

/// What is wrong with the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// There is none.
    NoDevice,
    /// It cannot be used, and why.
    Unusable(&'static str),
    /// There was no memory to share with it.
    NoMemory,
    /// It broke the rules of its ring.
    Broken(Broken),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoDevice => f.write_str("this machine has no network device"),
            Error::Unusable(why) => write!(f, "the network device cannot be used: {why}"),
            Error::NoMemory => f.write_str("out of memory: buffers of the network device"),
            Error::Broken(how) => write!(f, "the network device is broken: {how}"),
        }
    }
}

impl core::error::Error for Error {}

impl From<Broken> for Error {
    fn from(how: Broken) -> Error {
        Error::Broken(how)
    }
}
