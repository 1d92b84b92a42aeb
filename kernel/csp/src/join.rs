//! Starting goroutines, and waiting for their results.

use crate::sync::Counter;
use alloc::boxed::Box;
use alloc::sync::Arc;
use base::mutant::mutant;
use base::{Rank, SpinLock};
use core::fmt;
use core::panic::Location;
use sched::{ExitHook, GRef, WaitReason};

/// Starts a goroutine (Go: the `go` statement, `newproc` in `runtime/proc.go`).
///
/// It lives on its own: nobody waits for it, and it ends with the program.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// let (tx, rx) = csp::chan(0);
/// csp::go(move || tx.send("done").unwrap());
/// assert_eq!(rx.recv(), Some("done"));
/// # });
/// ```
#[track_caller]
pub fn go<F>(f: F)
where
    F: FnOnce() + Send + 'static,
{
    sched::newproc(f, Location::caller());
}

/// Starts a goroutine whose result can be waited for.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// let h = csp::spawn(|| 6 * 7);
/// assert_eq!(h.join(), 42);
/// # });
/// ```
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let packet = Arc::new(Packet::new());
    let hook = packet.clone().into_hook();
    let theirs = packet.clone();
    let id = sched::newproc_hook(move || theirs.deliver(f()), Location::caller(), hook);
    JoinHandle { packet, id }
}

/// Ends the calling goroutine at once (Go: `runtime.Goexit`).
///
/// The program goes on. Nothing on this goroutine's stack is dropped: a lock that it holds stays locked, an `Arc` that
/// it owns stays counted. It first waits for the goroutines of [`scope`](crate::scope())s that it is inside of, since they
/// may borrow from its stack.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use csp::{chan, go, goexit};
/// let (tx, rx) = chan(1);
/// go(move || {
///     tx.send(1).unwrap();
///     goexit()
/// });
/// assert_eq!(rx.recv(), Some(1));
/// # });
/// ```
pub fn goexit() -> ! {
    crate::frames::leave_all();
    sched::goexit()
}

/// The right to a goroutine's result. Dropped: the goroutine goes on by itself, its result is dropped when it comes.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// let handles: Vec<_> = (1..=3).map(|i| csp::spawn(move || i * i)).collect();
/// assert!(handles[0].id() > 1); // the main goroutine is number 1
/// let squares: Vec<i32> = handles.into_iter().map(|h| h.join()).collect();
/// assert_eq!(squares, [1, 4, 9]);
/// # });
/// ```
pub struct JoinHandle<T> {
    packet: Arc<Packet<T>>,
    id: u64,
}

impl<T> JoinHandle<T> {
    /// Waits until the goroutine has ended and gives its result. By then it is no longer counted in
    /// [`sched::num_goroutine`].
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let h = csp::spawn(|| "result".len());
    /// assert_eq!(h.join(), 6);
    /// # });
    /// ```
    ///
    /// # Panics
    ///
    /// If it ended by [`goexit`], so that there is no result.
    #[track_caller]
    pub fn join(self) -> T {
        self.packet.join(self.id)
    }

    /// Whether the goroutine has ended, so that [`join`](Self::join) would not wait.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let (tx, rx) = csp::chan::<()>(0);
    /// let h = csp::spawn(move || rx.recv());
    /// assert!(!h.is_finished()); // it waits
    /// drop(tx);
    /// while !h.is_finished() {
    ///     sched::yield_now();
    /// }
    /// h.join(); // at once
    /// # });
    /// ```
    pub fn is_finished(&self) -> bool {
        self.packet.state.lock().ended
    }

    /// The goroutine's number.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let (a, b) = (csp::spawn(|| ()), csp::spawn(|| ()));
    /// assert_ne!(a.id(), b.id());
    /// # });
    /// ```
    pub fn id(&self) -> u64 {
        self.id
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        self.packet.detach();
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JoinHandle(goroutine {})", self.id)
    }
}

/// What a goroutine and its handle share.
///
/// ```text
///   running --deliver--> delivered --hook on g0--> ended --wait--> taken
///      |                                             ^
///      +------------------ goexit -------------------+      (no result)
/// ```
///
/// The result never dies on g0, where destructors could not park: `deliver` drops it if the handle is gone already, the
/// handle's drop takes it otherwise.
pub(crate) struct Packet<T> {
    state: SpinLock<State<T>>,
    /// The bubble of the goroutine, 0: none.
    bubble: u64,
}

/// What the exit hook of a scope's goroutine owns.
struct Scoped<T> {
    packet: Arc<Packet<T>>,
    running: Arc<Counter>,
}

struct State<T> {
    result: Option<T>,
    ended: bool,
    detached: bool,
    waiter: Option<GRef>,
}

impl<T> Packet<T> {
    pub(crate) fn new() -> Packet<T> {
        Packet {
            state: SpinLock::new(
                Rank::Join,
                State {
                    result: None,
                    ended: false,
                    detached: false,
                    waiter: None,
                },
            ),
            bubble: sched::bubble::current_id(), // which it is born into
        }
    }

    /// The goroutine's last act.
    pub(crate) fn deliver(&self, value: T) {
        let unwanted = {
            let mut state = self.state.lock();
            if state.detached && !mutant("deliver_to_nobody") {
                Some(value)
            } else {
                state.result = Some(value);
                None
            }
        };
        drop(unwanted);
    }

    /// Waits for the end and takes the result.
    #[track_caller]
    pub(crate) fn join(&self, id: u64) -> T {
        let mut state = self.state.lock();
        if !state.ended {
            if mutant("join_no_recheck") {
                drop(state);
                state = self.state.lock()
            }
            state.waiter = Some(sched::current());
            if self.bubble == sched::bubble::current_id() {
                sched::current().blocks_durably()
            }
            sched::park_unlock(state, WaitReason::Join);
            state = self.state.lock();
        }
        let result = state.result.take();
        drop(state);
        match result {
            Some(value) => value,
            None => panic!("join: goroutine {id} ended by goexit and has no result"),
        }
    }

    /// The handle goes: what was delivered is dropped here, by the handle's goroutine and without the lock, since its
    /// destructor may do anything.
    pub(crate) fn detach(&self) {
        let left = {
            let mut state = self.state.lock();
            state.detached = true;
            if mutant("detach_leaves_result") {
                return;
            }
            state.result.take()
        };
        drop(left);
    }

    pub(crate) fn into_hook(self: Arc<Self>) -> ExitHook {
        ExitHook {
            f: Self::ended,
            arg: Arc::into_raw(self) as usize,
        }
    }

    /// The hook of a goroutine that a scope waits for as well.
    pub(crate) fn into_scoped_hook(self: Arc<Self>, running: Arc<Counter>) -> ExitHook {
        let scoped = Box::new(Scoped {
            packet: self,
            running,
        });
        ExitHook {
            f: Self::ended_scoped,
            arg: Box::into_raw(scoped) as usize,
        }
    }

    /// # Safety
    ///
    /// `arg` comes from [`into_scoped_hook`](Self::into_scoped_hook) and is used once.
    unsafe fn ended_scoped(arg: usize) {
        // SAFETY: the hook runs once, and owns the box.
        let Scoped { packet, running } = *unsafe { Box::from_raw(arg as *mut Scoped<T>) };
        // The packet first: T may borrow from the scope, which may be over as soon as the count says so.
        packet.end();
        drop(packet);
        running.one_ended();
        drop(running);
    }

    fn end(&self) {
        let waiter = {
            let mut state = self.state.lock();
            let early = mutant("end_in_two_steps").then(|| state.waiter.take());
            if early.is_some() {
                drop(state);
                state = self.state.lock()
            }
            state.ended = true;
            early.unwrap_or_else(|| state.waiter.take())
        };
        if let Some(g) = waiter {
            sched::goready(g);
        }
    }

    /// The hook: runs once on g0 when the goroutine has ended and is counted out (`goexit0`).
    ///
    /// # Safety
    ///
    /// `arg` comes from [`into_hook`](Self::into_hook) and is used once.
    unsafe fn ended(arg: usize) {
        // SAFETY: the hook runs once, and owns this count.
        unsafe { Arc::from_raw(arg as *const Packet<T>) }.end();
    }
}

#[cfg(test)]
mod tests {
    use crate::{chan, go, goexit, spawn};
    use alloc::sync::Arc;
    use alloc::vec::Vec;

    #[test]
    fn a_thousand_results_and_nobody_left() {
        sched::testing::run(2, 2, || {
            let before = sched::num_goroutine();
            let hs: Vec<_> = (0..1000u64)
                .map(|i| {
                    spawn(move || {
                        sched::yield_now();
                        i
                    })
                })
                .collect();
            let sum: u64 = hs.into_iter().map(|h| h.join()).sum();
            assert_eq!(sum, 499_500);
            assert_eq!(sched::num_goroutine(), before);
        });
    }

    #[test]
    fn a_result_that_nobody_wants_is_dropped_by_a_goroutine() {
        struct Tell(crate::Sender<u64>);
        impl Drop for Tell {
            fn drop(&mut self) {
                // Parks: would be fatal on g0.
                self.0.send(sched::current().id()).unwrap();
            }
        }
        sched::testing::run(2, 2, || {
            for rounds in [0, 3, 10] {
                let (tx, rx) = chan(0);
                let h = spawn(move || Tell(tx));
                for _ in 0..rounds {
                    sched::yield_now();
                }
                go(move || drop(h));
                assert!(rx.recv().is_some());
            }
        });
    }

    #[test]
    fn goexit_leaves_no_result_and_lets_others_go_on() {
        sched::testing::run(2, 2, || {
            let kept = Arc::new(());
            let theirs = kept.clone();
            let h = spawn(move || {
                let _theirs = theirs;
                if sched::num_cpu() > 0 {
                    goexit()
                }
            });
            while !h.is_finished() {
                sched::yield_now();
            }
            // No destructor ran.
            assert_eq!(Arc::strong_count(&kept), 2);
        });
    }
}
