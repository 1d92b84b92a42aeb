//! Places of large objects: runs of pages in the heap's window, of sizes that are powers of two.
//!
//! ```text
//!   take ◄── the one of its size that was given back first, once no TLB remembers it ◄── give, with a stamp (`epochs`)
//!        ◄── else one that was never used
//! ```
//!
//! Only address space is rounded up: what backs a run is its user's matter. All runs of a size lie in a line, which has its own part of
//! the window, so an address tells the size. A free run keeps two words outside of its pages, in their page table entries.

/// Pages of a line, and of the largest run: 16 GiB.
const LINE_PAGES: u64 = 1 << 22;
/// Sizes that there are: 2 pages and more.
const LINES: usize = LINE_PAGES.trailing_zeros() as usize;
/// Pages that all lines take together.
pub const WINDOW_PAGES: u64 = LINES as u64 * LINE_PAGES;

/// The words that pages of the window keep while nothing is mapped there.
pub trait Notes {
    /// The word of a page.
    fn get(&self, page: u64) -> u64;
    /// Sets it; 0: the page can be mapped.
    fn set(&self, page: u64, note: u64);
    /// The words of this page and the next are there from now on, 0 for now. False: no memory for them.
    fn begin(&self, page: u64) -> bool;
}

/// Runs of one size.
#[derive(Clone, Copy)]
struct Line {
    /// So many were used, from the first on.
    made: u32,
    /// Those that are free, oldest first; the first page of each has the number of the next.
    first: u32,
    last: u32,
    free: u32,
}

/// All of them.
pub struct Runs([Line; LINES]);

impl Default for Runs {
    fn default() -> Self {
        Self::new()
    }
}

/// Pages of the runs of a line.
fn run_pages(line: usize) -> u64 {
    2 << line
}

/// The first page of run `n` of a line.
fn page_of(line: usize, n: u32) -> u64 {
    line as u64 * LINE_PAGES + u64::from(n) * run_pages(line)
}

impl Runs {
    /// None was used yet.
    pub const fn new() -> Self {
        let line = Line {
            made: 0,
            first: 0,
            last: 0,
            free: 0,
        };
        Self([line; LINES])
    }

    /// A run of `pages` pages or more, which begins at a multiple of its own size: its first page. `passed`: whether every TLB has
    /// forgotten what has that stamp. None: no address space, or no memory for the words.
    pub fn take(
        &mut self,
        pages: u64,
        notes: &impl Notes,
        passed: impl Fn(u64) -> bool,
    ) -> Option<u64> {
        if pages > LINE_PAGES {
            return None;
        }
        let size = pages.next_power_of_two().max(2);
        let at = size.trailing_zeros() as usize - 1;
        let line = &mut self.0[at];
        if line.free != 0 {
            let page = page_of(at, line.first);
            if passed(notes.get(page + 1)) {
                line.free -= 1;
                line.first = notes.get(page) as u32;
                notes.set(page, 0);
                notes.set(page + 1, 0);
                return Some(page);
            }
        }
        let fresh = page_of(at, line.made);
        if fresh + size > (at as u64 + 1) * LINE_PAGES || !notes.begin(fresh) {
            return None;
        }
        line.made += 1;
        Some(fresh)
    }

    /// Takes the run back that begins at `page`. Its pages are mapped no more, and are forgotten by all once `stamp` has passed.
    pub fn give(&mut self, page: u64, stamp: u64, notes: &impl Notes) {
        let at = (page / LINE_PAGES) as usize;
        let line = &mut self.0[at];
        let n = (page % LINE_PAGES / run_pages(at)) as u32;
        debug_assert_eq!(page_of(at, n), page, "not the first page of a run");
        notes.set(page, 0);
        notes.set(page + 1, stamp);
        if line.free == 0 {
            line.first = n
        } else {
            notes.set(page_of(at, line.last), u64::from(n))
        }
        line.last = n;
        line.free += 1;
    }

    /// First page and pages of each run that was ever used.
    pub fn for_each(&self, mut f: impl FnMut(u64, u64)) {
        for (at, line) in self.0.iter().enumerate() {
            (0..line.made).for_each(|n| f(page_of(at, n), run_pages(at)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::collections::HashMap;

    /// Words, as many as may begin.
    #[derive(Default)]
    struct Words(RefCell<HashMap<u64, u64>>, usize);

    impl Notes for Words {
        fn get(&self, page: u64) -> u64 {
            self.0.borrow()[&page]
        }
        fn set(&self, page: u64, note: u64) {
            *self.0.borrow_mut().get_mut(&page).unwrap() = note
        }
        fn begin(&self, page: u64) -> bool {
            let mut words = self.0.borrow_mut();
            let room = words.len() < self.1;
            if room {
                for page in [page, page + 1] {
                    assert_eq!(words.insert(page, 0), None, "begun twice")
                }
            }
            room
        }
    }

    fn words() -> Words {
        Words(RefCell::default(), usize::MAX)
    }

    #[test]
    fn runs_are_apart_and_begin_at_multiples_of_their_size() {
        let (mut runs, words) = (Runs::new(), words());
        let mut all = Vec::new();
        for pages in [1, 2, 3, 4, 5, 16, 17, 4096, 1 << 21, LINE_PAGES] {
            let page = runs.take(pages, &words, |_| false).unwrap();
            let size = pages.next_power_of_two().max(2);
            assert!(page.is_multiple_of(size) && page + size <= WINDOW_PAGES);
            all.push(page..page + size)
        }
        for (i, a) in all.iter().enumerate() {
            let others = all[..i].iter();
            assert!(
                { others }.all(|b| b.end <= a.start || a.end <= b.start),
                "{a:?}"
            )
        }
        let mut seen = 0;
        runs.for_each(|page, size| {
            assert!(all.contains(&(page..page + size)));
            seen += 1
        });
        assert_eq!(seen, all.len());
    }

    #[test]
    fn what_a_tlb_may_remember_is_not_used_again() {
        let (mut runs, words) = (Runs::new(), words());
        let [a, b] = [(); 2].map(|()| runs.take(16, &words, |_| false).unwrap());
        runs.give(b, 7, &words);
        runs.give(a, 8, &words);
        let c = runs.take(16, &words, |stamp| stamp < 7).unwrap();
        assert!(c != a && c != b);
        assert_eq!(runs.take(9, &words, |stamp| stamp <= 7), Some(b)); // of the same size, the oldest first
        assert_eq!((words.get(b), words.get(b + 1)), (0, 0)); // can be mapped
        assert_ne!(runs.take(16, &words, |stamp| stamp <= 7), Some(a));
        assert_eq!(runs.take(16, &words, |_| true), Some(a));
    }

    /// Of one size, however often it comes and goes, there are no more than were in use at once; and in no order are two one.
    #[test]
    fn address_space_comes_back() {
        let (mut runs, words, mut rng) = (Runs::new(), words(), base::Rng::new(5));
        let mut held = Vec::new();
        for _ in 0..10_000 {
            if held.len() < 100 && rng.below(2) == 0 {
                let page = runs.take(2, &words, |_| true).unwrap();
                assert!(!held.contains(&page), "handed out twice");
                held.push(page)
            } else if !held.is_empty() {
                let i = rng.below(held.len() as u32) as usize;
                runs.give(held.swap_remove(i), 1, &words)
            }
        }
        let mut made = 0;
        runs.for_each(|_, _| made += 1);
        assert!(made <= 100, "{made}");
    }

    #[test]
    fn what_cannot_be_had() {
        let (mut runs, few) = (Runs::new(), Words(RefCell::default(), 4));
        assert_eq!(runs.take(LINE_PAGES + 1, &few, |_| true), None);
        let half = LINE_PAGES / 2;
        let [a, b] = [(); 2].map(|()| runs.take(half, &few, |_| true).unwrap());
        assert_eq!(runs.take(half, &few, |_| true), None); // the line is full
        assert_eq!(runs.take(2, &few, |_| true), None); // no memory for its words
        runs.give(b, 1, &few);
        assert_eq!(runs.take(half, &few, |_| true), Some(b));
        assert_ne!(a, b);
    }
}
