//! Goroutines that borrow from their creator's stack.

use crate::frames::Frame;
use crate::join::Packet;
use crate::sync::Counter;
use alloc::sync::Arc;
use core::fmt;
use core::marker::PhantomData;
use core::panic::Location;

use sched::WaitReason;

/// Runs `f`, which may start goroutines that borrow from this stack; returns when all of them have ended, by return or
/// by [`goexit`](crate::goexit), and are counted out. The form is `std::thread::scope`'s.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// let mut squares = [1, 2, 3];
/// csp::scope(|s| {
///     for x in &mut squares {
///         s.go(move || *x *= *x);
///     }
/// });
/// assert_eq!(squares, [1, 4, 9]);
/// # });
/// ```
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let scope = Scope {
        running: Arc::default(),
        scope: PhantomData,
        env: PhantomData,
    };
    let open = Open {
        frame: Frame::new(Open::leave),
        running: &scope.running,
    };
    // SAFETY: `leave` is for an `Open`, and the counter it names is in this frame.
    unsafe {
        Frame::within(
            &open,
            |o| &o.frame,
            || {
                let value = f(&scope);
                scope.running.wait(WaitReason::Join);
                value
            },
        )
    }
}

/// One scope that a goroutine is inside of.
#[repr(C)]
struct Open {
    frame: Frame,
    running: *const Arc<Counter>,
}

impl Open {
    /// Waits for all goroutines that may borrow from the calling one's stack: it is about to end.
    ///
    /// # Safety
    ///
    /// `frame` is that of an `Open` whose scope is open.
    unsafe fn leave(frame: *const Frame) {
        // SAFETY: the caller's promise; the counter lies in the scope's frame on this stack.
        unsafe { (*(*frame.cast::<Open>()).running).wait(WaitReason::Join) }
    }
}

/// Where [`scope`]'s goroutines are started.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// let text = String::from("goroutines borrow");
/// let (mut words, letters) = (0, csp::scope(|s| {
///     let letters = s.spawn(|| text.len());
///     assert!(letters.id() > 1);
///     letters.join()
/// }));
/// csp::scope(|s| s.go(|| words = text.split(' ').count()));
/// assert_eq!((words, letters), (2, 17));
/// # });
/// ```
pub struct Scope<'scope, 'env: 'scope> {
    running: Arc<Counter>,
    /// Invariant in both, as in `std`: a longer or a shorter life must not be passed off as this one.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

impl<'scope> Scope<'scope, '_> {
    /// Starts a goroutine that may borrow what outlives the scope.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let names = ["ada", "bob"];
    /// let mut lens = [0; 2];
    /// csp::scope(|s| {
    ///     for (name, len) in names.iter().zip(&mut lens) {
    ///         s.go(move || *len = name.len());
    ///     }
    /// });
    /// assert_eq!(lens, [3, 3]);
    /// # });
    /// ```
    #[track_caller]
    pub fn go<F>(&'scope self, f: F)
    where
        F: FnOnce() + Send + 'scope,
    {
        self.running.add(1);
        let hook = self.running.clone().into_hook();
        // SAFETY: `scope` returns, and `goexit` leaves its frame, only when the hook has taken this goroutine off the
        // count; by then it has ended and `f` is dropped or leaked.
        unsafe { sched::newproc_scoped(f, Location::caller(), Some(hook)) };
    }

    /// Starts a goroutine that may borrow what outlives the scope, and whose result can be waited for.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let numbers = [1, 2, 3, 4];
    /// let sum = csp::scope(|s| {
    ///     let (left, right) = numbers.split_at(2);
    ///     let left = s.spawn(|| left.iter().sum::<i32>());
    ///     right.iter().sum::<i32>() + left.join()
    /// });
    /// assert_eq!(sum, 10);
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let packet = Arc::new(Packet::new());
        let theirs = packet.clone();
        self.running.add(1);
        let hook = packet.clone().into_scoped_hook(self.running.clone());
        // SAFETY: as in `go`.
        let id = unsafe {
            sched::newproc_scoped(move || theirs.deliver(f()), Location::caller(), Some(hook))
        };
        ScopedJoinHandle {
            packet,
            id,
            scope: PhantomData,
        }
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scope")
    }
}

/// The right to the result of a goroutine of a scope.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// let text = String::from("borrowed");
/// let first = csp::scope(|s| s.spawn(|| text.chars().next()).join());
/// assert_eq!(first, Some('b'));
/// # });
/// ```
pub struct ScopedJoinHandle<'scope, T> {
    packet: Arc<Packet<T>>,
    id: u64,
    scope: PhantomData<&'scope mut &'scope ()>,
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits until the goroutine has ended and gives its result.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let data = vec![3, 1, 2];
    /// let max = csp::scope(|s| s.spawn(|| data.iter().max()).join());
    /// assert_eq!(max, Some(&3));
    /// # });
    /// ```
    ///
    /// # Panics
    ///
    /// If it ended by [`goexit`](crate::goexit), so that there is no result.
    #[track_caller]
    pub fn join(self) -> T {
        self.packet.join(self.id)
    }

    /// The goroutine's number.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// csp::scope(|s| {
    ///     let h = s.spawn(|| sched::current().id());
    ///     assert_eq!(h.id(), h.join());
    /// });
    /// # });
    /// ```
    pub fn id(&self) -> u64 {
        self.id
    }
}

impl<T> Drop for ScopedJoinHandle<'_, T> {
    fn drop(&mut self) {
        self.packet.detach();
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScopedJoinHandle(goroutine {})", self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::scope;
    use crate::{chan, goexit, spawn};
    use alloc::vec::Vec;
    use core::sync::atomic::{AtomicU32, Ordering::SeqCst};

    #[test]
    fn children_borrow_and_are_over_at_the_end() {
        sched::testing::run(2, 2, || {
            let mut lens = [0; 100];
            let before = sched::num_goroutine();
            scope(|s| {
                for (i, l) in lens.iter_mut().enumerate() {
                    s.go(move || {
                        sched::yield_now();
                        *l = i;
                    });
                }
            });
            assert_eq!(sched::num_goroutine(), before);
            assert!(lens.iter().copied().eq(0..100));
        });
    }

    #[test]
    fn results_come_through_handles() {
        sched::testing::run(2, 2, || {
            let words = ["g", "p", "machine"];
            let lens: Vec<usize> = scope(|s| {
                let hs: Vec<_> = words.iter().map(|w| s.spawn(move || w.len())).collect();
                hs.into_iter().map(|h| h.join()).collect()
            });
            assert_eq!(lens, [1, 1, 7]);
        });
    }

    #[test]
    fn a_child_that_goexits_is_over_too() {
        sched::testing::run(2, 2, || {
            let n = AtomicU32::new(0);
            scope(|s| {
                for i in 0..20 {
                    let n = &n;
                    s.go(move || {
                        n.fetch_add(1, SeqCst);
                        if i % 2 == 0 {
                            goexit()
                        }
                    });
                }
            });
            assert_eq!(n.load(SeqCst), 20);
        });
    }

    /// They borrow from its stack: until they have ended it is not counted out, nor is anything else that its end does.
    #[test]
    fn a_parent_that_goexits_waits_for_its_children() {
        sched::testing::run(2, 2, || {
            let before = sched::num_goroutine();
            let ((at_end, parent_ends), (gate, opened), (tx, rx)) = (chan(1), chan(0), chan(2));
            let parent = spawn(move || {
                let local = AtomicU32::new(7);
                let child = || {
                    assert_eq!(opened.recv(), None::<()>);
                    tx.send(local.load(SeqCst)).unwrap()
                };
                scope(|outer| {
                    outer.go(child);
                    scope(|inner| {
                        inner.go(child);
                        at_end.send(()).unwrap();
                        goexit()
                    })
                })
            });
            parent_ends.recv();
            for _ in 0..1000 {
                sched::yield_now();
                assert!(!parent.is_finished(), "its children wait at the gate");
            }
            assert_eq!(sched::num_goroutine(), before + 3);
            gate.close();
            assert_eq!((rx.recv(), rx.recv()), (Some(7), Some(7)));
            while !parent.is_finished() {
                sched::yield_now();
            }
            assert_eq!(sched::num_goroutine(), before, "the parent ends last");
            // goexit runs no destructors, so the channel stays open.
            assert!(!rx.is_closed());
        });
    }

    #[test]
    fn scopes_nest_over_goroutines() {
        fn fib(n: u32) -> u64 {
            if n < 2 {
                return n.into();
            }
            let (mut a, mut b) = (0, 0);
            scope(|s| {
                s.go(|| a = fib(n - 1));
                b = fib(n - 2);
            });
            a + b
        }
        sched::testing::run(2, 2, || {
            assert_eq!(fib(12), 144);
            assert_eq!(spawn(|| fib(10)).join(), 55);
        });
    }
}
