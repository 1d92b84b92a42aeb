//! Pages of one size class, cut into objects.
//!
//! ```text
//!  slab    partial ──► page ◄──► page ──► 0      pages with free objects; full ones are on no list
//!  page    | used | free | used | free | never used ......... |
//!                   ▲ head ──────► free ──► none              ▲ fresh
//! ```
//!
//! What is known of a page lies in its [`PageDesc`], outside, so that a page of 2048-byte objects holds two of them. A page
//! is cut only as far as it is used. A page whose objects are all free goes back to the frames, except for one: or a single
//! object, made and dropped in turn, would cost a page each time.
//!
//! In debug builds a free object bears a mark: `slab/free_mark.rs`.

mod free_mark;

use free_mark::mark_fresh;
pub use free_mark::{mark_free, unmark};

use crate::PAGE_BYTES;
use crate::class::{CLASS_BYTES, per_page};
use core::ptr;

/// No page: frame 0 is never given to a pool.
const NO_PAGE: u32 = 0;
/// No object: a page has at most 256.
const NO_OBJECT: u16 = u16::MAX;

/// What a slab knows of one of its pages; undefined while the page is not a slab's.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct PageDesc {
    next: u32,
    prev: u32,
    /// Last freed object, in units of 8 bytes from the page's start.
    head: u16,
    /// Objects that were never handed out begin here, as a number of objects.
    fresh: u16,
    used: u16,
    class: u16,
}

impl PageDesc {
    /// Class, and how many objects were ever handed out, of a page that has objects in use. A description that is no slab's
    /// is zero, or that of a page that was given back.
    pub fn in_use(&self) -> Option<(usize, usize)> {
        let class = self.class as usize;
        let sound = class < CLASS_BYTES.len() && self.used > 0 && self.fresh >= self.used;
        sound.then_some((class, self.fresh as usize))
    }
}

/// Where pages come from, and how they are numbered.
pub trait Pages {
    /// A page, content undefined, or None.
    fn alloc(&self) -> Option<u32>;
    /// Takes a page back.
    ///
    /// # Safety
    /// It came from `alloc` and nobody uses it.
    unsafe fn free(&self, page: u32);
    /// The memory of a page.
    fn memory(&self, page: u32) -> *mut u8;
    /// The page in which an address lies.
    fn page_of(&self, address: *mut u8) -> u32;
    /// The description of a page.
    fn desc(&self, page: u32) -> *mut PageDesc;
}

/// The pages of one class.
pub struct Slab<P> {
    class: usize,
    object_bytes: usize,
    per_page: u16,
    from: P,
    /// First page that has free objects.
    partial: u32,
    /// Pages on that list of which all objects are free: at most one.
    empty: usize,
    pages: usize,
    live: usize,
}

impl<P: Pages> Slab<P> {
    /// An empty slab for a class, an index of [`CLASS_BYTES`].
    pub const fn new(class: usize, from: P) -> Self {
        Self {
            class,
            object_bytes: CLASS_BYTES[class],
            per_page: per_page(class) as u16,
            from,
            partial: NO_PAGE,
            empty: 0,
            pages: 0,
            live: 0,
        }
    }

    /// Up to `n` free objects, marked as such, content undefined; each is handed to `take`. Fewer if pages run out.
    pub fn take_many(&mut self, mut n: usize, mut take: impl FnMut(*mut usize)) {
        while n > 0 && (self.partial != NO_PAGE || self.add_page()) {
            let page = self.partial;
            // SAFETY: pages on the list are the slab's, and so are their descriptions.
            let desc = unsafe { &mut *self.from.desc(page) };
            let memory = self.from.memory(page);
            let count = n.min((self.per_page - desc.used) as usize);
            self.empty -= usize::from(desc.used == 0);
            for _ in 0..count {
                // SAFETY: so many objects of the page are free.
                take(unsafe { self.take_from(desc, memory) });
            }
            desc.used += count as u16;
            if desc.used == self.per_page {
                // SAFETY: it is the first on the list.
                unsafe { self.unlink(page) };
            }
            self.live += count;
            n -= count;
        }
    }

    /// # Safety
    /// The page has a free object.
    #[inline(always)]
    unsafe fn take_from(&self, desc: &mut PageDesc, memory: *mut u8) -> *mut usize {
        // SAFETY: a free object is the slab's; one that was freed has its successor in its first word.
        unsafe {
            if desc.head != NO_OBJECT {
                let object = memory.cast::<usize>().add(desc.head as usize);
                desc.head = object.read() as u16;
                return object;
            }
            let object: *mut usize = memory.add(desc.fresh as usize * self.object_bytes).cast();
            desc.fresh += 1;
            mark_fresh(object);
            object
        }
    }

    /// Takes a marked object back.
    ///
    /// # Safety
    /// The object came from this slab and nobody uses it any more.
    ///
    /// # Panics
    /// In debug builds, if it lies in no page of this class.
    pub unsafe fn put(&mut self, object: *mut usize) {
        let page = self.from.page_of(object.cast());
        // SAFETY: the object came from this slab, so its page is the slab's.
        unsafe {
            let desc = &mut *self.from.desc(page);
            debug_assert!(
                desc.class as usize == self.class && desc.used > 0,
                "{object:p} lies in no page of {}-byte objects",
                CLASS_BYTES[self.class]
            );
            object.write(desc.head as usize);
            desc.head = (object as usize % PAGE_BYTES / 8) as u16;
            let was_full = desc.used == self.per_page;
            desc.used -= 1;
            self.live -= 1;
            if was_full {
                self.link(page);
            }
            if desc.used == 0 {
                self.page_is_empty(page);
            }
        }
    }

    /// A free object that the caller may use; null if a page is needed and there is none.
    pub fn alloc(&mut self) -> *mut u8 {
        let (class, mut got) = (self.class, ptr::null_mut());
        self.take_many(1, |object| {
            // SAFETY: just taken.
            unsafe { unmark(class, object) };
            got = object.cast();
        });
        got
    }

    /// Takes an object back from its user.
    ///
    /// # Safety
    /// As [`Slab::put`].
    ///
    /// # Panics
    /// In debug builds if the object is free already, or none of this class begins at this address.
    pub unsafe fn free(&mut self, object: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe {
            mark_free(self.class, object.cast());
            self.put(object.cast());
        }
    }

    #[cold]
    fn add_page(&mut self) -> bool {
        let Some(page) = self.from.alloc() else {
            return false;
        };
        // SAFETY: the page is the slab's now.
        unsafe {
            self.from.desc(page).write(PageDesc {
                next: NO_PAGE,
                prev: NO_PAGE,
                head: NO_OBJECT,
                fresh: 0,
                used: 0,
                class: self.class as u16,
            });
            self.link(page);
        }
        self.pages += 1;
        self.empty += 1;
        true
    }

    #[cold]
    fn page_is_empty(&mut self, page: u32) {
        if self.empty == 0 {
            self.empty = 1;
            return;
        }
        // SAFETY: on the list, and all of its objects are free.
        unsafe {
            self.unlink(page);
            (*self.from.desc(page)).class = u16::MAX;
            self.from.free(page);
        }
        self.pages -= 1;
    }

    /// Puts a page at the front of the list.
    ///
    /// # Safety
    /// It is the slab's and not on the list.
    unsafe fn link(&mut self, page: u32) {
        // SAFETY: pages on the list are the slab's.
        unsafe {
            let desc = &mut *self.from.desc(page);
            desc.next = self.partial;
            desc.prev = NO_PAGE;
            if self.partial != NO_PAGE {
                (*self.from.desc(self.partial)).prev = page;
            }
        }
        self.partial = page;
    }

    /// Takes a page off the list.
    ///
    /// # Safety
    /// It is on it.
    unsafe fn unlink(&mut self, page: u32) {
        // SAFETY: pages on the list are the slab's.
        unsafe {
            let PageDesc { next, prev, .. } = *self.from.desc(page);
            if prev == NO_PAGE {
                self.partial = next;
            } else {
                (*self.from.desc(prev)).next = next;
            }
            if next != NO_PAGE {
                (*self.from.desc(next)).prev = prev;
            }
        }
    }

    /// Each object that is free and was in use once; for a page of which nobody has anything its first byte as well.
    pub fn for_each_free(&self, mut f: impl FnMut(*mut usize)) {
        let mut page = self.partial;
        while page != NO_PAGE {
            // SAFETY: pages on the list are the slab's, and so are their descriptions.
            let desc = unsafe { *self.from.desc(page) };
            let memory: *mut usize = self.from.memory(page).cast();
            let mut at = desc.head;
            while at != NO_OBJECT {
                // SAFETY: a free object of the page has its successor in its first word.
                unsafe {
                    let object = memory.add(at as usize);
                    f(object);
                    at = object.read() as u16
                }
            }
            if desc.used == 0 {
                f(memory)
            }
            page = desc.next
        }
    }

    /// Pages that belong to this class.
    pub fn pages(&self) -> usize {
        self.pages
    }

    /// Objects that were taken and not put back.
    pub fn live(&self) -> usize {
        self.live
    }
}

#[cfg(test)]
pub(crate) mod tests;
