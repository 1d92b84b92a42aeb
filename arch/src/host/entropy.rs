//! Randomness of the host's kernel.

/// Hard to guess.
pub fn entropy() -> u64 {
    let mut value = [0; 8];
    // SAFETY: writes into eight bytes that are there.
    let got = unsafe { libc::getrandom(value.as_mut_ptr().cast(), value.len(), 0) };
    assert_eq!(got, 8, "the host gives no random bytes");
    u64::from_ne_bytes(value)
}
