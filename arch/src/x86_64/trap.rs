//! The interrupt descriptor table: 256 vectors, every one on an IST stack.
//!
//! The red zone is why: precompiled `core` keeps data below RSP, so nothing may be pushed onto the interrupted stack. IST
//! stacks do not nest, so handlers keep IF=0 and each kind that can interrupt another has a stack of its own (gdt.rs).
//!
//! ```text
//! vector      stub does                                              then
//! 0x00-0x1f   from ring 3: registers -> context (user/enter.rs)      back to its goroutine
//!             else a uniform frame (TrapFrame)                       exception -> upcall fatal
//! 0x01        a single step that a test asked for (step.rs)         else fatal
//! 0x02        NMI: upcall nmi, halt (nmi.rs)
//! 0x0e        page fault: stack growth in assembly (stackfault.rs)   else fatal
//! 0x20-0x2f   count only: spurious from the masked PICs, no EOI
//! 0x40        EOI, pending |= TIMER                                  irq_try (preempt.rs)
//! 0x41        EOI, pending |= RESCHED                                irq_try
//! 0x42        EOI, forget page tables (user/space.rs)
//! 0x50-0xef   EOI, pending |= DEVICE                                 irq_try
//! others      EOI, count as unexpected; 0xff (APIC spurious): count only
//! ```
//!
//! Each stub also shifts its vector into this CPU's `last_vectors`, which the runner reads after a triple fault.

use super::percpu::{Cpu, this};
use crate::upcalls::{Fatal, FatalKind};
use crate::{PENDING_DEVICE, PENDING_RESCHED, PENDING_TIMER};
use core::arch::{asm, global_asm};
use core::mem::offset_of;
use core::sync::atomic::Ordering::Relaxed;

/// Vector of the local APIC's timer.
pub const VECTOR_TIMER: u8 = 0x40;
/// Vector of the reschedule IPI.
pub const VECTOR_RESCHED: u8 = 0x41;
/// Vector of the interrupt that makes a CPU forget what it remembers of page tables.
pub const VECTOR_SHOOT_DOWN: u8 = 0x42;
/// First vector for devices (MSI-X).
pub const VECTOR_DEVICE_FIRST: u8 = 0x50;
/// Last vector for devices.
pub const VECTOR_DEVICE_LAST: u8 = 0xef;
/// The local APIC's spurious vector, never acknowledged.
pub const VECTOR_SPURIOUS: u8 = 0xff;

/// What the stubs of exceptions leave on their stack.
#[repr(C)]
pub struct TrapFrame {
    /// rax rcx rdx rbx rsi rdi r8..r15, the order of [`Fatal::gpr`].
    pub gpr: [u64; 14],
    pub rbp: u64,
    pub vector: u64,
    pub error_code: u64,
    pub rip: u64,
    pub cs: u64,
    pub rflags: u64,
    pub rsp: u64,
    pub ss: u64,
}

global_asm!(r#"
.section .text.ringo_trap,"ax",@progbits
.macro trap_stub v
.balign 16
.if \v == 1
  push rax
  push rcx
  jmp debug_try_step
.elseif \v < 32
  .if \v == 8 || (\v >= 10 && \v <= 14) || \v == 17 || \v == 21 || \v == 29 || \v == 30
  .else
    push 0                               // the CPU pushes no error code for this one
  .endif
  push \v
  jmp exception_entry
.else
  push rax
  push rcx
  mov ecx, \v
  .if \v == {TIMER}
    jmp irq_timer
  .elseif \v == {RESCHED}
    jmp irq_resched
  .elseif \v == {SHOOT_DOWN}
    jmp irq_shoot_down
  .elseif \v >= {DEVICE_FIRST} && \v <= {DEVICE_LAST}
    jmp irq_device
  .elseif \v == 0xff || \v < 0x30
    jmp irq_no_eoi
  .else
    jmp irq_unexpected
  .endif
.endif
.endm

.balign 16
.global trap_stubs
trap_stubs:
.irp high,0,1,2,3,4,5,6,7,8,9,a,b,c,d,e,f
.irp low,0,1,2,3,4,5,6,7,8,9,a,b,c,d,e,f
trap_stub 0x\high\low
.endr
.endr

// RCX = vector; RAX, RCX saved.
.macro irq_begin
  test byte ptr [rsp + 24], 3            // its CS: ring 3?
  jz 8f
  swapgs                                 // I-USERGS (user/enter.rs)
8:
  mov rax, gs:[{LAST_VECTORS}]
  shl rax, 8
  or rax, rcx
  mov gs:[{LAST_VECTORS}], rax
  inc qword ptr gs:[{N_INTERRUPTS}]
.endm
.macro irq_eoi
  mov rax, gs:[{LAPIC}]
  mov dword ptr [rax + 0xb0], 0
.endm

irq_timer:
  irq_begin
  irq_eoi
  or dword ptr gs:[{PENDING}], {PENDING_TIMER}
  jmp irq_try
irq_resched:
  irq_begin
  irq_eoi
  or dword ptr gs:[{PENDING}], {PENDING_RESCHED}
  jmp irq_try
irq_shoot_down:
  irq_begin
  irq_eoi
  jmp shoot_down_here
irq_device:
  irq_begin
  irq_eoi
  or dword ptr gs:[{PENDING}], {PENDING_DEVICE}
  jmp irq_try
irq_unexpected:
  irq_begin
  irq_eoi
  inc qword ptr gs:[{N_UNEXPECTED}]
  jmp irq_leave
irq_no_eoi:
  irq_begin
  inc qword ptr gs:[{N_UNEXPECTED}]
.global irq_leave
irq_leave:
  test byte ptr [rsp + 24], 3
  jz 1f
  swapgs
1: pop rcx
  pop rax
  iretq

.macro save_frame
  push rbp
  push r15
  push r14
  push r13
  push r12
  push r11
  push r10
  push r9
  push r8
  push rdi
  push rsi
  push rbx
  push rdx
  push rcx
  push rax
.endm

// [vector, error code, rip, cs, rflags, rsp, ss] on an IST stack. Reports run on this CPU's fatal stack, which has room.
.global exception_entry
exception_entry:
  test byte ptr [rsp + 24], 3
  jz 1f
  cmp qword ptr [rsp], 2                 // NMI, #DF and #MC are the machine's, wherever they come
  je 1f
  cmp qword ptr [rsp], 8
  je 1f
  cmp qword ptr [rsp], 18
  jne user_exception
1: save_frame
  mov ecx, {GS_BASE}                     // whose GS base is it? (I-USERGS)
  rdmsr
  test edx, edx
  js 2f
  swapgs
2:
  movzx ecx, byte ptr [rsp + {VECTOR}]
  mov rax, gs:[{LAST_VECTORS}]
  shl rax, 8
  or rax, rcx
  mov gs:[{LAST_VECTORS}], rax
exception_report:
  mov rdi, rsp
  cld
  fninit
  ldmxcsr [rip + mxcsr_default]
  xor ebp, ebp
  inc dword ptr gs:[{IN_FATAL}]
  cmp dword ptr gs:[{IN_FATAL}], 1
  jne 1f
  mov rsp, gs:[{FATAL_TOP}]
  call {exception}
  ud2
1: and rsp, -16                          // the fatal stack is in use
  call {exception_twice}
  ud2

.text
"#,
    TIMER = const VECTOR_TIMER, RESCHED = const VECTOR_RESCHED, SHOOT_DOWN = const VECTOR_SHOOT_DOWN,
    DEVICE_FIRST = const VECTOR_DEVICE_FIRST, DEVICE_LAST = const VECTOR_DEVICE_LAST,
    PENDING_TIMER = const PENDING_TIMER, PENDING_RESCHED = const PENDING_RESCHED, PENDING_DEVICE = const PENDING_DEVICE,
    LAST_VECTORS = const offset_of!(Cpu, last_vectors), LAPIC = const offset_of!(Cpu, lapic),
    PENDING = const offset_of!(Cpu, pending), N_INTERRUPTS = const offset_of!(Cpu, n_interrupts),
    N_UNEXPECTED = const offset_of!(Cpu, n_unexpected), IN_FATAL = const offset_of!(Cpu, in_fatal),
    FATAL_TOP = const offset_of!(Cpu, fatal_top),
    VECTOR = const offset_of!(TrapFrame, vector), GS_BASE = const super::percpu::MSR_GS_BASE,
    exception = sym exception, exception_twice = sym exception_twice,
);

unsafe extern "C" {
    static trap_stubs: u8;
    static page_fault_entry: u8;
    static nmi_entry: u8;
}

/// Interrupt stack table slots, 1 to 7 (SDM vol. 3, 6.14.5).
#[derive(Clone, Copy)]
#[repr(u8)]
pub enum Ist {
    DoubleFault = 1,
    Nmi = 2,
    MachineCheck = 3,
    PageFault = 4,
    Debug = 5,
    Exception = 6,
    Interrupt = 7,
}

fn ist_of(vector: usize) -> Ist {
    match vector {
        1 | 3 => Ist::Debug,
        2 => Ist::Nmi,
        8 => Ist::DoubleFault,
        14 => Ist::PageFault,
        18 => Ist::MachineCheck,
        0..32 => Ist::Exception,
        _ => Ist::Interrupt,
    }
}

/// Two words a gate. The crate `x86_64` has no access to the reserved vectors, so the table is kept raw.
static mut IDT: [[u64; 2]; 256] = [[0; 2]; 256];

/// Fills the table that all CPUs share.
///
/// # Safety
/// Once, on the first CPU, before [`load_idt`].
pub unsafe fn build_idt() {
    let idt = &raw mut IDT;
    for vector in 0..256 {
        let handler = match vector {
            2 => &raw const nmi_entry as u64,
            14 => &raw const page_fault_entry as u64,
            _ => &raw const trap_stubs as u64 + 16 * vector as u64,
        };
        // Ring 3 may ask for a breakpoint, and for nothing else.
        let dpl = if vector == 3 { 3 } else { 0 };
        // Present interrupt gate (IF=0), code selector 8 (SDM vol. 3, figure 6-8).
        let low = handler & 0xffff
            | 8 << 16
            | (ist_of(vector) as u64) << 32
            | (0x8e00 | dpl << 13) << 32
            | (handler >> 16 & 0xffff) << 48;
        // SAFETY: the only CPU writes it, before anybody loads it.
        unsafe { (*idt)[vector] = [low, handler >> 32] };
    }
}

/// Points this CPU at the table.
///
/// # Safety
/// After [`build_idt`]; GDT, TSS and GS of this CPU are in place.
pub unsafe fn load_idt() {
    let pointer = x86_64::structures::DescriptorTablePointer {
        limit: 4095,
        base: x86_64::VirtAddr::new(&raw const IDT as u64),
    };
    // SAFETY: the table is static and complete.
    unsafe { x86_64::instructions::tables::lidt(&pointer) };
}

/// Loads an empty IDT and raises an exception: the CPU shuts down and QEMU resets the machine. For tests.
pub fn triple_fault() -> ! {
    let pointer = x86_64::structures::DescriptorTablePointer {
        limit: 0,
        base: x86_64::VirtAddr::zero(),
    };
    // SAFETY: ends the machine, which is what it is for.
    unsafe {
        asm!("cli", "lidt [{}]", "int3", "2: hlt", "jmp 2b", in(reg) &pointer, options(noreturn));
    }
}

fn cr2() -> u64 {
    x86_64::registers::control::Cr2::read_raw()
}

extern "C" fn exception(frame: &TrapFrame) -> ! {
    let vector = frame.vector as u8;
    let cr2 = if vector == 14 { cr2() } else { 0 };
    let kind = if vector == 14 {
        super::stackfault::classify(cr2, frame.error_code)
    } else {
        FatalKind::Exception
    };
    let fatal = Fatal {
        kind,
        cpu: super::cpu_id(),
        vector,
        error_code: frame.error_code,
        rip: frame.rip,
        rsp: frame.rsp,
        rbp: frame.rbp,
        rflags: frame.rflags,
        cr2,
        gpr: frame.gpr,
        explanation: super::explain::explain(kind, vector, frame.error_code, cr2, frame.rsp),
    };
    (crate::upcalls::upcalls().fatal)(&fatal)
}

/// An exception while this CPU was reporting one. Says the little that needs no working kernel and ends the machine.
extern "C" fn exception_twice(frame: &TrapFrame) -> ! {
    // A third one would come here again: end without words then.
    if this().in_fatal.load(Relaxed) <= 2 {
        super::panic_console_write(b"\nfatal: an exception while reporting one; vector ");
        hex(frame.vector);
        super::panic_console_write(b" rip ");
        hex(frame.rip);
        super::panic_console_write(b" address ");
        hex(cr2());
        super::panic_console_write(b"\n");
    }
    super::exit(crate::ExitCode::FatalTwice)
}

/// Writes a number to the console without the formatting machinery, which may be what failed.
fn hex(n: u64) {
    let mut text = *b"0x0000000000000000";
    for (i, digit) in text[2..].iter_mut().enumerate() {
        *digit = b"0123456789abcdef"[(n >> (60 - 4 * i)) as usize & 15];
    }
    super::panic_console_write(&text);
}
