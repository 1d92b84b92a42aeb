//! Every test that needs a machine. `cargo test -p tests --test qemu -- wake` runs those of one area.
//!
//! | variable | |
//! |---|---|
//! | `RINGO_STRIDE=N` | instructions between two interrupts in the single-step tests |
//! | `RINGO_PATIENCE=N` | time limits N times as wide |
//! | `RINGO_BOOTS=N` | boots in a row of each kind of machine (3) |
//! | `RINGO_PEAK_GS=N` | goroutines of a peak of memory (8 000), ten times over |
//! | `RINGO_PAIRS=N` | pairs of park and ready on a CPU (1 000 000), on 2 and 4 a part of that; a hundredth of them through a halt |
//! | `RINGO_CONNECTIONS=N` | echo connections that stand at once (10 000) |
//! | `RINGO_STORMS=N` | storms of frames on a machine (120) |
//! | `RINGO_WRK_S=N` | seconds of each run of `wrk` (1) |
//! | `RINGO_USER_CALLS=N` | random system calls of ring 3 in all (300 000); a million cost 20 CPU-seconds |
//! | `RINGO_INJECTIONS=N` | injected calls that the registers test makes in all (1 000 000), in ring 3 a fifth as many |

mod bad_input;
mod bad_input_table;
mod bench;
mod boots;
mod burden;
mod cable;
mod channels;
mod clients;
mod clocks;
mod differential;
mod disk;
mod dumps;
mod exec;
mod exit_rules;
mod fair;
mod fatal;
mod figures;
mod goker;
mod hangs;
mod idle;
mod leaks;
mod life;
mod loads;
mod locked;
mod memory;
mod net;
mod netpoll;
mod outside;
mod programs;
mod reach;
mod regs;
mod ring3;
mod ring3_bare;
mod ring3_figures;
mod ring3_memory;
mod ring3_net;
mod served;
mod shell;
mod soak;
mod sockets;
mod stacks;
mod step;
mod stw;
mod switches;
mod turns;
mod wake;
mod wakeup;

use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;
use tests::Case;

fn main() -> ExitCode {
    let mut args = Arguments::from_args();
    // Machines wait now and then, for their disks, for the clock, for each other's builds: one more than there are processors.
    let processors = std::thread::available_parallelism().map_or(2, usize::from);
    args.test_threads.get_or_insert(processors + 1);
    let begin = std::time::Instant::now();
    // The long ones first, so that nobody waits for them alone at the end.
    let cases = [
        regs::cases(),
        ring3_bare::cases(),
        ring3_memory::cases(),
        ring3_net::cases(),
        ring3_figures::cases(),
        ring3::cases(),
        served::cases(),
        clients::cases(),
        loads::cases(),
        soak::cases(),
        sockets::cases(),
        wake::cases(),
        wakeup::cases(),
        channels::cases(),
        differential::cases(),
        clocks::cases(),
        stacks::cases(),
        step::cases(),
        memory::cases(),
        stw::cases(),
        locked::cases(),
        idle::cases(),
        burden::cases(),
        fair::cases(),
        boots::cases(),
        reach::cases(),
        life::cases(),
        switches::cases(),
        fatal::cases(),
        figures::cases(),
        dumps::cases(),
        shell::cases(),
        leaks::cases(),
        goker::cases(),
        exit_rules::cases(),
        disk::cases(),
        net::cases(),
        cable::cases(),
        netpoll::cases(),
        hangs::cases(),
    ];
    let (late, soon): (Vec<Case>, Vec<Case>) = cases
        .into_iter()
        .flatten()
        .partition(Case::waits_for_a_build);
    let commands = [
        programs::trials(),
        clients::trials(),
        differential::trials(),
        shell::trials(),
        exec::trials(),
        bench::trials(),
        bad_input::trials(),
        soak::trials(),
        boots::trials(),
        reach::trials(),
        outside::trials(),
        idle::trials(),
    ];
    let builders = late.into_iter().map(Case::trial);
    let builders = builders.chain(commands.into_iter().flatten()).collect();
    let trials = spread(soon.into_iter().map(Case::trial).collect(), builders);
    if args.filter.is_none() && !args.list {
        tests::build_ahead()
    }
    let conclusion = libtest_mimic::run(&args, trials);
    if !args.list {
        tests::summary(begin.elapsed());
    }
    conclusion.exit_code()
}

/// Those that build something first lie between the others, from a fifth of these on: one builds, which has room for little more at
/// a time, while machines run beside it.
fn spread(soon: Vec<Trial>, builders: Vec<Trial>) -> Vec<Trial> {
    let (from, n) = (soon.len() / 5, builders.len());
    let each = (soon.len() - from) as f64 / n.max(1) as f64;
    let (mut all, mut builders) = (Vec::new(), builders.into_iter());
    for (i, trial) in soon.into_iter().enumerate() {
        all.push(trial);
        let due = (i.saturating_sub(from) as f64 / each) as usize;
        while n - builders.len() < due.min(n) {
            all.extend(builders.next());
        }
    }
    all.extend(builders);
    all
}

/// A number from the environment.
fn env(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(default)
}
