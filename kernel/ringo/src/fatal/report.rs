//! What a report says.

use super::backtrace;
use super::oldest::Oldest;
use super::out::Out;
use arch::upcalls::{Fatal, FatalKind};
#[cfg(ringo_kernel)]
use base::place::from_root;
use core::fmt::Write;
#[cfg(ringo_kernel)]
use core::sync::atomic::AtomicU8;
use core::sync::atomic::{AtomicUsize, Ordering::*};
use sched::{CreatedBy, GInfo, GRef, GStatus, M, Sched};

/// Events of each CPU that a report shows.
const EVENTS_SHOWN: usize = 16;
/// Goroutines that are shown at most; the rest is counted.
const SHOWN: usize = 100;

/// What each CPU ran when it was stopped: written by its NMI, which must not print.
static STOPPED_AT: [[AtomicUsize; 2]; arch::MAX_CPUS] =
    [const { [const { AtomicUsize::new(0) }; 2] }; arch::MAX_CPUS];

/// The machine layer's upcall: this CPU is being stopped for another's report.
pub(super) extern "C" fn nmi(rip: u64, _rsp: u64, rbp: u64) {
    let at = &STOPPED_AT[arch::cpu_id()];
    at[0].store(rip as usize, Relaxed);
    at[1].store(rbp as usize, Relaxed);
}

/// Panics of code that is no goroutine's, on any CPU.
#[cfg(ringo_kernel)]
static PANICS_ELSEWHERE: AtomicU8 = AtomicU8::new(0);

/// A panic begins: in how many messages of this goroutine's panics, which were being put together.
#[cfg(ringo_kernel)]
pub(super) fn begin_panic() -> u8 {
    match sched::try_current() {
        Some(g) => g.begin_panic(),
        None => PANICS_ELSEWHERE.fetch_add(1, Relaxed), // few: the first ends the machine
    }
}

/// A panic: message, place, the goroutine that panicked, what the others ran.
#[cfg(ringo_kernel)]
pub(super) fn panic(message: &super::out::Message, at: Option<&core::panic::Location>, rbp: usize) {
    let mut out = Out::new();
    let (text, cut) = message.text();
    let _ = writeln!(out, "panic: {text}{}", if cut { "…" } else { "" });
    if let Some(at) = at {
        let file = from_root(at.file());
        let _ = writeln!(out, "\tat {file}:{}:{}", at.line(), at.column());
    }
    here(&mut out, |out| backtrace::print_callers(out, rbp));
    drop(out);
    others();
}

/// An exception, in words first.
pub(super) fn exception(e: &Fatal, kind: &str) {
    let mut out = Out::new();
    let g = sched::try_current();
    match (e.kind, g) {
        (FatalKind::StackOverflow, Some(g)) => {
            let kib = crate::start::config().stack_kib;
            let _ = writeln!(
                out,
                "fatal error: stack overflow: goroutine {} used up its {kib} KiB of stack",
                g.id()
            );
            if kib < 1024 {
                let more = kib * 2;
                let _ = writeln!(out, "\tlarger stacks: --set stack_kib={more} (up to 1024)");
            }
        }
        (FatalKind::Exception, _) => {
            let _ = writeln!(out, "fatal error: exception {} on CPU {}", e.vector, e.cpu);
        }
        _ => {
            let _ = writeln!(out, "fatal error: {kind} on CPU {}", e.cpu);
        }
    }
    let _ = writeln!(out, "\t{}", e.explanation);
    registers(&mut out, e);
    here(&mut out, |out| {
        backtrace::print(out, e.rip as usize, e.rbp as usize)
    });
    drop(out);
    others();
}

fn registers(out: &mut Out, e: &Fatal) {
    let _ = writeln!(
        out,
        "\trip {:#x} rsp {:#x} rbp {:#x} rflags {:#x} cr2 {:#x} error code {:#x}",
        e.rip, e.rsp, e.rbp, e.rflags, e.cr2, e.error_code
    );
    let names = [
        "rax", "rcx", "rdx", "rbx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
        "r15",
    ];
    for (names, values) in names.chunks(7).zip(e.gpr.chunks(7)) {
        let _ = write!(out, "\t");
        for (name, value) in names.iter().zip(values) {
            let _ = write!(out, "{name} {value:#x} ");
        }
        let _ = writeln!(out);
    }
}

/// The goroutine that failed, with its frames.
fn here(out: &mut Out, frames: impl FnOnce(&mut Out)) {
    let _ = match sched::try_current() {
        Some(g) => writeln!(out, "\n{}", GInfo::of(g)),
        None => writeln!(
            out,
            "\nthe scheduler of CPU {} (no goroutine):",
            arch::cpu_id()
        ),
    };
    frames(out);
    if let Some(g) = sched::try_current() {
        created_by(out, g)
    }
}

fn created_by(out: &mut Out, g: GRef) {
    let _ = write!(out, "{}", CreatedBy(&GInfo::of(g)));
}

/// What the other CPUs ran.
fn others() {
    if arch::m_ptr().is_null() {
        return; // too early
    }
    let me = arch::cpu_id();
    let s = sched::this();
    for m in s
        .allm
        .iter()
        .take(arch::num_cpus())
        .filter(|m| m.id() != me)
    {
        one_cpu(m)
    }
}

/// A section with interrupts or preemption off that has just ended, late.
pub(super) fn late(cpu: usize, g: Option<GRef>, late_ns: u64) {
    let mut out = Out::new();
    let us = late_ns / 1000;
    let _ = write!(
        out,
        "watchdog: CPU {cpu} has kept interrupts or preemption off for {us} µs"
    );
    let Some(g) = g else {
        let _ = writeln!(out, ", in its scheduler");
        return;
    };
    let _ = writeln!(out, ", in goroutine {}, until it came here:", g.id());
    // SAFETY: this is g0 of the CPU that the G has just left, and will resume.
    let (rip, rbp) = unsafe { arch::saved_frame(g.saved_context()) };
    backtrace::print(&mut out, rip, rbp)
}

/// The last events of each CPU, where they are kept (`--log trace`).
pub(super) fn events() {
    for cpu in (0..arch::num_cpus()).filter(|&cpu| trace::recorded(cpu) > 0) {
        let mut out = Out::new();
        let _ = writeln!(out, "\nlast events of CPU {cpu}:");
        for event in trace::last(cpu, EVENTS_SHOWN) {
            let _ = writeln!(out, "  {event}");
        }
    }
}

fn one_cpu(m: &M) {
    let mut out = Out::new();
    match m.curg() {
        Some(g) => {
            let _ = writeln!(out, "\nCPU {} ran goroutine {}:", m.id(), g.id());
            stopped_at(&mut out, m.id());
            created_by(&mut out, g)
        }
        None => {
            let what = if m.p().is_some() {
                "looked for work"
            } else {
                "was idle"
            };
            let _ = writeln!(out, "\nCPU {} {what}", m.id());
        }
    }
}

/// The Ps and Ms, in the words of `scheddetail`: where the failure may be the scheduler's own, or somebody asked for them.
pub(super) fn machines_if(wanted: bool) {
    if arch::m_ptr().is_null() || !(wanted || crate::start::config().scheddetail) {
        return;
    }
    let s = sched::this();
    let mut out = Out::new();
    let _ = writeln!(out);
    let _ = s.write_ps_and_ms(&mut out, sched::machine_now_ns());
}

/// All goroutines that exist, the one that fails first, with the frames above `rbp`; the others oldest first as far as they
/// fit.
pub(super) fn goroutines(s: &'static Sched, rbp: usize) {
    let me = sched::try_current();
    if me.is_some() {
        let mut out = Out::new();
        here(&mut out, |out| backtrace::print_callers(out, rbp))
    }
    let mut oldest = Oldest::<SHOWN>::new();
    s.for_each_g(|g| {
        if g.status() != GStatus::Dead && Some(g) != me {
            oldest.add(g)
        }
    });
    oldest.iter().for_each(|(_, g)| goroutine(g));
    if oldest.left_out() > 0 {
        super::say(format_args!(
            "\n… and {} more goroutines\n",
            oldest.left_out()
        ))
    }
}

fn goroutine(g: GRef) {
    let mut out = Out::new();
    let _ = writeln!(out, "\n{}", GInfo::of(g));
    match g.status() {
        // std and debuggers do better there.
        _ if !cfg!(ringo_kernel) => {
            let _ = writeln!(out, "(no frames on the host machine)");
        }
        // SAFETY: a G that does not run has a saved context, and all Ms are idle or stopped.
        GStatus::Waiting | GStatus::Runnable => unsafe { backtrace::print_stopped(&mut out, g) },
        GStatus::Running | GStatus::Syscall => {
            if let Some(cpu) = g.cpu() {
                stopped_at(&mut out, cpu)
            }
        }
        GStatus::Idle | GStatus::Dead => {}
    }
    created_by(&mut out, g)
}

/// The frames of a CPU that was stopped.
fn stopped_at(out: &mut Out, cpu: usize) {
    let rip = STOPPED_AT[cpu][0].load(Relaxed);
    if rip != 0 {
        backtrace::print(out, rip, STOPPED_AT[cpu][1].load(Relaxed))
    }
}
