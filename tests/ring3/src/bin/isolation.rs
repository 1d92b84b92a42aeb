//! Tries what a process must not be able to do to another one or to the kernel; and what it must be able to: share memory.
//! Without arguments all of it; with them one attempt, as a process of its own.
#![no_std]
#![no_main]
use abi::{Call, MAP_READ_ONLY, PAGE_BYTES};
use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use rt::prelude::*;
use rt::process::{Command, Ended};
use rt::shm::Shm;
use rt::{futex, syscall};
rt::main!(main);

/// Vector of a page fault.
const PAGE_FAULT: i32 = 14;
/// What a process leaves in its memory; others look for it.
const PATTERN: u64 = 0x5ec2_e75e_c2e7_5ec2;
/// Far above all that a copy of this program maps by itself.
const ABOVE: u64 = 4 << 20;

fn call<const N: usize>(number: Call, args: [u64; N]) -> rt::Result<u64> {
    // SAFETY: pages that nobody else uses.
    unsafe { syscall::call(number, args) }
}

fn map(bytes: u64, flags: u64) -> rt::Result<u64> {
    call(Call::Map, [bytes, flags])
}

/// Words of memory that was mapped.
fn words(address: u64, bytes: u64) -> &'static [AtomicU64] {
    // SAFETY: mapped by the caller, and it stays.
    unsafe { core::slice::from_raw_parts(address as *const AtomicU64, bytes as usize / 8) }
}

fn number(text: &str) -> u64 {
    let hex = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(hex, 16).unwrap_or(0)
}

/// One attempt at an address. It comes back if it was allowed.
fn attempt(how: &str, address: u64) {
    // SAFETY: what happens is the purpose.
    unsafe {
        match how {
            "read" => _ = (address as *const u8).read_volatile(),
            "write" => (address as *mut u8).write_volatile(0xcc),
            // A `ret`, if it is one.
            _ => asm!("call {}", in(reg) address, clobber_abi("C")),
        }
    }
}

/// Is ended by a page fault at that address, and nothing else.
fn denied(what: &str, ended: &Ended, address: u64) -> Result<(), String> {
    let fault = ended.0.code == PAGE_FAULT && ended.code().is_none();
    match fault && ended.0.address == address {
        true => Ok(()),
        false => Err(format!("{what} at {address:#x}: {ended}")),
    }
}

/// A copy of this program, with what it says of its end kept away from the console.
fn copy(words: &[&str]) -> Command<'static> {
    let command = Command::new("isolation");
    words
        .iter()
        .fold(command, |command, word| command.arg(word))
}

/// Addresses of the kernel's, of a neighbour's, and of its own that may not be used so.
fn attempts() -> Result<u64, String> {
    let text = |e: abi::Error| e.to_string();
    let mine = map(ABOVE, 0).map_err(text)?;
    words(mine, ABOVE)
        .iter()
        .for_each(|w| w.store(PATTERN, Relaxed));
    let secret = mine + ABOVE - PAGE_BYTES;
    let code = main as *const () as u64 / PAGE_BYTES * PAGE_BYTES;
    let constant = "a constant".as_ptr() as u64;
    let all = [
        ("read", 0xffff_ffff_8010_0000),
        ("write", 0xffff_ffff_8010_0000),
        ("execute", 0xffff_ffff_8010_0000),
        ("read", 0xffff_8000_0010_0000),
        ("write", 0xffff_8000_0010_0000),
        ("read", 0xffff_8000_0000_0000),
        ("read", 0x7fff_ffff_f000),
        ("execute", 0x7fff_ffff_0000),
        // A page of this process's: in the copy there is nothing.
        ("read", secret),
        ("write", secret),
        ("execute", secret),
        ("write", code),
        ("write", constant),
        ("execute", constant),
    ];
    for (how, address) in all {
        let child = copy(&[how, &format!("{address:#x}")])
            .spawn()
            .map_err(text)?;
        denied(how, &child.wait().map_err(text)?, address)?;
    }
    // W^X, and memory that can only be read: the child maps it, and says where by its fault.
    for what in [
        "execute-heap",
        "execute-stack",
        "write-read-only",
        "write-shared",
    ] {
        let ended = copy(&[what])
            .spawn()
            .and_then(|child| child.wait())
            .map_err(text)?;
        denied(what, &ended, ended.0.address)?;
        if ended.0.address < PAGE_BYTES {
            return Err(format!("{what}: {ended}"));
        }
    }
    let unchanged = words(mine, ABOVE)
        .iter()
        .all(|w| w.load(Relaxed) == PATTERN);
    match unchanged {
        true => Ok(all.len() as u64 + 4),
        false => Err("the memory of this process has changed".to_string()),
    }
}

/// What is not allowed with memory of one's own.
fn own_memory(what: &str) -> rt::Result<()> {
    /// Memory at `at` with a `ret` at its begin is called.
    fn jump(at: u64) {
        attempt("write", at);
        // SAFETY: a byte of memory that was mapped for it.
        unsafe { (at as *mut u8).write_volatile(0xc3) };
        attempt("execute", at)
    }
    match what {
        "execute-heap" => jump(map(PAGE_BYTES, 0)?),
        "execute-stack" => jump(&raw const *core::hint::black_box(&mut [0_u8; 16]) as u64),
        "write-read-only" => {
            let page = map(PAGE_BYTES, MAP_READ_ONLY)?;
            attempt("read", page);
            attempt("write", page)
        }
        _ => {
            let shm = Shm::new(PAGE_BYTES as usize)?;
            let handle = shm.as_ref().number().into();
            let page = call(Call::ShmMap, [handle, MAP_READ_ONLY])?;
            attempt("read", page);
            attempt("write", page)
        }
    }
    Ok(())
}

/// Memory that two processes share: both see what the other writes, and it stays while one of them has it.
fn shared() -> rt::Result<()> {
    let shm = Shm::new(4 * PAGE_BYTES as usize)?;
    let first = shm.map()?;
    let words = first.words();
    assert!(words.iter().all(|word| word.load(Relaxed) == 0), "not zero");
    words[0].store(1, Relaxed);
    let child = copy(&["sharer"]).give(&shm).spawn()?;
    drop(shm); // the child has it, and this mapping
    while words[0].load(Acquire) == 1 {
        let _ = futex::wait(&words[0], 1);
    }
    assert_eq!(words[1023].load(Acquire), 2, "what the child has written");
    // Gone here; the child still has it.
    words[1].store(3, Release);
    futex::wake(&words[1], 1);
    drop(first);
    assert_eq!(child.wait()?.code(), Some(7));
    Ok(())
}

fn sharer() -> rt::Result<()> {
    let mapped = {
        let shm = Shm::given(3);
        shm.map()?
    };
    let words = mapped.words();
    assert_eq!(words[0].load(Acquire), 1, "what the parent has written");
    words[1023].store(2, Release);
    words[0].store(2, Release);
    futex::wake(&words[0], 1);
    while words[1].load(Acquire) != 3 {
        let _ = futex::wait(&words[1], 0);
    }
    sleep(Duration::from_millis(2)); // the parent lets go meanwhile
    assert!(words[0].load(Relaxed) == 2 && words[1023].load(Relaxed) == 2);
    exit(7)
}

/// Fills `mib` with the pattern and ends. Before, all of it is zero, whoever had the frames.
fn fill(mib: u64) -> rt::Result<()> {
    let all = words(map(mib << 20, 0)?, mib << 20);
    let shared = Shm::new(64 << 10)?.map()?;
    let dirty = all.iter().filter(|w| w.swap(PATTERN, Relaxed) != 0).count();
    let low = |word: &&AtomicU32| word.swap(PATTERN as u32, Relaxed) != 0;
    let dirty = dirty + shared.words().iter().filter(low).count();
    assert_eq!(dirty, 0, "words of others were seen");
    Ok(())
}

/// Words of a thread's first registers: RAX RBX RCX RDX RSI RDI RBP RSP R8 to R15, RFLAGS.
const REGISTERS: usize = 17;

/// Room for them, and for what `fxsave` writes.
#[repr(C, align(16))]
struct First {
    fx: [AtomicU64; 64],
    registers: [AtomicU64; REGISTERS],
    there: AtomicU32,
}

// RDI points at a `First`. Nothing is changed before it is written down; the stack takes a word.
global_asm!(
    ".global isolation_first",
    "isolation_first:",
    "fxsave64 [rdi]",
    "mov [rdi + 512], rax",
    "mov [rdi + 520], rbx",
    "mov [rdi + 528], rcx",
    "mov [rdi + 536], rdx",
    "mov [rdi + 544], rsi",
    "mov [rdi + 552], rdi",
    "mov [rdi + 560], rbp",
    "mov [rdi + 568], rsp",
    "mov [rdi + 576], r8",
    "mov [rdi + 584], r9",
    "mov [rdi + 592], r10",
    "mov [rdi + 600], r11",
    "mov [rdi + 608], r12",
    "mov [rdi + 616], r13",
    "mov [rdi + 624], r14",
    "mov [rdi + 632], r15",
    "pushfq",
    "pop qword ptr [rdi + 640]",
    "mov dword ptr [rdi + 648], 1",
    "mov eax, {end}",
    "syscall",
    "ud2",
    end = const Call::ThreadExit as u32,
);

unsafe extern "C" {
    /// A thread's first instruction.
    fn isolation_first();
}

/// Registers and stack of new threads have nothing of anybody's, beside a process that has its registers full.
fn beginnings(rounds: u64) -> Result<(), String> {
    let text = |e: abi::Error| e.to_string();
    let company: Vec<_> = (0..num_cpu() + 1)
        .map(|seed| copy(&["registers", &format!("{}", seed + 1)]).spawn())
        .collect::<rt::Result<_>>()
        .map_err(text)?;
    for _ in 0..rounds {
        first_registers().map_err(|why| format!("a thread begins with {why}"))?;
        yield_now()
    }
    for one in company {
        let ended = one.wait().map_err(text)?;
        if !ended.success() {
            return Err(format!("registers were not kept: {ended}"));
        }
    }
    Ok(())
}

fn first_registers() -> Result<(), String> {
    const STACK: u64 = 4 * PAGE_BYTES;
    let text = |e: abi::Error| e.to_string();
    let base = map(STACK + PAGE_BYTES, 0).map_err(text)?;
    let (top, at) = (base + STACK - 8, base + STACK);
    // SAFETY: a page of its own, zeroed: atomics of value 0. It is unmapped when the thread has ended.
    let first = unsafe { &*(at as *const First) };
    let entry = isolation_first as *const () as u64;
    call(Call::SpawnThread, [entry, at, top]).map_err(text)?;
    while first.there.load(Acquire) == 0 {
        yield_now()
    }
    for (i, register) in first.registers.iter().enumerate() {
        let expected = match i {
            5 => at,     // RDI
            7 => top,    // RSP
            16 => 0x202, // RFLAGS
            _ => 0,
        };
        let found = register.load(Relaxed);
        if found != expected {
            return Err(format!("register {i} at {found:#x}, not {expected:#x}"));
        }
    }
    // Control word, no tag, and MXCSR with its mask; then ST0 to ST7 and XMM0 to XMM15.
    let fx = |i: usize| first.fx[i].load(Relaxed);
    if fx(0) & 0xff_ffff_ffff != 0x37f || fx(3) as u32 != 0x1f80 {
        return Err(format!("x87 {:#x}, MXCSR {:#x}", fx(0), fx(3)));
    }
    if let Some(i) = (4..52).find(|&i| fx(i) != 0) {
        return Err(format!("word {i} of its FXSAVE image at {:#x}", fx(i)));
    }
    // The stack below what it has pushed.
    let stack = words(base, STACK);
    let used = stack[..stack.len() - 2]
        .iter()
        .any(|w| w.load(Relaxed) != 0);
    if used {
        return Err("a stack that is not zero".to_string());
    }
    Ok(())
}

/// Fills XMM and x87 registers with numbers of its own, computes, and looks at them: whoever runs in between leaves them alone.
fn registers(seed: u64) -> Result<(), String> {
    let own = seed.wrapping_mul(PATTERN);
    let mine = [own, !own];
    for round in 0..300 {
        let (mut low, mut high, mut st) = ([0_u64; 2], [0_u64; 2], 0_i64);
        let integer = (seed << 32) as i64 + round;
        // SAFETY: registers that are named as lost, and places on the stack.
        unsafe {
            asm!(
                "movdqu xmm0, [{mine}]",
                "movdqu xmm15, [{mine}]",
                "fild qword ptr [{integer}]",
                "2:",
                "dec {count}",
                "jnz 2b",
                "movdqu [{low}], xmm0",
                "movdqu [{high}], xmm15",
                "fistp qword ptr [{st}]",
                mine = in(reg) &raw const mine,
                integer = in(reg) &raw const integer,
                low = in(reg) &raw mut low,
                high = in(reg) &raw mut high,
                st = in(reg) &raw mut st,
                count = inout(reg) 20_000_u64 => _,
                out("xmm0") _, out("xmm15") _,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
            )
        }
        if low != mine || high != mine || st != integer {
            return Err(format!("{low:x?} {high:x?} {st:#x} of {mine:x?}"));
        }
        if round % 10 == 0 {
            yield_now()
        }
    }
    Ok(())
}

fn main() -> Result<(), String> {
    let text = |e: abi::Error| e.to_string();
    let word = |n| args().nth(n);
    match word(0).as_deref() {
        None => {
            println!("= attempts {}", attempts()?);
            shared().map_err(text)?;
            beginnings(100)
        }
        Some(how @ ("read" | "write" | "execute")) => {
            attempt(how, word(1).map_or(0, |text| number(&text)));
            Err("it was allowed".to_string())
        }
        Some("fill") => fill(rt::args::number(1, "MiB", 1, 1..=64)).map_err(text),
        Some("sharer") => sharer().map_err(text),
        Some("registers") => registers(rt::args::number(1, "seed", 1, 1..=1000)),
        Some(what) => {
            own_memory(what).map_err(text)?;
            Err("it was allowed".to_string())
        }
    }
}
