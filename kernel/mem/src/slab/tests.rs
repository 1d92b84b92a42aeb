//! Slabs over pages of the host.

use super::*;
use std::cell::RefCell;
use std::collections::HashSet;

/// Pages of the tests: number n is the n-th of a vector, from 1.
pub(crate) struct Fake {
    memory: *mut u8,
    descs: *mut PageDesc,
    free: RefCell<Vec<u32>>,
}
impl Fake {
    pub(crate) fn new(pages: usize) -> Self {
        let layout =
            std::alloc::Layout::from_size_align((pages + 1) * PAGE_BYTES, PAGE_BYTES).unwrap();
        // SAFETY: the layout is not empty.
        let memory = unsafe { std::alloc::alloc(layout) };
        // SAFETY: as long as the layout says. What was there before shall not matter.
        unsafe { memory.write_bytes(0xaa, layout.size()) };
        let descs = vec![PageDesc::default(); pages + 1].leak().as_mut_ptr();
        Self {
            memory,
            descs,
            free: RefCell::new((1..=pages as u32).rev().collect()),
        }
    }
    pub(crate) fn left(&self) -> usize {
        self.free.borrow().len()
    }
}
impl Pages for &Fake {
    fn alloc(&self) -> Option<u32> {
        self.free.borrow_mut().pop()
    }
    unsafe fn free(&self, page: u32) {
        assert!(!self.free.borrow().contains(&page));
        self.free.borrow_mut().push(page);
    }
    fn memory(&self, page: u32) -> *mut u8 {
        self.memory.wrapping_add(page as usize * PAGE_BYTES)
    }
    fn page_of(&self, address: *mut u8) -> u32 {
        ((address as usize - self.memory as usize) / PAGE_BYTES) as u32
    }
    fn desc(&self, page: u32) -> *mut PageDesc {
        self.descs.wrapping_add(page as usize)
    }
}

fn class(bytes: usize) -> usize {
    CLASS_BYTES.iter().position(|&b| b == bytes).unwrap()
}

#[test]
fn objects_do_not_overlap_and_pages_are_used_up_and_go_back() {
    for (class, &bytes) in CLASS_BYTES.iter().enumerate() {
        let fake = Fake::new(3);
        let mut slab = Slab::new(class, &fake);
        let n = per_page(class) * 3;
        for _ in 0..2 {
            let objects: Vec<_> = (0..n).map(|_| slab.alloc()).collect();
            assert_eq!((slab.pages(), slab.live()), (3, n));
            assert!(slab.alloc().is_null());
            let mut sorted: Vec<_> = objects.iter().map(|&o| o as usize).collect();
            sorted.sort_unstable();
            assert!(sorted.windows(2).all(|w| w[1] - w[0] >= bytes));
            for &o in &objects {
                // SAFETY: each object is `bytes` long and ours.
                unsafe { ptr::write_bytes(o, 0x55, bytes) };
            }
            for &o in &objects {
                // SAFETY: came from this slab.
                unsafe { slab.free(o) };
            }
            assert_eq!((slab.live(), slab.pages(), fake.left()), (0, 1, 2));
        }
    }
}

#[test]
fn any_order_keeps_the_books() {
    let fake = Fake::new(200);
    let class = class(96);
    let mut slab = Slab::new(class, &fake);
    let mut rng = base::Rng::new(5);
    let mut held: Vec<*mut u8> = Vec::new();
    for step in 0..20_000u32 {
        // Waves: the crowd grows to 4000 and shrinks to a few.
        let grow = step / 5000 % 2 == 0;
        if held.is_empty() || (rng.below(10) < if grow { 8 } else { 2 } && held.len() < 4000) {
            let o = slab.alloc();
            // SAFETY: 96 bytes of ours.
            unsafe { ptr::write_bytes(o, held.len() as u8, 96) };
            held.push(o);
        } else {
            let o = held.swap_remove(rng.below(held.len() as u32) as usize);
            // SAFETY: came from this slab.
            unsafe { slab.free(o) };
        }
        assert_eq!(slab.live(), held.len());
        assert_eq!(slab.pages() + fake.left(), 200);
    }
    let distinct: HashSet<_> = held.iter().collect();
    assert_eq!(distinct.len(), held.len());
    for o in held {
        // SAFETY: came from this slab.
        unsafe { slab.free(o) };
    }
    assert_eq!((slab.pages(), fake.left()), (1, 199));
}

#[cfg(debug_assertions)]
mod misuse {
    use super::*;

    #[test]
    #[should_panic(expected = "freed twice")]
    fn double_free() {
        let fake = Fake::new(1);
        let mut slab = Slab::new(class(64), &fake);
        let o = slab.alloc();
        // SAFETY: a lie, that is the test.
        unsafe {
            slab.free(o);
            slab.free(o);
        }
    }

    #[test]
    #[should_panic(expected = "no heap object of 48 bytes begins there")]
    fn inside_an_object() {
        let fake = Fake::new(1);
        let mut slab = Slab::new(class(48), &fake);
        let o = slab.alloc();
        // SAFETY: a lie, that is the test.
        unsafe { slab.free(o.add(16)) };
    }

    #[test]
    #[should_panic(expected = "lies in no page of 64-byte objects")]
    fn wrong_size() {
        let fake = Fake::new(2);
        let mut slab = Slab::new(class(64), &fake);
        let o = Slab::new(class(128), &fake).alloc();
        // SAFETY: a lie, that is the test.
        unsafe { slab.free(o) };
    }

    #[test]
    #[should_panic(expected = "written to after it was freed")]
    fn use_after_free() {
        let fake = Fake::new(1);
        let mut slab = Slab::new(class(64), &fake);
        let o = slab.alloc();
        // SAFETY: a lie, that is the test.
        unsafe {
            slab.free(o);
            o.add(8).write(1);
        }
        slab.alloc();
    }
}

#[test]
fn free_objects_are_named_once_each_and_nobody_elses() {
    for (class, &bytes) in CLASS_BYTES.iter().enumerate() {
        let fake = Fake::new(4);
        let mut slab = Slab::new(class, &fake);
        let free = |slab: &Slab<&Fake>| {
            let mut list = Vec::new();
            slab.for_each_free(|object| list.push(object as usize));
            list
        };
        let objects: Vec<_> = (0..per_page(class) * 2).map(|_| slab.alloc()).collect();
        assert_eq!(free(&slab), [], "{bytes} bytes");
        // Every second one, so that no page is empty.
        let given: HashSet<usize> = objects.iter().step_by(2).map(|&o| o as usize).collect();
        for &o in &given {
            // SAFETY: came from this slab.
            unsafe { slab.free(o as *mut u8) };
        }
        let named = free(&slab);
        assert_eq!(named.len(), given.len());
        assert_eq!(named.into_iter().collect::<HashSet<_>>(), given);
        for &o in objects.iter().skip(1).step_by(2) {
            // SAFETY: as above.
            unsafe { slab.free(o) };
        }
        // One page is left, of which nobody has anything: its first byte stands for it.
        let named = free(&slab);
        let page = named.iter().find(|&&o| o % PAGE_BYTES == 0);
        assert_eq!((slab.pages(), page.is_some()), (1, true));
        assert_eq!(named.len(), per_page(class) + 1);
    }
}
