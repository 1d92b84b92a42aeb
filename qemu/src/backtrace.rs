//! Appends names to the lines of a backtrace, `#N 0xffffffff8…`, and to those about the end of a ring-3 process,
//! `process N (NAME)… at 0x…`, and lets everything else through untouched and undelayed.

use std::io::{self, Write};

/// Longest line that can get a name.
const LINE_LIMIT: usize = 300;
/// Where the kernel's 2 GiB begin.
const KERNEL: u64 = 0xffff_ffff_8000_0000;
/// Where what ring 3 can have ends.
const RING_3_END: u64 = 1 << 47;

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// An instruction of the kernel's.
    Kernel {
        /// Its address.
        address: u64,
        /// Whether that is one to return to.
        is_return: bool,
    },
    /// An instruction of a ring-3 program's.
    User {
        /// The program's name.
        program: &'a str,
        /// The instruction's address.
        address: u64,
    },
}

/// A writer that passes bytes on as they come. Only where a line turns out to be one that gets a name does it put
/// something before the line's end.
pub struct Annotator<W, F> {
    out: W,
    name_of: F,
    line: Vec<u8>,
    /// What is written next: all of a piece at once, so that nobody else's words get between.
    ready: Vec<u8>,
    /// A carriage return kept back because what follows may be the end of such a line.
    held: bool,
}

impl<W: Write, F: FnMut(Frame<'_>) -> Option<String>> Annotator<W, F> {
    /// `name_of` gives what is appended.
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
        if self.line.len() <= LINE_LIMIT
            && let Some(frame) = frame(&self.line)
            && let Some(name) = (self.name_of)(frame)
        {
            self.ready.extend_from_slice(name.as_bytes());
        }
        self.line.clear();
        if std::mem::take(&mut self.held) {
            self.ready.push(b'\r');
        }
        self.ready.push(b'\n');
    }

    fn frame(&self) -> Option<Frame<'_>> {
        (self.line.len() <= LINE_LIMIT).then(|| frame(&self.line))?
    }
}

/// What a line is about that gets a name.
fn frame(line: &[u8]) -> Option<Frame<'_>> {
    let text = std::str::from_utf8(line).ok()?;
    let mut from_end = text.split_whitespace().rev();
    let hex = from_end.next()?.strip_prefix("0x")?;
    let address = u64::from_str_radix(hex, 16).ok()?;
    match from_end.next()? {
        "at" if address < RING_3_END => {
            let program = process(text)?;
            Some(Frame::User { program, address })
        }
        word if address >= KERNEL => {
            let number: u32 = word.strip_prefix('#')?.parse().ok()?;
            let is_return = number > 0;
            Some(Frame::Kernel { address, is_return })
        }
        _ => None,
    }
}

/// The name in `process N (NAME)`.
fn process(text: &str) -> Option<&str> {
    let (_, behind) = text.split_once("process ")?;
    let (number, behind) = behind.split_once(" (")?;
    number.parse::<u64>().ok()?;
    Some(behind.split_once(')')?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotate(chunks: &[&[u8]]) -> String {
        let name_of = |frame: Frame<'_>| {
            Some(match frame {
                Frame::Kernel { address, is_return } => {
                    let mark = if is_return { "r" } else { "" };
                    format!(" in f{:x}{mark}", address & 0xff)
                }
                Frame::User { program, address } => format!(" in {program}::f{address:x}"),
            })
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
    fn ends_of_processes_get_names() {
        let text = "process 3 (crash), thread 17: page fault: write to 0x0, where nothing is mapped, at 0x401234";
        let wanted = format!("{text} in crash::f401234\r\n");
        assert_eq!(annotate(&[text.as_bytes(), b"\r\n"]), wanted);
        for none in [
            "process three (crash): page fault at 0x401234\n",
            "process 3: page fault at 0x401234\n",
            "process 3 (crash): page fault at 0xffff800000000000\n",
            "process 3 (crash): page fault at 0x401234, then\n",
            "a page fault at 0x401234\n",
        ] {
            assert_eq!(annotate(&[none.as_bytes()]), none);
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
        let mut annotator = Annotator::new(Vec::new(), |_| None);
        annotator.feed(b"name? ").unwrap();
        assert_eq!(annotator.out, b"name? ");
        annotator.feed(b"\xff\x00").unwrap();
        assert_eq!(annotator.out, b"name? \xff\x00");
    }
}
