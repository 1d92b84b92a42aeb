//! Percent-encoding (RFC 3986, 2.1).

use alloc::borrow::Cow;
use alloc::vec::Vec;

/// Bytes with their escapes taken out; a `%` that begins none stays.
pub(crate) fn decoded(text: &str) -> impl Iterator<Item = u8> + '_ {
    let mut rest = text.as_bytes();
    core::iter::from_fn(move || {
        let (&first, after) = rest.split_first()?;
        let escape = match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                let digit = |d: u8| (d as char).to_digit(16);
                let both = digit(*high).zip(digit(*low));
                both.map(|(high, low)| ((high << 4 | low) as u8, after))
            }
            _ => None,
        };
        let (byte, after) = escape.unwrap_or((first, after));
        rest = after;
        Some(byte)
    })
}

/// A part of a target without its escapes; none if that is not UTF-8.
///
/// ```
/// assert_eq!(net::http::percent_decode("a%20b").unwrap(), "a b");
/// assert_eq!(net::http::percent_decode("%ff"), None);
/// ```
pub fn percent_decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let bytes: Vec<u8> = decoded(text).collect();
    alloc::string::String::from_utf8(bytes).ok().map(Cow::Owned)
}
