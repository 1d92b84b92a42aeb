//! What the shell can do.

use super::programs;
use alloc::string::String;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use csp::time::{Duration, sleep};
use sched::{CreatedBy, GInfo};

/// What comes after a command.
pub(super) enum Next {
    GoOn,
    Leave,
}

/// A command: its name, what it takes, what it does.
struct Command {
    name: &'static str,
    takes: &'static str,
    does: &'static str,
    run: fn(&str) -> Result<Next, String>,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "help",
        takes: "",
        does: "this list",
        run: help,
    },
    Command {
        name: "ps",
        takes: "",
        does: "Ps and Ms, in Go's words; processes and their threads",
        run: ps,
    },
    Command {
        name: "gs",
        takes: "",
        does: "goroutines by state, and the first of them",
        run: gs,
    },
    Command {
        name: "stat",
        takes: "",
        does: "what the scheduler has counted and measured",
        run: stat,
    },
    Command {
        name: "go",
        takes: " N",
        does: "start N goroutines that sleep for an hour",
        run: go,
    },
    Command {
        name: "spin",
        takes: " N",
        does: "start N goroutines that never give way; 0 ends all of them",
        run: spin,
    },
    Command {
        name: "exec",
        takes: " NAME ARGS",
        does: "run a program of ring 3; Ctrl-C ends it, & leaves it in the background",
        run: programs::exec,
    },
    Command {
        name: "kill",
        takes: " N",
        does: "end process N",
        run: programs::kill,
    },
    Command {
        name: "dump",
        takes: "",
        does: "every goroutine with its frames, on stderr",
        run: dump,
    },
    Command {
        name: "leaks",
        takes: "",
        does: "goroutines that can never run again",
        run: leaks,
    },
    Command {
        name: "exit",
        takes: "",
        does: "leave the shell",
        run: exit,
    },
];

/// Goroutines that `gs` shows.
const SHOWN: usize = 20;
/// Goroutines that one command starts at most.
const GO_MAX: u64 = 1_000_000;
const SPIN_MAX: u64 = 1000;

/// Runs a line.
pub(super) fn run(line: &str) -> Next {
    let line = line.trim();
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    if name.is_empty() {
        return Next::GoOn;
    }
    let Some(command) = COMMANDS.iter().find(|c| c.name == name) else {
        crate::println!("there is no command {name}; help lists them");
        return Next::GoOn;
    };
    let rest = rest.trim();
    let result = if command.takes.is_empty() && !rest.is_empty() {
        Err(alloc::format!("{name} takes nothing"))
    } else {
        (command.run)(rest)
    };
    result.unwrap_or_else(|why| {
        crate::println!("{why}");
        Next::GoOn
    })
}

fn help(_: &str) -> Result<Next, String> {
    for c in COMMANDS {
        let form = alloc::format!("{}{}", c.name, c.takes);
        crate::println!("{form:<14} {}", c.does)
    }
    Ok(Next::GoOn)
}

fn ps(_: &str) -> Result<Next, String> {
    let mut text = String::new();
    // A String takes everything.
    let _ = sched::this().write_ps_and_ms(&mut text, sched::machine_now_ns());
    crate::print!("{text}");
    programs::list();
    Ok(Next::GoOn)
}

fn gs(_: &str) -> Result<Next, String> {
    let states = crate::metrics::read().goroutines;
    crate::println!(
        "{} goroutines: {} running, {} runnable, {} waiting, {} in calls",
        states.total(),
        states.running,
        states.runnable,
        states.waiting,
        states.not_in_go
    );
    // Filled while preemption is off, so there is room before.
    let mut shown: Vec<GInfo> = Vec::with_capacity(SHOWN);
    sched::this().for_each_g(|g| {
        if shown.len() < SHOWN {
            shown.extend(GInfo::while_others_run(g))
        }
    });
    shown.sort_unstable_by_key(|g| g.id);
    for g in &shown {
        crate::print!("{g}\n{}", CreatedBy(g))
    }
    let more = states.total().saturating_sub(shown.len() as u64);
    if more > 0 {
        crate::println!("… and {more} more")
    }
    Ok(Next::GoOn)
}

fn stat(_: &str) -> Result<Next, String> {
    let (m, c) = (crate::metrics::read(), crate::machine::counts());
    crate::println!(
        "{} switches, {} steals of {} goroutines, {} preemptions, {} halts, {} wake-ups, {} timers",
        c.switches,
        c.steals,
        c.stolen,
        c.preemptions,
        c.halts,
        c.wakes,
        c.timers
    );
    crate::println!(
        "{} goroutines made; {} Ps on {} CPUs; {} ms of waiting for locks",
        m.created,
        m.gomaxprocs,
        m.threads,
        m.mutex_wait_ns / 1_000_000
    );
    let us = |per_mille| m.latencies.quantile_ns(per_mille).unwrap_or(0) / 1000;
    crate::println!(
        "from ready to running: {} measured, p50 {} us, p90 {} us, p99 {} us, p99.9 {} us at most",
        m.latencies.total(),
        us(500),
        us(900),
        us(990),
        us(999)
    );
    let percent = |ns: u64, of: u64| 100 * ns / of.max(1);
    let all_ns = m.cpu_total_ns();
    crate::println!(
        "Ps idle {} %, CPUs halted {} %",
        percent(m.idle_ns(), all_ns),
        percent(
            m.halted_ns(),
            sched::machine_now_ns() * u64::from(m.threads)
        )
    );
    if let (Some(used), Some(free)) = (crate::machine::used_bytes(), crate::machine::free_bytes()) {
        crate::println!(
            "{} KiB of memory in use, {} KiB free",
            used >> 10,
            free >> 10
        )
    }
    Ok(Next::GoOn)
}

fn number(what: &str, text: &str, least: u64, most: u64) -> Result<u64, String> {
    let n = text.parse().ok().filter(|n| (least..=most).contains(n));
    n.ok_or_else(|| alloc::format!("{what} takes a number from {least} to {most}"))
}

fn go(text: &str) -> Result<Next, String> {
    for _ in 0..number("go", text, 1, GO_MAX)? {
        csp::join::go(|| sleep(Duration::from_secs(3600)))
    }
    Ok(Next::GoOn)
}

/// How often `spin 0` was given: who spins ends when it has changed.
static SPIN_ROUND: AtomicU64 = AtomicU64::new(0);

fn spin(text: &str) -> Result<Next, String> {
    let n = number("spin", text, 0, SPIN_MAX)?;
    if n == 0 {
        SPIN_ROUND.fetch_add(1, Relaxed);
    }
    let round = SPIN_ROUND.load(Relaxed);
    for _ in 0..n {
        csp::join::go(move || {
            while SPIN_ROUND.load(Relaxed) == round {
                if crate::machine::IS_HOST {
                    sched::checkpoint() // nobody is preempted there
                }
            }
        })
    }
    Ok(Next::GoOn)
}

fn dump(_: &str) -> Result<Next, String> {
    crate::dump();
    Ok(Next::GoOn)
}

fn leaks(_: &str) -> Result<Next, String> {
    crate::print!("{}", crate::leaks());
    Ok(Next::GoOn)
}

fn exit(_: &str) -> Result<Next, String> {
    Ok(Next::Leave)
}
