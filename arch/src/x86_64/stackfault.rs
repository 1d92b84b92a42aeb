//! Growth of G stacks: the page fault path, thirty instructions of assembly that lock nothing and call nobody.
//!
//! A slot of the stack window, [`STACK_BASE`]` + slot * slot_bytes`:
//!
//! ```text
//!   page 0      guard, never backed: a fault here is a stack overflow
//!   page 1      backed only while preempt_count > 0: the frame of an injected call, and what runs on it, always fits
//!   page 2 ..   backed at the first touch, from this CPU's reserve
//!   top page    backed from birth
//! ```
//!
//! The page tables of a slot exist from its creation, so a fault is one store of a ready-made entry: not-present to
//! present needs no TLB flush. The reserve holds a slot's worth of pages before a G runs (I-G0, refill on g0), so it cannot
//! run dry. The fault may interrupt anything on a G stack, the timer's handler while it lays its frame included: hence an
//! IST stack of its own.

use super::bare::STACK_BASE;
use super::percpu::{Cpu, this};
use crate::upcalls::FatalKind;
use core::arch::global_asm;
use core::mem::offset_of;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes from `STACK_BASE` in which slots exist; grows only. Stored (Release) in `stacks.rs` after the slot's tables.
pub static STACK_END: AtomicU64 = AtomicU64::new(0);
/// Slot size - 1.
pub static SLOT_MASK: AtomicU64 = AtomicU64::new(0);
/// Virtual address of the page table (level 3) of the stack window.
pub static STACK_PDPT: AtomicU64 = AtomicU64::new(0);

global_asm!(r#"
.section .text.ringo_stackfault,"ax",@progbits
.global page_fault_entry
page_fault_entry:
  test byte ptr [rsp + 16], 3            // its CS: ring 3 has no stack of ours to grow
  jnz 8f
  push rax
  push rcx
  push rdx                               // [rsp+24] error code, [rsp+32] rip
  mov rax, gs:[{LAST_VECTORS}]
  shl rax, 8
  or rax, 14
  mov gs:[{LAST_VECTORS}], rax
  mov rax, cr2
  sub rax, [rip + stack_base]
  cmp rax, [rip + {STACK_END}]
  jae 9f
  test byte ptr [rsp + 24], 1            // present: a protection fault
  jnz 9f
  mov rcx, rax
  and rcx, [rip + {SLOT_MASK}]
  shr ecx, 12                            // page in its slot
  cmp ecx, 1
  jb 9f
  ja 1f
  cmp dword ptr gs:[{COUNT}], 0
  je 9f
  inc qword ptr gs:[{N_LOW}]
1: mov rdx, [rip + {STACK_PDPT}]
  mov rcx, rax
  shr rcx, 30                            // index in level 3; the window is one entry of level 4
  mov rdx, [rdx + rcx*8]
  test dl, 1
  jz 9f
  and rdx, -4096
  add rdx, [rip + direct_base]
  mov rcx, rax
  shr rcx, 21
  and ecx, 511
  mov rdx, [rdx + rcx*8]                 // level 2
  test dl, 1
  jz 9f
  and rdx, -4096
  add rdx, [rip + direct_base]
  shr rax, 12
  and eax, 511
  lea rdx, [rdx + rax*8]                 // the entry in level 1
  cmp qword ptr [rdx], 0
  jne 3f                                 // there already: try again
  mov rcx, gs:[{RESERVE_N}]
  sub rcx, 1
  jb 9f
  mov gs:[{RESERVE_N}], rcx
  mov rax, gs:[{RESERVE} + rcx*8]
  mov [rdx], rax
  inc qword ptr gs:[{N_FAULTS}]
  mov rax, [rsp + 32]
  lea rcx, [rip + irq_try]
  cmp rax, rcx
  jb 3f
  lea rcx, [rip + irq_try_end]
  cmp rax, rcx
  jae 3f
  inc qword ptr gs:[{N_NESTED}]          // the write of an injected frame itself
3: pop rdx
  pop rcx
  pop rax
  add rsp, 8
  iretq
9: pop rdx
  pop rcx
  pop rax
8: push 14
  jmp exception_entry

.section .rodata.ringo_stackfault,"a",@progbits
.balign 8
stack_base: .quad {STACK_BASE}
direct_base: .quad {DIRECT_BASE}
.text
"#,
    LAST_VECTORS = const offset_of!(Cpu, last_vectors), COUNT = const offset_of!(Cpu, count),
    N_LOW = const offset_of!(Cpu, n_page_faults_low), N_FAULTS = const offset_of!(Cpu, n_page_faults),
    N_NESTED = const offset_of!(Cpu, n_page_faults_nested),
    RESERVE_N = const offset_of!(Cpu, reserve_n), RESERVE = const offset_of!(Cpu, reserve),
    STACK_END = sym STACK_END, SLOT_MASK = sym SLOT_MASK, STACK_PDPT = sym STACK_PDPT,
    STACK_BASE = const STACK_BASE, DIRECT_BASE = const super::bare::DIRECT_BASE,
);

/// Whether an address lies in a slot that exists.
pub fn in_window(address: u64) -> bool {
    address.wrapping_sub(STACK_BASE) < STACK_END.load(Relaxed)
}

/// What a page fault that nobody served means for the machine.
pub fn classify(address: u64, error_code: u64) -> FatalKind {
    if super::kstack::is_guard(address) {
        return FatalKind::KernelStackOverflow;
    }
    if !in_window(address) || error_code & 1 != 0 {
        return FatalKind::Exception;
    }
    let page = (address.wrapping_sub(STACK_BASE) & SLOT_MASK.load(Relaxed)) >> 12;
    let c = this();
    match page {
        0 => FatalKind::StackOverflow,
        1 if c.count.load(Relaxed) == 0 => FatalKind::StackOverflow,
        _ if c.reserve_n.load(Relaxed) == 0 => FatalKind::OutOfStackPages,
        _ => FatalKind::Exception,
    }
}
