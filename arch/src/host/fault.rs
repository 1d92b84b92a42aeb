//! Faults of an M's thread: signals, taken on a stack of their own, become the kernel's `fatal` upcall.

use super::cpu::{Cpu, this_if_any};
use super::{cpu, stacks};
use crate::upcalls::{Fatal, FatalKind, upcalls};
use core::mem::MaybeUninit;
use core::ptr;
use std::sync::OnceLock;

const SIGNALS: [i32; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL];

/// The actions that were in force before ours, in the order of [`SIGNALS`]: for threads that are no M.
static EARLIER: OnceLock<[libc::sigaction; 4]> = OnceLock::new();

/// What [`leave_m`] puts back.
pub(super) struct Outside {
    stack: libc::stack_t,
    slack_ns: libc::c_int,
}

/// Before a thread enters g0: its signals go to its own signal stack. A G's stack would not do, it may be the full one.
pub(super) fn enter_m(cpu: &Cpu) -> Outside {
    EARLIER.get_or_init(install);
    let ours = libc::stack_t {
        ss_sp: cpu.signal_stack as *mut _,
        ss_flags: 0,
        ss_size: cpu.signal_stack_bytes(),
    };
    let mut before = MaybeUninit::<libc::stack_t>::uninit();
    // SAFETY: the signal stack is mapped for good and this thread's own; `before` is written by the call, which fails
    // only for a stack that is too small or in use.
    unsafe {
        let status = libc::sigaltstack(&ours, before.as_mut_ptr());
        assert_eq!(status, 0, "sigaltstack refused the signal stack");
        // Idle threads wake by the clock: without this up to 50 us late.
        let slack_ns = libc::prctl(libc::PR_GET_TIMERSLACK);
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
        Outside {
            stack: before.assume_init(),
            slack_ns,
        }
    }
}

/// After a thread left g0.
pub(super) fn leave_m(outside: Outside) {
    // SAFETY: the values that were in force before; the stack is still there.
    unsafe {
        libc::sigaltstack(&outside.stack, ptr::null_mut());
        libc::prctl(libc::PR_SET_TIMERSLACK, outside.slack_ns);
    }
}

fn install() -> [libc::sigaction; 4] {
    SIGNALS.map(|signal| {
        // SAFETY: all-zero is a valid sigaction; the handler is a function of the type that SA_SIGINFO demands.
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = on_signal as *const () as usize;
            // NODEFER: a fault in the handler comes here again, and is told apart, instead of killing silently.
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            let mut earlier: libc::sigaction = core::mem::zeroed();
            libc::sigaction(signal, &action, &mut earlier);
            earlier
        }
    })
}

extern "C" fn on_signal(signal: i32, _info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    match this_if_any() {
        Some(cpu) if cpu.g0_caller.get() != 0 => {
            if cpu.in_fault.replace(true) {
                crate::control_write(b"fatal: a fault while a fault was being reported\n");
                crate::exit(crate::ExitCode::FatalTwice);
            }
            // SAFETY: the kernel passes a ucontext to handlers with SA_SIGINFO.
            let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
            report(cpu, signal, registers)
        }
        _ => {
            // No M: whoever was responsible before shall see the fault, which repeats once this handler returns.
            let earlier = EARLIER.get().zip(SIGNALS.iter().position(|&s| s == signal));
            // SAFETY: all-zero is the default action; the others were in force before.
            unsafe {
                let default: libc::sigaction = core::mem::zeroed();
                let action = earlier.map_or(&default, |(all, i)| &all[i]);
                libc::sigaction(signal, action, ptr::null_mut());
            }
        }
    }
}

fn report(cpu: &Cpu, signal: i32, registers: &[libc::greg_t; 23]) -> ! {
    let reg = |r: i32| registers[r as usize] as u64;
    let address = reg(libc::REG_CR2) as usize;
    let is_fault = signal == libc::SIGSEGV && reg(libc::REG_TRAPNO) == 14;
    let (kind, explanation) = if is_fault && stacks::in_guard(address) {
        let text = "The goroutine needs more stack than its slot has: endless recursion, or large local arrays.";
        (FatalKind::StackOverflow, text)
    } else if is_fault && (cpu.g0_guard.0..cpu.g0_guard.1).contains(&address) {
        let text = "The scheduler's own stack ran into its guard page.";
        (FatalKind::KernelStackOverflow, text)
    } else {
        (FatalKind::Exception, explain(signal, is_fault, address))
    };
    let fatal = Fatal {
        kind,
        cpu: cpu::cpu_id(),
        vector: reg(libc::REG_TRAPNO) as u8,
        error_code: reg(libc::REG_ERR),
        rip: reg(libc::REG_RIP),
        rsp: reg(libc::REG_RSP),
        rbp: reg(libc::REG_RBP),
        rflags: reg(libc::REG_EFL),
        cr2: if is_fault { address as u64 } else { 0 },
        gpr: [
            libc::REG_RAX,
            libc::REG_RCX,
            libc::REG_RDX,
            libc::REG_RBX,
            libc::REG_RSI,
            libc::REG_RDI,
            libc::REG_R8,
            libc::REG_R9,
            libc::REG_R10,
            libc::REG_R11,
            libc::REG_R12,
            libc::REG_R13,
            libc::REG_R14,
            libc::REG_R15,
        ]
        .map(reg),
        explanation,
    };
    (upcalls().fatal)(&fatal)
}

fn explain(signal: i32, is_fault: bool, address: usize) -> &'static str {
    match signal {
        libc::SIGSEGV if is_fault && address < stacks::PAGE_BYTES => {
            "Page fault next to address 0: a null pointer was followed."
        }
        libc::SIGSEGV if is_fault => {
            "Page fault: nothing is mapped at this address, or not for this kind of access."
        }
        libc::SIGSEGV => {
            "General protection: the address is not canonical, or the instruction is privileged."
        }
        libc::SIGBUS => "Bus error: a misaligned access, or a page whose backing is gone.",
        libc::SIGFPE => "Divide error: division by zero, or a quotient that does not fit.",
        _ => "Invalid opcode: often the end of a path that the compiler took for impossible.",
    }
}
