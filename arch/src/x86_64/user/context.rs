//! The registers of a ring-3 thread while it does not run, and why it stopped.

use super::Space;
use crate::UserExit;
use core::sync::atomic::AtomicU32;

/// RFLAGS that a thread begins with: interrupts on, bit 1 which is always set.
const FIRST_RFLAGS: u64 = 0x202;
/// What `fninit` and the reset leave in the x87 control word and MXCSR: everything masked.
const FIRST_FCW: u16 = 0x37f;
const FIRST_MXCSR: u32 = 0x1f80;

/// Image of x87, MMX and SSE registers (SDM vol. 1, 10.5.1, table 10-2).
#[repr(C, align(16))]
pub(super) struct Fx(pub(super) [u8; 512]);

/// No answer is kept: the upcall has it.
pub(super) const ASK: u64 = u64::MAX;

/// Registers of a ring-3 thread. Only its own goroutine uses them.
#[repr(C, align(16))]
pub struct UserContext {
    pub(super) fx: Fx,
    pub(super) rax: u64,
    pub(super) rcx: u64,
    pub(super) rdx: u64,
    pub(super) rbx: u64,
    pub(super) rsi: u64,
    pub(super) rdi: u64,
    pub(super) rbp: u64,
    pub(super) r8: u64,
    pub(super) r9: u64,
    pub(super) r10: u64,
    pub(super) r11: u64,
    pub(super) r12: u64,
    pub(super) r13: u64,
    pub(super) r14: u64,
    pub(super) r15: u64,
    pub(super) rip: u64,
    pub(super) rflags: u64,
    pub(super) rsp: u64,
    /// Of the exception that it stopped for.
    pub(super) vector: u64,
    pub(super) error_code: u64,
    pub(super) address: u64,
    /// The address space that it runs in: a `Space`, from `run` on.
    pub(super) space: usize,
    /// Per-CPU block of the CPU that it ran on last and left by a call, 0: none (enter.rs, I-FPU).
    pub(super) fpu_cpu: usize,
    /// Answers of quick calls, or [`ASK`].
    pub(super) answers: [u64; crate::QUICK_CALLS as usize],
    /// 1: it left by a system call, so `sysret` may take it back.
    pub(super) by_syscall: u32,
    /// The stop word of `run`'s caller.
    pub(super) stop: *const AtomicU32,
}

// SAFETY: the stop word's address is followed while `run` runs, whose caller lends it.
unsafe impl Send for UserContext {}

pub(super) const EXIT_SYSCALL: u32 = 0;
pub(super) const EXIT_EXCEPTION: u32 = 1;
pub(super) const EXIT_STOPPED: u32 = 2;

impl UserContext {
    /// A thread that begins at `entry` with RSP = `stack_top` and `args` in RDI and RSI, all else 0.
    pub fn new(entry: u64, stack_top: u64, args: [u64; 2]) -> UserContext {
        let mut fx = Fx([0; 512]);
        fx.0[..2].copy_from_slice(&FIRST_FCW.to_le_bytes());
        fx.0[24..28].copy_from_slice(&FIRST_MXCSR.to_le_bytes());
        UserContext {
            fx,
            rax: 0,
            rcx: 0,
            rdx: 0,
            rbx: 0,
            rsi: args[1],
            rdi: args[0],
            rbp: 0,
            r8: 0,
            r9: 0,
            r10: 0,
            r11: 0,
            r12: 0,
            r13: 0,
            r14: 0,
            r15: 0,
            rip: entry,
            rflags: FIRST_RFLAGS,
            rsp: stack_top,
            vector: 0,
            error_code: 0,
            address: 0,
            space: 0,
            fpu_cpu: 0,
            answers: [ASK; crate::QUICK_CALLS as usize],
            by_syscall: 0,
            stop: core::ptr::null(),
        }
    }

    /// Runs the thread in ring 3 until a system call, an exception or the stop word. Meanwhile its goroutine is preempted like any
    /// other, and may come back on another CPU.
    ///
    /// The stop word: once it is not 0 this returns [`UserExit::Stopped`] when it next looks, which is at its start and at each interrupt.
    /// Who sets it sees to it that there is one.
    ///
    /// # Panics
    /// With preemption or interrupts off, or outside a goroutine.
    pub fn run(&mut self, space: &Space, stop: &AtomicU32) -> UserExit {
        assert!(
            crate::preempt_count() == 0 && crate::irqs_enabled(),
            "ring 3 is entered with preemption or interrupts off"
        );
        self.space = core::ptr::from_ref(space) as usize;
        self.stop = stop;
        // SAFETY: a goroutine's own stack, which the CPU comes back to; `space` and `stop` stay for as long as the call lasts, the
        // space longer (`Space::retire`).
        match unsafe { super::enter::user_enter(self) } {
            EXIT_SYSCALL => UserExit::Syscall,
            EXIT_STOPPED => UserExit::Stopped,
            _ => UserExit::Exception {
                vector: self.vector as u8,
                error_code: self.error_code,
                address: if self.vector == 14 { self.address } else { 0 },
            },
        }
    }

    /// Number of the system call.
    pub fn number(&self) -> u64 {
        self.rax
    }

    /// Its arguments.
    pub fn args(&self) -> [u64; 6] {
        [self.rdi, self.rsi, self.rdx, self.r10, self.r8, self.r9]
    }

    /// What the system call answers.
    pub fn set_result(&mut self, answer: i64) {
        self.rax = answer as u64
    }

    /// The next instruction, or the one that failed.
    pub fn rip(&self) -> u64 {
        self.rip
    }

    /// Stack pointer.
    pub fn rsp(&self) -> u64 {
        self.rsp
    }

    /// Quick call `number` is answered by `answer` from here on, without the upcall: for what does not change while the thread
    /// lives.
    ///
    /// # Panics
    /// If that is no quick call's number, or the answer is `u64::MAX`.
    pub fn set_answer(&mut self, number: u64, answer: u64) {
        assert!(
            number < crate::QUICK_CALLS && answer != ASK,
            "answer {answer:#x} to call {number}"
        );
        self.answers[number as usize] = answer
    }

    /// Sets bits of RFLAGS that ring 3 can set as well: for tests that step.
    pub fn set_flags(&mut self, bits: u64) {
        self.rflags |= bits
    }
}
