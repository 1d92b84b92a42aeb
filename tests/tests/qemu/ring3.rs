//! Processes of ring 3: what one of them does hurts nobody else, and comes back.

use crate::env;
use ringo_runner::{Disk, Net};
use tests::{Case, Outcome};

/// Each way of `crash`: how the process ends, as another process sees it, and the reason that the kernel gives. Addresses of
/// instructions and of stacks are left out.
const CRASHES: &[(&str, &str, &str)] = &[
    (
        "null",
        "page fault at 0x8, ",
        "page fault: read of 0x8, where nothing is mapped, at 0x",
    ),
    (
        "write",
        "page fault at 0xffffffff80100000, ",
        "page fault: write to 0xffffffff80100000, which is the kernel's, at 0x",
    ),
    (
        "read",
        "page fault at 0xffffffff80100000, ",
        "page fault: read of 0xffffffff80100000, which is the kernel's, at 0x",
    ),
    (
        "code",
        "page fault at 0x",
        ", which can only be read, at 0x",
    ),
    (
        "exec",
        "page fault at 0x",
        ", which is data, not code, at 0x",
    ),
    (
        "privileged",
        "exception 13, ",
        "general protection (#GP): a privileged instruction, ",
    ),
    (
        "io",
        "exception 13, ",
        "general protection (#GP): a privileged instruction, ",
    ),
    ("divide", "exception 0, ", "divide error (#DE): "),
    (
        "overflow",
        "page fault at 0x",
        "right beside memory that is: a stack that has run over its end",
    ),
    ("badcall", "exit code 1", ""),
    ("badpointer", "exit code 1", ""),
    (
        "int3",
        "exception 3, ",
        "breakpoint (#BP): an int3 instruction, at 0x",
    ),
    ("ud2", "exception 6, ", "invalid opcode (#UD): "),
    (
        "noncanonical",
        "exception 13, ",
        "general protection (#GP): ",
    ),
    (
        "trap",
        "exception 1, ",
        "debug exception (#DB): a single step ",
    ),
    ("x87", "exception 16, ", "x87 floating-point error (#MF)"),
    // QEMU's TCG does not report what SSE computes: the program says so, and ends by itself.
    ("simd", "exit code 1", ""),
    ("panic", "exit code 101", ""),
    (
        "oom",
        "out of memory at 0x",
        ", for which no memory is left, at 0x",
    ),
    // Said of the process: no thread of it is to blame.
    ("deadlock", "deadlock", ""),
];

/// The ways are those that `crash` has, each ended as it is listed, and the kernel gave its reasons in their order, and no others.
fn crashes(o: &Outcome) -> Result<(), String> {
    let ends = o
        .stdout
        .lines()
        .filter_map(|line| line.trim_end().strip_prefix("> ")?.split_once(": "));
    let ends: Vec<_> = ends.collect();
    let reasons = o
        .stderr
        .lines()
        .filter(|line| line.contains(" (crash), thread "));
    let mut reasons = reasons.into_iter();
    if ends.len() != CRASHES.len() {
        return Err(format!(
            "{} ways to crash, {} are listed",
            ends.len(),
            CRASHES.len()
        ));
    }
    for ((way, ended), (listed, ends, reason)) in ends.into_iter().zip(CRASHES) {
        if way != *listed || !ended.starts_with(ends) {
            return Err(format!("{way}: {ended}, instead of {listed}: {ends}"));
        }
        let right = |said: &str| said.starts_with("process ") && said.contains(reason);
        if !reason.is_empty() && !reasons.next().is_some_and(right) {
            return Err(format!("the reason of {way} is not \"{reason}\""));
        }
    }
    match reasons.next() {
        None => Ok(()),
        Some(more) => Err(format!("one more reason: {more}")),
    }
}

fn case(test: &str) -> Case {
    Case::new("ring3", test)
}

/// Virtual time: lateness is the scheduler's alone.
fn pace(smp: u32, name: &str) -> Case {
    let virtual_time = case("ring3_pace").smp(smp).named(name);
    virtual_time.machine(|m| m.seed = Some(1)).limit(400)
}

/// The scheduler without one thing or another, or with another one. `burn` beside `preempt=off` is another matter: the CPU is its own then
/// (docs/ring3.md).
const MODES: [&str; 8] = [
    "preempt=off sysmon=off",
    "preempt=coop",
    "procs=1",
    "steal=off",
    "netpoll=block",
    "mcache=off",
    "policy=lifo",
    "handoff=off",
];

pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    let calls = env("RINGO_USER_CALLS", 300_000) / 3;
    for smp in [1, 2, 4] {
        let fuzz = case("ring3_fuzz").smp(smp).arg("calls", calls);
        let little = ["ring3_no_memory", "ring3_kernel_memory", "ring3_printer"];
        let no_memory = Case::several("ring3", "little memory", &little).smp(smp);
        let thousand = case("ring3_thousand").smp(smp).word("slice_us=1000");
        all.extend([
            case("ring3_crashes")
                .smp(smp)
                .judge(crashes)
                .says(" (crash): deadlock: all its threads are asleep")
                .never_says("no error"),
            // All of the thousand where the most is different from one time to the next.
            thousand.arg("processes", if smp == 2 { 1000 } else { 150 }),
            case("ring3_pace").smp(smp),
            Case::several("ring3", "jobs", &["ring3_forkbomb", "ring3_family"]).smp(smp),
            no_memory.machine(|machine| machine.mem_bytes = 64 << 20),
            fuzz.machine(|machine| machine.disk = Disk::IfUsed),
            case("ring3_kill_*").smp(smp).machine(|machine| {
                machine.net = Net::User;
                machine.disk = Disk::IfUsed
            }),
        ]);
    }
    all.push(case("ring3_limits"));
    for words in MODES {
        let mode = case("ring3_programs").named(words);
        all.push(words.split(' ').fold(mode, Case::word));
    }
    for smp in [1, 2] {
        all.extend([
            pace(smp, "virtual time"),
            // Nobody takes a CPU from the four: one sleep lasts until they end.
            pace(smp, "virtual time, preempt=off")
                .word("preempt=off")
                .arg("hog_ms", 15)
                .arg("ticks", 20),
        ]);
    }
    all.push(
        pace(1, "virtual time, wakeup=off")
            .word("wakeup=off")
            .arg("ticks", 10),
    );
    all
}
