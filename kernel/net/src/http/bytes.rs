//! Small things about bytes that several files need.

/// A part of a head, by its place: it stays right when the buffer moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    at: u32,
    len: u32,
}

impl Span {
    /// Where `part` lies in `whole`, which it is a slice of.
    pub fn of(whole: &[u8], part: &[u8]) -> Span {
        let at = part.as_ptr().addr().wrapping_sub(whole.as_ptr().addr());
        debug_assert!(at + part.len() <= whole.len());
        Span {
            at: at as u32,
            len: part.len() as u32,
        }
    }

    pub fn get(self, whole: &[u8]) -> &[u8] {
        let at = self.at as usize;
        whole.get(at..at + self.len as usize).unwrap_or_default()
    }

    /// The same of what has been found to be ASCII.
    pub fn text(self, whole: &[u8]) -> &str {
        core::str::from_utf8(self.get(whole)).unwrap_or_default()
    }
}

/// A character of a token (RFC 9110, 5.6.2).
pub(crate) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// A character of a field's value: visible, space, tab, or above ASCII (RFC 9110, 5.5).
pub(crate) fn is_value(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// Without spaces and tabs around.
pub(crate) fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

/// The elements of a list with commas, trimmed; empty ones too.
pub(crate) fn elements(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|&byte| byte == b',').map(trim)
}

/// A decimal number's digits.
pub(crate) fn decimal(mut n: u64, room: &mut [u8; 20]) -> &[u8] {
    let mut at = room.len();
    loop {
        at -= 1;
        room[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            return &room[at..];
        }
    }
}

/// A hexadecimal number's digits.
pub(crate) fn hexadecimal(mut n: u64, room: &mut [u8; 16]) -> &[u8] {
    let mut at = room.len();
    loop {
        at -= 1;
        room[at] = b"0123456789abcdef"[(n & 15) as usize];
        n >>= 4;
        if n == 0 {
            return &room[at..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let mut room = [0; 20];
        for n in [0, 9, 10, 12345, u64::MAX] {
            assert_eq!(decimal(n, &mut room), format!("{n}").as_bytes());
        }
        let mut room = [0; 16];
        for n in [0, 15, 16, 0xabcdef, u64::MAX] {
            assert_eq!(hexadecimal(n, &mut room), format!("{n:x}").as_bytes());
        }
    }

    #[test]
    fn lists() {
        let all: Vec<&[u8]> = elements(b" a,\tb ,, c").collect();
        assert_eq!(all, [&b"a"[..], b"b", b"", b"c"]);
        assert_eq!(trim(b" \t "), b"");
    }

    #[test]
    fn spans() {
        let whole = b"GET /path HTTP/1.1";
        let span = Span::of(whole, &whole[4..9]);
        assert_eq!(span.text(whole), "/path");
        assert_eq!(span.get(b"short"), b"");
    }
}
