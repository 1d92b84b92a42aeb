//! Frames of a stack by its chain of frame pointers. The runner turns addresses into names.

use super::out::Out;
use core::fmt::Write;

/// Frames that are shown at most: the innermost ones.
const FRAMES: usize = 24;

/// Print the frame at `rip` and those above it. Ends where the chain does, or stops making sense.
pub(super) fn print(out: &mut Out, rip: usize, rbp: usize) {
    let mut n = 0;
    line(out, &mut n, rip);
    walk(rbp, |rip| {
        line(out, &mut n, rip);
        n < FRAMES
    });
}

/// Print the frames above the one that `rbp` belongs to.
#[cfg(ringo_kernel)]
pub(super) fn print_callers(out: &mut Out, rbp: usize) {
    let mut n = 0;
    walk(rbp, |rip| {
        line(out, &mut n, rip);
        n < FRAMES
    });
}

fn line(out: &mut Out, n: &mut usize, rip: usize) {
    let _ = writeln!(out, "#{n} {rip:#018x}");
    *n += 1
}

/// Call `f` with each return address, until it has enough.
fn walk(mut rbp: usize, mut f: impl FnMut(usize) -> bool) {
    while rbp != 0 && rbp.is_multiple_of(8) && readable(rbp) && readable(rbp + 8) {
        // SAFETY: both words are mapped; whatever they hold is only printed or tried as the next frame.
        let (next, rip) = unsafe { (*(rbp as *const usize), *((rbp + 8) as *const usize)) };
        if rip == 0 || !f(rip) || next <= rbp {
            return;
        }
        rbp = next
    }
}

#[cfg(ringo_kernel)]
fn readable(address: usize) -> bool {
    arch::bare::readable(address as u64)
}
/// On the host machine std and debuggers do better.
#[cfg(not(ringo_kernel))]
fn readable(_: usize) -> bool {
    false
}
