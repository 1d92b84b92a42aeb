//! `cargo run -- bench --versus go`: the same benchmarks by Go on Linux, on the same machine under QEMU, in turn with ours.
//!
//! ```text
//!  setup, once: Go, Linux -> target/versus
//!  bench/go -> initrd -> guest: Linux and Go --+
//!                                              +-- in turn -> lines -> table
//!                       the bench image: ours -+
//! ```

mod guest;
mod initrd;
mod lines;
mod setup;
mod table;
mod turns;

use std::time::Duration;

use bench_names::Name;
use serde_json::{Value, json};

use crate::bench::{self, BenchArgs};
use crate::bench_count::{SCALE, SEED, has_count};
use crate::bench_table::Row;
use crate::progress::Progress;
use crate::say::{print, say};
use crate::{Accel, Failure, Machine, Result, Root, install, size};
use guest::Guest;
use turns::in_turn;

/// A boot of all benchmarks takes Linux three minutes.
const LIMIT: Duration = Duration::from_secs(1800);
/// Clean boots a side, where nobody says how many.
const BOOTS: usize = 3;
/// What Go does and ringo does not: each takes time.
const DROPPED: &str = "Go has, and ringo does without: garbage collection, stacks that grow, and a kernel below it with its user mode, \
                       system calls and threads.";

/// A boot, of either side.
#[derive(Clone, Debug, PartialEq)]
pub struct Boot {
    /// From the start of QEMU to the first line of the first goroutine.
    pub first_goroutine: Option<Duration>,
    /// What it has printed.
    pub rows: Vec<Row>,
    /// Cores of the host that other work took meanwhile; `None`: the system does not say.
    pub others_cores: Option<f64>,
}

/// Boots both sides in turn, fetches the other one if it is not there, and prints the comparison; the exit status. With `--count` each is
/// booted once, and instructions are compared.
///
/// # Errors
///
/// Options that do not go together, the other side cannot be had, or a boot of either failed.
pub fn versus(args: &BenchArgs, names: &[&'static Name]) -> Result<u8> {
    let smp = check(args)?;
    let root = Root::find()?;
    let image = setup::image(&root)?;
    let mut boot = bench::Boot::new(args, &root, smp)?;
    boot.names = measured(names, args.count);
    if args.count {
        boot.scale = args.scale.unwrap_or(SCALE);
        boot.seed = Some(SEED);
    }
    let ours = boot.machine();
    let linux = Machine {
        kernel: image.kernel,
        ..ours.clone()
    };
    let initrd = initrd::initrd(&image.init);
    let go_args = go_args(&boot);
    let guest = Guest {
        machine: &linux,
        qemu: &install::prepare()?,
        initrd: &initrd,
        args: &go_args,
        limit: LIMIT,
    };
    let mut go = || {
        let _shown = Progress::start(true, "Linux and Go");
        guest.boot().map(|boot| counted(boot, args.count))
    };
    let mut ours = || ours_boot(&boot).map(|boot| counted(boot, args.count));
    let boots = if args.count {
        1
    } else {
        args.boots.map_or(BOOTS, |n| n as usize)
    };
    let (go, ours) = in_turn(boots, &mut go, &mut ours, &mut |line| say(line))?;
    print(
        &Compared {
            args,
            machine: &linux,
            go: &go,
            ours: &ours,
        }
        .text(),
    )?;
    Ok(0)
}

/// The CPUs, if the options go together.
fn check(args: &BenchArgs) -> Result<u32> {
    if args.record {
        return Err(Failure::new(
            "--record writes counts of ours alone; leave --versus away",
        ));
    }
    if !args.count {
        return Ok(bench::cpus(args));
    }
    match (args.smp, args.boots) {
        (None | Some(1), None) => Ok(1),
        (Some(_), _) => Err(Failure::new("--count counts on one CPU; leave --smp away")),
        (_, Some(_)) => Err(Failure::new(
            "--count needs one boot a side; leave --boots away",
        )),
    }
}

/// What is asked for, and the loops that tell whether the host was the same for both.
fn measured(names: &[&'static Name], count: bool) -> Vec<&'static Name> {
    let is_part = |name: &&Name| {
        let asked = names.contains(name) && (!count || has_count(name));
        asked || table::CALIBRATION.contains(&name.name)
    };
    bench_names::NAMES.iter().filter(is_part).collect()
}

/// Arguments of the Go program: what ours does.
fn go_args(boot: &bench::Boot) -> Vec<String> {
    let names: Vec<&str> = boot.names.iter().map(|name| name.name).collect();
    vec![
        format!("-run={}", names.join(",")),
        format!("-reps={}", boot.reps),
        format!("-scale={}", boot.scale),
        format!("-env={}", boot.env().replacen("ringo", "go", 1)),
    ]
}

fn ours_boot(boot: &bench::Boot) -> Result<Boot> {
    let measured = boot.run()?;
    if measured.outcome.exit != 0 {
        return Err(Failure::silent(measured.failed()));
    }
    Ok(Boot {
        first_goroutine: measured.outcome.boot_to_main,
        rows: measured.rows,
        others_cores: measured.others_cores,
    })
}

/// Counts do not depend on what else the host does, and no boot's time is one.
fn counted(boot: Boot, count: bool) -> Boot {
    match count {
        true => Boot {
            first_goroutine: None,
            others_cores: None,
            ..boot
        },
        false => boot,
    }
}

/// What came of it.
struct Compared<'a> {
    args: &'a BenchArgs,
    machine: &'a Machine,
    go: &'a [Boot],
    ours: &'a [Boot],
}

impl Compared<'_> {
    /// The table, or JSON lines.
    fn text(&self) -> String {
        let pairs = table::pairs(self.go, self.ours);
        let unit = if self.args.count {
            "instructions"
        } else {
            "ns"
        };
        if self.args.json {
            let lines = pairs.iter().map(|pair| pair.json(unit));
            return [self.about()]
                .into_iter()
                .chain(lines)
                .map(|line| format!("{line}\n"))
                .collect();
        }
        let mut text = format!("{}\n", self.head());
        if self.args.count {
            text += &table::counts(&pairs);
        } else {
            text += &table::times(&pairs);
            let clock = self.info()["clock"]
                .as_str()
                .unwrap_or("unknown")
                .to_string();
            if clock != "tsc" {
                text +=
                    &format!("Linux's clock is {clock}, not tsc: this is not Linux at its best\n");
            }
            table::unlike(&pairs)
                .iter()
                .for_each(|line| text += &format!("{line}\n"));
            if self.machine.accel == Accel::Tcg {
                text += "Under TCG a ratio of times is not one on hardware: `--count` compares instructions.\n";
            }
        }
        text + DROPPED + "\n"
    }

    /// What the Go program tells of itself.
    fn info(&self) -> Value {
        let mut rows = self.go.iter().flat_map(|boot| &boot.rows);
        let info = rows.find(|row| row.name() == "info");
        info.map_or(Value::Null, |row| row.0["extra"].clone())
    }

    fn about(&self) -> Value {
        let info = self.info();
        let others = |boots: &[Boot]| {
            boots
                .iter()
                .map(|boot| boot.others_cores)
                .collect::<Vec<_>>()
        };
        json!({
            "event": "versus_go", "go": info["go"], "linux": info["linux"], "clock": info["clock"], "smp": self.machine.smp,
            "mem_bytes": self.machine.mem_bytes, "accel": self.machine.accel.qemu_name(), "count": self.args.count,
            "go_others_cores": others(self.go), "ours_others_cores": others(self.ours),
        })
    }

    fn head(&self) -> String {
        let info = self.info();
        let word = |key: &str| info[key].as_str().unwrap_or("?").to_string();
        let (go, linux, mem) = (
            word("go"),
            word("linux"),
            size::show(self.machine.mem_bytes),
        );
        let Machine {
            smp, cpu, accel, ..
        } = self.machine;
        let how = if self.args.count {
            "instructions an operation".to_string()
        } else {
            let boots = self.go.len();
            format!(
                "medians of {boots} boot{} a side, in turn",
                if boots == 1 { "" } else { "s" }
            )
        };
        format!(
            "{go} on Linux {linux} beside ringo, QEMU {}, {smp} CPU{}, {cpu}, {mem}: {how}",
            accel.qemu_name(),
            if *smp == 1 { "" } else { "s" }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn args(line: &str) -> BenchArgs {
        BenchArgs::try_parse_from(
            ["x", "--versus", "go"]
                .into_iter()
                .chain(line.split_whitespace()),
        )
        .unwrap()
    }

    #[test]
    fn options_that_do_not_go_together() {
        let line = |words| check(&args(words)).unwrap_err().line;
        assert_eq!(check(&args("--smp 4 --boots 5")), Ok(4));
        assert_eq!(check(&args("--count")), Ok(1));
        assert!(line("--count --record").contains("leave --versus away"));
        assert!(line("--count --smp 2").contains("leave --smp away"));
        assert!(line("--count --boots 2").contains("leave --boots away"));
    }

    #[test]
    fn both_sides_run_the_loops_that_tell_of_the_host() {
        let of = |words, count| {
            let names = measured(&bench::wanted(words).unwrap(), count);
            names.iter().map(|name| name.name).collect::<Vec<_>>()
        };
        assert_eq!(
            of("yield2,calib_mem", false),
            ["calib_alu", "calib_mem", "yield2"]
        );
        assert_eq!(
            of("yield2,sleepers", false),
            ["calib_alu", "calib_mem", "yield2", "sleepers"]
        );
        assert_eq!(
            of("yield2,sleepers", true),
            ["calib_alu", "calib_mem", "yield2"]
        );
    }

    /// The Go program's lines as fixtures.
    fn go(clock: &str) -> Boot {
        let lines = [
            format!(r#"{{"bench":"info","procs":1,"unit":"","extra":{{"go":"go1.27.3","linux":"6.1.0-57","clock":"{clock}"}}}}"#),
            r#"{"bench":"yield2","env":"go","procs":1,"unit":"ns/op","ops":9,"reps":3,"min":600,"med":700,"max":800}"#.to_string(),
        ];
        Boot {
            first_goroutine: None,
            rows: lines
                .iter()
                .map(|line| lines::row(line).unwrap().unwrap())
                .collect(),
            others_cores: Some(0.0),
        }
    }

    fn text(words: &str, clock: &str) -> String {
        let (args, machine) = (args(words), Machine::new("k".into(), "bench"));
        let mut ours = go(clock);
        ours.rows[1].0["med"] = 100.into();
        Compared {
            args: &args,
            machine: &machine,
            go: &[go(clock)],
            ours: &[ours],
        }
        .text()
    }

    #[test]
    fn what_is_printed() {
        let wanted = "\
go1.27.3 on Linux 6.1.0-57 beside ringo, QEMU tcg,thread=multi, 2 CPUs, max, 512 MiB: medians of 1 boot a side, in turn
benchmark  P          Go       ringo  Go / ringo
yield2     1      700 ns      100 ns  7.00
Under TCG a ratio of times is not one on hardware: `--count` compares instructions.
Go has, and ringo does without: garbage collection, stacks that grow, and a kernel below it with its user mode, system calls and threads.
";
        assert_eq!(text("", "tsc"), wanted);
        assert!(text("", "hpet").contains("\nLinux's clock is hpet, not tsc"));
        let counts = text("--count", "hpet");
        assert!(
            counts.contains(": instructions an operation\n") && !counts.contains("hpet"),
            "{counts}"
        );
        assert!(
            counts.contains("yield2     1         700         100  7.00\n"),
            "{counts}"
        );
    }

    #[test]
    fn lines_for_scripts() {
        let lines: Vec<Value> = text("--json", "tsc")
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(
            (&lines[0]["go"], &lines[0]["smp"]),
            (&json!("go1.27.3"), &json!(2))
        );
        assert_eq!(
            (&lines[1]["go"], &lines[1]["ours"], &lines[1]["ratio"]),
            (&json!([700.0]), &json!([100.0]), &json!(7.0))
        );
    }
}
