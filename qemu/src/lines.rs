//! Lines of a machine's two streams that end up in one place, a terminal or `2>&1`: each stays whole.
//!
//! ```text
//!           a line begins                 its end
//!  closed ----------------> open --------------------> closed
//!                            |  nothing for PATIENCE
//!                            +-------------------------> the other side waits for it no longer: a prompt
//! ```
//!
//! Nothing is held back: what has come is written at once, half a line as well, unless the other side is within a line
//! that is still being written. The machine's two streams come by way of a serial line and of a port, in pieces of any
//! size, so without this they would tear each other's lines.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// So long after its last byte a line is thought to go on.
const PATIENCE: Duration = Duration::from_millis(100);
/// For lines that go on and on the longest wait is so many times that.
const PATIENCE_FOR_ALL: u32 = 4;

/// One of a machine's streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The program's output.
    Console,
    /// Diagnostics.
    Errors,
}

impl Side {
    fn other(self) -> Side {
        match self {
            Side::Console => Side::Errors,
            Side::Errors => Side::Console,
        }
    }
}

/// Where each side stands.
#[derive(Debug, Default)]
struct State {
    /// When the last byte went out of the line that is open, by side.
    open: [Option<Instant>; 2],
    /// Who waits for the other's line to end, by side.
    waiting: [u32; 2],
    /// Which sides have ended within a line.
    cut: [bool; 2],
}

/// The lines of a machine's two streams.
#[derive(Clone, Debug)]
pub struct Lines {
    shared: Arc<(Mutex<State>, Condvar)>,
    together: bool,
    patience: Duration,
}

impl Lines {
    /// `together`: both go to one place.
    pub fn new(together: bool) -> Lines {
        Lines {
            shared: Arc::default(),
            together,
            patience: PATIENCE,
        }
    }

    /// Writes `bytes` with `feed`, in pieces, each when the other side is not within a line.
    ///
    /// # Errors
    ///
    /// `feed`'s.
    pub fn write<E>(
        &self,
        side: Side,
        bytes: &[u8],
        mut feed: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if !self.together {
            self.lock().note(side, bytes);
            return feed(bytes);
        }
        // Whole lines first: between them and the one that begins the other side has its turn.
        let end = bytes.iter().rposition(|byte| *byte == b'\n');
        let (whole, begun) = bytes.split_at(end.map_or(0, |at| at + 1));
        for piece in [whole, begun].into_iter().filter(|piece| !piece.is_empty()) {
            let mut state = self.turn(side);
            // Under the lock: one piece is not written within another.
            let fed = feed(piece);
            state.note(side, piece);
            drop(state);
            self.shared.1.notify_all();
            fed?
        }
        Ok(())
    }

    /// Nothing more comes from this side.
    pub fn close(&self, side: Side) {
        let mut state = self.lock();
        state.cut[side as usize] = state.open[side as usize].take().is_some();
        drop(state);
        self.shared.1.notify_all();
    }

    /// Whether this side has ended within a line.
    pub fn ended_within(&self, side: Side) -> bool {
        self.lock().cut[side as usize]
    }

    /// Whether what is written to [`Side::Errors`] after the end of both would stand in a line that has not ended.
    pub fn end_within(&self) -> bool {
        let cut = self.lock().cut;
        cut[Side::Errors as usize] || self.together && cut[Side::Console as usize]
    }

    /// Writes a line of the runner's own to the error side.
    pub fn say(&self, feed: impl FnOnce()) {
        let mut state = self.lock();
        state.waiting[Side::Errors as usize] += 1;
        // It is not to continue a line of its own side either.
        let sides = [Side::Errors, Side::Console];
        let sides = &sides[..if self.together { 2 } else { 1 }];
        let mut state = self.until_closed(state, sides);
        state.waiting[Side::Errors as usize] -= 1;
        if !self.together {
            drop(state);
            return feed();
        }
        feed();
        drop(state);
        self.shared.1.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        let state = self.shared.0.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `side` may write, where both go to one place.
    fn turn(&self, side: Side) -> MutexGuard<'_, State> {
        let state = self.lock();
        let other = side.other();
        // Who has waited for our line to end goes first, or a busy stream would keep it waiting for ever.
        let owed = |state: &mut State| {
            state.open[side as usize].is_none() && state.waiting[other as usize] > 0
        };
        let waited = self.shared.1.wait_timeout_while(state, self.patience, owed);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.waiting[side as usize] += 1;
        let mut state = self.until_closed(state, &[other]);
        state.waiting[side as usize] -= 1;
        state
    }

    /// Waits until none of `sides` is within a line, or has been for too long.
    fn until_closed<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        sides: &[Side],
    ) -> MutexGuard<'a, State> {
        let begun = Instant::now();
        let longest = |state: &State| {
            let now = Instant::now();
            let lefts = sides
                .iter()
                .filter_map(|side| left(state.open[*side as usize], begun, now, self.patience));
            lefts.max()
        };
        while let Some(left) = longest(&state) {
            let waited = self.shared.1.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state
    }
}

/// How long a line that is open since its last byte is waited for, at `now`, by one who has waited since `begun`.
fn left(
    open: Option<Instant>,
    begun: Instant,
    now: Instant,
    patience: Duration,
) -> Option<Duration> {
    let until = (open? + patience).min(begun + patience * PATIENCE_FOR_ALL);
    let left = until.checked_duration_since(now);
    left.filter(|left| !left.is_zero())
}

impl State {
    fn note(&mut self, side: Side, bytes: &[u8]) {
        match bytes.last() {
            None => {}
            Some(b'\n') => self.open[side as usize] = None,
            Some(_) => self.open[side as usize] = Some(Instant::now()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// Both sides write `count` lines each in pieces of all sizes; what came of it.
    fn both(together: bool, count: usize) -> String {
        // However slow the host is.
        let patience = Duration::from_secs(600);
        let lines = Lines {
            patience,
            ..Lines::new(together)
        };
        let place = Mutex::new(Vec::new());
        let side = |side: Side, name: &str| {
            let text: String = (0..count).map(|n| format!("{name} says {n}.\n")).collect();
            let mut rest = text.as_bytes();
            for size in (1..40).cycle() {
                let (piece, after) = rest.split_at(size.min(rest.len()));
                let fed = lines.write(side, piece, |bytes| {
                    place.lock().unwrap().extend_from_slice(bytes);
                    Ok::<_, ()>(())
                });
                fed.unwrap();
                thread::yield_now();
                rest = after;
                if rest.is_empty() {
                    break;
                }
            }
            lines.close(side);
        };
        thread::scope(|scope| {
            scope.spawn(|| side(Side::Console, "one"));
            scope.spawn(|| side(Side::Errors, "two"));
        });
        String::from_utf8(place.into_inner().unwrap()).unwrap()
    }

    #[test]
    fn lines_stay_whole() {
        let count = 2000;
        let text = both(true, count);
        for name in ["one", "two"] {
            let lines = text.lines().filter(|line| line.starts_with(name));
            let wanted = (0..count).map(|n| format!("{name} says {n}."));
            assert!(lines.eq(wanted), "{text}");
        }
        assert_eq!(text.lines().count(), 2 * count);
    }

    #[test]
    fn how_long_a_line_is_waited_for() {
        let begun = Instant::now();
        let ms = Duration::from_millis;
        let left = |open: Option<u64>, now| {
            let open = open.map(|open| begun + ms(open));
            left(open, begun, begun + ms(now), ms(100))
        };
        assert_eq!(left(None, 0), None);
        assert_eq!(left(Some(0), 0), Some(ms(100)));
        assert_eq!(left(Some(0), 100), None);
        // One that goes on.
        assert_eq!(left(Some(300), 300), Some(ms(100)));
        assert_eq!(left(Some(350), 399), Some(ms(1)));
        assert_eq!(left(Some(399), 400), None);
    }

    #[test]
    fn half_a_line_is_written_at_once() {
        let lines = Lines::new(true);
        let mut place = Vec::new();
        let mut write = |side, bytes: &[u8]| {
            let fed = lines.write(side, bytes, |bytes| {
                place.extend_from_slice(bytes);
                Ok::<_, ()>(())
            });
            fed.unwrap();
            place.clone()
        };
        assert_eq!(write(Side::Console, b"one\nname? "), b"one\nname? ");
        // After a while, since nothing ends the line.
        assert_eq!(write(Side::Errors, b"two\n"), b"one\nname? two\n");
        lines.close(Side::Console);
        lines.close(Side::Errors);
        assert!(lines.ended_within(Side::Console) && !lines.ended_within(Side::Errors));
        assert!(lines.end_within());
    }

    #[test]
    fn apart_they_do_not_wait() {
        let lines = Lines::new(false);
        let feed = |_: &[u8]| Ok::<_, ()>(());
        lines.write(Side::Console, b"half", feed).unwrap();
        // No lock is held while one of them is written: the other's reader may have stopped.
        let nested = lines.write(Side::Errors, b"two\n", |bytes| {
            lines.write(Side::Console, bytes, feed)
        });
        assert_eq!(nested, Ok(()));
        lines.close(Side::Console);
        assert!(!lines.end_within());
    }
}
