//! Registers over injected calls. Go has no test of this kind.
//!
//! Goroutines hold known values in every register that a program can see and loop while timer interrupts and reschedule
//! IPIs inject calls into them; others run precompiled `core` code, which keeps values in the red zone and in XMM, and
//! compare what it computes. The number of injected calls is the machine's own count.

use crate::param::{param, plant_bug};
use crate::wait::{bump, spin};
use crate::{Outcome, Test, ensure, figure};
use arch::bare::bare_stats;
use base::PreemptGuard;
use base::rng::Rng;
use core::arch::naked_asm;
use core::fmt::Write;
use core::hint::black_box;
use core::mem::offset_of;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use ringo::prelude::*;

pub const TESTS: &[Test] = &[("registers", registers)];

/// What a program can see of its CPU. `gpr`: rax rcx rdx rbx rbp rsi rdi r8 … r15; RCX counts the loop.
#[repr(C, align(16))]
#[derive(Clone, Copy, PartialEq)]
struct Seen {
    gpr: [u64; 15],
    rflags: u64,
    xmm: [[u64; 2]; 16],
    /// The 128 bytes below RSP.
    red: [u64; 16],
    /// x87 stack, 10 bytes each in 16.
    st: [[u8; 16]; 8],
    mxcsr: u32,
    control: u16,
    /// x87 status and tag words as they are with all eight registers in use.
    status: u16,
    rsp: u64,
}

#[repr(C, align(16))]
struct Frame {
    before: Seen,
    after: Seen,
}

const RCX: usize = 1;

/// Loads `before`, counts RCX down to 0 with an instruction that touches nothing else, stores `after`.
///
/// # Safety
/// `frame` is valid; `before.rflags` has IF set and TF clear; the control words mask all exceptions.
#[unsafe(naked)]
unsafe extern "C" fn hold(frame: *mut Frame) {
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

fn random_state(rng: &mut Rng, loops: u64) -> Seen {
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
static CORRUPT: AtomicU64 = AtomicU64::new(0);
static ROUNDS: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];
static STOP: AtomicBool = AtomicBool::new(false);

fn corrupt(what: &str, want: u64, got: u64) {
    // The first few are enough to know what kind it is.
    if bump(&CORRUPT) < 5 {
        println!("CORRUPT {what}: {want:#x} became {got:#x}");
    }
}

fn compare(frame: &mut Frame) {
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

fn hold_registers(seed: u64, loops: u64) {
    let mut rng = Rng::new(seed);
    let blank = random_state(&mut rng, 1);
    while !STOP.load(Relaxed) {
        let mut frame = Frame {
            before: random_state(&mut rng, loops),
            after: blank,
        };
        // The padding of the x87 registers is not stored.
        frame.after.st = [[0; 16]; 8];
        // SAFETY: the frame is ours; IF is set, TF is not, all floating-point exceptions are masked.
        unsafe { hold(&mut frame) };
        compare(&mut frame);
        bump(&ROUNDS[0]);
    }
}

/// Text in a fixed buffer: no heap, whose lock would keep preemption off.
struct Text {
    bytes: [u8; 512],
    used: usize,
}

impl Write for Text {
    fn write_str(&mut self, s: &str) -> core::fmt::Result {
        let room = self
            .bytes
            .get_mut(self.used..self.used + s.len())
            .ok_or(core::fmt::Error)?;
        room.copy_from_slice(s.as_bytes());
        self.used += s.len();
        Ok(())
    }
}

/// One walk through precompiled `core` code: sorting, formatting, float parsing, case mapping, 128-bit division.
fn core_walk(seed: u64) -> u64 {
    let mut rng = Rng::new(seed);
    let mut hash = seed;
    let mut mix = |n: u64| hash = (hash.rotate_left(7) ^ n).wrapping_mul(0x100_0000_01b3);
    let mut floats: [f64; 40] = core::array::from_fn(|_| (rng.next_u64() >> 24) as f64 / 4096.5);
    floats.sort_unstable_by(f64::total_cmp);
    floats.iter().for_each(|f| mix(f.to_bits()));
    let mut words: [u64; 64] = core::array::from_fn(|_| rng.next_u64());
    words.sort_by_key(|w| w.rotate_left(17));
    words.iter().for_each(|w| mix(*w));
    let mut text = Text {
        bytes: [0; 512],
        used: 0,
    };
    let wrote = write!(
        text,
        "{:.6} {:e} {} {:?} {:#x} große ǆ ŵ",
        floats[3],
        floats[30],
        floats[17],
        ("q", floats[9]),
        words[5]
    );
    mix(wrote.is_ok().into());
    let text = core::str::from_utf8(&text.bytes[..text.used]).unwrap_or("");
    text.chars()
        .flat_map(char::to_uppercase)
        .for_each(|c| mix(c.into()));
    for number in text.split(' ').take(3) {
        mix(number.parse::<f64>().map_or(1, f64::to_bits))
    }
    let wide = u128::from(words[1]) << 64 | u128::from(words[2]);
    let by = u128::from(words[3]) << 9 | 1;
    mix((black_box(wide) / black_box(by)) as u64);
    hash
}

fn walk_core(seed: u64, want: u64) {
    while !STOP.load(Relaxed) {
        let got = core_walk(black_box(seed));
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

fn injected() -> u64 {
    (0..num_cpu()).map(|cpu| bare_stats(cpu).injected).sum()
}

/// `inj`: injected calls to wait for. `loops`: length of a hold. `pokers`: senders of IPIs.
fn registers() -> Outcome {
    let want = param("inj", 20_000);
    let loops = param("loops", 3000);
    let pokers = param("pokers", u64::from(num_cpu() > 1));
    let spins = param("spins", 5000) as u32;
    plant_bug();
    let before = injected();
    let mut gs = Vec::new();
    for i in 0..param("each", 3) {
        let hash = core_walk(i);
        gs.push(spawn(move || hold_registers(i, loops)));
        gs.push(spawn(move || walk_core(i, hash)));
    }
    gs.push(spawn(|| guard_sections(77)));
    (0..pokers).for_each(|i| gs.push(spawn(move || poke(i, spins))));
    while injected() - before < want && CORRUPT.load(Relaxed) < 100 {
        sleep(Duration::from_millis(20));
    }
    let got = injected() - before;
    STOP.store(true, Relaxed);
    gs.into_iter().for_each(|g| g.join());
    let rounds = ROUNDS.each_ref().map(|r| r.load(Relaxed));
    figure!("injected", got);
    let sum = |f: fn(arch::bare::BareStats) -> u64| {
        (0..num_cpu()).map(|cpu| f(bare_stats(cpu))).sum::<u64>()
    };
    figure!("interrupts", sum(|s| s.interrupts));
    figure!("nested_faults", sum(|s| s.page_faults_nested));
    figure!("by_guard", sum(|s| s.safe_points_by_guard));
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
        rounds[..3].iter().all(|r| *r > 100),
        "some kind of goroutine hardly ran: {rounds:?}"
    );
    Ok(())
}
