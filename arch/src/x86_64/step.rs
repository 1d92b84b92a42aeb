//! Single steps: an interrupt at a chosen instruction, whatever runs there (SDM vol. 3, 18.3.1.4: the trap flag). For tests.
//!
//! While a CPU steps, each instruction ends in a debug exception, in ring 0 as in any code: guards held, interrupts off, on g0, in
//! the middle of the context switch or of the injected call. The handler counts them, and at the chosen one does what the timer's
//! does: it sets a pending bit and injects a call, if that may be (preempt.rs). So running something once with each number in turn
//! interrupts it at every instruction.
//!
//! ```text
//!          on                       off
//!   0 ───────────► stepping (1) ───────────► was stepping (2): frames that hold the flag lose it when they come back
//!                       ▲                         │
//!                       └─────────────────────────┘ on
//! ```
//!
//! Code that was interrupted before `on` comes back without the flag; what it calls is stepped again after the next frame that has
//! it. Meant for one CPU: a G takes the flag along.
//!
//! The other way to step ([`step_all`], state 3, for good) is for many interrupts: Gs step while they hold the flag themselves, on
//! whatever CPU, and each CPU interrupts after a number of steps that chance says anew each time. The injected call runs without
//! the flag, at full speed, and the frame that it goes back to has it. So the flag must not be held over a way into the scheduler
//! that the G takes itself: g0 would step, and whoever comes next.

use super::percpu::{Cpu, cpu};
use core::arch::{asm, global_asm};
use core::mem::offset_of;
use core::sync::atomic::Ordering::Relaxed;

// Where vector 1 goes: RAX and RCX are saved. A single step of a test, or a debug exception that nobody asked for.
global_asm!(r#"
.section .text.ringo_step,"ax",@progbits
.global debug_try_step
debug_try_step:
  test byte ptr [rsp + 24], 3
  jnz debug_in_user
  push rdx                               // whose GS base is it? (I-USERGS)
  mov ecx, {GS_BASE}
  rdmsr
  test edx, edx
  pop rdx
  jns debug_in_entry
debug_gs:
  cmp dword ptr gs:[{STEPPING}], 3
  je 4f
  cmp dword ptr gs:[{STEPPING}], 1
  jb 1f
  ja 2f
  mov rax, gs:[{STEP_N}]
  inc rax
  mov gs:[{STEP_N}], rax
  cmp rax, gs:[{STEP_AT}]
  jne 3f
  or dword ptr gs:[{PENDING}], {PENDING_PREEMPT}
  jmp irq_try
2: and qword ptr [rsp + 32], -257         // a frame from when this CPU stepped
3: jmp irq_leave
4: dec qword ptr gs:[{STEP_N}]             // periodic steps: the next interrupt?
  jnz 3b
  movabs rcx, 0x5851f42d4c957f2d         // Knuth, MMIX: the upper bits are good
  mov rax, gs:[{STEP_AT}]
  imul rax, rcx
  inc rax
  mov gs:[{STEP_AT}], rax
  shr rax, 33
  and rax, gs:[{STEP_MASK}]
  inc rax
  mov gs:[{STEP_N}], rax
  inc qword ptr gs:[{N_STEPS}]
  or dword ptr gs:[{PENDING}], {PENDING_PREEMPT}
  jmp irq_try
1: test byte ptr [rsp + 24], 3
  jz 5f
  swapgs                                 // `user_exception` does it again
5: pop rcx
  pop rax
  push 0
  push 1
  jmp exception_entry
debug_in_user:
  swapgs
  cmp dword ptr gs:[{STEPPING}], 2
  je 1b                                  // nobody steps: the program has set the flag itself
  jmp debug_gs
debug_in_entry:                          // between ring 3 and the kernel: IF=0, so a step counts, and can inject nothing
  swapgs
  cmp dword ptr gs:[{STEPPING}], 1
  jne 6f
  mov rax, gs:[{STEP_N}]
  inc rax
  mov gs:[{STEP_N}], rax
  cmp rax, gs:[{STEP_AT}]
  jne 6f
  or dword ptr gs:[{PENDING}], {PENDING_PREEMPT}
6: swapgs
  pop rcx
  pop rax
  iretq
.text
"#,
    STEPPING = const offset_of!(Cpu, stepping), STEP_N = const offset_of!(Cpu, step_n),
    STEP_MASK = const offset_of!(Cpu, step_mask), N_STEPS = const offset_of!(Cpu, n_steps),
    STEP_AT = const offset_of!(Cpu, step_at), PENDING = const offset_of!(Cpu, pending),
    PENDING_PREEMPT = const crate::PENDING_PREEMPT, GS_BASE = const super::percpu::MSR_GS_BASE,
);

fn set64(offset: usize, value: u64) {
    // SAFETY: the offset of a 64-bit word of this CPU's block, which nobody else uses.
    unsafe {
        asm!("mov gs:[{o}], {v}", o = in(reg) offset, v = in(reg) value, options(nostack, preserves_flags))
    }
}

/// This CPU steps from here on.
pub fn step_on() {
    step_at(0);
    set32(offset_of!(Cpu, stepping), 1);
    set32(offset_of!(Cpu, tramp_rflags), 0x302);
    // SAFETY: sets the trap flag, for which the handler is ready.
    unsafe { asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") }
}

/// It no longer does.
pub fn step_off() {
    // SAFETY: clears the trap flag.
    unsafe { asm!("pushfq", "and qword ptr [rsp], -257", "popfq") }
    set32(offset_of!(Cpu, tramp_rflags), 0x202);
    set32(offset_of!(Cpu, stepping), 2)
}

/// RFLAGS.TF (SDM vol. 3, 2.3).
pub const TRAP_FLAG: u64 = 1 << 8;

/// On each CPU, what a G runs with [`TRAP_FLAG`] is interrupted after 1 to `most` instructions (a power of two), by chance, and
/// again after the next so many. Once, before any G holds the flag.
///
/// # Panics
/// If `most` is no power of two.
pub fn step_all(cpus: usize, most: u64, seed: u64) {
    assert!(most.is_power_of_two(), "{most} is no power of two");
    for id in 0..cpus {
        let cpu = cpu(id);
        // A G that holds the flag was made, or told, after this: queues and joins order it behind.
        cpu.step_mask.store(most - 1, Relaxed);
        cpu.step_at.store(seed.wrapping_add(id as u64), Relaxed);
        cpu.step_n.store(1, Relaxed);
        cpu.stepping.store(3, Relaxed)
    }
}

/// Runs `what` with the trap flag. It must come into the scheduler by injected calls only.
pub fn stepped<T>(what: impl FnOnce() -> T) -> T {
    // SAFETY: sets the trap flag, for which the handler is ready.
    unsafe { asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") }
    let result = what();
    // SAFETY: clears the trap flag.
    unsafe { asm!("pushfq", "and qword ptr [rsp], -257", "popfq") }
    result
}

/// Interrupts that the periodic steps of CPU `id` have made.
pub fn step_interrupts(id: usize) -> u64 {
    cpu(id).n_steps.load(Relaxed)
}

/// Counts from 0 again; the instruction of this number is interrupted, none for 0.
pub fn step_at(number: u64) {
    set64(offset_of!(Cpu, step_at), number);
    set64(offset_of!(Cpu, step_n), 0)
}

/// Instructions since [`step_at`].
pub fn steps() -> u64 {
    let n;
    // SAFETY: one load from this CPU's block.
    unsafe {
        asm!("mov {}, gs:[{o}]", out(reg) n, o = const offset_of!(Cpu, step_n), options(nostack, preserves_flags, readonly))
    };
    n
}

fn set32(offset: usize, value: u32) {
    // SAFETY: the offset of a 32-bit word of this CPU's block.
    unsafe {
        asm!("mov gs:[{o}], {v:e}", o = in(reg) offset, v = in(reg) value, options(nostack, preserves_flags))
    }
}
