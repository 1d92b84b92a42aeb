//! What stands before each frame in a buffer: `struct virtio_net_hdr` (virtio 1.2, 5.1.6).

/// Bytes of it.
pub(super) const HEADER_BYTES: usize = 12;

/// `flags`: the checksum is only begun: of the pseudo-header.
const NEEDS_CSUM: u8 = 1;
/// `flags`: the device has checked the checksum.
const DATA_VALID: u8 = 2;

/// A checksum that the device finishes: over the frame from `start` on, into the two bytes `offset` behind that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum {
    /// Where what is summed begins, in bytes from the frame's first.
    pub start: u16,
    /// Where the sum goes, in bytes from `start`.
    pub offset: u16,
}

/// The header of a frame to be sent.
pub(super) fn write(to: &mut [u8], checksum: Option<Checksum>) {
    to[..HEADER_BYTES].fill(0);
    if let Some(c) = checksum {
        to[0] = NEEDS_CSUM;
        to[6..8].copy_from_slice(&c.start.to_le_bytes());
        to[8..10].copy_from_slice(&c.offset.to_le_bytes())
    }
}

/// Need nobody check the frame's checksum? It was, or it never left this computer.
pub(super) fn is_checked(header: &[u8]) -> bool {
    header[0] & (NEEDS_CSUM | DATA_VALID) != 0
}
