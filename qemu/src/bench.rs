//! `cargo run -- bench`: the benchmarks in one boot, each beside what bounds it in the same run.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use bench_names::{Group, NAMES, Name, chosen};
use clap::Parser;
use serde_json::{Value, json};

use crate::bench_table::{self, Row};
use crate::builder::{self, BuildOptions};
use crate::near::near;
use crate::numbers::whole;
use crate::progress::Progress;
use crate::say::{print, to_stderr};
use crate::{
    Accel, Failure, Machine, Outcome, Result, Root, accel, bench_count, busy, install, size, versus,
};

/// The package of the kernel that holds them, and its binary.
pub const IMAGE: &str = "bench-image";
/// Between two looks at what the machine has printed, for those who wait.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Measures what the scheduler costs, in one boot, by the definitions of the harness that measures Go: least, median and most of
/// several runs, and beside them what the machine itself costs in the same boot. At 1 CPU and at several, with 1 P and with all.
#[derive(Debug, Parser)]
#[command(
    name = "cargo run -- bench",
    disable_version_flag = true,
    override_usage = "cargo run -- bench [NAME,NAME,...|GROUP] [OPTIONS]",
    after_help = after_help()
)]
pub struct BenchArgs {
    /// Benchmarks, or groups of them, separated by commas [default: all; with --count: all that have a count]
    #[arg(value_name = "NAME,NAME,...|GROUP")]
    pub names: Option<String>,
    /// CPUs [default: this system's, at least 2; with --count: 1]
    #[arg(long, value_name = "N", value_parser = whole(1..=64u32, "4"), allow_negative_numbers = true)]
    pub smp: Option<u32>,
    /// Memory, as 512M or 2G
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "2G",
        allow_negative_numbers = true
    )]
    pub mem: String,
    /// What executes instructions. Figures of others, and the recorded ones, are of tcg
    #[arg(long, value_name = "ACCEL", default_value = "tcg", value_parser = ["auto", "tcg", "kvm"])]
    pub accel: String,
    /// Measured runs of each; one more comes first [default: 3; with --count: 1]
    #[arg(long, value_name = "N", value_parser = whole(1..=1000u32, "3"), allow_negative_numbers = true)]
    pub reps: Option<u32>,
    /// Every count is multiplied by this
    #[arg(long, value_name = "X", value_parser = scale, allow_negative_numbers = true)]
    pub scale: Option<f64>,
    /// Prints a JSON line for each figure, in the form of the harness for Go, and one for the run
    #[arg(long)]
    pub json: bool,
    /// Counts the instructions of an operation, on one CPU, and compares them with bench/counts.toml: exit status 1 if one has
    /// changed by more than 3 %
    #[arg(long, conflicts_with = "accel")]
    pub count: bool,
    /// Boots Linux and Go in turn with ours, and compares; what that needs is fetched from packages the first time
    #[arg(long, value_name = "WHOM", value_parser = ["go"])]
    pub versus: Option<String>,
    /// With --versus: boots a side that no other work has disturbed [default: 3]
    #[arg(long, value_name = "N", requires = "versus", value_parser = whole(1..=100u32, "3"), allow_negative_numbers = true)]
    pub boots: Option<u32>,
    /// With --count: writes what was counted into bench/counts.toml
    #[arg(long, requires = "count")]
    pub record: bool,
}

fn scale(text: &str) -> std::result::Result<f64, String> {
    let wrong = "a number above 0 and up to 1000, such as 1 or 0.01";
    let x: f64 = text.parse().map_err(|_| wrong)?;
    (x > 0.0 && x <= 1000.0).then_some(x).ok_or(wrong.into())
}

fn after_help() -> String {
    let groups = Group::ALL.iter().map(|group| {
        let names = chosen(group.word()).map(|name| name.name);
        format!("{}: {}", group.word(), names.collect::<Vec<_>>().join(" "))
    });
    format!(
        "Groups:\n{}\n\nThe group bare, what the machine itself costs, is part of every run.\n\nExit status: 0 fine; 1 a wrong result, or wrong usage, \
         or a count that has changed; 2 fatal; 3 the machine died or hung",
        groups.collect::<Vec<_>>().join("\n")
    )
}

/// Measures what the user asked for; the exit status.
///
/// # Errors
/// There is no such benchmark, the kernel does not build, QEMU does not start, or the figures cannot be written.
pub fn bench(args: &BenchArgs) -> Result<u8> {
    let names = wanted(args.names.as_deref().unwrap_or("all"))?;
    if args.versus.is_some() {
        return versus::versus(args, &names);
    }
    if args.count {
        return bench_count::count(args, &names);
    }
    let root = Root::find()?;
    let mut boot = Boot::new(args, &root, cpus(args))?;
    boot.names = with_limits(&names);
    let measured = boot.run()?;
    if measured.outcome.exit != 0 {
        return Ok(measured.failed());
    }
    let text = if args.json {
        measured.json()
    } else {
        let table = bench_table::table(&measured.rows, &names);
        format!("{table}{}\n", measured.last_line())
    };
    print(&text).map(|()| 0)
}

/// CPUs of a machine that measures times.
pub fn cpus(args: &BenchArgs) -> u32 {
    let host_cpus = thread::available_parallelism().map_or(1, |n| n.get() as u32);
    args.smp.unwrap_or(host_cpus.clamp(2, 64))
}

/// The benchmarks that these words stand for, in their order.
pub fn wanted(words: &str) -> Result<Vec<&'static Name>> {
    if let Some(none) = words.split(',').find(|word| chosen(word).count() == 0) {
        return Err(Failure::new(unknown(none)));
    }
    let is_meant = |name: &&Name| {
        words
            .split(',')
            .any(|word| chosen(word).any(|one| one == *name))
    };
    Ok(NAMES.iter().filter(is_meant).collect())
}

/// The line about a word that is neither a benchmark nor a group.
fn unknown(word: &str) -> String {
    let groups = Group::ALL.iter().map(|group| group.word());
    let all: Vec<&str> = NAMES
        .iter()
        .map(|name| name.name)
        .chain(groups.clone())
        .collect();
    let meant = match near(&word.to_lowercase(), all.iter().copied()).as_slice() {
        [] => String::new(),
        close => format!("did you mean {}? ", close.join(" or ")),
    };
    let names: Vec<&str> = NAMES.iter().map(|name| name.name).collect();
    format!(
        "there is no benchmark {word:?}; {meant}there are {}, and the groups {}",
        names.join(", "),
        groups.collect::<Vec<_>>().join(", ")
    )
}

/// And what bounds them.
fn with_limits(names: &[&'static Name]) -> Vec<&'static Name> {
    let is_part = |name: &&Name| name.group == Group::Bare || names.contains(name);
    NAMES.iter().filter(is_part).collect()
}

/// A boot of the benchmarks' kernel.
pub struct Boot {
    kernel: PathBuf,
    accel: Accel,
    smp: u32,
    mem_bytes: u64,
    /// Measured runs of each.
    pub reps: u32,
    /// What is measured.
    pub names: Vec<&'static Name>,
    /// Factor of all counts.
    pub scale: f64,
    /// Instructions are counted, and the machine repeats itself: chance follows from this number.
    pub seed: Option<u64>,
}

/// What came of it.
pub struct Measured {
    /// How the machine ended.
    pub outcome: Outcome,
    /// Its figures.
    pub rows: Vec<Row>,
    env: String,
    /// Cores of this system that were busy with other work.
    pub others_cores: Option<f64>,
}

impl Boot {
    /// Builds the kernel. Of what `args` has, everything but the names.
    pub fn new(args: &BenchArgs, root: &Root, smp: u32) -> Result<Boot> {
        let mem_bytes = size::parse_mem(&args.mem)?;
        let qemu = install::prepare()?;
        let accel = match args.accel.as_str() {
            "auto" => accel::choose(&qemu, Accel::Auto)?,
            "kvm" => accel::choose(&qemu, Accel::Kvm)?,
            _ => Accel::Tcg,
        };
        Ok(Boot {
            kernel: build(root)?,
            accel,
            smp,
            mem_bytes,
            reps: args.reps.unwrap_or(if args.count { 1 } else { 3 }),
            names: Vec::new(),
            scale: args.scale.unwrap_or(1.0),
            seed: None,
        })
    }

    /// What lines call the place.
    pub fn env(&self) -> String {
        let accel = match (self.seed, self.accel) {
            (Some(_), _) => "icount",
            (None, Accel::Kvm) => "kvm",
            (None, _) => "tcg",
        };
        format!("ringo-qemu-{accel}-smp{}", self.smp)
    }

    /// The machine.
    pub fn machine(&self) -> Machine {
        let mut machine = Machine::new(self.kernel.clone(), "bench");
        let names: Vec<&str> = self.names.iter().map(|name| name.name).collect();
        machine.accel = self.accel;
        machine.smp = self.smp;
        machine.mem_bytes = self.mem_bytes;
        machine.seed = self.seed;
        machine.args = vec![
            format!("names={}", names.join(",")),
            format!("reps={}", self.reps),
            format!("scale={}", self.scale),
            format!("env={}", self.env()),
        ];
        machine
    }

    /// Boots it.
    ///
    /// # Errors
    /// QEMU does not start.
    pub fn run(&self) -> Result<Measured> {
        let machine = self.machine();
        let before = busy::host_busy();
        let outcome = {
            let _shown = Shown::start(&machine.console, self.names.len());
            machine.run()?
        };
        let others_cores = busy::others(before, busy::host_busy(), outcome.cpu_time, outcome.wall);
        let lines = outcome.stdout.lines().filter(|line| line.starts_with('{'));
        let rows = lines
            .filter_map(|line| serde_json::from_str(line).ok().map(Row))
            .collect();
        Ok(Measured {
            outcome,
            rows,
            env: self.env(),
            others_cores,
        })
    }
}

impl Measured {
    /// Says all that is known of a machine that failed; its exit status.
    pub fn failed(&self) -> u8 {
        to_stderr(&self.outcome.stdout);
        to_stderr(&self.outcome.stderr);
        self.outcome.exit
    }

    /// The lines as they came, and one about the run in the form of the harness for Go.
    fn json(&self) -> String {
        let mut text: String = self.rows.iter().map(|row| format!("{}\n", row.0)).collect();
        let run = json!({
            "bench": "_qemu",
            "env": self.env,
            "rc": self.outcome.qemu_status,
            "wall_s": round(self.outcome.wall.as_secs_f64()),
            "cpu_s": round(self.outcome.cpu_time.as_secs_f64()),
            "others_cores": self.others_cores.map(round),
            "clean": self.outcome.exit == 0,
        });
        text += &format!("{run}\n");
        text
    }

    fn last_line(&self) -> String {
        let wall = self.outcome.wall.as_secs_f64();
        match self.others_cores {
            Some(cores) => format!(
                "{wall:.1} s; other work kept {cores:.2} cores busy meanwhile{}",
                if cores > 0.1 {
                    ": too much for figures that are to be kept (0.1 at most)"
                } else {
                    ""
                }
            ),
            None => format!(
                "{wall:.1} s; how busy this system was with other work is not known (/proc/stat)"
            ),
        }
    }
}

fn round(x: f64) -> f64 {
    (x * 100.0).round() / 100.0
}

/// Builds their kernel, as one piece.
fn build(root: &Root) -> Result<PathBuf> {
    let options = BuildOptions {
        measured: true,
        progress: true,
        ..BuildOptions::default()
    };
    builder::build_kernel(root, IMAGE, IMAGE, &options)
}

/// How far it is, for who waits at a terminal: a thread that counts the lines.
struct Shown {
    over: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Shown {
    fn start(console: &Arc<Mutex<Vec<u8>>>, names: usize) -> Shown {
        let (over, console) = (Arc::new(AtomicBool::new(false)), console.clone());
        let theirs = over.clone();
        let thread = thread::spawn(move || {
            let progress = Progress::start(true, "benchmarks");
            // Relaxed: the end of a picture, nothing else follows from it.
            while !theirs.load(Relaxed) {
                progress.say(how_far(&console, names));
                thread::park_timeout(LOOK_EVERY)
            }
        });
        Shown {
            over,
            thread: Some(thread),
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            drop(thread.join())
        }
    }
}

fn how_far(console: &Mutex<Vec<u8>>, names: usize) -> String {
    let console = console.lock().unwrap_or_else(PoisonError::into_inner);
    let text = String::from_utf8_lossy(&console);
    let done = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut done: Vec<String> = done
        .filter_map(|row| Some(row["bench"].as_str()?.to_string()))
        .collect();
    done.dedup();
    match done.last() {
        Some(last) => format!("benchmarks: {last} done, {} of {names}", done.len()),
        None => "benchmarks".to_string(),
    }
}

/// Where what was counted is recorded.
pub fn counts_file(root: &Path) -> PathBuf {
    root.join("bench/counts.toml")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> BenchArgs {
        BenchArgs::try_parse_from(["x"].into_iter().chain(line.split_whitespace())).unwrap()
    }

    #[test]
    fn names_and_groups() {
        let of = |words| {
            wanted(words).map(|names| names.iter().map(|name| name.name).collect::<Vec<_>>())
        };
        assert_eq!(of("ring503,yield2").unwrap(), ["yield2", "ring503"]);
        assert_eq!(of("lat").unwrap(), ["preempt_sleep1ms", "sleepers"]);
        assert_eq!(of("all").unwrap().len(), NAMES.len());
        let line = of("yeld2,lat").unwrap_err().line;
        assert!(
            line.starts_with(
                "there is no benchmark \"yeld2\"; did you mean yield2? there are bare_loop, "
            ),
            "{line}"
        );
        assert!(
            line.ends_with(", and the groups bare, calib, core, par, app, lat, mem"),
            "{line}"
        );
        assert!(
            of("")
                .unwrap_err()
                .line
                .starts_with("there is no benchmark \"\"; there are ")
        );
    }

    #[test]
    fn what_bounds_them_is_measured_as_well() {
        let names = with_limits(&wanted("yield2").unwrap());
        let names: Vec<&str> = names.iter().map(|name| name.name).collect();
        assert_eq!(
            names,
            [
                "bare_loop",
                "bare_switch",
                "bare_load",
                "bare_lock",
                "bare_timer",
                "yield2"
            ]
        );
    }

    #[test]
    fn options() {
        let args = parse("yield2 --scale 0.01 --reps 5");
        assert_eq!(
            (args.names.as_deref(), args.scale, args.reps),
            (Some("yield2"), Some(0.01), Some(5))
        );
        for bad in [
            "--scale 0",
            "--scale x",
            "--scale -1",
            "--reps 0",
            "--record",
            "a b",
        ] {
            let words = ["x"].into_iter().chain(bad.split_whitespace());
            assert!(BenchArgs::try_parse_from(words).is_err(), "{bad}");
        }
    }

    #[test]
    fn progress_counts_benchmarks_not_lines() {
        let text = "{\"bench\":\"a\"}\n{\"bench\":\"b\"}\n{\"bench\":\"b\"}\n{\"ben";
        let console = Mutex::new(text.as_bytes().to_vec());
        assert_eq!(how_far(&console, 7), "benchmarks: b done, 2 of 7");
    }
}
