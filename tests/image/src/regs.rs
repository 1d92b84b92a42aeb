//! Registers over injected calls. Go has no test of this kind.
//!
//! Goroutines hold known values in every register that a program can see and loop while interrupts inject calls into them;
//! others run precompiled `core` code, which keeps values in the red zone and in XMM, and compare what it computes. The number of
//! injected calls is the machine's own count.
//!
//! There are two tests of it. In `registers` interrupts come as they do, from the timer and from other CPUs. In
//! `registers_stepped` all those goroutines run in single steps, of which every few one is an interrupt: a tenth as dear, and at
//! any instruction of theirs, whatever a timer prefers.

use crate::core_walk::core_walk;
use crate::param::{param, plant_bug};
use crate::wait::{bump, spin};
use crate::{Outcome, Test, ensure, figure};
use arch::bare::{TRAP_FLAG, bare_stats, step_all, step_interrupts, stepped};
use base::PreemptGuard;
use base::rng::Rng;
use core::arch::naked_asm;
use core::hint::black_box;
use core::mem::offset_of;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use ringo::prelude::*;

pub const TESTS: &[Test] = &[
    ("registers", registers),
    ("registers_stepped", registers_stepped),
];

/// What a program can see of its CPU. `gpr`: rax rcx rdx rbx rbp rsi rdi r8 … r15; RCX counts the loop.
#[repr(C, align(16))]
#[derive(Clone, Copy, PartialEq)]
pub struct Seen {
    pub gpr: [u64; 15],
    pub rflags: u64,
    xmm: [[u64; 2]; 16],
    /// The 128 bytes below RSP.
    red: [u64; 16],
    /// x87 stack, 10 bytes each in 16.
    pub st: [[u8; 16]; 8],
    mxcsr: u32,
    control: u16,
    /// x87 status and tag words as they are with all eight registers in use.
    status: u16,
    rsp: u64,
}

/// Registers before and after.
#[repr(C, align(16))]
pub struct Frame {
    pub before: Seen,
    pub after: Seen,
}

const RCX: usize = 1;

/// Loads `before`, counts RCX down to 0 with an instruction that touches nothing else, stores `after`.
///
/// # Safety
/// `frame` is valid; `before.rflags` has IF set, and TF only after `step_all`; the control words mask all exceptions.
#[unsafe(naked)]
pub unsafe extern "C" fn hold(frame: *mut Frame) {
    naked_asm!(
        "push rbx", "push rbp", "push r12", "push r13", "push r14", "push r15",
        "push rdi",
        "sub rsp, 8",
        "mov [rdi + {RSP}], rsp",
        "fninit",
        "fldcw [rdi + {CONTROL}]",
        "ldmxcsr [rdi + {MXCSR}]",
        ".irp k,7,6,5,4,3,2,1,0",
        "fld tbyte ptr [rdi + {ST} + \\k*16]",
        ".endr",
        "fnstsw [rdi + {STATUS}]",
        // From here on nothing changes a flag.
        "push qword ptr [rdi + {RFLAGS}]",
        "popfq",
        ".irp k,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
        "movups xmm\\k, [rdi + {XMM} + \\k*16]",
        "mov rax, [rdi + {RED} + \\k*8]",
        "mov [rsp - 8 - \\k*8], rax",
        ".endr",
        "mov rax, [rdi]", "mov rcx, [rdi + 8]", "mov rdx, [rdi + 16]", "mov rbx, [rdi + 24]",
        "mov rbp, [rdi + 32]", "mov rsi, [rdi + 40]",
        "mov r8, [rdi + 56]", "mov r9, [rdi + 64]", "mov r10, [rdi + 72]", "mov r11, [rdi + 80]",
        "mov r12, [rdi + 88]", "mov r13, [rdi + 96]", "mov r14, [rdi + 104]", "mov r15, [rdi + 112]",
        "mov rdi, [rdi + 48]",
        "2: loop 2b",
        "xchg rdi, [rsp + 8]", // the frame; RDI's own value is on the stack now
        "mov [rdi + {A}], rax", "mov [rdi + {A} + 8], rcx", "mov [rdi + {A} + 16], rdx", "mov [rdi + {A} + 24], rbx",
        "mov [rdi + {A} + 32], rbp", "mov [rdi + {A} + 40], rsi",
        "mov [rdi + {A} + 56], r8", "mov [rdi + {A} + 64], r9", "mov [rdi + {A} + 72], r10", "mov [rdi + {A} + 80], r11",
        "mov [rdi + {A} + 88], r12", "mov [rdi + {A} + 96], r13", "mov [rdi + {A} + 104], r14", "mov [rdi + {A} + 112], r15",
        "mov rax, [rsp + 8]",
        "mov [rdi + {A} + 48], rax",
        "mov [rdi + {A} + {RSP}], rsp",
        ".irp k,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
        "mov rax, [rsp - 8 - \\k*8]",
        "mov [rdi + {A} + {RED} + \\k*8], rax",
        "movups [rdi + {A} + {XMM} + \\k*16], xmm\\k",
        ".endr",
        "pushfq",
        "pop qword ptr [rdi + {A} + {RFLAGS}]",
        "fnstsw [rdi + {A} + {STATUS}]",
        "fnstcw [rdi + {A} + {CONTROL}]",
        "stmxcsr [rdi + {A} + {MXCSR}]",
        ".irp k,0,1,2,3,4,5,6,7",
        "fstp tbyte ptr [rdi + {A} + {ST} + \\k*16]",
        ".endr",
        // What the ABI wants back.
        "push 0x202",
        "popfq",
        "fninit",
        "push 0x1f80",
        "ldmxcsr [rsp]",
        "add rsp, 24",
        "pop r15", "pop r14", "pop r13", "pop r12", "pop rbp", "pop rbx",
        "ret",
        A = const offset_of!(Frame, after),
        RFLAGS = const offset_of!(Seen, rflags), XMM = const offset_of!(Seen, xmm), RED = const offset_of!(Seen, red),
        ST = const offset_of!(Seen, st), MXCSR = const offset_of!(Seen, mxcsr), CONTROL = const offset_of!(Seen, control),
        STATUS = const offset_of!(Seen, status), RSP = const offset_of!(Seen, rsp),
    )
}

/// ID, AC, OF, DF, SF, ZF, AF, PF, CF.
const FLAGS: u64 = 1 << 21 | 1 << 18 | 0xcd5;

/// Registers full of chance; RCX is the length of a hold.
pub fn random_state(rng: &mut Rng, loops: u64) -> Seen {
    let mut w = || rng.next_u64();
    let mut s = Seen {
        gpr: core::array::from_fn(|_| w()),
        rflags: 0x202 | w() & FLAGS,
        xmm: core::array::from_fn(|_| [w(), w()]),
        red: core::array::from_fn(|_| w()),
        st: [[0; 16]; 8],
        mxcsr: 0x1f80 | (w() as u32 & 3) << 13 | w() as u32 & 0x803f,
        control: 0x7f | (w() as u16 & 3) << 10 | 0x300,
        status: 0,
        rsp: 0,
    };
    for st in &mut s.st {
        // A normal number: integer bit set, exponent near the middle.
        let (mantissa, exponent) = (
            w() | 1 << 63,
            (0x3f00 + w() as u16 % 0x1ff) | ((w() as u16 & 1) << 15),
        );
        st[..8].copy_from_slice(&mantissa.to_le_bytes());
        st[8..10].copy_from_slice(&exponent.to_le_bytes());
    }
    s.gpr[RCX] = loops;
    s
}

/// Corruptions found, and rounds of each kind of goroutine.
pub static CORRUPT: AtomicU64 = AtomicU64::new(0);
static ROUNDS: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];
static STOP: AtomicBool = AtomicBool::new(false);

fn corrupt(what: &str, want: u64, got: u64) {
    // The first few are enough to know what kind it is.
    if bump(&CORRUPT) < 5 {
        println!("CORRUPT {what}: {want:#x} became {got:#x}");
    }
}

/// Counts what has changed.
pub fn compare(frame: &mut Frame) {
    let (b, a) = (&mut frame.before, &frame.after);
    b.gpr[RCX] = 0;
    let names = [
        "rax", "rcx", "rdx", "rbx", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
        "r14", "r15",
    ];
    for (name, (b, a)) in names.iter().zip(b.gpr.iter().zip(&a.gpr)) {
        if a != b {
            corrupt(name, *b, *a)
        }
    }
    for (b, a) in b.xmm.iter().flatten().zip(a.xmm.iter().flatten()) {
        if a != b {
            corrupt("xmm", *b, *a)
        }
    }
    for (b, a) in b.red.iter().zip(&a.red) {
        if a != b {
            corrupt("red zone", *b, *a)
        }
    }
    for (b, a) in b.st.iter().zip(&a.st) {
        if a != b {
            corrupt("x87", u64::from(b[0]), u64::from(a[0]))
        }
    }
    let words = [
        ("rflags", b.rflags, a.rflags),
        ("mxcsr", b.mxcsr.into(), a.mxcsr.into()),
        ("x87 control", b.control.into(), a.control.into()),
        ("x87 status", b.status.into(), a.status.into()),
        ("rsp", b.rsp, a.rsp),
    ];
    for (name, b, a) in words {
        if a != b {
            corrupt(name, b, a)
        }
    }
}

/// `flags`: more of RFLAGS.
fn hold_registers(seed: u64, loops: u64, flags: u64) {
    let mut rng = Rng::new(seed);
    let blank = random_state(&mut rng, 1);
    while !STOP.load(Relaxed) {
        let mut frame = Frame {
            before: random_state(&mut rng, loops),
            after: blank,
        };
        frame.before.rflags |= flags;
        // The padding of the x87 registers is not stored.
        frame.after.st = [[0; 16]; 8];
        // SAFETY: the frame is ours; IF is set, TF if it may be, all floating-point exceptions are masked.
        unsafe { hold(&mut frame) };
        compare(&mut frame);
        bump(&ROUNDS[0]);
    }
}

/// `walk`: runs what it is given.
fn walk_core(seed: u64, want: u64, walk: fn(u64) -> u64) {
    while !STOP.load(Relaxed) {
        let got = walk(black_box(seed));
        if got != want {
            corrupt("result of core code", want, got)
        }
        bump(&ROUNDS[1]);
    }
}

/// Sections with preemption off: what comes meanwhile is served by the drop of the guard.
fn guard_sections(seed: u64) {
    let mut rng = Rng::new(seed);
    while !STOP.load(Relaxed) {
        {
            let _outer = PreemptGuard::new();
            spin(rng.below(400));
            let _inner = PreemptGuard::new();
            spin(rng.below(50));
        }
        if rng.below(16) == 0 {
            yield_now()
        }
        bump(&ROUNDS[2]);
    }
}

/// CPUs that have been seen, to send them IPIs.
static CPUS: [OnceLock<arch::CpuRef>; arch::MAX_CPUS] = [const { OnceLock::new() }; arch::MAX_CPUS];

/// Sends reschedule IPIs to all CPUs in turn: between timer ticks these inject calls at places of their own.
fn poke(seed: u64, spins: u32) {
    let mut rng = Rng::new(seed);
    let cpus = num_cpu() as u32;
    while !STOP.load(Relaxed) {
        {
            let _here = PreemptGuard::new();
            let me = arch::cpu_id();
            CPUS[me].get_or_init(arch::cpu_ref);
            // Another one: an IPI to itself would hit this very place.
            let other = (me as u32 + 1 + rng.below(cpus - 1)) % cpus;
            if let Some(cpu) = CPUS[other as usize].get() {
                arch::wake_cpu(*cpu)
            }
        }
        spin(rng.below(spins));
        bump(&ROUNDS[3]);
    }
}

fn sum(f: impl Fn(usize) -> u64) -> u64 {
    (0..num_cpu()).map(f).sum()
}

/// Of all CPUs, by interrupts of any kind.
pub fn injected() -> u64 {
    sum(|cpu| bare_stats(cpu).injected)
}

/// Lets those that look at their registers run until `inj` calls were injected, or enough has gone wrong. How many were.
fn run(inj: u64, gs: Vec<JoinHandle<()>>) -> u64 {
    let before = injected();
    while injected() - before < inj && CORRUPT.load(Relaxed) < 100 {
        sleep(Duration::from_millis(5));
    }
    let got = injected() - before;
    STOP.store(true, Relaxed);
    gs.into_iter().for_each(|g| g.join());
    got
}

/// No register changed in `got` injected calls, and each kind of goroutine that ran has got somewhere.
fn judge(got: u64, least: [u64; 4]) -> Outcome {
    let rounds = ROUNDS.each_ref().map(|r| r.load(Relaxed));
    figure!("injected", got);
    figure!("interrupts", sum(|cpu| bare_stats(cpu).interrupts));
    figure!(
        "nested_faults",
        sum(|cpu| bare_stats(cpu).page_faults_nested)
    );
    figure!("by_guard", sum(|cpu| bare_stats(cpu).safe_points_by_guard));
    figure!("switches", ringo::machine::counts().switches);
    figure!("hold", rounds[0]);
    figure!("core", rounds[1]);
    figure!("guard", rounds[2]);
    figure!("ipi", rounds[3]);
    let corrupt = CORRUPT.load(Relaxed);
    figure!("corrupt", corrupt);
    ensure!(
        corrupt == 0,
        "{corrupt} registers or results changed in {got} injected calls"
    );
    ensure!(
        rounds.iter().zip(least).all(|(n, least)| *n >= least),
        "some kind of goroutine hardly ran: {rounds:?}"
    );
    Ok(())
}

/// `inj`: injected calls to wait for. `loops`: length of a hold. `pokers`: senders of IPIs.
fn registers() -> Outcome {
    let loops = param("loops", 3000);
    let pokers = param("pokers", u64::from(num_cpu() > 1));
    let spins = param("spins", 5000) as u32;
    plant_bug();
    let mut gs = Vec::new();
    for i in 0..param("each", 3) {
        let hash = core_walk(i);
        gs.push(spawn(move || hold_registers(i, loops, 0)));
        gs.push(spawn(move || walk_core(i, hash, core_walk)));
    }
    gs.push(spawn(|| guard_sections(77)));
    (0..pokers).for_each(|i| gs.push(spawn(move || poke(i, spins))));
    judge(run(param("inj", 20_000), gs), [100, 100, 100, 0])
}

/// `inj`: injected calls to wait for. `most`: instructions between two of them. `loops`: length of a hold.
fn registers_stepped() -> Outcome {
    let loops = param("loops", 40);
    plant_bug();
    let mut gs = Vec::new();
    step_all(num_cpu(), param("most", 4), 1);
    for i in 0..param("each", 3) {
        let hash = core_walk(i);
        let walk = |seed| stepped(|| core_walk(seed));
        gs.push(spawn(move || hold_registers(i, loops, TRAP_FLAG)));
        gs.push(spawn(move || walk_core(i, hash, walk)));
    }
    let inj = param("inj", 20_000);
    let got = run(inj, gs);
    let by_steps = sum(step_interrupts);
    figure!("by_steps", by_steps);
    ensure!(
        by_steps >= got / 2 || CORRUPT.load(Relaxed) > 0,
        "{by_steps} of {got} interrupts are steps"
    );
    judge(got, [inj / 1000, inj / 100_000, 0, 0])
}
