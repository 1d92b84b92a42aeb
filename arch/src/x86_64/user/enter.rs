//! Into ring 3 and back. SDM vol. 3, 5.8.8 (`syscall`, `sysret`), 6.14 (interrupts in 64-bit mode).
//!
//! A thread's goroutine calls [`user_enter`], which saves what the ABI keeps, leaves the context's address as the last word on its
//! kernel stack, remembers that place in this CPU's `entry_rsp`, and goes to ring 3. Everything that comes back starts there:
//!
//! ```text
//!   kernel stack          quick call          other call, exception         interrupt
//!   ...  run()            (interrupts off)    registers -> context          an injected call, as for any G (preempt.rs)
//!   rbp rbx r12-r15            |                     |                               |
//!   context   <- entry_rsp     answer, sysret        return to run()         safe_point ... maybe another CPU
//!                              |                                                     |
//!                              +--> ring 3                              stop word? return to run()   else iretq to ring 3
//! ```
//!
//! **I-USERGS** In ring 3 the GS base is the program's, which is 0 (no instruction sets it: CR4.FSGSBASE is off), and the kernel's is
//! in IA32_KERNEL_GS_BASE. `swapgs` is the first instruction of `syscall_entry`, the last but one before `sysretq` and `iretq`, and
//! comes first in every stub that finds ring 3 in the interrupted CS. Only there does ring 0 run with the program's base, with
//! IF=0; so whoever cannot be kept out (NMI, #DB, #MC) looks at the base itself.
//!
//! **I-FPU** A context's x87 registers are still in a CPU if that CPU's `user_fpu` names the context, and the context's `fpu_cpu` names
//! the CPU: it has run nowhere else since, and nobody else here. Whoever changes the registers clears one of the two. XMM registers are
//! the kernel's as soon as it is entered: they are zeroed before a program that made a call goes on, and restored where it was interrupted.
//!
//! **I-CANONICAL** `sysretq` and `iretq` fault in ring 0 on a return address that is not canonical. The last 64 KiB of the lower
//! half are never mapped, so RIP cannot walk out of it; a jump out of it is looked for before each `iretq`.

use super::super::percpu::Cpu;
use super::context::{ASK, EXIT_EXCEPTION, EXIT_STOPPED, EXIT_SYSCALL, UserContext};
use crate::upcalls::Upcalls;
use core::arch::global_asm;
use core::mem::offset_of;

unsafe extern "C" {
    /// Runs the context in ring 3; one of the `EXIT_` numbers.
    pub(super) fn user_enter(context: *mut UserContext) -> u32;
    /// Where `syscall` goes.
    pub(super) static syscall_entry: u8;
    /// The smallest way in and out, for measuring.
    pub(super) static syscall_bare: u8;
}

global_asm!(r#"
.section .text.ringo_user,"ax",@progbits
.macro zero_xmm
.irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
  pxor xmm\n, xmm\n
.endr
.endm

.global user_enter
user_enter:
  push rbp
  push rbx
  push r12
  push r13
  push r14
  push r15
  push rdi                               // now a multiple of 16
user_again:
  cli
  cmp dword ptr gs:[{PENDING}], 0
  jne user_serve
  mov rax, [rdi + {STOP}]
  cmp dword ptr [rax], 0
  jne user_stopped
  mov gs:[{ENTRY_RSP}], rsp
  mov rsi, [rdi + {SPACE}]
  cmp gs:[{CPU_SPACE}], rsi
  jne user_space
  cmp gs:[{FPU}], rdi
  jne user_whole
  mov rax, gs:[{THIS}]
  cmp [rdi + {FPU_CPU}], rax
  jne user_whole
  zero_xmm
  ldmxcsr [rdi + 24]
user_load:
  mov rbx, [rdi + {RBX}]
  mov rbp, [rdi + {RBP}]
  mov r12, [rdi + {R12}]
  mov r13, [rdi + {R13}]
  mov r14, [rdi + {R14}]
  mov r15, [rdi + {R15}]
  mov rax, [rdi + {RAX}]
  mov rdx, [rdi + {RDX}]
  mov rsi, [rdi + {RSI}]
  mov r8, [rdi + {R8}]
  mov r9, [rdi + {R9}]
  mov r10, [rdi + {R10}]
  mov rcx, [rdi + {RIP}]
  mov r11, rcx
  shr r11, 47
  jnz user_bad_rip
  cmp dword ptr [rdi + {BY_SYSCALL}], 0
  je user_iretq
  mov r11, [rdi + {RFLAGS}]
  mov rsp, [rdi + {RSP}]
  mov rdi, [rdi + {RDI}]
  swapgs
  sysretq
user_iretq:
  push {USER_SS}
  push [rdi + {RSP}]
  push [rdi + {RFLAGS}]
  push {USER_CS}
  push rcx
  mov rcx, [rdi + {RCX}]
  mov r11, [rdi + {R11}]
  mov rdi, [rdi + {RDI}]
  swapgs
  iretq

user_whole:
  fxrstor64 [rdi]
  mov gs:[{FPU}], rdi
  mov rax, gs:[{THIS}]
  mov [rdi + {FPU_CPU}], rax
  jmp user_load
user_space:
  mov rdi, rsi
  call {switch_space}
  mov rdi, [rsp]
  jmp user_again
user_serve:                              // as the drop of the last guard does
  inc dword ptr gs:[{COUNT}]
  sti
  call {safe_point}
  cli
  dec dword ptr gs:[{COUNT}]
  mov rdi, [rsp]
  jmp user_again
user_bad_rip:                            // I-CANONICAL; the context is as it was
  mov qword ptr [rdi + {CTX_VECTOR}], 13
  mov qword ptr [rdi + {CTX_ERROR}], 0
  mov eax, {EXIT_EXCEPTION}
  ldmxcsr [rip + mxcsr_default]
  mov qword ptr gs:[{FPU}], 0
  jmp user_leave
user_stopped:
  mov eax, {EXIT_STOPPED}
user_leave:                              // RSP = entry_rsp, EAX = why
  sti
  pop rdi
  pop r15
  pop r14
  pop r13
  pop r12
  pop rbx
  pop rbp
  ret

// RCX = return address, R11 = RFLAGS, RSP the program's; IF, TF, DF, NT, AC are 0 (FMASK).
.balign 16
.global syscall_entry
syscall_entry:
  swapgs
  cmp rax, {QUICK_CALLS}
  jae 1f
  mov rdx, gs:[{ENTRY_RSP}]
  mov rdx, [rdx]
  mov rdx, [rdx + {ANSWERS} + rax*8]
  cmp rdx, {ASK}                         // as a sign-extended word: all ones
  je 2f
  mov rax, rdx
  swapgs
  sysretq
2:
  mov gs:[{USER_RSP}], rsp
  mov rsp, gs:[{ENTRY_RSP}]
  push gs:[{USER_RSP}]
  push rcx
  push r11
  push r11                               // the stack stays a multiple of 16
  mov rdi, rax
  call [rip + {UPCALLS} + {UPCALL_SYSCALL}]
  xor edi, edi                           // nothing of the kernel's goes out
  xor esi, esi
  xor edx, edx
  xor r8d, r8d
  xor r9d, r9d
  xor r10d, r10d
  zero_xmm
  pop r11
  pop r11
  pop rcx
  pop rsp
  swapgs
  sysretq
1:
  mov gs:[{USER_RSP}], rsp
  mov rsp, gs:[{ENTRY_RSP}]
  push rdi
  mov rdi, [rsp + 8]
  mov [rdi + {RAX}], rax
  mov [rdi + {RDX}], rdx
  mov [rdi + {RBX}], rbx
  mov [rdi + {RSI}], rsi
  mov [rdi + {RBP}], rbp
  mov [rdi + {R8}], r8
  mov [rdi + {R9}], r9
  mov [rdi + {R10}], r10
  mov [rdi + {R12}], r12
  mov [rdi + {R13}], r13
  mov [rdi + {R14}], r14
  mov [rdi + {R15}], r15
  mov [rdi + {RIP}], rcx
  mov [rdi + {RFLAGS}], r11
  pop rax
  mov [rdi + {RDI}], rax
  mov rax, gs:[{USER_RSP}]
  mov [rdi + {RSP}], rax
  mov dword ptr [rdi + {BY_SYSCALL}], 1
  fnstcw [rdi]
  mov word ptr [rdi + 2], 0              // no x87 register is in use at a call
  mov byte ptr [rdi + 4], 0
  stmxcsr [rdi + 24]
  ldmxcsr [rip + mxcsr_default]
  mov eax, {EXIT_SYSCALL}
  jmp user_leave

.balign 16
.global syscall_bare
syscall_bare:
  sysretq

// An exception in ring 3. On its IST stack: vector, error code, rip, cs, rflags, rsp, ss.
.global user_exception
user_exception:
  swapgs
  push rax
  push rdi
  mov rax, gs:[{LAST_VECTORS}]
  shl rax, 8
  or rax, [rsp + 16]
  mov gs:[{LAST_VECTORS}], rax
  mov rdi, gs:[{ENTRY_RSP}]
  mov rdi, [rdi]
  pop rax
  mov [rdi + {RDI}], rax
  pop rax
  mov [rdi + {RAX}], rax
  mov [rdi + {RCX}], rcx
  mov [rdi + {RDX}], rdx
  mov [rdi + {RBX}], rbx
  mov [rdi + {RSI}], rsi
  mov [rdi + {RBP}], rbp
  mov [rdi + {R8}], r8
  mov [rdi + {R9}], r9
  mov [rdi + {R10}], r10
  mov [rdi + {R11}], r11
  mov [rdi + {R12}], r12
  mov [rdi + {R13}], r13
  mov [rdi + {R14}], r14
  mov [rdi + {R15}], r15
  pop [rdi + {CTX_VECTOR}]
  pop [rdi + {CTX_ERROR}]
  pop [rdi + {RIP}]
  pop rax                                // cs
  pop [rdi + {RFLAGS}]
  pop [rdi + {RSP}]
  mov rax, cr2
  mov [rdi + {CTX_ADDRESS}], rax
  mov dword ptr [rdi + {BY_SYSCALL}], 0
  fxsave64 [rdi]
  ldmxcsr [rip + mxcsr_default]
  mov qword ptr [rdi + {FPU_CPU}], 0
  mov rsp, gs:[{ENTRY_RSP}]              // off the IST stack
  push 2
  popfq                                  // DF and AC were the program's
  mov eax, {EXIT_EXCEPTION}
  jmp user_leave

// The injected call (preempt.rs) is over, and it came from ring 3. IF=0, count 0, nothing pending; at RSP the FXSAVE image, 15
// registers, the interrupt's frame, and behind them what entry_rsp was.
.global user_resume
user_resume:
  lea rax, [rsp + {FRAME_BYTES}]
  mov gs:[{ENTRY_RSP}], rax              // of this CPU: it may be another one
  mov rdi, [rax]
  mov rsi, [rdi + {SPACE}]
  cmp gs:[{CPU_SPACE}], rsi
  je 1f
  mov rdi, rsi
  call {switch_space}
  mov rdi, [rsp + {FRAME_BYTES}]
1: mov rax, [rdi + {STOP}]
  cmp dword ptr [rax], 0
  jne 2f
  mov rax, [rsp + {FRAME_RIP}]
  mov rcx, rax
  shr rcx, 47
  jnz 3f
  mov gs:[{FPU}], rdi
  mov rax, gs:[{THIS}]
  mov [rdi + {FPU_CPU}], rax
  fxrstor64 [rsp]
  add rsp, 512
"#,
    super::super::preempt::pop_frame!(),
    r#"
  swapgs
  iretq
2: mov rsp, gs:[{ENTRY_RSP}]
  mov eax, {EXIT_STOPPED}
  jmp user_leave
3: mov rsp, gs:[{ENTRY_RSP}]             // I-CANONICAL
  mov [rdi + {RIP}], rax
  mov qword ptr [rdi + {CTX_VECTOR}], 13
  mov qword ptr [rdi + {CTX_ERROR}], 0
  mov eax, {EXIT_EXCEPTION}
  jmp user_leave
.text
"#,
    PENDING = const offset_of!(Cpu, pending), COUNT = const offset_of!(Cpu, count),
    ENTRY_RSP = const offset_of!(Cpu, entry_rsp), USER_RSP = const offset_of!(Cpu, user_rsp),
    CPU_SPACE = const offset_of!(Cpu, space), FPU = const offset_of!(Cpu, user_fpu),
    THIS = const offset_of!(Cpu, this), FPU_CPU = const offset_of!(UserContext, fpu_cpu),
    LAST_VECTORS = const offset_of!(Cpu, last_vectors),
    STOP = const offset_of!(UserContext, stop), SPACE = const offset_of!(UserContext, space),
    RAX = const offset_of!(UserContext, rax), RCX = const offset_of!(UserContext, rcx),
    RDX = const offset_of!(UserContext, rdx), RBX = const offset_of!(UserContext, rbx),
    RSI = const offset_of!(UserContext, rsi), RDI = const offset_of!(UserContext, rdi),
    RBP = const offset_of!(UserContext, rbp), R8 = const offset_of!(UserContext, r8),
    R9 = const offset_of!(UserContext, r9), R10 = const offset_of!(UserContext, r10),
    R11 = const offset_of!(UserContext, r11), R12 = const offset_of!(UserContext, r12),
    R13 = const offset_of!(UserContext, r13), R14 = const offset_of!(UserContext, r14),
    R15 = const offset_of!(UserContext, r15), RIP = const offset_of!(UserContext, rip),
    RFLAGS = const offset_of!(UserContext, rflags), RSP = const offset_of!(UserContext, rsp),
    CTX_VECTOR = const offset_of!(UserContext, vector), CTX_ERROR = const offset_of!(UserContext, error_code),
    CTX_ADDRESS = const offset_of!(UserContext, address), BY_SYSCALL = const offset_of!(UserContext, by_syscall),
    ANSWERS = const offset_of!(UserContext, answers), ASK = const ASK as i64,
    USER_CS = const super::USER_CS, USER_SS = const super::USER_SS,
    EXIT_SYSCALL = const EXIT_SYSCALL, EXIT_EXCEPTION = const EXIT_EXCEPTION, EXIT_STOPPED = const EXIT_STOPPED,
    QUICK_CALLS = const crate::QUICK_CALLS,
    FRAME_BYTES = const 512 + 20 * 8, FRAME_RIP = const 512 + 15 * 8,
    UPCALLS = sym crate::upcalls::UPCALLS, UPCALL_SYSCALL = const offset_of!(Upcalls, syscall),
    switch_space = sym super::space::switch_space, safe_point = sym super::super::preempt::safe_point,
);
