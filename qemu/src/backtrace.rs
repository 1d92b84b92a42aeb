//! Appends names to the lines of a backtrace, `#N 0xffffffff8…`, and lets everything else through untouched and
//! undelayed.

use std::io::{self, Write};

/// Longest line that can be one of a backtrace.
const LINE_LIMIT: usize = 200;

/// A writer that passes bytes on as they come. Only where a line turns out to be one of a backtrace does it put
/// something before the line's end.
pub struct Annotator<W, F> {
    out: W,
    name_of: F,
    line: Vec<u8>,
    /// What is written next: all of a piece at once, so that nobody else's words get between.
    ready: Vec<u8>,
    /// A carriage return kept back because what follows may be the end of a backtrace's line.
    held: bool,
}

impl<W: Write, F: FnMut(u64, bool) -> Option<String>> Annotator<W, F> {
    /// `name_of` gets an address and whether it is one to return to, and gives what is appended.
    pub fn new(out: W, name_of: F) -> Annotator<W, F> {
        Annotator {
            out,
            name_of,
            line: Vec::new(),
            ready: Vec::new(),
            held: false,
        }
    }

    /// Passes bytes on.
    pub fn feed(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            self.part(part);
            if end.is_some() {
                self.line_end();
            }
            bytes = &bytes[part.len() + usize::from(end.is_some())..];
        }
        let written = self.out.write_all(&self.ready);
        self.ready.clear();
        written.and_then(|()| self.out.flush())
    }

    fn part(&mut self, mut part: &[u8]) {
        if part.is_empty() {
            return;
        }
        if std::mem::take(&mut self.held) {
            self.ready.push(b'\r');
        }
        if self.line.len() <= LINE_LIMIT {
            self.line
                .extend_from_slice(&part[..part.len().min(LINE_LIMIT + 1)]);
        }
        if part.ends_with(b"\r") && self.frame().is_some() {
            part = &part[..part.len() - 1];
            self.held = true;
        }
        self.ready.extend_from_slice(part);
    }

    fn line_end(&mut self) {
        if let Some((number, address)) = self.frame()
            && let Some(name) = (self.name_of)(address, number > 0)
        {
            self.ready.extend_from_slice(name.as_bytes());
        }
        self.line.clear();
        if std::mem::take(&mut self.held) {
            self.ready.push(b'\r');
        }
        self.ready.push(b'\n');
    }

    fn frame(&self) -> Option<(u32, u64)> {
        (self.line.len() <= LINE_LIMIT).then(|| frame(&self.line))?
    }
}

/// Number and address of a backtrace's line.
fn frame(line: &[u8]) -> Option<(u32, u64)> {
    let text = std::str::from_utf8(line).ok()?;
    let mut words = text.split_whitespace();
    words
        .find_map(|word| {
            let number = word.strip_prefix('#')?.parse().ok()?;
            Some(number)
        })
        .and_then(|number| {
            let hex = words.next()?.strip_prefix("0x")?;
            let address = u64::from_str_radix(hex, 16).ok()?;
            // Nothing follows the address, and it lies in the kernel's 2 GiB.
            (words.next().is_none() && address >= 0xffff_ffff_8000_0000)
                .then_some((number, address))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotate(chunks: &[&[u8]]) -> String {
        let name_of = |address: u64, ret: bool| {
            Some(format!(
                " in f{:x}{}",
                address & 0xff,
                if ret { "r" } else { "" }
            ))
        };
        let mut annotator = Annotator::new(Vec::new(), name_of);
        for chunk in chunks {
            annotator.feed(chunk).unwrap();
        }
        String::from_utf8(annotator.out).unwrap()
    }

    #[test]
    fn frames_get_names() {
        let text = b"panic!\n  #0 0xffffffff80000010\r\n#1 0xffffffff80000020\nbye #1\n";
        let wanted =
            "panic!\n  #0 0xffffffff80000010 in f10\r\n#1 0xffffffff80000020 in f20r\nbye #1\n";
        assert_eq!(annotate(&[text]), wanted);
        for cut in 1..text.len() {
            assert_eq!(annotate(&[&text[..cut], &text[cut..]]), wanted, "{cut}");
        }
    }

    #[test]
    fn nothing_else_does() {
        for text in [
            "#0 0x1234\n",
            "#0 0xffffffff80000010 and more\n",
            "#x 0xffffffff80000010\n",
            "0xffffffff80000010\n",
            "50 %\r60 %\r",
            "no line end",
            "#1 0xffffffff80000010",
            "\n\n",
        ] {
            assert_eq!(annotate(&[text.as_bytes()]), text);
        }
        let long = format!("{} #0 0xffffffff80000010\n", "x".repeat(300));
        assert_eq!(annotate(&[long.as_bytes()]), long);
    }

    #[test]
    fn bytes_are_not_delayed() {
        let mut annotator = Annotator::new(Vec::new(), |_, _| None);
        annotator.feed(b"name? ").unwrap();
        assert_eq!(annotator.out, b"name? ");
        annotator.feed(b"\xff\x00").unwrap();
        assert_eq!(annotator.out, b"name? \xff\x00");
    }
}
