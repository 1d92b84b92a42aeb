//! Stack switches: `mcall` from a G to g0 and on to the next G. Go: runtime/asm_amd64.s, `mcall`, `gogo`, `systemstack`.
//!
//! ```text
//!     G a                 g0                          G b
//!  mcall(&a.ctx, f, x)
//!    push 6 registers
//!    a.ctx = RSP
//!    RSP = g0 top  ---->  f(x) -> &b.ctx
//!                         RSP = b.ctx  ------------>  pop 6 registers, ret
//! ```
//!
//! A parked G is one stack pointer, however it stopped: what preemption saved lies deeper on its stack. The words of MXCSR
//! and the x87 control word are not switched: the ABI makes them callee-saved, and no Rust code changes them.

use super::percpu::Cpu;
use crate::Context;
use core::arch::naked_asm;
use core::mem::offset_of;

/// Leave the current G: save it in `*save`, call `f(arg)` on this CPU's g0 stack, resume the context that `f` returns
/// (maybe the same one, maybe on behalf of another G). `f` starts at the top of g0 each time, so what it left there is lost.
///
/// # Safety
/// On a G's stack, `preempt_count` exactly 1 (I-SWITCH); `save` is the running G's own; `f` returns a context that was
/// saved and that no other CPU resumes.
#[unsafe(naked)]
pub unsafe extern "C" fn mcall(
    save: *const Context,
    f: unsafe extern "C" fn(usize) -> *const Context,
    arg: usize,
) {
    naked_asm!(
        "push rbx", "push rbp", "push r12", "push r13", "push r14", "push r15",
        "mov [rdi], rsp",
        "mov rsp, gs:[{g0}]",
        "xor ebp, ebp", // a backtrace on g0 ends there: this G may already run elsewhere
        "mov rdi, rdx",
        "call rsi",
        "mov rsp, [rax]",
        "pop r15", "pop r14", "pop r13", "pop r12", "pop rbp", "pop rbx",
        "ret",
        g0 = const offset_of!(Cpu, g0_top))
}

/// The first step of an M: no G yet. Call `f(arg)` at the top of this CPU's g0 stack and resume what it returns. Never
/// returns on the bare machine (on the host it does, see `leave_g0`).
///
/// # Safety
/// Once per CPU, `preempt_count` 1; what lies on the g0 stack is given up. `f` as in [`mcall`].
#[unsafe(naked)]
pub unsafe extern "C" fn start_g0(f: unsafe extern "C" fn(usize) -> *const Context, arg: usize) {
    naked_asm!(
        "mov rsp, gs:[{g0}]",
        "xor ebp, ebp",
        "mov rax, rdi",
        "mov rdi, rsi",
        "call rax",
        "mov rsp, [rax]",
        "pop r15", "pop r14", "pop r13", "pop r12", "pop rbp", "pop rbx",
        "ret",
        g0 = const offset_of!(Cpu, g0_top))
}

/// Ends an M. On the bare machine an M is a CPU and ends with the machine: calling this is a bug in the kernel.
///
/// # Safety
/// On g0.
///
/// # Panics
/// Always.
pub unsafe fn leave_g0() -> ! {
    panic!("leave_g0: on the bare machine an M never ends; call exit to end the machine")
}

/// Lays the first frame of a new G below `top` (aligned to 16) and returns the stack pointer for its [`Context`]. When
/// resumed, `entry` starts with the alignment that the ABI wants, `preempt_count` 1, and a zero return address above it.
///
/// # Safety
/// 64 bytes below `top` are backed and nobody's.
pub unsafe fn new_context(top: usize, entry: extern "C" fn() -> !) -> usize {
    debug_assert!(top.is_multiple_of(16));
    let sp = top - 64;
    // r15 r14 r13 r12 rbp rbx, entry, 0
    let frame = [0, 0, 0, 0, 0, 0, entry as *const () as usize, 0];
    // SAFETY: the caller gives us these bytes.
    unsafe { (sp as *mut [usize; 8]).write(frame) };
    sp
}

/// Calls `f(arg)` on this CPU's g0 stack and comes back to the same G. Go: `systemstack`. g0 is backed in full, so nothing
/// in `f` can fault for want of stack.
///
/// # Safety
/// On a G's stack, never on g0; `preempt_count` at least 1 throughout.
#[unsafe(naked)]
pub unsafe extern "C" fn on_g0(f: extern "C" fn(usize), arg: usize) {
    naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsp, gs:[{g0}]",
        "call rax",
        "mov rsp, rbp",
        "pop rbp",
        "ret",
        g0 = const offset_of!(Cpu, g0_top))
}
