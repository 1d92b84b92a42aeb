//! The oldest of many goroutines, without the heap.

use sched::GRef;

/// Keeps the `N` with the smallest numbers of all that it is given, in order.
pub(crate) struct Oldest<const N: usize> {
    /// With its number: a G that runs may end meanwhile, and be made anew under another.
    kept: [Option<(u64, GRef)>; N],
    len: usize,
    all: usize,
}

impl<const N: usize> Oldest<N> {
    /// None yet.
    pub(crate) const fn new() -> Self {
        Self {
            kept: [None; N],
            len: 0,
            all: 0,
        }
    }

    /// One more. Cheap for one that is younger than those that are kept, which nearly all are: stacks are walked through
    /// from the oldest on.
    pub(crate) fn add(&mut self, g: GRef) {
        self.all += 1;
        let full = self.len == N;
        let id = g.id();
        let older = |o: &Option<(u64, GRef)>| o.is_some_and(|(other, _)| other < id);
        if full && older(&self.kept[N - 1]) {
            return;
        }
        let at = self.kept[..self.len].partition_point(older);
        self.len = (self.len + 1).min(N);
        self.kept[at..self.len].rotate_right(1);
        self.kept[at] = Some((id, g));
    }

    /// Those that were kept, oldest first, by the numbers that they had.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, GRef)> + '_ {
        self.kept[..self.len].iter().flatten().copied()
    }

    /// How many were not.
    pub(crate) fn left_out(&self) -> usize {
        self.all - self.len
    }
}

#[cfg(test)]
mod tests {
    use super::Oldest;
    use alloc::boxed::Box;
    use sched::{G, GRef};

    #[test]
    fn the_smallest_numbers_in_order() {
        let mut o = Oldest::<4>::new();
        for id in [9, 3, 7, 1, 8, 2, 10] {
            let g = GRef::new(Box::leak(Box::new(G::new())));
            g.set_id(id);
            o.add(g);
        }
        assert!(o.iter().map(|(id, _)| id).eq([1, 2, 3, 7]));
        assert_eq!(o.left_out(), 3);
    }
}
