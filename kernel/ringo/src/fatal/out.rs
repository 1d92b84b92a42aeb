//! Where a report goes, and how its text is put together without a heap.

use core::fmt;

/// The runner's stderr, line by line, so that a whole line is one unit.
pub(super) struct Out {
    line: [u8; 256],
    used: usize,
}

impl Out {
    pub(super) fn new() -> Self {
        Self {
            line: [0; 256],
            used: 0,
        }
    }
    fn flush(&mut self) {
        if self.used > 0 {
            if super::reports() {
                trace::glass::last_words(&self.line[..self.used])
            }
            arch::control_write(&self.line[..self.used]);
            self.used = 0
        }
    }
}

impl fmt::Write for Out {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        for &b in s.as_bytes() {
            self.line[self.used] = b;
            self.used += 1;
            if b == b'\n' || self.used == self.line.len() {
                self.flush()
            }
        }
        Ok(())
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        self.flush()
    }
}

/// A panic's message: what fits.
#[cfg_attr(not(ringo_kernel), allow(dead_code))]
pub(super) struct Message {
    text: [u8; 1024],
    used: usize,
    cut: bool,
}

#[cfg_attr(not(ringo_kernel), allow(dead_code))]
impl Message {
    pub(super) fn new() -> Self {
        Self {
            text: [0; 1024],
            used: 0,
            cut: false,
        }
    }
    /// The text, and whether more of it was left out.
    pub(super) fn text(&self) -> (&str, bool) {
        (
            core::str::from_utf8(&self.text[..self.used]).unwrap_or("(not UTF-8)"),
            self.cut,
        )
    }
}

impl fmt::Write for Message {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        for c in s.chars() {
            let mut b = [0; 4];
            let b = c.encode_utf8(&mut b).as_bytes();
            match self.text.get_mut(self.used..self.used + b.len()) {
                Some(room) if !self.cut => {
                    room.copy_from_slice(b);
                    self.used += b.len()
                }
                _ => self.cut = true,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Message;
    use core::fmt::Write;

    #[test]
    fn a_message_is_cut_between_characters() {
        let mut m = Message::new();
        for _ in 0..1023 {
            m.write_str("x").unwrap()
        }
        m.write_str("ß").unwrap();
        m.write_str("y").unwrap();
        assert_eq!(m.text().0.len(), 1023);
        assert!(m.text().1);
    }
}
