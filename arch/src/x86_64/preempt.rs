//! Preemption at any instruction: the injected call. Go: runtime/preempt.go, `asyncPreempt`; here without signals.
//!
//! An interrupt handler acknowledges, sets its bit in `pending` and comes to `irq_try`, still on its IST stack. If the
//! interrupted context may be preempted, it lays a frame on the G's own stack and "returns" into `inj_tramp` instead:
//!
//! ```text
//!   G's stack, growing down                                       who writes
//!   ...                      whatever the G was doing
//!   RSP - 128                red zone: precompiled `core` uses it  nobody
//!   & !15   ss rsp rflags cs rip                                   irq_try (handler, IF=0, count already raised)
//!           rax rcx rdx rbx rbp rsi rdi r8 .. r15
//!   -512    FXSAVE image                                           inj_tramp (the G, IF=1, count >= 1)
//!           safe_point() ... maybe mcall, maybe another CPU
//! ```
//!
//! States of the interrupted G, seen from `preempt_count` and IF:
//!
//! ```text
//!            irq_try: count 0 -> 1            safe_point returns, pending == 0
//!   running ------------------------> safe point --------------------------------> leaving (IF=0, count 1 -> 0)
//!      ^                                ^     |  pending != 0: again                   |
//!      |                                +-----+                                        | restore everything, iretq
//!      +-------------------------------------------------------------------------------+
//! ```
//!
//! From the decrement to `iretq` IF stays 0: an interrupt in between would inject below this frame, and at high rates
//! frames would pile up. FXSAVE is done by the trampoline, not the handler: nobody touches XMM before it, and the time
//! with interrupts off stays short. The RFLAGS of the trampoline are IF alone: that clears DF, AC and TF. (Single steps, step.rs, keep TF.)

use super::percpu::Cpu;
use core::arch::{asm, global_asm};
use core::mem::offset_of;

/// Opens a section in which this CPU switches to no other G (I-COUNT). Nests. One instruction.
#[inline(always)]
pub fn preempt_disable() {
    // SAFETY: one increment of this CPU's own word; memory operands of later code stay behind it (no `nomem`).
    unsafe { asm!("inc dword ptr gs:[{o}]", o = const offset_of!(Cpu, count), options(nostack)) };
}

/// Closes a section. At depth 0 with work pending and interrupts enabled, does the work first: the upcall `safe_point`.
///
/// The decrement and the look at `pending` need not be one step: an interrupt between them finds the count at 0 and
/// injects, which serves the bit; after a migration the look reads the new CPU's word, which is as good.
#[inline(always)]
pub fn preempt_enable() {
    // SAFETY: touches this CPU's own words; the jump goes to the block below.
    unsafe {
        asm!(
            "dec dword ptr gs:[{c}]",
            "jnz 2f",
            "cmp dword ptr gs:[{p}], 0",
            "jne {slow}",
            "2:",
            c = const offset_of!(Cpu, count),
            p = const offset_of!(Cpu, pending),
            slow = label { safe_point_by_guard() },
            options(nostack))
    };
}

/// One more in a counter of this CPU's block. One instruction, so no lock prefix is needed.
macro_rules! count {
    ($field:ident) => {
        // SAFETY: this CPU's own word.
        unsafe { asm!("inc qword ptr gs:[{o}]", o = const offset_of!(Cpu, $field), options(nostack)) }
    };
}

#[cold]
#[inline(never)]
fn safe_point_by_guard() {
    loop {
        if !super::irq::irqs_enabled() {
            return; // an interrupts-off section inside: `irq_restore` looks again
        }
        preempt_disable();
        count!(n_safe_points_by_guard);
        safe_point();
        // SAFETY: closes the section opened above.
        unsafe {
            asm!("dec dword ptr gs:[{c}]", c = const offset_of!(Cpu, count), options(nostack))
        };
        if preempt_count() != 0 || pending() == 0 {
            return;
        }
    }
}

/// After IF went up: work that came while it was down and could not be served at the drop of the last guard.
#[inline(always)]
pub fn look_after_sti() {
    if preempt_count() == 0 && pending() != 0 {
        safe_point_by_guard();
    }
}

/// For backtraces: where the code was interrupted into which `return_address` was injected; None if that lies elsewhere.
/// `sp` is the stack pointer of the trampoline at its call: below it 512 bytes of FXSAVE and 15 registers.
pub fn interrupted_rip(return_address: usize, sp: usize) -> Option<usize> {
    unsafe extern "C" {
        /// The trampoline's first byte, and the one behind it.
        static ringo_inj_tramp: u8;
        static ringo_inj_tramp_end: u8;
    }
    let tramp = &raw const ringo_inj_tramp as usize..&raw const ringo_inj_tramp_end as usize;
    // SAFETY: the frame that `irq_try` laid is there until the trampoline has left.
    tramp
        .contains(&return_address)
        .then(|| unsafe { *((sp + 512 + 15 * 8) as *const usize) })
}

pub(super) extern "C" fn safe_point() {
    count!(n_safe_points);
    (crate::upcalls::upcalls().safe_point)()
}

/// Depth of preemption-off sections on this CPU.
#[inline(always)]
pub fn preempt_count() -> u32 {
    let n;
    // SAFETY: one load from this CPU's block.
    unsafe {
        asm!("mov {:e}, gs:[{o}]", out(reg) n, o = const offset_of!(Cpu, count), options(nostack, preserves_flags, readonly))
    };
    n
}

/// This CPU's `PENDING_*` bits.
#[inline(always)]
pub fn pending() -> u32 {
    let n;
    // SAFETY: one load from this CPU's block.
    unsafe {
        asm!("mov {:e}, gs:[{o}]", out(reg) n, o = const offset_of!(Cpu, pending), options(nostack, preserves_flags, readonly))
    };
    n
}

/// Reads and clears this CPU's `PENDING_*` bits in one instruction.
#[inline(always)]
pub fn take_pending() -> u32 {
    let mut n = 0u32;
    // SAFETY: one exchange with this CPU's own word.
    unsafe {
        asm!("xchg {:e}, gs:[{o}]", inout(reg) n, o = const offset_of!(Cpu, pending), options(nostack, preserves_flags))
    };
    n
}

/// Sets `bits` in this CPU's own pending word, as one of its interrupts would.
#[inline(always)]
pub fn raise_pending(bits: u32) {
    // SAFETY: one instruction on this CPU's own word; no other CPU writes it, so no lock prefix.
    unsafe {
        asm!("or dword ptr gs:[{o}], {:e}", in(reg) bits, o = const offset_of!(Cpu, pending), options(nostack))
    };
}

/// Says where on this CPU a call may be injected: RSP must be in (lo, hi]. (0, 0) = nowhere.
///
/// # Safety
/// `preempt_count` above 0. Below `lo` there is room for the frame (848 bytes) and for what `safe_point` needs, backed or
/// served by the stack's page fault path.
#[inline(always)]
pub unsafe fn set_window(lo: usize, hi: usize) {
    // SAFETY: this CPU's own words; its interrupts look at them only with the count at 0.
    unsafe {
        asm!("mov gs:[{l}], {lo}", "mov gs:[{h}], {hi}", lo = in(reg) lo, hi = in(reg) hi,
             l = const offset_of!(Cpu, window_lo), h = const offset_of!(Cpu, window_hi), options(nostack, preserves_flags))
    };
}

/// The bug that is planted below, in builds with the feature `injection` only: 1 R10, which the ABI lets a call
/// change, is not kept; 2 nor are XMM and x87; 3 the frame lies in the red zone; 4 RFLAGS are lost; 5 the count is raised
/// after the frame was written instead of before. The tests set it, and must find each.
#[cfg(feature = "injection")]
// SAFETY: nothing else bears this name.
#[unsafe(export_name = "ringo_planted_bug")]
static PLANTED_BUG: core::sync::atomic::AtomicU32 = core::sync::atomic::AtomicU32::new(0);

/// Number of the bug that the test has planted, 0 for none: the scheduler has some, too (`base::mutant`).
#[cfg(feature = "injection")]
pub fn planted_bug() -> u32 {
    PLANTED_BUG.load(core::sync::atomic::Ordering::Relaxed)
}

/// Pops the general registers of the frame that an injected call lies below, R15 first.
macro_rules! pop_frame {
    () => {
        "  pop r15\n  pop r14\n  pop r13\n  pop r12\n  pop r11\n  pop r10\n  pop r9\n  pop r8
  pop rdi\n  pop rsi\n  pop rbp\n  pop rbx\n  pop rdx\n  pop rcx\n  pop rax"
    };
}
pub(super) use pop_frame;

global_asm!(r#"
.macro unless_bug bug, code:vararg
.if {BUGS} == 1
  cmp dword ptr [rip + ringo_planted_bug], \bug
  je 99f
.endif
  \code
99:
.endm
.macro only_bug bug, code:vararg
.if {BUGS} == 1
  cmp dword ptr [rip + ringo_planted_bug], \bug
  jne 99f
  \code
99:
.endif
.endm
.section .text.ringo_inject,"ax",@progbits
// In: IST stack = rcx rax | rip cs rflags rsp ss at [rsp+16]
.global irq_try
irq_try:
  test byte ptr [rsp + 24], 3            // its CS: ring 3?
  jnz irq_user
  cmp dword ptr gs:[{COUNT}], 0
  jne irq_out
  test dword ptr [rsp + 32], 0x200       // IF of the interrupted code
  jz irq_out
  mov rax, [rsp + 40]                    // its RSP: on the G's stack, with room?
  cmp rax, gs:[{LO}]
  jbe irq_out
  cmp rax, gs:[{HI}]
  ja irq_out
  // First: the frame write may fault, and a slot's page 1 is open only to count > 0.
  unless_bug 5, inc dword ptr gs:[{COUNT}]
  inc qword ptr gs:[{N_INJECTED}]
  unless_bug 3, sub rax, 128
  and rax, -16
irq_inject:
  mov rcx, [rsp + 48]
  mov [rax - 8], rcx                     // ss
  mov rcx, [rsp + 40]
  mov [rax - 16], rcx                    // rsp
  mov rcx, [rsp + 32]
  only_bug 4, mov ecx, 0x202
  mov [rax - 24], rcx                    // rflags
  mov rcx, [rsp + 24]
  mov [rax - 32], rcx                    // cs
  mov rcx, [rsp + 16]
  mov [rax - 40], rcx                    // rip
  mov rcx, [rsp + 8]
  mov [rax - 48], rcx                    // rax
  mov rcx, [rsp]
  mov [rax - 56], rcx                    // rcx
  mov [rax - 64], rdx
  mov [rax - 72], rbx
  mov [rax - 80], rbp
  mov [rax - 88], rsi
  mov [rax - 96], rdi
  mov [rax - 104], r8
  mov [rax - 112], r9
  unless_bug 1, mov [rax - 120], r10
  mov [rax - 128], r11
  mov [rax - 136], r12
  mov [rax - 144], r13
  mov [rax - 152], r14
  mov [rax - 160], r15
  sub rax, 160                           // 20 words: still a multiple of 16
  lea rcx, [rip + inj_tramp]
  mov [rsp + 16], rcx
  mov ecx, gs:[{TRAMP_RFLAGS}]             // IF; and TF, if this CPU steps
  mov [rsp + 32], rcx
  mov [rsp + 40], rax
  mov qword ptr [rsp + 24], 0x08         // in ring 0, wherever it was
  mov qword ptr [rsp + 48], 0x10
.global irq_try_end
irq_try_end:
irq_out:
  pop rcx
  pop rax
  iretq
irq_user:                                // ring 3 is always preemptible: the frame lies where it came from (user/enter.rs)
  mov rax, gs:[{ENTRY_RSP}]
  inc dword ptr gs:[{COUNT}]
  inc qword ptr gs:[{N_INJECTED}]
  jmp irq_inject

// On the G's stack, IF=1, count >= 1: further interrupts only set bits.
.global ringo_inj_tramp
ringo_inj_tramp:
inj_tramp:
  sub rsp, 512
  unless_bug 2, fxsave64 [rsp]
  fninit                                 // the floating-point environment that the ABI promises to Rust
  ldmxcsr [rip + mxcsr_default]
  mov qword ptr gs:[{USER_FPU}], 0       // I-FPU
  test byte ptr [rsp + {FRAME_CS}], 3
  jz 1f
  xor ebp, ebp                           // no backtrace follows what a program has in it
1:
  only_bug 5, inc dword ptr gs:[{COUNT}]
  call {safe_point}
  cli
  cmp dword ptr gs:[{PENDING}], 0
  je 2f
  sti
  only_bug 5, dec dword ptr gs:[{COUNT}]
  jmp 1b
2: dec dword ptr gs:[{COUNT}]
  test byte ptr [rsp + {FRAME_CS}], 3
  jnz user_resume
  unless_bug 2, fxrstor64 [rsp]
  mov qword ptr gs:[{USER_FPU}], 0       // of whoever was interrupted in a call
  add rsp, 512
  only_bug 1, mov [rsp + 40], r10        // R10 as it is
"#,
    pop_frame!(),
    r#"
  iretq
.global ringo_inj_tramp_end
ringo_inj_tramp_end:

.section .rodata.ringo_inject,"a",@progbits
.balign 4
.global mxcsr_default
mxcsr_default: .long 0x1f80
.text
"#,
    COUNT = const offset_of!(Cpu, count), PENDING = const offset_of!(Cpu, pending),
    LO = const offset_of!(Cpu, window_lo), HI = const offset_of!(Cpu, window_hi),
    TRAMP_RFLAGS = const offset_of!(Cpu, tramp_rflags),
    ENTRY_RSP = const offset_of!(Cpu, entry_rsp), USER_FPU = const offset_of!(Cpu, user_fpu),
    FRAME_CS = const 512 + 16 * 8,
    N_INJECTED = const offset_of!(Cpu, n_injected), safe_point = sym safe_point,
    BUGS = const cfg!(feature = "injection") as u32,
);
