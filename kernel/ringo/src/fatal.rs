//! The end by force: panics, deadlocks, exceptions, stack overflows. One clean report, then status 2.
//!
//! ```text
//!   a CPU fails ── it is the first ────────► stop the others (NMI) ── report ── exit(Fatal)
//!        │
//!        ├─ another CPU is already at it ──► wait to be stopped
//!        └─ it was this CPU: a failure inside the report ──► a short line ── exit(FatalTwice)
//! ```
//!
//! Nothing here waits for a lock that a stopped CPU may hold for ever: the channels to the runner break theirs after a
//! bounded wait, the heap is not used, and the lists of Gs are read without locks.

pub(crate) mod backtrace;
pub(crate) mod oldest;
mod out;
mod report;

use arch::ExitCode;
use arch::upcalls::{Fatal, FatalKind, Upcalls};
#[cfg(not(ringo_kernel))]
use base::place::from_root;
use core::fmt::{self, Write};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};
use out::Out;
use sched::Sched;

/// CPU that reports, plus 1; 0: all is well.
static REPORTER: AtomicUsize = AtomicUsize::new(0);

/// Goroutine that began to panic last; 0: none, `u64::MAX`: code of no goroutine.
static PANICS: AtomicU64 = AtomicU64::new(0);

fn panic_begins() {
    // SeqCst: pairs with the load in `who_panics`.
    PANICS.store(sched::try_current().map_or(u64::MAX, |g| g.id()), SeqCst)
}

/// Which goroutine panics? That ends the program.
pub(crate) fn who_panics() -> Option<u64> {
    Some(PANICS.load(SeqCst)).filter(|&who| who != 0)
}

/// Is the caller in the message of a panic, which is being put together?
pub(crate) fn in_a_message() -> bool {
    #[cfg(ringo_kernel)]
    return sched::try_current().is_some_and(|g| g.panics() != 0);
    // The thread may have begun one for another goroutine, which has given way since: it ends the program as well.
    #[cfg(not(ringo_kernel))]
    std::thread::panicking()
}

/// The table that the machine layer calls up through.
pub(crate) fn upcalls() -> Upcalls {
    Upcalls {
        safe_point: sched::safe_point,
        syscall,
        nmi: report::nmi,
        fatal: exception,
    }
}

/// Quick calls of ring 3 take no arguments so far.
extern "C" fn syscall(number: u64) -> i64 {
    user::thread::answer_quick(number)
}

/// Print where the runner's stderr is, without any lock that could be held for ever.
pub(crate) fn say(text: fmt::Arguments) {
    let _ = Out::new().write_fmt(text);
}

/// Is this CPU the one that reports? Then what it says is kept in memory as well, for the runner to find there
/// (`trace::glass::last_words`).
fn reports() -> bool {
    REPORTER.load(Relaxed) == arch::cpu_id() + 1
}

/// Become the one that reports, with everybody else stopped.
fn take_over() {
    arch::preempt_disable();
    arch::irq_disable();
    let me = arch::cpu_id() + 1;
    match REPORTER.compare_exchange(0, me, SeqCst, SeqCst) {
        Ok(_) => arch::stop_other_cpus(),
        Err(who) if who == me => {
            say(format_args!(
                "\nfatal error: another failure while this one was being reported\n"
            ));
            arch::exit(ExitCode::FatalTwice)
        }
        Err(_) => loop {
            core::hint::spin_loop() // the reporter stops this CPU, or ends the machine
        },
    }
}

fn leave(kind: &str) -> ! {
    trace::point!("fatal.leave");
    report::events();
    say(format_args!(
        "\u{1}{{\"event\":\"fatal\",\"kind\":\"{kind}\"}}\n"
    ));
    arch::exit(ExitCode::Fatal)
}

/// Lines about sections that last too long; more would only repeat them.
static LATE_SHOWN: AtomicUsize = AtomicUsize::new(0);
const LATE_MAX: usize = 5;

/// The scheduler's hook: a section with interrupts or preemption off lasted for too long. Where it ended is where the
/// goroutine now stands.
pub(crate) fn late(cpu: usize, g: Option<sched::GRef>, late_ns: u64) {
    if LATE_SHOWN.fetch_add(1, Relaxed) < LATE_MAX {
        report::late(cpu, g, late_ns)
    }
}

/// The scheduler's hook: an error that no goroutine can handle (Go: `fatal`, `throw`).
pub(crate) fn fatal(s: &'static Sched, kind: &'static str, text: fmt::Arguments) -> ! {
    let rbp = backtrace::frame_pointer();
    take_over();
    say(format_args!("fatal error: {text}\n"));
    report::goroutines(s, rbp);
    // In a deadlock all are idle by its definition.
    report::machines_if(kind != "deadlock");
    leave(kind)
}

/// The machine layer's upcall: an exception that nobody handles, a stack overflow.
extern "C" fn exception(e: &Fatal) -> ! {
    take_over();
    let kind = match e.kind {
        FatalKind::StackOverflow => "stack overflow",
        FatalKind::OutOfStackPages => "out of memory",
        FatalKind::KernelStackOverflow => "kernel stack overflow",
        FatalKind::Exception => "exception",
    };
    report::exception(e, kind);
    report::machines_if(e.kind != FatalKind::StackOverflow);
    leave(kind)
}

/// A panic of Rust code on the bare machine.
#[cfg(ringo_kernel)]
#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    let rbp = backtrace::frame_pointer();
    panic_begins();
    // The message first, while this goroutine may still be preempted: a Display of it may park, or panic in turn.
    let mut message = out::Message::new();
    let nested = "panic while a panic's message was being put together";
    let _ = match report::begin_panic() {
        0 => write!(message, "{}", info.message()),
        1 => write!(message, "{nested}: {}", info.message()),
        _ => message.write_str(nested),
    };
    take_over();
    report::panic(&message, info.location(), rbp);
    report::machines_if(false);
    leave("panic")
}

/// A panic on the host machine: std's report, Go's exit status.
#[cfg(not(ringo_kernel))]
pub(crate) fn host_panic(info: &std::panic::PanicHookInfo) {
    panic_begins();
    let text = info.payload_as_str().unwrap_or("(no text)");
    match info.location() {
        Some(at) => say(format_args!(
            "panic: {text}\n\tat {}:{}:{}\n",
            from_root(at.file()),
            at.line(),
            at.column()
        )),
        None => say(format_args!("panic: {text}\n")),
    }
    if let Some(g) = sched::try_current() {
        let g = sched::GInfo::of(g);
        say(format_args!("\n{g}\n{}", sched::CreatedBy(&g)))
    }
    arch::exit(ExitCode::Fatal)
}
