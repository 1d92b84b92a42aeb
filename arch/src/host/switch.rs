//! Stacks and switches. The same frames as on the bare machine: what the System V ABI lets a function keep, and the
//! return address; a suspended G is one stack pointer.
//!
//! ```text
//!  top of a new G      suspended
//!  top-8    0          ...
//!  top-16   entry      return address of mcall
//!  top-24   rbx        rbx
//!  ...      rbp r12 r13 r14
//!  top-64   r15        r15   <- Context
//! ```

use super::cpu::this;
use super::fault;
use crate::Context;
use core::arch::naked_asm;

/// What runs on g0 between two Gs: gets the argument, returns the context to resume.
type OnG0 = unsafe extern "C" fn(usize) -> *const Context;

/// Suspends the caller in `*save`, calls `f(arg)` at the top of this CPU's g0 stack, and resumes the context that `f`
/// returns. Comes back when somebody resumes `*save`, perhaps on another CPU.
///
/// # Safety
/// On a G's stack, count 1 (I-SWITCH). `save` and the returned context stay valid until read; the returned one is
/// suspended and nobody else resumes it.
///
/// # Panics
/// In debug builds with another count than 1.
pub unsafe fn mcall(save: *const Context, f: OnG0, arg: usize) {
    let cpu = this();
    debug_assert_eq!(
        cpu.count.get(),
        1,
        "mcall with another preempt_count than 1"
    );
    debug_assert_ne!(cpu.g0_caller.get(), 0, "mcall outside of start_g0");
    // SAFETY: as the caller promises; the g0 stack is not in use while a G runs.
    unsafe { switch(save.cast_mut().cast(), f, arg, cpu.g0_top) }
}

#[unsafe(naked)]
unsafe extern "C" fn switch(save: *mut usize, f: OnG0, arg: usize, g0_top: usize) {
    naked_asm!(
        "push rbx",
        "push rbp",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rdi], rsp",
        "mov rsp, rcx",
        "mov rdi, rdx",
        "xor ebp, ebp", // backtraces of g0 end here
        "call rsi",
        "mov rsp, [rax]",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbp",
        "pop rbx",
        "ret",
    )
}

/// A thread becomes an M: calls `f(arg)` at the top of this CPU's g0 stack with count 1 and resumes the context that `f`
/// returns. Comes back when somebody on this thread's g0 calls [`leave_g0`]; count and G are then as before.
///
/// # Safety
/// Not on a g0 or a G. The returned context is as for [`mcall`].
pub unsafe fn start_g0(f: OnG0, arg: usize) {
    let cpu = this();
    assert_eq!(cpu.g0_caller.get(), 0, "start_g0 inside start_g0");
    let (count, irqs_on, m, g) = (
        cpu.count.replace(1),
        cpu.irqs_on.get(),
        cpu.m_ptr.get(),
        cpu.curg.get(),
    );
    let signals = fault::enter_m(cpu);
    // SAFETY: as the caller promises. A G comes back to this very thread only through `leave_g0`, which reads
    // `g0_caller` of the thread on which it runs.
    unsafe { switch(cpu.g0_caller.as_ptr(), f, arg, cpu.g0_top) };
    // `cpu` may be used again: this frame lives on the thread's own stack, which does not migrate.
    fault::leave_m(signals);
    cpu.g0_caller.set(0);
    cpu.count.set(count);
    cpu.irqs_on.set(irqs_on);
    cpu.m_ptr.set(m);
    cpu.curg.set(g);
    cpu.deadline_ns.set(u64::MAX);
}

/// Ends this thread's time as an M: back to the caller of [`start_g0`]. Destructors of the frames on g0 do not run.
///
/// # Safety
/// On this CPU's g0, inside [`start_g0`].
pub unsafe fn leave_g0() -> ! {
    let caller = this().g0_caller.get();
    assert_ne!(caller, 0, "leave_g0 outside of start_g0");
    // SAFETY: the frame that `switch` left is still there: its function has not returned.
    unsafe { leave(caller) }
}

#[unsafe(naked)]
unsafe extern "C" fn leave(sp: usize) -> ! {
    naked_asm!(
        "mov rsp, rdi",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbp",
        "pop rbx",
        "ret",
    )
}

/// Lays a first frame below `top` so that a switch to the returned stack pointer begins `entry`, with the stack aligned
/// as after a call, and count 1.
///
/// # Safety
/// `top` is 16-aligned, and the 64 bytes below it belong to a stack on which nothing runs.
pub unsafe fn new_context(top: usize, entry: extern "C" fn() -> !) -> usize {
    debug_assert_eq!(top % 16, 0, "stack top {top:#x} is not 16-aligned");
    let frame = top as *mut usize;
    // SAFETY: the eight words below `top` are the caller's to give.
    unsafe {
        for word in 1..=8 {
            frame.sub(word).write(0);
        }
        frame.sub(2).write(entry as *const () as usize);
    }
    top - 64
}

/// Calls `f(arg)` on this CPU's g0 stack and comes back to the same G.
///
/// # Safety
/// On a G's stack; count at least 1 in the caller and all the time in `f`, which does not switch.
pub unsafe fn on_g0(f: extern "C" fn(usize), arg: usize) {
    let cpu = this();
    debug_assert!(cpu.count.get() >= 1, "on_g0 with preempt_count 0");
    // SAFETY: the g0 stack is not in use while a G runs.
    unsafe { call_on(f, arg, cpu.g0_top) }
}

#[unsafe(naked)]
unsafe extern "C" fn call_on(f: extern "C" fn(usize), arg: usize, stack_top: usize) {
    naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "mov rsp, rdx",
        "mov rax, rdi",
        "mov rdi, rsi",
        "call rax",
        "mov rsp, rbp",
        "pop rbp",
        "ret",
    )
}

/// Whether the calling thread is between [`start_g0`] and [`leave_g0`].
pub(super) fn on_m() -> bool {
    this().g0_caller.get() != 0
}
