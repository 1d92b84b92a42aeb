//! What the programs are made of.

use core::any::Any;
use ringo::prelude::*;
use sched::WaitReason::{self, ChanReceive, ChanSend, Select, SyncCondWait};
use sched::WaitReason::{SyncMutexLock, SyncRwMutexLock, SyncRwMutexRLock, SyncWaitGroupWait};

/// Its name, the program (true: with the bug corrected), and the goroutines that the bug leaves over.
pub type Program = (&'static str, fn(bool), &'static [Left]);

/// What is to be said of a goroutine that is left over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It never runs again.
    Certain,
    /// Suspect, since what it waits for was [kept](keep); certain once that is gone.
    Kept,
    /// Suspect for good: timers wake it again and again.
    Timed,
}

/// A goroutine that is left over: what it waits for, and the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left(pub WaitReason, pub Verdict);

impl Left {
    /// The same with what it waits for kept.
    pub const fn kept(self) -> Left {
        Left(self.0, Verdict::Kept)
    }
    /// The same, woken by timers.
    pub const fn timed(self) -> Left {
        Left(self.0, Verdict::Timed)
    }
}

const fn certain(reason: WaitReason) -> Left {
    Left(reason, Verdict::Certain)
}

/// Receives from a channel.
pub const RECEIVES: Left = certain(ChanReceive);
/// Sends on a channel.
pub const SENDS: Left = certain(ChanSend);
/// Is in a `select!`.
pub const SELECTS: Left = certain(Select);
/// Takes a mutex, or waits for a `Once`.
pub const LOCKS: Left = certain(SyncMutexLock);
/// Takes a lock for reading.
pub const READS: Left = certain(SyncRwMutexRLock);
/// Takes a lock for writing.
pub const WRITES: Left = certain(SyncRwMutexLock);
/// Waits for a group.
pub const WAITS: Left = certain(SyncWaitGroupWait);
/// Waits for a condition.
pub const COND: Left = certain(SyncCondWait);

/// A channel as Go has it: one value with both ends, so that nobody's end is ever dropped while somebody else waits. With the
/// ends apart many of these programs would end with an error instead.
pub struct Ch<T> {
    pub tx: Sender<T>,
    pub rx: Receiver<T>,
}

impl<T> Clone for Ch<T> {
    fn clone(&self) -> Ch<T> {
        Ch {
            tx: self.tx.clone(),
            rx: self.rx.clone(),
        }
    }
}

impl<T> Ch<T> {
    pub fn new(cap: usize) -> Ch<T> {
        let (tx, rx) = chan(cap);
        Ch { tx, rx }
    }
    pub fn send(&self, value: T) {
        let _ = self.tx.send(value);
    }
    /// Sends, or gives up when `stop` is closed; `None`: a plain send.
    pub fn send_or<S>(&self, value: T, stop: Option<Receiver<S>>) {
        match stop {
            None => self.send(value),
            Some(stop) => select! { send(self.tx, value) -> _r => (), recv(stop) -> _v => () },
        }
    }
    pub fn recv(&self) -> Option<T> {
        self.rx.recv()
    }
    pub fn close(&self) {
        self.tx.close();
    }
    pub fn is_closed(&self) -> bool {
        self.rx.is_closed()
    }
}

/// What the rest of a program would still have, though it never uses it.
static KEPT: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());

/// Keeps it as a program does that goes on, in a static.
pub fn keep<T: Send + 'static>(what: T) {
    KEPT.lock().push(Box::new(what))
}

/// Drops all that is kept, and the memory in which its addresses stood.
pub fn drop_kept() {
    drop(core::mem::take(&mut *KEPT.lock()))
}

/// 10 ms of virtual time: passes when everybody else has gone as far as they can.
pub const TURN: Duration = Duration::from_millis(10);

/// Comes `turns` after those that act at once: the order of a program's steps is that of their turns on any number of CPUs.
pub fn later(turns: u32) {
    sleep(TURN * turns)
}

/// Starts a goroutine with a handle of its own on what is shared.
#[track_caller]
pub fn start<S: Clone + Send + 'static>(shared: &S, f: impl FnOnce(S) + Send + 'static) {
    let shared = shared.clone();
    go(move || f(shared))
}
