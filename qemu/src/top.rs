//! `cargo run -- top`: what a running machine does, by looking into its memory from another terminal. The machine notices
//! nothing of it.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use glass::{CpuView, GState, Glass, PView, Snapshot};
use serde_json::{Value, json};

use crate::failure::Doing;
use crate::numbers::whole;
use crate::runtime::{Known, running};
use crate::say::{print, say};
use crate::which::{NONE_RUNS, choose, others};
use crate::{Failure, Result, estate};

/// Between two looks at who idles.
const SAMPLE_EVERY: Duration = Duration::from_millis(20);
/// So long a machine may take to come up.
const BOOT_LIMIT: Duration = Duration::from_secs(10);

#[derive(Debug, Parser)]
#[command(
    name = "cargo run -- top",
    disable_version_flag = true,
    after_help = "Idle time is found by looking fifty times a second. The machine is not slowed down by being looked at."
)]
/// Shows what a running machine does: its CPUs, Ps, queues and goroutines. Start a program in one terminal and this in
/// another.
pub struct TopArgs {
    /// Number of the machine, as --list shows it, or the name of its program [default: the one that was started last]
    #[arg(value_name = "MACHINE")]
    pub machine: Option<String>,
    /// Names the machines that run
    #[arg(long)]
    pub list: bool,
    /// Ends after so many times [default: never on a terminal, 1 elsewhere]
    #[arg(long, value_name = "N", value_parser = whole(1..=u32::MAX, "5"), allow_negative_numbers = true)]
    pub count: Option<u32>,
    /// Seconds between two times
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval, allow_negative_numbers = true)]
    pub interval: Duration,
    /// Prints JSON lines
    #[arg(long)]
    pub json: bool,
}

fn interval(text: &str) -> std::result::Result<Duration, String> {
    let wrong = "an interval is a number of seconds from 0.05 to 3600";
    let seconds: f64 = text.parse().map_err(|_| wrong)?;
    if (0.05..=3600.0).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(wrong.into())
    }
}

/// Runs it; the exit status.
pub fn top(args: &TopArgs) -> Result<u8> {
    let all = running();
    if args.list {
        let lines = all
            .iter()
            .map(|known| format!("{:>8}  {}\n", known.number, known.program));
        print(&lines.collect::<String>())?;
        if all.is_empty() {
            say(NONE_RUNS);
        }
        return Ok(0);
    }
    let known = choose(&all, args.machine.as_deref())?;
    let others = others(&all, known, args.machine.as_deref());
    let glass = open(known)?;
    let on_terminal = std::io::stdout().is_terminal() && !args.json;
    // On a terminal it stands in each picture, since each wipes the last.
    if let (false, Some(others)) = (on_terminal, &others) {
        say(others);
    }
    let times = args
        .count
        .or((!std::io::stdout().is_terminal()).then_some(1));
    let mut before = look(&glass)?;
    let mut done = 0;
    while times.is_none_or(|times| done < times) {
        let frame = Frame::take(&glass, before, args.interval, || known.is_running())?;
        if !known.is_running() {
            say(format_args!("{} has ended", known.program));
            return Ok(0);
        }
        let text = if args.json {
            format!("{}\n", frame.json(known))
        } else {
            frame.text(known)
        };
        let picture = match &others {
            _ if !on_terminal => text,
            Some(others) => format!("\x1b[H\x1b[J{text}{others}\n"),
            None => format!("\x1b[H\x1b[J{text}"),
        };
        let mut out = std::io::stdout().lock();
        match write!(out, "{picture}").and_then(|()| out.flush()) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(0),
            Err(error) => return Err(error).doing("write the output"),
        }
        before = frame.now;
        done += 1;
    }
    Ok(0)
}

fn open(known: &Known) -> Result<Glass> {
    let begun = Instant::now();
    loop {
        let place = known.place().map_err(|error| {
            Failure::new(format!("cannot look into {}: {error}", known.program))
        })?;
        if let Some(glass) = place.open() {
            return Ok(glass);
        }
        if begun.elapsed() > BOOT_LIMIT || !known.is_running() {
            return Err(Failure::new(format!(
                "{} has not come so far that it can be looked into, or is another version's",
                known.program
            )));
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn look(glass: &Glass) -> Result<Snapshot> {
    glass
        .snapshot()
        .ok_or_else(|| Failure::new("the machine's memory makes no sense"))
}

/// An interval.
struct Frame {
    before: Snapshot,
    now: Snapshot,
    took: Duration,
    /// For each CPU, the share of looks at which it was idle.
    idle: Vec<f64>,
    goroutines: [usize; 4],
}

impl Frame {
    fn take(
        glass: &Glass,
        before: Snapshot,
        interval: Duration,
        goes_on: impl Fn() -> bool,
    ) -> Result<Frame> {
        let begun = Instant::now();
        let mut idle = vec![0u32; before.cpus.len()];
        let mut looks = 0;
        let mut now = before.clone();
        while begun.elapsed() < interval && goes_on() {
            thread::sleep(SAMPLE_EVERY.min(interval.saturating_sub(begun.elapsed())));
            now = look(glass)?;
            looks += 1;
            for (count, cpu) in idle.iter_mut().zip(&now.cpus) {
                *count += u32::from(cpu.parked);
            }
        }
        let gs = glass.gs();
        Ok(Frame {
            took: begun.elapsed(),
            idle: idle
                .into_iter()
                .map(|n| f64::from(n) / f64::from(looks.max(1)))
                .collect(),
            goroutines: GState::ALIVE.map(|state| gs.iter().filter(|g| g.state == state).count()),
            before,
            now,
        })
    }

    fn rate(&self, cpu: usize, count: impl Fn(&CpuView) -> u64) -> u64 {
        let more = count(&self.now.cpus[cpu]).saturating_sub(count(&self.before.cpus[cpu]));
        (more as f64 / self.took.as_secs_f64()).round() as u64
    }

    fn text(&self, known: &Known) -> String {
        let mut text = String::new();
        let now = &self.now;
        let alive: usize = self.goroutines.iter().sum();
        let states: Vec<String> = GState::ALIVE
            .iter()
            .zip(self.goroutines)
            .map(|(state, n)| format!("{n} {}", state.word()))
            .collect();
        let _ = writeln!(
            text,
            "{} (machine {}): {} CPUs, {} Ps{}",
            known.program,
            known.number,
            now.cpus.len(),
            now.ps.len(),
            if now.stopped {
                ", the world is stopped"
            } else {
                ""
            }
        );
        let _ = writeln!(text, "goroutines: {alive}: {}", states.join(", "));
        let _ = writeln!(
            text,
            "global queue: {}, CPUs that look for work: {}",
            now.global, now.spinning
        );
        let _ = writeln!(
            text,
            "{:>3} {:>3}  {:<9}{:>9} {:>6} {:>5} {:>12} {:>9} {:>9} {:>6}",
            "CPU",
            "P",
            "state",
            "G",
            "queue",
            "next",
            "switches/s",
            "steals/s",
            "preempt/s",
            "idle %"
        );
        for (id, cpu) in now.cpus.iter().enumerate() {
            let dash = |n: Option<String>| n.unwrap_or_else(|| "-".into());
            let p = cpu.p.and_then(|p| now.ps.get(p));
            let _ = writeln!(
                text,
                "{id:>3} {:>3}  {:<9}{:>9} {:>6} {:>5} {:>12} {:>9} {:>9} {:>6.0}",
                dash(cpu.p.map(|p| p.to_string())),
                state(cpu),
                dash(cpu.g.map(|g| g.to_string())),
                dash(p.map(|p| waiting(p).to_string())),
                dash(p.map(|p| if p.queue.runnext != 0 { "1" } else { "0" }.into())),
                self.rate(id, |c| c.switches),
                self.rate(id, |c| c.steals),
                self.rate(id, |c| c.preemptions),
                self.idle[id] * 100.0
            );
        }
        for (id, p) in now.ps.iter().enumerate() {
            let held = now.cpus.iter().any(|cpu| cpu.p == Some(id));
            if !held && (waiting(p) != 0 || p.queue.runnext != 0 || !p.idle) {
                let holder = estate::holder(now, id);
                let _ = writeln!(text, "P {id}: {holder}, {} queued", waiting(p));
            }
        }
        text
    }

    fn json(&self, known: &Known) -> Value {
        let now = &self.now;
        let states: serde_json::Map<String, Value> = GState::ALIVE
            .iter()
            .zip(self.goroutines)
            .map(|(state, n)| (state.word().replace(' ', "_"), n.into()))
            .collect();
        let cpu = |(id, cpu): (usize, &CpuView)| {
            json!({
                "cpu": id,
                "p": cpu.p,
                "state": state(cpu),
                "goroutine": cpu.g,
                "switches_per_s": self.rate(id, |c| c.switches),
                "steals_per_s": self.rate(id, |c| c.steals),
                "preemptions_per_s": self.rate(id, |c| c.preemptions),
                "idle": (self.idle[id] * 1000.0).round() / 1000.0,
            })
        };
        let p = |(id, p): (usize, &PView)| {
            json!({
                "p": id,
                "cpu": p.cpu,
                "idle": p.idle,
                "in_call": p.in_call,
                "queued": waiting(p),
                "runnext": p.queue.runnext != 0,
                "timers": p.timers,
            })
        };
        json!({
            "event": "top",
            "program": known.program,
            "machine": known.number,
            "interval_s": (self.took.as_secs_f64() * 1000.0).round() / 1000.0,
            "goroutines": states,
            "global_queue": now.global,
            "spinning": now.spinning,
            "stopped": now.stopped,
            "cpus": now.cpus.iter().enumerate().map(cpu).collect::<Vec<_>>(),
            "ps": now.ps.iter().enumerate().map(p).collect::<Vec<_>>(),
        })
    }
}

/// Gs in the queues of a P, but for `runnext`.
fn waiting(p: &PView) -> u32 {
    p.queue.queued + p.woken.queued + u32::from(p.woken.runnext != 0)
}

/// What a CPU does, in a word or two.
fn state(cpu: &CpuView) -> &'static str {
    match cpu {
        CpuView { in_call: true, .. } => "in a call",
        CpuView { g: Some(_), .. } => "runs",
        CpuView { parked: true, .. } => "idle",
        _ => "looks",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for() {
        let parse = |words: &[&str]| TopArgs::try_parse_from([&["top"], words].concat());
        let args = parse(&["--count", "3", "--interval", "0.5", "--json"]).unwrap();
        assert_eq!(
            (args.count, args.interval),
            (Some(3), Duration::from_millis(500))
        );
        for bad in [
            &["--count", "0"][..],
            &["--interval", "0"],
            &["--interval", "x"],
        ] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }
}
