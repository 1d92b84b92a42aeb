//! The figures of a run.

use serde_json::{Value, json};

use crate::options::{MachineKind, RunOptions};
use crate::resolved::Resolved;
use crate::say::{print, say};
use crate::{Outcome, Result};

/// Prints what the user wants to know after the machine has ended: with `--json` the figures as JSON lines on
/// stdout; for the tour also how long the way to `main` took.
///
/// # Errors
///
/// The figures cannot be written.
pub fn report(
    options: &RunOptions,
    resolved: &Resolved,
    program: &str,
    outcome: &Outcome,
) -> Result<()> {
    if program == "tour"
        && let Some(boot) = outcome.boot_to_main
    {
        let seconds = boot.as_secs_f64();
        say(format_args!(
            "first line of main {seconds:.3} s after QEMU was started"
        ));
    }
    if let Some(line) = disk_line(outcome) {
        say(line);
    }
    if !options.json {
        return Ok(());
    }
    // Figures have lines of their own.
    let mut text = if outcome.cut_line { "\n" } else { "" }.to_string();
    let stats = outcome.events.iter().filter(|event| {
        ["stats", "leaks"]
            .map(Value::from)
            .contains(&event["event"])
    });
    let figures = figures(options, resolved, program, outcome);
    for line in stats.chain([&figures]) {
        text += &format!("{line}\n");
    }
    print(&text)
}

/// The program's own count of its disk's requests beside QEMU's, if it has made some and lived to tell.
fn disk_line(outcome: &Outcome) -> Option<String> {
    let (said, seen) = (outcome.event("disk")?, outcome.disk?);
    let (reads, writes) = (said["reads"].as_u64()?, said["writes"].as_u64()?);
    let same = (reads, writes) == (seen.reads, seen.writes);
    (reads + writes > 0 || !same).then(|| {
        let (count, verdict) = match writes + seen.writes {
            0 => (
                format!("{reads} disk read{}", if reads == 1 { "" } else { "s" }),
                format!("{}", seen.reads),
            ),
            _ => (
                format!("{reads} disk reads and {writes} writes"),
                format!("{} and {}", seen.reads, seen.writes),
            ),
        };
        let what = if same {
            ""
        } else {
            ", which should be the same"
        };
        format!("{count} by the program's count, {verdict} by QEMU's{what}")
    })
}

fn figures(options: &RunOptions, resolved: &Resolved, program: &str, outcome: &Outcome) -> Value {
    let seconds = |time: std::time::Duration| (time.as_secs_f64() * 1e6).round() / 1e6;
    json!({
        "event": "run",
        "program": program,
        "machine": if options.kind() == MachineKind::Qemu { "qemu" } else { "host" },
        "smp": resolved.smp,
        "procs": resolved.procs.unwrap_or(resolved.smp),
        "exit": outcome.exit,
        "status": outcome.event("exit").map(|event| event["code"].clone()),
        "boot_to_main_s": outcome.boot_to_main.map(seconds),
        "wall_s": seconds(outcome.wall),
        "cpu_s": seconds(outcome.cpu_time),
        "net": outcome.net.as_ref().map(crate::Net::name),
        "disk": outcome.disk.map(|disk| json!({"reads": disk.reads, "writes": disk.writes})),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::RunArgs;
    use clap::Parser;
    use std::time::Duration;

    #[test]
    fn the_two_counts_of_disk_requests() {
        let mut outcome = Outcome::default();
        assert_eq!(disk_line(&outcome), None);
        outcome.events = vec![json!({"event": "disk", "reads": 7, "writes": 0})];
        assert_eq!(disk_line(&outcome), None);
        let seen = |reads, writes| Some(crate::DiskCounts { reads, writes });
        outcome.disk = seen(7, 0);
        let line = disk_line(&outcome).unwrap();
        assert_eq!(line, "7 disk reads by the program's count, 7 by QEMU's");
        outcome.events = vec![json!({"event": "disk", "reads": 1, "writes": 0})];
        outcome.disk = seen(1, 0);
        let line = disk_line(&outcome).unwrap();
        assert_eq!(line, "1 disk read by the program's count, 1 by QEMU's");
        outcome.disk = seen(6, 1);
        let line = disk_line(&outcome).unwrap();
        assert!(
            line.ends_with("6 and 1 by QEMU's, which should be the same"),
            "{line}"
        );
    }

    #[test]
    fn figures_of_a_run() {
        let words = ["x", "hello", "--smp", "4", "--procs", "2"];
        let options = RunArgs::try_parse_from(words).unwrap().options;
        let outcome = Outcome {
            exit: 2,
            boot_to_main: Some(Duration::from_millis(150)),
            wall: Duration::from_micros(1_234_567),
            disk: Some(crate::DiskCounts {
                reads: 7,
                writes: 0,
            }),
            net: Some(crate::Net::Tap("t0".into())),
            ..Outcome::default()
        };
        let value = figures(&options, &options.resolve().unwrap(), "hello", &outcome);
        assert_eq!(value["boot_to_main_s"], 0.15);
        assert_eq!(value["wall_s"], 1.234567);
        assert_eq!(value["net"], "tap:t0");
        assert_eq!(value["disk"], json!({"reads": 7, "writes": 0}));
        assert_eq!(
            (&value["exit"], &value["procs"], &value["smp"]),
            (&json!(2), &json!(2), &json!(4))
        );
    }
}
