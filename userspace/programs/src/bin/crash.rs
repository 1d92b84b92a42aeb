//! Every way to die: the process ends with the reason, and nobody else. `crash HOW`; without HOW it lists them.
#![no_std]
#![no_main]
use core::arch::asm;
use core::hint::black_box;
use rt::prelude::*;
use rt::syscall;
rt::main!(main);

/// Somewhere in the kernel's half: its image.
const KERNEL: usize = 0xffff_ffff_8010_0000;
/// Between the two halves of the address space.
const NON_CANONICAL: usize = 0x8000_0000_0000;
/// `ret`, as data.
static mut CODE: [u8; 16] = [0xc3; 16];

/// Name, what it does, how.
type Way = (&'static str, &'static str, fn() -> i32);

/// All of them. Each answers the exit code if it is survived.
const WAYS: &[Way] = &[
    ("null", "reads where a null pointer leads", || {
        read(black_box(8))
    }),
    ("write", "writes to the kernel's memory", || write(KERNEL)),
    ("read", "reads the kernel's memory", || read(KERNEL)),
    ("code", "writes to its own code", || {
        write(main as *const () as usize)
    }),
    ("exec", "jumps into its data", exec),
    ("privileged", "halts the CPU (hlt)", privileged),
    ("io", "reads an I/O port", io),
    ("divide", "divides by zero", divide),
    ("overflow", "recurses without end", || {
        descend(black_box(1)) as i32
    }),
    (
        "badcall",
        "makes a system call that there is not; gets an error",
        bad_call,
    ),
    (
        "badpointer",
        "gives the kernel addresses of the kernel's; gets errors",
        bad_pointer,
    ),
    ("int3", "executes a breakpoint", int3),
    ("ud2", "executes an instruction that there is not", ud2),
    ("noncanonical", "reads where no address leads", || {
        read(NON_CANONICAL)
    }),
    ("trap", "sets the trap flag", trap),
    ("x87", "lets the x87 report a division by zero", x87),
    ("simd", "lets SSE report a division by zero", simd),
    ("panic", "panics", panic),
    ("oom", "takes memory without end", oom),
    ("deadlock", "waits for what nobody can send", deadlock),
];

fn read(address: usize) -> i32 {
    // SAFETY: what happens is the purpose.
    unsafe { (address as *const u32).read_volatile() as i32 }
}

fn write(address: usize) -> i32 {
    // SAFETY: what happens is the purpose.
    unsafe { (address as *mut u32).write_volatile(1) };
    0
}

fn exec() -> i32 {
    // SAFETY: what happens is the purpose; if it were allowed, it would come back.
    unsafe { asm!("call {}", in(reg) &raw const CODE) };
    0
}

fn privileged() -> i32 {
    // SAFETY: what happens is the purpose.
    unsafe { asm!("hlt") };
    0
}

fn io() -> i32 {
    let byte: u8;
    // SAFETY: what happens is the purpose.
    unsafe { asm!("in al, dx", in("dx") 0x60_u16, out("al") byte) };
    byte.into()
}

fn divide() -> i32 {
    // SAFETY: what happens is the purpose. By hand: Rust's own division panics.
    unsafe { asm!("div {:e}", in(reg) 0, inout("eax") 1 => _, inout("edx") 0 => _) };
    0
}

/// Never comes to 0. It uses the result of the call, so that it is no loop.
fn descend(depth: u64) -> u64 {
    if black_box(depth) == 0 {
        return 0;
    }
    let frame = black_box([depth; 32]);
    descend(depth + 1) + black_box(frame[3])
}

fn bad_call() -> i32 {
    // SAFETY: there is no such call, so it does nothing.
    let answer = unsafe { syscall::raw(9999, [0; 6]) };
    report("system call 9999", answer)
}

fn bad_pointer() -> i32 {
    use abi::Call::{Open, Pipe, Wait, Write};
    let (out, high) = (abi::STDOUT.into(), KERNEL as u64);
    let wraps = u64::MAX - 3;
    let calls = [
        ("write from the kernel's memory", Write, [out, high, 16]),
        ("write from address 0", Write, [out, 0, 16]),
        (
            "write of more than there is",
            Write,
            [out, 0x10_0000, u64::MAX],
        ),
        (
            "write from the end of all addresses",
            Write,
            [out, wraps, 16],
        ),
        (
            "a pipe's handles to the kernel's memory",
            Pipe,
            [high, 0, 0],
        ),
        (
            "how a process ended to the kernel's memory",
            Wait,
            [out, high, 0],
        ),
        (
            "a name where no address leads",
            Open,
            [NON_CANONICAL as u64, 8, 0],
        ),
    ];
    for (what, call, [a, b, c]) in calls {
        // SAFETY: the kernel looks at no memory of ours; were it to write to its own, that is what this is to find.
        let answer = unsafe { syscall::raw(call as u64, [a, b, c, 0, 0, 0]) };
        report(what, answer);
    }
    1
}

/// What the kernel answered; 1, since it should be an error.
fn report(what: &str, answer: i64) -> i32 {
    match rt::Error::from_answer(answer) {
        Some(error) => println!("{what}: {error}"),
        None => println!("{what}: {answer}, which is no error"),
    }
    1
}

fn int3() -> i32 {
    // SAFETY: what happens is the purpose.
    unsafe { asm!("int3") };
    0
}

fn ud2() -> i32 {
    // SAFETY: what happens is the purpose.
    unsafe { asm!("ud2") };
    0
}

fn trap() -> i32 {
    // SAFETY: what happens is the purpose.
    unsafe { asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq", "nop") };
    0
}

fn x87() -> i32 {
    /// Default, but a division by zero is reported.
    const CONTROL: u16 = 0x37f & !(1 << 2);
    // SAFETY: what happens is the purpose.
    unsafe {
        asm!("fldcw [{}]", "fld1", "fldz", "fdivp", "fwait", "fstp st(0)", in(reg) &CONTROL);
    }
    0
}

fn simd() -> i32 {
    /// Default, but a division by zero is reported.
    const MXCSR: u32 = 0x1f80 & !(1 << 9);
    // SAFETY: what happens is the purpose.
    unsafe {
        asm!(
            "ldmxcsr [{mxcsr}]",
            "xorps {zero}, {zero}",
            "divps {one}, {zero}",
            mxcsr = in(reg) &MXCSR,
            zero = out(xmm_reg) _,
            one = inout(xmm_reg) 1.0_f32 => _,
        );
    }
    println!("no exception came: QEMU's TCG has none of SSE's");
    1
}

fn panic() -> i32 {
    panic!("as asked")
}

/// Keeps the sender, and so waits for itself.
fn deadlock() -> i32 {
    let (_tx, rx) = chan::<i32>(0);
    rx.recv().unwrap_or(1)
}

/// Touches each page, so that it must be there.
fn oom() -> i32 {
    let mut kept: Vec<Vec<u8>> = Vec::new();
    loop {
        let mut block = Vec::new();
        if block.try_reserve_exact(1 << 20).is_err() {
            println!("refused after {} MiB", kept.len());
            return 1;
        }
        block.resize(1 << 20, 1);
        kept.push(block);
    }
}

fn main() {
    let asked = args().next().unwrap_or_default();
    if let Some((_, _, way)) = WAYS.iter().find(|way| way.0 == asked) {
        exit(way());
    }
    if !asked.is_empty() {
        let names: Vec<&str> = WAYS.iter().map(|way| way.0).collect();
        eprintln!(
            "no way to crash is called {asked}; there are {}",
            names.join(", ")
        );
        exit(1)
    }
    for (name, what, _) in WAYS {
        println!("{name:12} {what}");
    }
}
