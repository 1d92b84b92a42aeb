//! Frames of a stack by its chain of frame pointers. The runner turns addresses into names.

use super::out::Out;
use core::fmt::Write;
use sched::GRef;

/// Frames that are shown at most: the innermost ones.
pub(crate) const FRAMES: usize = 24;

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
pub(super) fn print_callers(out: &mut Out, rbp: usize) {
    let mut n = 0;
    walk(rbp, |rip| caller(out, &mut n, rip));
}

/// Print the frames of a G that does not run.
///
/// # Safety
/// As [`stopped_frames`].
pub(super) unsafe fn print_stopped(out: &mut Out, g: GRef) {
    let mut n = 0;
    // SAFETY: the caller's promise.
    unsafe { stopped_frames(g, |rip| caller(out, &mut n, rip)) }
}

/// A line for a return address. False: enough.
fn caller(out: &mut Out, n: &mut usize, rip: usize) -> bool {
    line(out, n, shown(*n, rip));
    *n < FRAMES
}

/// Address that is shown for the return address of frame `n`. The first of a backtrace is taken to be where something
/// happened, not where it would go on: so it is the last byte of the call.
pub(crate) fn shown(n: usize, rip: usize) -> usize {
    if n == 0 { rip - 1 } else { rip }
}

fn line(out: &mut Out, n: &mut usize, rip: usize) {
    let _ = writeln!(out, "#{n} {rip:#018x}");
    *n += 1
}

/// Call `f` with the return addresses of a G that does not run, until it has enough. The innermost one is the scheduler's, which put
/// the G to sleep, and left out.
///
/// # Safety
/// The G has a saved context, and stays stopped.
pub(crate) unsafe fn stopped_frames(g: GRef, mut f: impl FnMut(usize) -> bool) {
    // SAFETY: the caller's promise.
    let (rip, rbp) = unsafe { arch::saved_frame(g.saved_context()) };
    if rbp == 0 {
        f(rip + 1); // it has not run yet: where it will begin
        return;
    }
    // SAFETY: the caller's promise. Behind six registers and the return address (`arch::saved_frame`) lies the caller's frame.
    let sp = unsafe { g.saved_context().get() } + 7 * 8;
    match interrupted_rip(rip, sp) {
        Some(rip) if !f(rip + 1) => {}
        _ => walk(rbp, f),
    }
}

/// Call `f` with the return address of the frame that `rbp` belongs to, and of those above it, until it has enough.
pub(crate) fn walk(mut rbp: usize, mut f: impl FnMut(usize) -> bool) {
    while rbp != 0 && rbp.is_multiple_of(8) && readable(rbp) && readable(rbp + 8) {
        // SAFETY: both words are mapped; whatever they hold is only printed or tried as the next frame.
        let (next, rip) = unsafe { (*(rbp as *const usize), *((rbp + 8) as *const usize)) };
        if rip == 0 || !f(rip) || next <= rbp {
            return;
        }
        // The code that was interrupted did not call the trampoline: its place is in the injected frame.
        if interrupted_rip(rip, rbp + 16).is_some_and(|rip| !f(rip)) {
            return;
        }
        rbp = next
    }
}

/// The frame pointer of the function in which this stands.
#[inline(always)]
pub(crate) fn frame_pointer() -> usize {
    let rbp: usize;
    // SAFETY: reads a register.
    unsafe {
        core::arch::asm!("mov {}, rbp", out(reg) rbp, options(nomem, nostack, preserves_flags))
    };
    rbp
}

#[cfg(ringo_kernel)]
fn interrupted_rip(rip: usize, sp: usize) -> Option<usize> {
    arch::bare::interrupted_rip(rip, sp)
}
/// Nobody is interrupted there.
#[cfg(not(ringo_kernel))]
fn interrupted_rip(_: usize, _: usize) -> Option<usize> {
    None
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
