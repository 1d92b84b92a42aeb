//! When the other side wants to be told.

/// Has an index that moved from `old` to `new` passed `event`, the place at which the other side asked to be told?
/// Indices wrap at 65,536 (virtio 1.2, 2.7.10.1).
#[inline]
pub fn need_event(event: u16, new: u16, old: u16) -> bool {
    new.wrapping_sub(event).wrapping_sub(1) < new.wrapping_sub(old)
}

#[cfg(all(test, not(ringo_loom)))]
mod tests {
    use super::*;

    /// By counting: is `event + 1` one of the values that the index took?
    fn passed(event: u16, new: u16, old: u16) -> bool {
        let mut at = old;
        while at != new {
            if at == event {
                return true;
            }
            at = at.wrapping_add(1)
        }
        false
    }

    #[test]
    fn is_what_counting_says() {
        for old in [0, 1, 7, 32767, 32768, 65530, 65535u16] {
            for step in 0..12 {
                for event in (0..24).map(|d| old.wrapping_sub(12).wrapping_add(d)) {
                    let new = old.wrapping_add(step);
                    assert_eq!(
                        need_event(event, new, old),
                        passed(event, new, old),
                        "event {event} new {new} old {old}"
                    );
                }
            }
        }
    }
}
