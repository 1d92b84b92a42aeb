//! What a machine leaves behind in its memory: who ran what, what waited where, how many goroutines were in which state, and
//! the last events.

use std::fmt::Write;

use glass::{GState, Glass, Snapshot};

use crate::observe::last_events;

/// Lines of a report that was under way.
const LAST_LINES: usize = 40;
/// Ps that are shown.
const SHOWN: usize = 16;

/// The report; lines are indented like the rest of a post-mortem.
pub fn describe(glass: &Glass) -> String {
    let Some(now) = glass.snapshot() else {
        return String::new();
    };
    let mut text = String::new();
    let _ = writeln!(text, "  {}", goroutines(glass));
    let _ = writeln!(text, "  {}", whole(&now));
    for (id, p) in now.ps.iter().enumerate().take(SHOWN) {
        let _ = write!(text, "  P {id}: {}", holder(&now, id));
        let _ = write!(text, ", {} queued", p.queue.queued);
        if p.woken.queued != 0 {
            let _ = write!(text, ", {} woken", p.woken.queued);
        }
        if let Some(g) = glass.g(p.woken.runnext).filter(|_| p.woken.runnext != 0) {
            let _ = write!(text, ", goroutine {} gave way", g.id);
        }
        if let Some(g) = glass.g(p.queue.runnext).filter(|_| p.queue.runnext != 0) {
            let _ = write!(text, ", runnext goroutine {}", g.id);
        }
        if p.timers != 0 {
            let s = if p.timers == 1 { "" } else { "s" };
            let _ = write!(text, ", {} timer{s}", p.timers);
        }
        text.push('\n');
    }
    if now.ps.len() > SHOWN {
        let _ = writeln!(text, "  and {} more Ps", now.ps.len() - SHOWN);
    }
    text.push_str(&last_events(glass));
    text.push_str(&last_words(&glass.last_words()));
    text
}

/// Of the fatal report on which the machine died, the text as far as it came. Events among it are the runner's own.
fn last_words(report: &str) -> String {
    let lines = report.lines().filter(|line| !line.starts_with('\u{1}'));
    let mut text = String::new();
    for line in lines.take(LAST_LINES) {
        let _ = writeln!(text, "    {line}");
    }
    if text.is_empty() {
        return text;
    }
    format!("  its last words:\n{text}")
}

/// Number of goroutines by state.
pub fn goroutines(glass: &Glass) -> String {
    let gs = glass.gs();
    let mut text = format!("goroutines: {}", gs.len());
    for state in GState::ALIVE {
        let count = gs.iter().filter(|g| g.state == state).count();
        if count != 0 {
            let _ = write!(text, ", {count} {}", state.word());
        }
    }
    text
}

fn whole(now: &Snapshot) -> String {
    let mut text = format!("global queue: {}", now.global);
    let trays: u32 = now.cpus.iter().map(|cpu| cpu.tray).sum();
    if trays != 0 {
        let _ = write!(text, ", locked to their CPUs: {trays}");
    }
    if now.stopped {
        text.push_str(", the world is stopped");
    }
    text
}

/// Who has the P, in words.
pub fn holder(now: &Snapshot, id: usize) -> String {
    let p = &now.ps[id];
    match p.cpu {
        _ if p.idle => "idle".into(),
        _ if p.stranded => "nobody has it".into(),
        Some(cpu) => match now.cpus.get(cpu) {
            Some(c) if p.in_call => match c.g {
                Some(g) => format!("CPU {cpu}, goroutine {g} in a call"),
                None => format!("CPU {cpu}, in a call"),
            },
            Some(c) => match c.g {
                Some(g) => format!("CPU {cpu}, goroutine {g}"),
                None => format!("CPU {cpu} looks for work"),
            },
            None => format!("CPU {cpu}"),
        },
        None => "stopped".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_are_shown_without_events_and_at_some_length() {
        assert_eq!(last_words(""), "");
        assert_eq!(last_words("\u{1}{}\n"), "");
        assert_eq!(
            last_words("panic: x\n\u{1}{}\n\n[unfin"),
            "  its last words:\n    panic: x\n    \n    [unfin\n"
        );
        assert_eq!(
            last_words(&"x\n".repeat(100)).lines().count(),
            1 + LAST_LINES
        );
    }
}
