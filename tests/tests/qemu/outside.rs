//! Looking into machines from other processes, stopping QEMU itself, and runs that repeat themselves.

use libtest_mimic::Trial;
use ringo_runner::Machine;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tests::{image, patience, root, run_runner, runner, runner_command, trial};

pub fn trials() -> Vec<Trial> {
    let mut all = vec![
        trial("outside::top smp=2", top),
        trial("outside::QEMU is stopped smp=2", stopped),
    ];
    for smp in [1, 2, 4] {
        all.push(trial(
            format!("outside::the same again smp={smp}"),
            move || same_again(smp),
        ));
    }
    all
}

/// The number by which `top` knows a machine of this program, once it runs.
fn number_of(program: &str) -> Result<String, String> {
    let end = Instant::now() + Duration::from_secs(100 * patience());
    while Instant::now() < end {
        let list = Command::new(runner()?).args(["top", "--list"]).output();
        let list = list.map_err(|e| e.to_string())?.stdout;
        let of = |line: &str| Some(line.trim().strip_suffix(program)?.trim().to_string());
        if let Some(number) = String::from_utf8_lossy(&list).lines().find_map(of) {
            return Ok(number);
        }
        thread::sleep(Duration::from_millis(100));
    }
    Err(format!("no machine that runs {program} came up"))
}

/// A goroutine computes, others sleep: that is what `top` shows.
fn top() -> Result<(), String> {
    let program = root().path().join("tests/programs/busy.rs");
    let program = program.display().to_string();
    let mut words = vec![program.as_str()];
    words.extend(["--smp", "2", "--timeout", "120", "--", "20000"]);
    let mut machine = runner_command(&words)?
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| e.to_string())?;
    let looked = look_at("busy");
    // It dies with its runner.
    drop(machine.kill());
    drop(machine.wait());
    looked
}

fn look_at(program: &str) -> Result<(), String> {
    let number = number_of(program)?;
    let words = [
        "top",
        &number,
        "--count",
        "3",
        "--interval",
        "0.3",
        "--json",
    ];
    let json = run_runner("outside", "top --json", &words, |c| c)?;
    let lines: Vec<Value> = json
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).map_err(|e| format!("{line}: {e}")))
        .collect::<Result<_, _>>()?;
    // A look may hit the moment between two goroutines.
    if lines.len() != 3 || !lines.iter().any(is_busy) {
        return Err(format!("this is not what it does: {}", json.stdout));
    }
    let text = run_runner("outside", "top", &["top", &number], |c| c)?;
    text.ended(0, " waiting, 0 in calls")?;
    text.ended(0, "goroutines: 4: ")
}

/// One CPU runs main, three goroutines sleep.
fn is_busy(line: &Value) -> bool {
    let cpus = line["cpus"].as_array().map_or(&[][..], Vec::as_slice);
    let runs = |cpu: &&Value| cpu["state"] == "runs" && cpu["goroutine"] == 1;
    let share = |cpu: &Value| {
        cpu["idle"]
            .as_f64()
            .is_some_and(|n| (0.0..=1.0).contains(&n))
    };
    cpus.len() == 2
        && cpus.iter().all(share)
        && cpus.iter().filter(runs).count() == 1
        && line["goroutines"]["waiting"] == 3
}

/// Less than a second of patience, and QEMU stopped for much longer: the machine goes on as if nothing were.
fn stopped() -> Result<(), String> {
    let mut machine = Machine::new(image()?, "stopped");
    machine.args = vec!["calm_computing".into(), "ms=1500".into()];
    machine.hang_limit = Some(Duration::from_millis(700));
    machine.timeout = Some(Duration::from_secs(120 * patience()));
    let run = thread::spawn(move || machine.run());
    let number = number_of("stopped")?;
    let signal = |name: &str| Command::new("kill").args([name, &number]).status();
    thread::sleep(Duration::from_millis(300));
    signal("-STOP").map_err(|e| e.to_string())?;
    thread::sleep(Duration::from_millis(2500));
    signal("-CONT").map_err(|e| e.to_string())?;
    let outcome = run.join().map_err(|_| "the runner panicked")?;
    let outcome = outcome.map_err(|e| e.to_string())?;
    match (outcome.exit, outcome.stderr.contains("watchdog")) {
        (0, false) => Ok(()),
        (exit, _) => Err(format!("status {exit}: {}", outcome.stderr)),
    }
}

/// With the same seed, the same events at the same times on the same CPUs: every line of the log.
fn same_again(smp: u32) -> Result<(), String> {
    let one = log_of(smp, 1, "first")?;
    let two = log_of(smp, 1, "second")?;
    let events = one.lines().count();
    if let Some((n, (a, b))) = one
        .lines()
        .zip(two.lines())
        .enumerate()
        .find(|(_, (a, b))| a != b)
    {
        return Err(format!("line {} of {events}:\n{a}\n{b}", n + 1));
    }
    if one.len() != two.len() || one.contains("lost") {
        return Err(format!(
            "{} and {} bytes, or events were lost",
            one.len(),
            two.len()
        ));
    }
    if events < 100_000 {
        return Err(format!("only {events} events"));
    }
    // The comparison can tell runs apart.
    if smp == 2 && log_of(smp, 2, "other")? == one {
        return Err("another seed, the same run".into());
    }
    tests::note(format!("the same {events} events twice, {smp} CPUs"));
    Ok(())
}

fn log_of(smp: u32, seed: u64, name: &str) -> Result<String, String> {
    let path = LogFile(
        std::env::temp_dir().join(format!("ringo-{}-{smp}-{name}.events", std::process::id())),
    );
    let mut machine = Machine::new(image()?, "same_again");
    machine.smp = smp;
    machine.seed = Some(seed);
    machine.args = vec!["stress".into(), "size=8".into()];
    machine.timeout = Some(Duration::from_secs(300 * patience()));
    machine.event_log = Some(path.0.clone());
    let outcome = machine.run().map_err(|e| e.to_string())?;
    if outcome.exit != 0 {
        return Err(format!("status {}: {}", outcome.exit, outcome.stderr));
    }
    read(&path.0)
}

struct LogFile(PathBuf);
impl Drop for LogFile {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| e.to_string())
}
