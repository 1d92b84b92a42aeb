//! All names that programs use: `use ringo::prelude::*;`.
//!
//! | | |
//! |---|---|
//! | goroutines | [`go`], [`spawn`], [`JoinHandle`], [`scope()`], [`yield_now`], [`goexit`], [`checkpoint`], [`gofn!`], [`current`], [`blocking`], [`lock_to_cpu`], [`unlock_from_cpu`], [`gomaxprocs`], [`num_cpu`], [`num_goroutine`] |
//! | channels | [`chan()`], [`Sender`], [`Receiver`], [`never()`] and their errors, [`select!`] |
//! | sync | [`Mutex`], [`RwLock`], [`WaitGroup`], [`Once`], [`OnceLock`], [`Cond`], [`Semaphore`] |
//! | time | [`Duration`], [`Instant`], [`sleep`], [`after`], [`after_func`], [`Timer`], [`Ticker`] |
//! | context | [`Context`], [`ContextError`] |
//! | net | [`TcpListener`], [`TcpStream`], [`UdpSocket`], [`Read`], [`Write`], [`ErrorKind`], [`Shutdown`] |
//! | program | [`args`], [`print!`], [`println!`], [`eprint!`], [`eprintln!`], [`exit`], [`at_exit`] |
//! | from `alloc` | [`Arc`], [`Box`], [`String`], [`ToString`], [`ToOwned`], [`Vec`], [`vec!`], [`format!`] |

pub use alloc::borrow::ToOwned;
pub use alloc::boxed::Box;
pub use alloc::string::{String, ToString};
pub use alloc::sync::Arc;
pub use alloc::vec::Vec;
pub use alloc::{format, vec};

pub use csp::chan::{Receiver, SendError, Sender, TryRecvError, TrySendError, chan, never};
pub use csp::context::{Context, ContextError};
pub use csp::join::{JoinHandle, go, spawn};
pub use csp::scope::{Scope, scope};
pub use csp::select;
pub use csp::sync::{
    Cond, Mutex, MutexGuard, Once, OnceLock, RwLock, RwLockReadGuard, RwLockWriteGuard, Semaphore,
    WaitGroup,
};
pub use csp::time::{Duration, Instant, Ticker, Timer, after, after_func, sleep};
pub use net::socket::{ErrorKind, Read, Shutdown, TcpListener, TcpStream, UdpSocket, Write};
pub use sched::set_gomaxprocs as gomaxprocs;
pub use sched::{
    blocking, checkpoint, lock_to_cpu, num_cpu, num_goroutine, unlock_from_cpu, yield_now,
};

pub use crate::args::args;
pub use crate::exit::{at_exit, exit, goexit};
pub use crate::goroutine::{Goroutine, current};
pub use crate::{eprint, eprintln, gofn, print, println};
