//! What ring 3 costs, printed; and what must hold of it whatever the host does.

use std::path::PathBuf;
use tests::{Case, Outcome, figure, note};

/// A log of events that goes with its case.
struct Log(PathBuf);

impl Drop for Log {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

/// Nanoseconds between each `Retake` of the events and the next start of a G on that P.
fn handed_on(log: &str) -> Vec<u64> {
    let (mut taken, mut times) = (None, Vec::new());
    for line in log.lines() {
        // `   12.345678901 s  cpu 0  Retake         -  0`; where it names a G there is one word more.
        let words: Vec<&str> = line.split_whitespace().collect();
        let (Some(at), Some(&kind)) = (words.first(), words.get(4)) else {
            continue;
        };
        let ns = at.replace('.', "").parse::<u64>().ok();
        match (kind, ns, taken) {
            ("Retake", Some(_), _) => taken = ns,
            ("GoStart", Some(ns), Some(from)) => {
                times.push(ns.saturating_sub(from));
                taken = None
            }
            _ => {}
        }
    }
    times.sort_unstable();
    times
}

/// One P: what it runs after it was taken is what the read would have kept waiting.
fn judge(log: &Log, smp: u32, outcome: &Outcome) -> Result<(), String> {
    let log = std::fs::read_to_string(&log.0).map_err(|e| e.to_string())?;
    let times = handed_on(&log);
    let reads = figure(outcome, "reads").unwrap_or(u64::MAX);
    // The first reads come at once, and a host that is busy may keep sysmon.
    if 10 * (times.len() as u64) < reads {
        return Err(format!("{} Ps handed on in {reads} reads", times.len()));
    }
    note(format!(
        "ring 3: a P taken from a program in a disk read runs another goroutine after {} us, median of {}, {smp} CPUs (at most {} us)",
        times[times.len() / 2] / 1000,
        times.len(),
        times[times.len() - 1] / 1000
    ));
    Ok(())
}

fn handoff(smp: u32) -> Case {
    let name = format!("ringo-handoff-{}-{smp}.events", std::process::id());
    let log = Log(std::env::temp_dir().join(name));
    let path = log.0.clone();
    let case = Case::new("ring3_figures", "ring3_figures_handoff").smp(smp);
    let case = case.word("procs=1").machine(move |machine| {
        machine.disk = ringo_runner::Disk::IfUsed;
        machine.event_log = Some(path.clone())
    });
    case.judge(move |outcome| judge(&log, smp, outcome))
}

pub fn cases() -> Vec<Case> {
    let tests = ["ring3_figures_start", "ring3_figures_costs"];
    let costs = |smp| Case::several("ring3_figures", "starts and calls", &tests).smp(smp);
    let mut all: Vec<Case> = [1, 2, 4].map(costs).into();
    all.extend([2, 4].map(handoff));
    all
}
