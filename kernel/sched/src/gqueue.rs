//! Intrusive lists of Gs: the global run queue, batches on their way, free lists. A G is on one list at a time (I-STATE),
//! so one link in it serves all.

use crate::g::{G, GRef};
use base::shim::Ordering::Relaxed;

/// First in, first out, or last in, first out; owned by one holder at a time (a lock or a stack frame).
pub struct GQueue {
    head: *mut G,
    tail: *mut G,
    len: u32,
}

// SAFETY: the pointers are `GRef`s (see there); the queue itself is owned, not shared.
unsafe impl Send for GQueue {}

impl GQueue {
    /// Where the runner finds the first G (`glass.rs`).
    #[cfg(ringo_kernel)]
    pub(crate) const HEAD: usize = core::mem::offset_of!(GQueue, head);

    /// An empty queue.
    pub const fn new() -> Self {
        Self {
            head: core::ptr::null_mut(),
            tail: core::ptr::null_mut(),
            len: 0,
        }
    }
    /// How many are on it.
    pub fn len(&self) -> u32 {
        self.len
    }
    /// Is it empty?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// At the end.
    pub fn push_back(&mut self, g: GRef) {
        g.schedlink.store(core::ptr::null_mut(), Relaxed);
        // SAFETY: `tail` is null or a G that is never freed.
        match unsafe { GRef::from_ptr(self.tail) } {
            Some(t) => t.schedlink.store(g.as_ptr(), Relaxed),
            None => self.head = g.as_ptr(),
        }
        self.tail = g.as_ptr();
        self.len += 1;
    }

    /// At the front.
    pub fn push_front(&mut self, g: GRef) {
        g.schedlink.store(self.head, Relaxed);
        self.head = g.as_ptr();
        if self.tail.is_null() {
            self.tail = g.as_ptr()
        }
        self.len += 1;
    }

    /// From the front.
    pub fn pop(&mut self) -> Option<GRef> {
        // SAFETY: `head` is null or a G that is never freed.
        let g = unsafe { GRef::from_ptr(self.head) }?;
        self.head = g.schedlink.load(Relaxed);
        if self.head.is_null() {
            self.tail = core::ptr::null_mut()
        }
        self.len -= 1;
        Some(g)
    }

    /// All of `other` behind all of this one.
    pub fn append(&mut self, other: &mut GQueue) {
        if other.is_empty() {
            return;
        }
        // SAFETY: `tail` is null or a G that is never freed.
        match unsafe { GRef::from_ptr(self.tail) } {
            Some(t) => t.schedlink.store(other.head, Relaxed),
            None => self.head = other.head,
        }
        self.tail = other.tail;
        self.len += other.len;
        *other = Self::new();
    }
}

impl Default for GQueue {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(any(ringo_loom, ringo_shuttle))))]
mod tests {
    use super::*;

    fn g(id: u64) -> GRef {
        let g = GRef::new(Box::leak(Box::new(G::new())));
        g.set_id(id);
        g
    }

    #[test]
    fn fifo_lifo_and_append() {
        let mut a = GQueue::new();
        let mut b = GQueue::new();
        a.append(&mut b);
        assert!(a.pop().is_none());
        a.push_back(g(2));
        a.push_back(g(3));
        a.push_front(g(1));
        b.push_back(g(4));
        a.append(&mut b);
        assert!(b.is_empty() && b.pop().is_none());
        a.push_back(g(5));
        assert_eq!(a.len(), 5);
        assert_eq!(
            std::iter::from_fn(|| a.pop())
                .map(|g| g.id())
                .collect::<Vec<_>>(),
            [1, 2, 3, 4, 5]
        );
        assert_eq!(a.len(), 0);
        a.push_front(g(6));
        a.push_back(g(7));
        assert_eq!(
            std::iter::from_fn(|| a.pop())
                .map(|g| g.id())
                .collect::<Vec<_>>(),
            [6, 7]
        );
    }
}
