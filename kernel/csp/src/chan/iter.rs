//! Iteration over what a channel brings, until it is closed and drained.

use super::Receiver;

/// Iterator of [`Receiver::iter`] and of `&rx`.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// let (tx, rx) = csp::chan(2);
/// csp::go(move || (0..5).for_each(|n| tx.send(n).unwrap()));
/// let mut got = Vec::new();
/// for n in &rx {
///     got.push(n);
/// }
/// assert_eq!(got, [0, 1, 2, 3, 4]);
/// # });
/// ```
#[derive(Debug)]
pub struct Iter<'a, T> {
    rx: &'a Receiver<T>,
}

impl<'a, T> Iter<'a, T> {
    pub(super) fn new(rx: &'a Receiver<T>) -> Self {
        Iter { rx }
    }
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;
    fn next(&mut self) -> Option<T> {
        self.rx.recv()
    }
}

/// Iterator that owns its [`Receiver`].
///
/// ```
/// # sched::testing::run(2, 2, || {
/// let (tx, rx) = csp::chan(2);
/// csp::go(move || (0..5).for_each(|n| tx.send(n).unwrap()));
/// let squares: Vec<u32> = rx.into_iter().map(|n| n * n).collect();
/// assert_eq!(squares, [0, 1, 4, 9, 16]);
/// # });
/// ```
#[derive(Debug)]
pub struct IntoIter<T> {
    rx: Receiver<T>,
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;
    fn next(&mut self) -> Option<T> {
        self.rx.recv()
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;
    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;
    fn into_iter(self) -> IntoIter<T> {
        IntoIter { rx: self }
    }
}
