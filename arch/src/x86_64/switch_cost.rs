//! What a switch costs by what it saves: two loops on two stacks that switch to each other and do nothing else. For measuring; the
//! switch that goroutines use is `switch.rs`.
//!
//! ```text
//!   saves                  what such a switch is good for
//!   PC, SP                 code that is written for it: nothing else may be live
//!   callee-saved           a call: `mcall`, any goroutine that stops by itself
//!   all, FXSAVE            any instruction: preemption without help of the compiler, threads of a kernel
//!   all, FXSAVE, CR3       the same between processes
//! ```

use core::arch::global_asm;

/// What a switch saves and loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saves {
    /// Instruction and stack pointer.
    PcSp,
    /// And the registers that a function keeps: RBX RBP R12 to R15.
    CalleeSaved,
    /// And all others, RFLAGS, and the x87 and SSE registers by FXSAVE.
    All,
    /// And another address space: CR3 is written, so that the CPU forgets what it remembers of page tables.
    AllAndCr3,
}

impl Saves {
    /// All kinds, the cheapest first.
    pub const ALL: &[Saves] = &[
        Saves::PcSp,
        Saves::CalleeSaved,
        Saves::All,
        Saves::AllAndCr3,
    ];
}

/// The other loop's stack.
#[repr(C, align(16))]
struct Stack([u8; 4096]);

/// Switches `2 * rounds` times, there and back, on this CPU. Keep it short: preemption is off meanwhile.
pub fn switch_back_and_forth(saves: Saves, rounds: u32) {
    let run = match saves {
        Saves::PcSp => switches_pc_sp,
        Saves::CalleeSaved => switches_callee_saved,
        Saves::All => switches_all,
        Saves::AllAndCr3 => switches_all_cr3,
    };
    let mut other = Stack([0; 4096]);
    let top = other.0.as_mut_ptr_range().end;
    super::preempt_disable();
    // SAFETY: the other stack has room for one frame (850 bytes), and no call is injected while preemption is off.
    unsafe { run(top, rounds.max(1).into()) };
    super::preempt_enable();
}

unsafe extern "C" {
    fn switches_pc_sp(top: *mut u8, rounds: u64);
    fn switches_callee_saved(top: *mut u8, rounds: u64);
    fn switches_all(top: *mut u8, rounds: u64);
    fn switches_all_cr3(top: *mut u8, rounds: u64);
}

// RBX points at the two stack pointers, in both loops. R12 counts, in the first one.
global_asm!(
    r#"
.section .text.ringo_switch_cost,"ax",@progbits
.macro cost_save_callee
  push rbx
  push rbp
  push r12
  push r13
  push r14
  push r15
.endm
.macro cost_load_callee
  pop r15
  pop r14
  pop r13
  pop r12
  pop rbp
  pop rbx
.endm
.macro cost_save_all
  cost_save_callee
  push rax
  push rcx
  push rdx
  push rsi
  push rdi
  push r8
  push r9
  push r10
  push r11
  pushfq
  mov rbp, rsp
  sub rsp, 512
  and rsp, -16
  fxsave64 [rsp]
  push rbp
.endm
.macro cost_load_all
  pop rbp
  fxrstor64 [rsp]
  mov rsp, rbp
  popfq
  pop r11
  pop r10
  pop r9
  pop r8
  pop rdi
  pop rsi
  pop rdx
  pop rcx
  pop rax
  cost_load_callee
.endm
.macro cost_save_nothing
.endm
.macro cost_no_cr3
.endm
.macro cost_cr3
  mov rax, cr3
  mov cr3, rax
.endm
.macro cost_switch save, load, space, from, to
  lea rax, [rip + 77f]
  push rax
  \save
  mov [rbx + \from], rsp
  \space
  mov rsp, [rbx + \to]
  \load
  ret
77:
.endm
.macro cost_function name, save, load, space
.global \name
\name:
  cost_save_callee
  sub rsp, 24                            // two stack pointers
  mov rbx, rsp
  mov r12, rsi
  lea rax, [rip + 2f]                    // to the other loop for the first time
  push rax
  \save
  mov [rbx], rsp
  mov rsp, rdi
1:
  cost_switch \save, \load, \space, 8, 0
  jmp 1b
2:
  dec r12
  jz 3f
  cost_switch \save, \load, \space, 0, 8
  jmp 2b
3:
  add rsp, 24
  cost_load_callee
  ret
.endm
cost_function switches_pc_sp, cost_save_nothing, cost_save_nothing, cost_no_cr3
cost_function switches_callee_saved, cost_save_callee, cost_load_callee, cost_no_cr3
cost_function switches_all, cost_save_all, cost_load_all, cost_no_cr3
cost_function switches_all_cr3, cost_save_all, cost_load_all, cost_cr3
.text
"#
);
