//! Text stored by value, so that a configuration and its errors need no heap.

use core::fmt;

/// A short piece of text that is stored by value; a longer one is cut.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Word {
    bytes: [u8; Word::CAPACITY],
    len: u8,
}

impl Word {
    /// Bytes that fit.
    pub const CAPACITY: usize = 104;
    /// The empty word.
    pub const EMPTY: Word = Word {
        bytes: [0; Word::CAPACITY],
        len: 0,
    };

    /// Stores `text`, cut at a character's boundary where it is longer than [`Word::CAPACITY`] bytes.
    pub fn new(text: &str) -> Word {
        let len = text.floor_char_boundary(Word::CAPACITY);
        let mut bytes = [0; Word::CAPACITY];
        bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
        Word {
            bytes,
            len: len as u8,
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        // Always text, since `new` cuts at a boundary; the empty word is never reached.
        core::str::from_utf8(&self.bytes[..usize::from(self.len)]).unwrap_or("")
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
