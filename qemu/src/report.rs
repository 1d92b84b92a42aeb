//! The figures of a run.

use std::io::Write;

use serde_json::{Value, json};

use crate::Outcome;
use crate::options::{Checked, MachineKind, RunArgs};

/// Prints what the user wants to know after the machine has ended: with `--json` the figures as JSON lines on
/// stdout; for the tour also how long the way to `main` took.
pub fn report(args: &RunArgs, checked: &Checked, program: &str, outcome: &Outcome) {
    if program == "tour"
        && let Some(boot) = outcome.boot_to_main
    {
        eprintln!(
            "ringo: first line of main {:.3} s after QEMU was started",
            boot.as_secs_f64()
        );
    }
    if args.json {
        let mut out = std::io::stdout().lock();
        let stats = outcome
            .events
            .iter()
            .filter(|event| event["event"] == "stats");
        for line in stats
            .cloned()
            .chain([figures(args, checked, program, outcome)])
        {
            // Nobody is left to tell that nobody reads this.
            drop(writeln!(out, "{line}"));
        }
    }
}

fn figures(args: &RunArgs, checked: &Checked, program: &str, outcome: &Outcome) -> Value {
    let seconds = |time: std::time::Duration| (time.as_secs_f64() * 1e6).round() / 1e6;
    json!({
        "event": "run",
        "program": program,
        "machine": if args.kind() == MachineKind::Qemu { "qemu" } else { "host" },
        "smp": checked.smp,
        "procs": checked.procs.unwrap_or(checked.smp),
        "exit": outcome.exit,
        "status": outcome.event("exit").map(|event| event["code"].clone()),
        "boot_to_main_s": outcome.boot_to_main.map(seconds),
        "wall_s": seconds(outcome.wall),
        "cpu_s": seconds(outcome.cpu_time),
        "disk": outcome.disk.map(|disk| json!({"reads": disk.reads, "writes": disk.writes})),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::time::Duration;

    #[test]
    fn figures_of_a_run() {
        let args = RunArgs::try_parse_from(["x", "hello", "--smp", "4", "--procs", "2"]).unwrap();
        let outcome = Outcome {
            exit: 2,
            boot_to_main: Some(Duration::from_millis(150)),
            wall: Duration::from_micros(1_234_567),
            disk: Some(crate::DiskCounts {
                reads: 7,
                writes: 0,
            }),
            ..Outcome::default()
        };
        let value = figures(&args, &args.check().unwrap(), "hello", &outcome);
        assert_eq!(value["boot_to_main_s"], 0.15);
        assert_eq!(value["wall_s"], 1.234567);
        assert_eq!(value["disk"], json!({"reads": 7, "writes": 0}));
        assert_eq!(
            (&value["exit"], &value["procs"], &value["smp"]),
            (&json!(2), &json!(2), &json!(4))
        );
    }
}
