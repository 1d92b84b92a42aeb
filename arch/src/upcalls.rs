//! The way up: the four functions that the machine layer calls in the kernel above it.
//!
//! `arch` knows nobody, so the kernel leaves one table here at start-up, before interrupts are enabled and before the
//! second CPU runs. The assembly entries call through it.

use core::cell::UnsafeCell;

/// What went wrong for good, as the machine saw it. Passed to [`Upcalls::fatal`].
#[derive(Clone, Copy, Debug)]
pub struct Fatal {
    /// What kind of end this is.
    pub kind: FatalKind,
    /// CPU number on which it happened.
    pub cpu: usize,
    /// Exception vector (SDM vol. 3, table 6-1).
    pub vector: u8,
    /// Error code that the CPU pushed, 0 where it pushes none.
    pub error_code: u64,
    /// Instruction that failed.
    pub rip: u64,
    /// Stack pointer there.
    pub rsp: u64,
    /// Frame pointer there: the start of the backtrace.
    pub rbp: u64,
    /// Flags there.
    pub rflags: u64,
    /// Faulting address (CR2) of a page fault, else 0.
    pub cr2: u64,
    /// General registers in the order rax rcx rdx rbx rsi rdi r8..r15.
    pub gpr: [u64; 14],
    /// One or two sentences that say what the vector and its error code mean, for a person who sees one for the first time.
    pub explanation: &'static str,
}

/// The kinds of [`Fatal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FatalKind {
    /// An exception that nobody handles: null pointer, divide error, invalid opcode, …
    Exception,
    /// A goroutine ran into the guard page at the low end of its stack slot.
    StackOverflow,
    /// A goroutine's stack wanted one more page and this CPU's page reserve was empty.
    OutOfStackPages,
    /// A kernel stack (g0, interrupt stack) ran into its guard page.
    KernelStackOverflow,
}

/// Functions of the kernel that the machine layer calls.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Upcalls {
    /// Work is pending and the current G may be interrupted. Runs on the G's stack with `preempt_count` raised to at
    /// least 1 and interrupts enabled; called by the trampoline of the injected call and by the drop of the last guard.
    pub safe_point: extern "C" fn(),
    /// A system call below [`QUICK_CALLS`](crate::QUICK_CALLS) whose answer no context keeps; the answer. Runs on the thread's
    /// kernel stack with interrupts off. No floating point: MXCSR is the program's.
    pub syscall: extern "C" fn(number: u64) -> i64,
    /// Non-maskable interrupt: the panicking CPU asks this one to say what it ran and to stop. Takes no lock.
    pub nmi: extern "C" fn(rip: u64, rsp: u64, rbp: u64),
    /// The end: report and stop the machine. Runs on an interrupt stack with interrupts disabled, takes no lock that
    /// it cannot break.
    pub fatal: extern "C" fn(&Fatal) -> !,
}

#[repr(transparent)]
pub(crate) struct Slot(UnsafeCell<Upcalls>);
// SAFETY: written once by `set_upcalls` while one CPU runs with interrupts disabled, read afterwards only.
unsafe impl Sync for Slot {}

extern "C" fn no_safe_point() {}
extern "C" fn no_syscall(_: u64) -> i64 {
    -1
}
extern "C" fn no_nmi(_: u64, _: u64, _: u64) {}
extern "C" fn no_fatal(_: &Fatal) -> ! {
    crate::exit(crate::ExitCode::FatalTwice)
}

/// The system call's entry calls through it.
pub(crate) static UPCALLS: Slot = Slot(UnsafeCell::new(Upcalls {
    safe_point: no_safe_point,
    syscall: no_syscall,
    nmi: no_nmi,
    fatal: no_fatal,
}));

/// Fill the table.
///
/// # Safety
/// Called while no other CPU runs and interrupts are disabled (kernel), or before any M thread starts (host).
pub unsafe fn set_upcalls(u: Upcalls) {
    // SAFETY: the caller is alone, see above.
    unsafe { *UPCALLS.0.get() = u }
}

/// The table as it stands.
#[inline]
pub fn upcalls() -> &'static Upcalls {
    // SAFETY: nobody writes once the machine runs (`set_upcalls`).
    unsafe { &*UPCALLS.0.get() }
}
