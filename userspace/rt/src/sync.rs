//! Locks and their like, made of futexes; `std`'s method names without poisoning.

mod cond;
mod mutex;
#[cfg(all(test, not(ringo_loom)))]
mod tests;
mod waitgroup;

pub use cond::Cond;
#[cfg(ringo_user)]
pub(crate) use mutex::{CONTENDED, FREE};
pub use mutex::{Mutex, MutexGuard};
pub use waitgroup::WaitGroup;
