//! `print!`, `println!`, `eprintln!`: text is formatted first, without any lock, and then written as one piece, so
//! that lines of goroutines on different CPUs do not mix.

use alloc::vec::Vec;
use core::fmt::{self, Write};

/// Text up to this length needs no heap.
const ON_STACK_BYTES: usize = 256;

/// Collects formatted text: on the stack while it fits, on the heap from then on.
struct Text {
    short: [u8; ON_STACK_BYTES],
    used: usize,
    long: Vec<u8>,
}

impl Text {
    const fn new() -> Text {
        Text {
            short: [0; ON_STACK_BYTES],
            used: 0,
            long: Vec::new(),
        }
    }

    fn bytes(&mut self) -> &mut [u8] {
        if self.long.is_empty() {
            &mut self.short[..self.used]
        } else {
            &mut self.long
        }
    }
}

impl Write for Text {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        if self.long.is_empty() {
            if let Some(room) = self.short.get_mut(self.used..self.used + s.len()) {
                room.copy_from_slice(s.as_bytes());
                self.used += s.len();
                return Ok(());
            }
            self.long.reserve(2 * ON_STACK_BYTES + s.len());
            self.long.extend_from_slice(&self.short[..self.used]);
        }
        self.long.extend_from_slice(s.as_bytes());
        Ok(())
    }
}

/// Writes to the program's console as one piece. What [`print!`](crate::print!) and [`println!`](crate::println!) call.
///
/// ```no_run
/// ringo::print::to_console(format_args!("{} bottles\n", 99));
/// ```
///
/// # Panics
///
/// If a `Display` in it answers with an error.
pub fn to_console(args: fmt::Arguments<'_>) {
    let mut text = Text::new();
    text.write_fmt(args)
        .expect("a Display answered with an error");
    arch::console_write(text.bytes());
}

/// Writes bytes, text or not, to the program's console as they are.
///
/// ```no_run
/// ringo::print::bytes_to_console(&[0x89, b'P', b'N', b'G']);
/// ```
pub fn bytes_to_console(bytes: &[u8]) {
    arch::console_write(bytes)
}

/// Writes to the console's error side (the runner's stderr) as one piece. What [`eprintln!`](crate::eprintln!) calls.
///
/// ```no_run
/// ringo::print::to_error_side(format_args!("lost {} packets\n", 3));
/// ```
///
/// # Panics
///
/// If a `Display` in it answers with an error.
pub fn to_error_side(args: fmt::Arguments<'_>) {
    let mut text = Text::new();
    text.write_fmt(args)
        .expect("a Display answered with an error");
    no_events(text.bytes());
    arch::control_write(text.bytes());
}

/// Writes bytes of a program of ring 3 to the console's error side.
pub(crate) fn bytes_to_error_side(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    no_events(&mut bytes);
    arch::control_write(&bytes);
}

/// A line that starts with byte 1 would be taken for an event of the kernel.
fn no_events(bytes: &mut [u8]) {
    for b in bytes.iter_mut().filter(|b| **b == 1) {
        *b = b'?'
    }
}

/// Prints to the console; the whole text stays together.
///
/// ```no_run
/// ringo::print!("{} goroutines", 3);
/// ```
#[macro_export]
macro_rules! print {
    ($($arg:tt)*) => { $crate::print::to_console(::core::format_args!($($arg)*)) };
}

/// Prints a line to the console; the whole line stays together.
///
/// ```no_run
/// ringo::println!("{} goroutines", 3);
/// ```
#[macro_export]
macro_rules! println {
    () => { $crate::print!("\n") };
    ($($arg:tt)*) => { $crate::print::to_console(::core::format_args!("{}\n", ::core::format_args!($($arg)*))) };
}

/// Prints to the console's error side, the runner's stderr; the whole text stays together.
///
/// ```no_run
/// ringo::eprint!("lost {} packets", 3);
/// ```
#[macro_export]
macro_rules! eprint {
    ($($arg:tt)*) => { $crate::print::to_error_side(::core::format_args!($($arg)*)) };
}

/// Prints a line to the console's error side, the runner's stderr; the whole line stays together.
///
/// ```no_run
/// ringo::eprintln!("lost {} packets", 3);
/// ```
#[macro_export]
macro_rules! eprintln {
    () => { $crate::eprint!("\n") };
    ($($arg:tt)*) => { $crate::print::to_error_side(::core::format_args!("{}\n", ::core::format_args!($($arg)*))) };
}

#[cfg(test)]
mod tests {
    use super::{ON_STACK_BYTES, Text};
    use alloc::string::String;
    use core::fmt::Write;

    #[test]
    fn text_of_every_length_comes_out_whole() {
        for n in [0, 1, 255, 256, 257, 511, 512, 513, 5000] {
            for piece in [1, 7, 100, 300] {
                let whole: String = (0..n).map(|i| char::from(b'a' + (i % 26) as u8)).collect();
                let mut text = Text::new();
                for p in whole.as_bytes().chunks(piece) {
                    text.write_str(core::str::from_utf8(p).unwrap()).unwrap();
                }
                assert_eq!(text.bytes(), whole.as_bytes());
                assert!(text.long.is_empty() || n > ON_STACK_BYTES);
            }
        }
    }
}
