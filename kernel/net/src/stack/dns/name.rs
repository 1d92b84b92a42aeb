//! Names as they stand in messages: labels, each behind its length, and an empty one at the end; in small letters here.

use alloc::vec::Vec;
use smoltcp::wire::DnsPacket;

/// The longest name, and the longest label (RFC 1035, 2.3.4).
const NAME_BYTES: usize = 255;
const LABEL_BYTES: usize = 63;

/// A name as people write it. None: it cannot be one.
pub(super) fn from_text(text: &str) -> Option<Vec<u8>> {
    let text = text.strip_suffix('.').unwrap_or(text);
    let mut name = Vec::with_capacity(text.len() + 2);
    for label in text.split('.') {
        let label = label.as_bytes();
        let good = |&byte: &u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if label.is_empty() || label.len() > LABEL_BYTES || !label.iter().all(good) {
            return None;
        }
        push(&mut name, label)?
    }
    name.push(0);
    Some(name)
}

/// A name out of a message, which may point to others in it. None: it is longer than a name can be, or leads nowhere.
pub(super) fn from_message(packet: &DnsPacket<&[u8]>, bytes: &[u8]) -> Option<Vec<u8>> {
    let mut name = Vec::new();
    // It goes only ever backwards, so there is no loop to fall into.
    for label in packet.parse_name(bytes) {
        push(&mut name, label.ok()?)?
    }
    name.push(0);
    Some(name)
}

fn push(name: &mut Vec<u8>, label: &[u8]) -> Option<()> {
    // With the length before, and the empty label behind.
    if name.len() + 1 + label.len() + 1 > NAME_BYTES {
        return None;
    }
    name.push(label.len() as u8);
    name.extend(label.iter().map(u8::to_ascii_lowercase));
    Some(())
}

/// `localhost`, and whatever ends in it.
pub(super) fn is_localhost(name: &[u8]) -> bool {
    let tail = b"\x09localhost\x00";
    let mut rest = name;
    while let Some((&len, labels)) = rest.split_first() {
        if rest == tail {
            return true;
        }
        rest = labels.get(usize::from(len)..).unwrap_or(&[])
    }
    false
}
