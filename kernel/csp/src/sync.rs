//! Locks and meeting points for goroutines, under `std::sync`'s method names and without poisoning (Go: `sync`).
//!
//! They park the goroutine, never the CPU. All have the list of waiters of `waitq.rs`, first in first out.

mod cond;
mod mutex;
mod once;
mod rwlock;
mod semaphore;
#[cfg(test)]
mod tests;
mod waitgroup;

pub use cond::Cond;
pub use mutex::{Mutex, MutexGuard};
pub use once::{Once, OnceLock};
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use semaphore::Semaphore;
pub use waitgroup::WaitGroup;

pub(crate) use waitgroup::Counter;
