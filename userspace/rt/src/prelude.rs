//! What a program has without asking: `use rt::prelude::*;`.

pub use crate::args::args;
pub use crate::chan::{Receiver, SendError, Sender, TryRecvError, TrySendError, chan};
pub use crate::exit::exit;
pub use crate::io::{Read, Write};
pub use crate::machine::{gomaxprocs, num_cpu};
pub use crate::sync::{Cond, Mutex, WaitGroup};
pub use crate::thread::{JoinHandle, go, spawn, yield_now};
pub use crate::time::{Duration, now, sleep};
pub use crate::{eprintln, print, println};
pub use alloc::borrow::ToOwned;
pub use alloc::boxed::Box;
pub use alloc::format;
pub use alloc::string::{String, ToString};
pub use alloc::sync::Arc;
pub use alloc::vec;
pub use alloc::vec::Vec;
