//! At the end of a run: what the events say against the memory that the machine leaves behind.

use crate::check::{Checker, Rule, State};
use crate::view::{CpuView, GState, GView, Glass};
use std::collections::HashSet;

/// A G whose last event is this old is not on its way from one queue to another.
const SETTLED_NS: u64 = 50_000_000;

/// What a machine leaves behind.
struct End {
    cpus: Vec<CpuView>,
    /// All Gs that are not dead.
    gs: Vec<GView>,
    /// Addresses of those on any queue.
    queued: HashSet<u64>,
}

/// Compares. The machine has ended, somewhere: each of its CPUs may have been about to do something.
pub fn closing_check(checker: &mut Checker, glass: &Glass) {
    let end = glass.snapshot().map(|end| End {
        gs: glass.gs(),
        queued: glass.queued(&end).into_iter().collect(),
        cpus: end.cpus,
    });
    match end {
        None => checker.wrong(Rule::Count, "the machine's memory makes no sense".into()),
        Some(_) if checker.lost != 0 => {} // there is nothing to compare with
        Some(end) => compare(checker, &end),
    }
}

fn compare(checker: &mut Checker, end: &End) {
    let cpus = end.cpus.len() as u64;
    let made: u64 = end.cpus.iter().map(|cpu| cpu.created).sum();
    let gone: u64 = end.cpus.iter().map(|cpu| cpu.ended).sum();
    for (what, counted, seen) in [
        ("created", made, checker.created),
        ("ended", gone, checker.ended),
    ] {
        if counted.abs_diff(seen) > cpus {
            let text = format!("the machine counts {counted} goroutines {what}, its events {seen}");
            checker.wrong(Rule::Count, text);
        }
    }
    let alive = checker.created - checker.ended;
    if (end.gs.len() as u64).abs_diff(alive) > cpus {
        let text = format!(
            "{} created, {} ended, but {} are there",
            checker.created,
            checker.ended,
            end.gs.len()
        );
        checker.wrong(Rule::Count, text);
    }
    let mut lost = Vec::new();
    for g in &end.gs {
        let Some(known) = checker.gs.get(&(g.id as u32)) else {
            continue; // just made, or just ended
        };
        let settled = checker.now_ns.saturating_sub(known.since_ns) > SETTLED_NS;
        if !settled || known.seq != g.seq {
            continue;
        }
        let expected = match known.state {
            Some(State::Runnable) => GState::Runnable,
            Some(State::Waiting) => GState::Waiting,
            Some(State::Running { .. }) => GState::Running,
            Some(State::Call { .. }) => GState::Syscall,
            None => continue,
        };
        if g.state != expected {
            let text = format!(
                "G {} is {} by its events and {} in memory",
                g.id,
                expected.word(),
                g.state.word()
            );
            checker.wrong(Rule::Lost, text);
        } else if expected == GState::Runnable
            && !end.queued.contains(&g.at)
            && checker.all_hands_are_empty(SETTLED_NS)
        {
            let text = format!(
                "G {} is runnable for {} µs and on no queue",
                g.id,
                (checker.now_ns - known.since_ns) / 1000
            );
            lost.push(text);
        }
    }
    // A CPU that was about to run one has it in its hand, however long that one has waited before.
    let in_hand = end.cpus.iter().filter(|c| c.p.is_some() && c.g.is_none());
    if lost.len() > in_hand.count() {
        for text in lost {
            checker.wrong(Rule::Lost, text)
        }
    }
}

#[cfg(test)]
#[path = "closing_tests.rs"]
mod tests;
