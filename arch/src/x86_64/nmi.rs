//! Stopping the other CPUs when the machine ends. An NMI gets through where interrupts are off: that is the point.

use super::percpu::{Cpu, this};
use super::{apic, smp, tsc};
use crate::MAX_CPUS;
use crate::upcalls::upcalls;
use core::arch::{asm, global_asm};
use core::mem::offset_of;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

/// How long the end of the machine waits for the others.
const STOP_WAIT_NS: u64 = 50_000_000;

static STOPPING: AtomicBool = AtomicBool::new(false);
/// Bit per CPU that has said its words and halted.
static STOPPED: AtomicU64 = AtomicU64::new(0);
const _: () = assert!(MAX_CPUS <= 64);

global_asm!(r#"
.section .text.ringo_nmi,"ax",@progbits
.global nmi_entry
nmi_entry:                               // on its own IST stack: rip cs rflags rsp ss
  push rax
  push rcx
  push rdx
  mov ecx, {GS_BASE}
  rdmsr
  test edx, edx                          // whose GS base is it? (I-USERGS of user/enter.rs)
  js 2f
  swapgs                                 // and never back: an NMI is the end, whoever sent it
2: pop rdx
  cmp byte ptr [rip + {STOPPING}], 0
  je 1f
  cld
  fninit
  ldmxcsr [rip + mxcsr_default]
  mov rax, gs:[{LAST_VECTORS}]
  shl rax, 8
  or rax, 2
  mov gs:[{LAST_VECTORS}], rax
  mov rdi, [rsp + 16]
  mov rsi, [rsp + 40]
  xor edx, edx
  test byte ptr [rsp + 24], 3            // its CS: no backtrace follows what a program has in RBP
  cmovz rdx, rbp
  xor ebp, ebp
  and rsp, -16
  call {stop_here}
  ud2
1: pop rcx                               // nobody here sent it: report it like any exception
  pop rax
  push 0
  push 2
  jmp exception_entry
.text
"#, LAST_VECTORS = const offset_of!(Cpu, last_vectors), GS_BASE = const super::percpu::MSR_GS_BASE, STOPPING = sym STOPPING, stop_here = sym stop_here);

/// The machine is ending: whoever holds a lock may have been stopped.
pub fn is_ending() -> bool {
    STOPPING.load(Acquire) // pairs with the swap in `stop_other_cpus`
}

fn halt_for_good() -> ! {
    loop {
        // SAFETY: this CPU has nothing left to do; only an NMI wakes it, and it comes back here.
        unsafe { asm!("cli", "hlt", options(nomem, nostack)) };
    }
}

extern "C" fn stop_here(rip: u64, rsp: u64, rbp: u64) -> ! {
    (upcalls().nmi)(rip, rsp, rbp);
    STOPPED.fetch_or(1 << this().id.load(Relaxed), Release); // pairs with the Acquire in `stop_other_cpus`
    halt_for_good()
}

/// Sends every other CPU a non-maskable interrupt and waits, at most 50 ms, until they have called the upcall `nmi` and
/// halted. If another CPU is already doing this, the caller is one of those to be stopped: it waits for that and does not
/// return.
pub fn stop_other_cpus() {
    super::irq::irq_disable();
    if STOPPING.swap(true, AcqRel) {
        halt_for_good()
    }
    let me = super::cpu_id();
    let n = smp::num_cpus();
    let mut want = 0u64;
    for cpu in (0..n).filter(|&c| c != me) {
        want |= 1 << cpu;
        apic::send_nmi(super::percpu::cpu(cpu).apic_id.load(Relaxed));
    }
    let end = tsc::now_ns() + STOP_WAIT_NS;
    while STOPPED.load(Acquire) & want != want && tsc::now_ns() < end {
        core::hint::spin_loop();
    }
}
