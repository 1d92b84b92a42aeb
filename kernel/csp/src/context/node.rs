//! A context that can end: its place in the tree.

use super::{Cause, ContextError};
use crate::chan::{CloserOf, Receiver, closed_by};
use crate::time::{Instant, Timer, after_func};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use base::mutant::mutant;
use base::shim::{AtomicU8, Ordering::*};
use base::{Rank, SpinLock};
use core::panic::Location;

const ALIVE: u8 = 0;
const CANCELED: u8 = 1;
const DEADLINE_EXCEEDED: u8 = 2;

/// A context that can end. Its handles keep it, the contexts below, and the receivers of its channel.
pub(super) struct Node {
    /// The one above, and this one's number there.
    parent: Option<(Arc<Node>, u64)>,
    deadline: Option<Instant>,
    /// Why it ended (I-ERR); a copy of what `inner` holds, for looks without the lock.
    err: AtomicU8,
    done: CloserOf,
    inner: SpinLock<Inner>,
}

struct Inner {
    /// Why it ended, and the reason if one was given.
    ended: Option<(ContextError, Option<Cause>)>,
    children: BTreeMap<u64, Child>,
    next_key: u64,
    timer: Option<Timer>,
}

/// Who is told when a context ends.
#[derive(Clone)]
pub(super) enum Child {
    /// A context below. It keeps its parent; the parent does not keep it.
    Node(Weak<Node>),
    /// A function to start.
    Func(Arc<Func>),
}

type Body = Box<dyn FnOnce() + Send>;

/// A function that is started once, or never.
pub(super) struct Func {
    f: SpinLock<Option<Body>>,
    at: &'static Location<'static>,
}

impl Func {
    pub(super) fn new(f: Body, at: &'static Location<'static>) -> Arc<Func> {
        Arc::new(Func {
            f: SpinLock::new(Rank::Join, Some(f)),
            at,
        })
    }

    /// The function, for the one that comes first.
    pub(super) fn take(&self) -> Option<Body> {
        self.f.lock().take()
    }

    fn start(&self) {
        if let Some(f) = self.take() {
            sched::newproc(f, self.at);
        }
    }
}

impl Node {
    /// A context below `parent`, and the channel that closes when it ends; it has ended if that one has.
    pub(super) fn new(
        parent: Option<Arc<Node>>,
        deadline: Option<Instant>,
    ) -> (Arc<Node>, Receiver<()>) {
        let mut ended_above = None;
        let below = |this: &Weak<Node>| {
            let parent = parent?;
            let key = parent.add(Child::Node(this.clone()));
            if key.is_none() || mutant("context_asks_early") {
                ended_above = parent.inner.lock().ended.clone();
            }
            if mutant("context_asks_early") {
                drop(parent.inner.lock()) // a step: loom does not see that the node is not there yet
            }
            Some((parent, key?))
        };
        let (node, on_done) = closed_by(|done| {
            Arc::new_cyclic(|this| Node {
                parent: below(this),
                deadline,
                err: AtomicU8::new(ALIVE),
                done,
                inner: SpinLock::new(
                    Rank::Join,
                    Inner {
                        ended: None,
                        children: BTreeMap::new(),
                        next_key: 0,
                        timer: None,
                    },
                ),
            })
        });
        // Between `add` and here the parent could not reach a node, nor the node a channel, that was not there yet: it is asked once
        // more.
        let again = || node.parent.as_ref()?.0.inner.lock().ended.clone();
        let ended = if mutant("context_asks_early") {
            ended_above
        } else {
            ended_above.or_else(again)
        };
        if let Some((err, cause)) = ended {
            node.cancel(err, cause)
        }
        (node, on_done)
    }

    /// Adds a child; its number. None: the context has ended, and a function was started.
    pub(super) fn add(&self, child: Child) -> Option<u64> {
        let mut inner = self.inner.lock();
        if inner.ended.is_none() {
            let key = inner.next_key;
            inner.next_key += 1;
            inner.children.insert(key, child);
            return Some(key);
        }
        drop(inner);
        if let Child::Func(f) = child {
            f.start()
        }
        None
    }

    /// Takes a child out, if it is still there.
    pub(super) fn remove(&self, key: u64) {
        let child = self.inner.lock().children.remove(&key);
        drop(child) // without the lock
    }

    /// Ends at `at`.
    pub(super) fn end_at(self: &Arc<Self>, at: Instant, cause: Cause) {
        let left = at - Instant::now();
        if left.is_zero() {
            return self.cancel(ContextError::DeadlineExceeded, Some(cause));
        }
        let this = Arc::downgrade(self);
        let mut cause = Some(cause);
        let timer = after_func(left, move || {
            if let Some(node) = this.upgrade() {
                node.cancel(ContextError::DeadlineExceeded, cause.take())
            }
        });
        let mut inner = self.inner.lock();
        let unused = if inner.ended.is_none() {
            inner.timer.replace(timer)
        } else {
            Some(timer)
        };
        drop(inner);
        if let Some(timer) = unused {
            timer.forget();
        }
    }

    /// Ends this one and all below (Go: `cancelCtx.cancel`): when it returns they have ended (I-BELOW), by this call or by others
    /// that are at it too. No recursion: chains may be long and stacks are not.
    pub(super) fn cancel(&self, err: ContextError, cause: Option<Cause>) {
        let first = self.end(err, cause);
        if !first && mutant("context_second_returns") {
            return;
        }
        // The way down to where we are, each with its number in the one before.
        let mut way: Vec<(u64, Arc<Node>)> = Vec::new();
        loop {
            let here = way.last().map_or(self, |(_, node)| node);
            match here.first_child() {
                Some((key, Child::Func(f))) => {
                    f.start();
                    here.remove(key)
                }
                Some((key, Child::Node(node))) => match node.upgrade() {
                    Some(node) => {
                        here.pass_on(&node);
                        way.push((key, node))
                    }
                    None => here.remove(key),
                },
                None => {
                    let Some((key, _done)) = way.pop() else { break };
                    way.last().map_or(self, |(_, node)| node).remove(key)
                }
            }
        }
        if let Some((parent, key)) = &self.parent {
            parent.remove(*key)
        }
    }

    /// Ends this one alone. False: it had ended.
    fn end(&self, err: ContextError, cause: Option<Cause>) -> bool {
        let mut inner = self.inner.lock();
        if inner.ended.is_some() {
            drop(inner);
            if !mutant("context_done_left_open") {
                self.done.close(); // whoever ended it may not have come to that
            }
            return false;
        }
        inner.ended = Some((err, cause));
        let number = match err {
            ContextError::Canceled => CANCELED,
            ContextError::DeadlineExceeded => DEADLINE_EXCEEDED,
        };
        if mutant("context_done_before_err") {
            self.done.close();
        }
        // Release: pairs with the load in `err`.
        self.err.store(number, Release);
        let timer = inner.timer.take();
        drop(inner);
        self.done.close(); // I-ERR: after the error is there
        if let Some(timer) = timer {
            timer.forget();
        }
        true
    }

    /// This one has ended: so does `child`, for the same reason.
    fn pass_on(&self, child: &Node) {
        let ended = self.inner.lock().ended.clone();
        if let Some((err, cause)) = ended {
            child.end(err, cause);
        }
    }

    /// One of those to be told, and its number. It stays there until all below it has ended.
    fn first_child(&self) -> Option<(u64, Child)> {
        let inner = self.inner.lock();
        let (key, child) = inner.children.first_key_value()?;
        Some((*key, child.clone()))
    }

    pub(super) fn err(&self) -> Option<ContextError> {
        match self.err.load(Acquire) {
            CANCELED => Some(ContextError::Canceled),
            DEADLINE_EXCEEDED => Some(ContextError::DeadlineExceeded),
            _ => None,
        }
    }

    pub(super) fn cause(&self) -> Option<Cause> {
        let ended = self.inner.lock().ended.clone();
        ended.map(|(err, cause)| cause.unwrap_or_else(|| Arc::new(err)))
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // A loop, not a recursion, for the same reason as in `cancel`.
        let mut above = self.parent.take();
        while let Some((parent, key)) = above {
            parent.remove(key);
            above = Arc::into_inner(parent).and_then(|mut last| last.parent.take())
        }
        // The last handle is gone: nobody can see the deadline pass.
        let timer = self.inner.lock().timer.take();
        if let Some(timer) = timer {
            timer.forget();
        }
    }
}

#[cfg(test)]
impl Node {
    /// How many are told when it ends.
    pub(super) fn children(&self) -> usize {
        self.inner.lock().children.len()
    }
}
