//! What a stopped machine can still tell: where each CPU stands, and which vectors it took last.

use glass::{GState, Glass};

use crate::estate;
use crate::qmp::Monitor;
use crate::symbols::Symbols;

/// First word of the kernel's description of its per-CPU blocks: "RNGOPM01".
const MAGIC: u64 = 0x3130_4d50_4f47_4e52;
/// CPUs beyond this many are only counted.
const SHOWN: usize = 16;
/// The part of the scheduler's names where a CPU stands that has nothing to run.
const IDLE_IN: &str = "sched::idle::";

/// Where one CPU stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Cpu {
    rip: u64,
    rsp: u64,
    cr2: u64,
    halted: bool,
    interrupts_on: bool,
    idt_limit: Option<u32>,
}

/// The kernel's per-CPU blocks, as its ELF and its memory describe them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Blocks {
    base: u64,
    stride: u64,
    count: usize,
    last_vectors: u64,
    curg: u64,
    preempt_count: u64,
    pending: u64,
}

/// The report, or `None` if the monitor does not answer. `brief`: nothing more of CPUs that are idle, where no fault is looked for.
pub fn examine(
    monitor: &mut Monitor,
    symbols: &Symbols,
    glass: Option<&Glass>,
    brief: bool,
) -> Option<String> {
    let cpus = parse_registers(&monitor.human("info registers -a", 0)?);
    let blocks = find_blocks(monitor, symbols);
    let mut text = String::new();
    let shown = cpus.iter().enumerate().take(SHOWN);
    let lines = shown.map(|(index, cpu)| {
        let place = symbols.describe(cpu.rip, false);
        let block = blocks
            .filter(|blocks| index < blocks.count)
            .and_then(|blocks| Block::read(monitor, &blocks, index));
        match (&block, brief && is_idle(cpu, &place)) {
            // What it has still to look at would be the fault.
            (Some(block), true) if block.pending == 0 => None,
            _ => {
                let block = block.map(|block| block.line());
                Some(describe(index, cpu, &place) + &block.unwrap_or_default())
            }
        }
    });
    let lines: Vec<Option<String>> = lines.collect();
    if !lines.is_empty() && cpus.len() <= SHOWN && lines.iter().all(Option::is_none) {
        text.push_str(&all_idle(glass.map(waiting)));
    } else {
        for (index, line) in lines.into_iter().enumerate() {
            text.push_str(&line.unwrap_or_else(|| format!("  cpu {index}: idle\n")));
        }
    }
    if cpus.len() > SHOWN {
        text.push_str(&format!("  and {} more CPUs\n", cpus.len() - SHOWN));
    }
    if let Some(glass) = glass {
        text.push_str(&estate::describe(glass));
    }
    Some(text)
}

/// Where a CPU of a stopped machine stands, and in what: the end of a sentence.
pub fn where_is(
    monitor: &mut Monitor,
    symbols: &Symbols,
    glass: Option<&Glass>,
    cpu: usize,
) -> Option<String> {
    let registers = parse_registers(&monitor.human("info registers -a", 0)?);
    let rip = registers.get(cpu)?.rip;
    let place = symbols.describe(rip, false);
    let now = glass.and_then(Glass::snapshot);
    let in_g = match now.as_ref().and_then(|now| now.cpus.get(cpu)?.g) {
        Some(g) => format!(", in goroutine {g}"),
        None => String::new(),
    };
    Some(format!("; it is at {rip:#x}{place}{in_g}"))
}

/// Whether a CPU sleeps until it is woken, as one does that has found nothing to run. `place`: where it stands.
fn is_idle(cpu: &Cpu, place: &str) -> bool {
    cpu.halted && cpu.interrupts_on && place.contains(IDLE_IN)
}

/// Goroutines that wait.
fn waiting(glass: &Glass) -> usize {
    let gs = glass.gs();
    gs.iter().filter(|g| g.state == GState::Waiting).count()
}

/// The line about a machine on which nobody does anything.
fn all_idle(waiting: Option<usize>) -> String {
    match waiting {
        None => "  all CPUs are idle\n".to_string(),
        Some(1) => "  all CPUs are idle, 1 goroutine waits\n".to_string(),
        Some(n) => format!("  all CPUs are idle, {n} goroutines wait\n"),
    }
}

fn describe(index: usize, cpu: &Cpu, place: &str) -> String {
    let mut text = format!("  cpu {index}: rip {:#018x}{place}", cpu.rip);
    text.push_str(&format!(", rsp {:#018x}", cpu.rsp));
    if cpu.halted {
        text.push_str(", halted");
    }
    if !cpu.interrupts_on {
        text.push_str(", interrupts off");
    }
    if cpu.cr2 != 0 {
        text.push_str(&format!(", last page fault at {:#018x}", cpu.cr2));
    }
    if cpu.idt_limit == Some(0) {
        text.push_str(", its interrupt table is empty (limit 0)");
    }
    text.push('\n');
    text
}

/// Reads the answer to `info registers -a`.
fn parse_registers(text: &str) -> Vec<Cpu> {
    let mut cpus = Vec::new();
    for line in text.lines() {
        if line.starts_with("CPU#") {
            cpus.push(Cpu {
                interrupts_on: true,
                ..Cpu::default()
            });
            continue;
        }
        let Some(cpu) = cpus.last_mut() else {
            continue;
        };
        if let Some(table) = line.strip_prefix("IDT=") {
            cpu.idt_limit = table
                .split_whitespace()
                .nth(1)
                .and_then(|limit| u32::from_str_radix(limit, 16).ok());
        }
        for word in line.split_whitespace() {
            let Some((name, value)) = word.split_once('=') else {
                continue;
            };
            let number = u64::from_str_radix(value, 16);
            match (name, number) {
                ("RIP" | "EIP", Ok(value)) => cpu.rip = value,
                ("RSP" | "ESP", Ok(value)) => cpu.rsp = value,
                ("CR2", Ok(value)) => cpu.cr2 = value,
                ("HLT", Ok(value)) => cpu.halted = value != 0,
                ("RFL" | "EFL", Ok(value)) => cpu.interrupts_on = value & 0x200 != 0,
                _ => {}
            }
        }
    }
    cpus
}

/// Reads `count` 8-byte words of the guest's memory as its CPU 0 sees it.
fn words(monitor: &mut Monitor, address: u64, count: usize) -> Option<Vec<u64>> {
    let text = monitor.human(&format!("x /{count}xg {address:#x}"), 0)?;
    let words: Vec<u64> = text
        .lines()
        .filter_map(|line| line.split_once(": "))
        .flat_map(|(_, values)| values.split_whitespace())
        .filter_map(|value| u64::from_str_radix(value.strip_prefix("0x")?, 16).ok())
        .collect();
    (words.len() == count).then_some(words)
}

fn find_blocks(monitor: &mut Monitor, symbols: &Symbols) -> Option<Blocks> {
    let about = words(monitor, symbols.address_of("RINGO_POSTMORTEM")?, 4)?;
    parse_blocks(
        symbols.address_of("RINGO_CPUS")?,
        about.as_slice().try_into().ok()?,
    )
}

/// `RINGO_POSTMORTEM` is `repr(C)`: magic u64, then u32s: stride, count, and the offsets of the fields.
fn parse_blocks(base: u64, about: &[u64; 4]) -> Option<Blocks> {
    let low = |word: u64| word & 0xffff_ffff;
    let high = |word: u64| word >> 32;
    (about[0] == MAGIC).then(|| Blocks {
        base,
        stride: low(about[1]),
        count: high(about[1]) as usize,
        last_vectors: low(about[2]),
        curg: high(about[2]),
        preempt_count: low(about[3]),
        pending: high(about[3]),
    })
}

/// What a CPU's block holds.
struct Block {
    vectors: u64,
    curg: u64,
    preempt_count: u64,
    pending: u64,
}

impl Block {
    fn read(monitor: &mut Monitor, blocks: &Blocks, index: usize) -> Option<Block> {
        let at = blocks.base + blocks.stride * index as u64;
        let mut word = |offset| words(monitor, at + offset, 1)?.first().copied();
        Some(Block {
            vectors: word(blocks.last_vectors)?,
            curg: word(blocks.curg)?,
            preempt_count: word(blocks.preempt_count)? & 0xffff_ffff,
            pending: word(blocks.pending)? & 0xffff_ffff,
        })
    }

    fn line(&self) -> String {
        let vectors = show_vectors(self.vectors);
        let mut text = format!("         last vectors, newest first: {vectors}");
        let (count, pending) = (self.preempt_count, self.pending);
        text.push_str(&format!("; preempt_count {count}, pending {pending:#x}"));
        if self.curg != 0 {
            text.push_str(&format!(", curg {:#x}", self.curg));
        }
        text.push('\n');
        text
    }
}

/// Eight vectors in a word, the newest in its low byte; 0 is "none" at the old end.
fn show_vectors(word: u64) -> String {
    let bytes = word.to_le_bytes();
    let used = bytes
        .iter()
        .rposition(|vector| *vector != 0)
        .map_or(0, |last| last + 1);
    if used == 0 {
        return "none".into();
    }
    bytes[..used]
        .iter()
        .map(|vector| show_vector(*vector))
        .collect::<Vec<_>>()
        .join(" ")
}

/// A vector's number, and its name where Intel has one (SDM volume 3, table 6-1).
pub fn show_vector(vector: u8) -> String {
    match exception(vector) {
        Some(name) => format!("{vector:#04x} ({name})"),
        None => format!("{vector:#04x}"),
    }
}

/// Intel's mnemonic of an exception.
pub fn exception(vector: u8) -> Option<&'static str> {
    let name = match vector {
        0 => "#DE",
        1 => "#DB",
        2 => "NMI",
        3 => "#BP",
        4 => "#OF",
        5 => "#BR",
        6 => "#UD",
        7 => "#NM",
        8 => "#DF",
        10 => "#TS",
        11 => "#NP",
        12 => "#SS",
        13 => "#GP",
        14 => "#PF",
        16 => "#MF",
        17 => "#AC",
        18 => "#MC",
        19 => "#XM",
        20 => "#VE",
        21 => "#CP",
        _ => return None,
    };
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers() {
        let text = "\nCPU#0\nRAX=0000000000000000 RBX=1\nRSI=0 RDI=0 RBP=0 RSP=ffff8080000bfae8\n\
                    RIP=ffffffff8011225e RFL=00000246 [---Z-P-] CPL=0 II=0 A20=1 SMM=0 HLT=0\n\
                    IDT=     0000000000000000 00000000\nCR0=80010033 CR2=00000000dead0000 CR3=0 CR4=0\n\n\
                    CPU#1\nEIP=0000fff0 EFL=00000002 [-------] CPL=0 II=0 A20=1 SMM=0 HLT=1\n\
                    IDT=     00000000 0000ffff\n";
        let cpus = parse_registers(text);
        let first = Cpu {
            rip: 0xffff_ffff_8011_225e,
            rsp: 0xffff_8080_000b_fae8,
            cr2: 0xdead_0000,
            halted: false,
            interrupts_on: true,
            idt_limit: Some(0),
        };
        let second = Cpu {
            rip: 0xfff0,
            halted: true,
            idt_limit: Some(0xffff),
            ..Cpu::default()
        };
        assert_eq!(cpus, [first, second]);
    }

    #[test]
    fn idle_cpus() {
        let idle = Cpu {
            halted: true,
            interrupts_on: true,
            ..Cpu::default()
        };
        let place = " in arch::x (a.rs:1), inlined in sched::idle::park (b.rs:2)";
        assert!(is_idle(&idle, place));
        assert!(!is_idle(&idle, " in arch::imp::exit::halt (a.rs:1)"));
        let deaf = Cpu {
            interrupts_on: false,
            ..idle.clone()
        };
        let awake = Cpu {
            halted: false,
            ..idle
        };
        assert!(!is_idle(&deaf, place) && !is_idle(&awake, place));
        assert_eq!(
            all_idle(Some(1)),
            "  all CPUs are idle, 1 goroutine waits\n"
        );
        assert_eq!(
            all_idle(Some(2)),
            "  all CPUs are idle, 2 goroutines wait\n"
        );
    }

    #[test]
    fn vectors() {
        assert_eq!(show_vectors(0), "none");
        assert_eq!(show_vectors(0x0e_20_0d), "0x0d (#GP) 0x20 0x0e (#PF)");
    }

    #[test]
    fn blocks() {
        let about = [MAGIC, 64 << 32 | 4096, 0x10_0000_0008, 0x1c_0000_0018];
        let blocks = parse_blocks(1 << 20, &about).unwrap();
        assert_eq!(
            (blocks.stride, blocks.count, blocks.last_vectors),
            (4096, 64, 8)
        );
        assert_eq!(
            (blocks.curg, blocks.preempt_count, blocks.pending),
            (0x10, 0x18, 0x1c)
        );
        assert_eq!(parse_blocks(0, &[0; 4]), None);
    }
}
