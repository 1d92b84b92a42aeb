//! Contexts: one word to all goroutines that work on the same thing that they may stop (Go: context/context.go).
//!
//! ```text
//!   background ─┬─ with_cancel ─┬─ with_timeout        cancelling a context cancels all below it, with the same error and
//!               │               └─ after_func          cause, the parents first
//!               └─ with_deadline
//! ```
//!
//! **I-ERR** The error is set before the channel of `done` is closed, and both only once: the first who cancels wins.
//!
//! **I-BELOW** Who is to be told of a context's end stays in its list until he and all below him have been told: whoever cancels,
//! as the first or not, goes down what is left of the tree and tells those who do not know yet. So nobody waits for another one
//! (Go holds a lock for that), and a cancel may come from anywhere, a blocking call too.
//!
//! No lock is held while another is taken, nor while anybody is woken or dropped.

mod node;
#[cfg(test)]
mod tests;

use crate::chan::{Receiver, never};
use crate::time::{Duration, Instant};
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::error::Error;
use core::fmt;
use node::{Child, Func, Node};

/// Why a context ended.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use csp::{context::{Context, ContextError}, time::Duration};
/// let (ctx, _cancel) = Context::background().with_timeout(Duration::from_millis(1));
/// ctx.done().recv();
/// assert_eq!(ctx.err(), Some(ContextError::DeadlineExceeded));
/// assert_eq!(ctx.err().unwrap().to_string(), "context deadline exceeded");
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextError {
    /// Somebody cancelled it.
    Canceled,
    /// Its deadline passed.
    DeadlineExceeded,
}

impl fmt::Display for ContextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Canceled => "context canceled",
            Self::DeadlineExceeded => "context deadline exceeded",
        })
    }
}

impl Error for ContextError {}

/// What somebody gave as the reason.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use csp::context::{Cause, Context};
/// let (ctx, cancel) = Context::background().with_cancel();
/// cancel.cancel_cause("the disk is full");
/// let cause: Cause = ctx.cause().unwrap();
/// assert_eq!(cause.to_string(), "the disk is full");
/// # });
/// ```
pub type Cause = Arc<dyn Error + Send + Sync>;

/// A context. A clone is another handle to the same one.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use csp::{context::{Context, ContextError}, spawn};
/// let (ctx, cancel) = Context::background().with_cancel();
/// let worker = spawn({
///     let ctx = ctx.clone();
///     move || {
///         ctx.done().recv(); // in a `select!`, beside what it works on
///         ctx.err()
///     }
/// });
/// cancel.cancel();
/// assert_eq!(worker.join(), Some(ContextError::Canceled));
/// # });
/// ```
#[derive(Clone)]
pub struct Context {
    /// None for the background.
    node: Option<Arc<Node>>,
    done: Receiver<()>,
}

/// Cancels the context that it came with. Dropping it does not; a clone is another handle.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use csp::context::Context;
/// let (ctx, cancel) = Context::background().with_cancel();
/// let same = cancel.clone();
/// same.cancel_cause("the user left");
/// cancel.cancel(); // too late to matter
/// assert_eq!(ctx.cause().unwrap().to_string(), "the user left");
/// # });
/// ```
#[derive(Clone)]
pub struct Cancel {
    node: Arc<Node>,
}

/// What [`Context::after_func`] answers.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use csp::{chan, context::Context};
/// let (ctx, cancel) = Context::background().with_cancel();
/// let (tx, rx) = chan(0);
/// let runs = ctx.after_func(move || tx.send("over").unwrap());
/// let never_runs = ctx.after_func(|| unreachable!());
/// assert!(never_runs.stop());
/// cancel.cancel();
/// assert_eq!(rx.recv(), Some("over"));
/// assert!(!runs.stop());
/// # });
/// ```
pub struct AfterFunc {
    /// The context; None for the background, which never ends.
    on: Option<(Arc<Node>, u64)>,
    func: Arc<Func>,
}

impl Context {
    /// The context above all others: it never ends (Go: `context.Background`).
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let ctx = csp::context::Context::background();
    /// assert!(ctx.err().is_none() && ctx.deadline().is_none());
    /// assert!(ctx.done().try_recv().is_err()); // it never comes
    /// # });
    /// ```
    pub const fn background() -> Context {
        Context {
            node: None,
            done: never(),
        }
    }

    /// A context that ends when it is cancelled, or when this one ends (Go: `WithCancel`, `WithCancelCause`).
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let (parent, cancel) = csp::context::Context::background().with_cancel();
    /// let (child, _cancel) = parent.with_cancel();
    /// cancel.cancel();
    /// assert!(parent.err().is_some() && child.err().is_some());
    /// # });
    /// ```
    pub fn with_cancel(&self) -> (Context, Cancel) {
        self.child(self.deadline())
    }

    /// A context that ends by itself `d` from now, if not before (Go: `WithTimeout`).
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::{context::{Context, ContextError}, time::Duration};
    /// let (ctx, _cancel) = Context::background().with_timeout(Duration::from_millis(1));
    /// ctx.done().recv();
    /// assert_eq!(ctx.err(), Some(ContextError::DeadlineExceeded));
    /// # });
    /// ```
    ///
    /// # Panics
    ///
    /// In a blocking call (`blocking(f)`), as all that sets timers.
    pub fn with_timeout(&self, d: Duration) -> (Context, Cancel) {
        self.with_deadline(Instant::now() + d)
    }

    /// A context that ends by itself at `at`, if not before (Go: `WithDeadline`).
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::{context::Context, time::{Duration, Instant}};
    /// let noon = Instant::now() + Duration::from_secs(3600);
    /// let (ctx, _cancel) = Context::background().with_deadline(noon);
    /// // A later one of a child is cut to its parent's.
    /// let (child, _cancel) = ctx.with_deadline(noon + Duration::from_secs(1));
    /// assert_eq!(child.deadline(), Some(noon));
    /// # });
    /// ```
    ///
    /// # Panics
    ///
    /// As [`with_timeout`](Self::with_timeout).
    pub fn with_deadline(&self, at: Instant) -> (Context, Cancel) {
        self.with_deadline_cause(at, ContextError::DeadlineExceeded)
    }

    /// The same, and `cause` is the cause if the deadline ends it (Go: `WithDeadlineCause`).
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::{context::{Context, ContextError}, time::Instant};
    /// let (ctx, _cancel) = Context::background().with_deadline_cause(Instant::now(), "too slow");
    /// ctx.done().recv();
    /// assert_eq!(ctx.err(), Some(ContextError::DeadlineExceeded));
    /// assert_eq!(ctx.cause().unwrap().to_string(), "too slow");
    /// # });
    /// ```
    ///
    /// # Panics
    ///
    /// As [`with_timeout`](Self::with_timeout).
    pub fn with_deadline_cause(
        &self,
        at: Instant,
        cause: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> (Context, Cancel) {
        if self.deadline().is_some_and(|earlier| earlier <= at) {
            return self.with_cancel();
        }
        let (ctx, cancel) = self.child(Some(at));
        cancel.node.end_at(at, Arc::from(cause.into()));
        (ctx, cancel)
    }

    /// A context that does not end when this one does (Go: `WithoutCancel`; contexts carry no values here).
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let (ctx, cancel) = csp::context::Context::background().with_cancel();
    /// let apart = ctx.without_cancel();
    /// cancel.cancel();
    /// assert!(ctx.err().is_some() && apart.err().is_none());
    /// # });
    /// ```
    pub fn without_cancel(&self) -> Context {
        Context::background()
    }

    fn child(&self, deadline: Option<Instant>) -> (Context, Cancel) {
        let (node, done) = Node::new(self.node.clone(), deadline);
        let cancel = Cancel { node: node.clone() };
        let node = Some(node);
        (Context { node, done }, cancel)
    }

    /// A channel that is closed when the context ends; nothing is ever sent on it (Go: `Done`). It does so too if it is all that is left
    /// of the context.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::{context::Context, never, select};
    /// let (ctx, cancel) = Context::background().with_cancel();
    /// csp::go(move || cancel.cancel());
    /// let work = never::<u32>();
    /// select! {
    ///     recv(work) -> _result => unreachable!(),
    ///     recv(ctx.done()) -> nothing => assert_eq!(nothing, None),
    /// }
    /// # });
    /// ```
    pub fn done(&self) -> Receiver<()> {
        self.done.clone()
    }

    /// Why it ended, None while it has not. Never None once [`done`](Self::done) is closed (Go: `Err`).
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::context::{Context, ContextError};
    /// let (ctx, cancel) = Context::background().with_cancel();
    /// assert_eq!(ctx.err(), None);
    /// cancel.cancel();
    /// assert_eq!(ctx.err(), Some(ContextError::Canceled));
    /// # });
    /// ```
    pub fn err(&self) -> Option<ContextError> {
        self.node.as_ref()?.err()
    }

    /// What was given as the reason; the same as [`err`](Self::err) if nothing was (Go: `Cause`).
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let (ctx, cancel) = csp::context::Context::background().with_cancel();
    /// assert!(ctx.cause().is_none());
    /// cancel.cancel();
    /// assert_eq!(ctx.cause().unwrap().to_string(), "context canceled");
    /// # });
    /// ```
    pub fn cause(&self) -> Option<Cause> {
        self.node.as_ref()?.cause()
    }

    /// When it ends by itself, if it does (Go: `Deadline`).
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::{context::Context, time::{Duration, Instant}};
    /// let (ctx, _cancel) = Context::background().with_timeout(Duration::from_secs(60));
    /// assert!(ctx.deadline().unwrap() > Instant::now());
    /// # });
    /// ```
    pub fn deadline(&self) -> Option<Instant> {
        self.node.as_ref()?.deadline()
    }

    /// Runs `f` in a goroutine of its own when the context ends, at once if it has ended (Go: `context.AfterFunc`). It does not keep the
    /// context: when all handles to it are dropped, the answer of this among them, the contexts below and the receivers of
    /// [`done`](Self::done), so is `f`.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let (ctx, cancel) = csp::context::Context::background().with_cancel();
    /// let (tx, rx) = csp::chan(0);
    /// ctx.after_func(move || tx.send("cleaned up").unwrap());
    /// cancel.cancel();
    /// assert_eq!(rx.recv(), Some("cleaned up"));
    /// # });
    /// ```
    #[track_caller]
    pub fn after_func(&self, f: impl FnOnce() + Send + 'static) -> AfterFunc {
        let func = Func::new(Box::new(f), core::panic::Location::caller());
        let on = self.node.as_ref().and_then(|node| {
            let key = node.add(Child::Func(func.clone()))?;
            Some((node.clone(), key))
        });
        AfterFunc { on, func }
    }
}

impl Cancel {
    /// Ends the context, if it has not ended yet. When it returns, all below has ended too, whoever was the first to cancel.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let (ctx, cancel) = csp::context::Context::background().with_cancel();
    /// cancel.cancel();
    /// cancel.cancel(); // harmless
    /// assert_eq!(ctx.done().recv(), None);
    /// # });
    /// ```
    pub fn cancel(&self) {
        self.node.cancel(ContextError::Canceled, None)
    }

    /// The same, with a reason: what [`Context::cause`] answers there and below (Go: `CancelCauseFunc`).
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let (ctx, cancel) = csp::context::Context::background().with_cancel();
    /// let (child, _cancel) = ctx.with_cancel();
    /// cancel.cancel_cause("the first counts");
    /// cancel.cancel_cause("too late");
    /// assert_eq!(child.cause().unwrap().to_string(), "the first counts");
    /// # });
    /// ```
    pub fn cancel_cause(&self, cause: impl Into<Box<dyn Error + Send + Sync>>) {
        self.node
            .cancel(ContextError::Canceled, Some(Arc::from(cause.into())))
    }
}

impl AfterFunc {
    /// The function will not run. False: it was started, or stopped before.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let (ctx, _cancel) = csp::context::Context::background().with_cancel();
    /// let func = ctx.after_func(|| unreachable!());
    /// assert!(func.stop());
    /// assert!(!func.stop());
    /// # });
    /// ```
    pub fn stop(&self) -> bool {
        if let Some((node, key)) = &self.on {
            node.remove(*key)
        }
        self.func.take().is_some()
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.node, self.err()) {
            (None, _) => f.write_str("Context(background)"),
            (_, None) => f.write_str("Context(alive)"),
            (_, Some(err)) => write!(f, "Context({err})"),
        }
    }
}
