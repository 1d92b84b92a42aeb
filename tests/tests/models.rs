//! Model checking: builds the models of `kernel/sched/tests/loom/` and `kernel/csp/tests/loom/` (`--cfg ringo_loom`, target
//! directory `target/loom`), explores each, and then once more with each planted bug, which its model must find.
//!
//! `cargo test -p tests --test models -- --nocapture` shows the tables. A time-out is no finding. By hand:
//! `RUSTFLAGS="--cfg ringo_loom" RINGO_MUTANT=no_recheck cargo test --release --target-dir target/loom -p sched --test loom --
//! --exact idle::make_against_idle`.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// For hangs only: the longest takes seconds on two processors.
const LIMIT: Duration = Duration::from_secs(300);

/// How loom says that all threads are blocked: a wake-up was lost.
const DEADLOCK: &str = "deadlock; threads";
/// How loom says that something was handed over without ordering.
const RACE: &str = "Causality violation";
/// How loom says that a thread waits for ever in a loop.
const ENDLESS: &str = "maximum number of branches";
const LOST: &str = "times that G";
const STATUS: &str = "was found";
/// A G is readied that is awake.
const READIED: &str = "is readied";
/// A G goes on while somebody may still find it in a list.
const LISTED: &str = "still in a list";

/// Planted bug, the model that finds it, and what the model then says.
const MUTANTS: &[(&str, &str, &str)] = &[
    ("ring_put_relaxed", "ring::each_once", LOST),
    ("ring_tail_relaxed", "ring::each_once", LOST),
    ("ring_get_no_cas", "ring::each_once", RACE),
    ("ring_steal_no_cas", "ring::each_once", RACE),
    (
        "ring_consume_relaxed",
        "ring::each_once_one_at_a_time",
        RACE,
    ),
    ("runnext_put_relaxed", "ring::runnext_once", RACE),
    ("runnext_steal_no_cas", "ring::runnext_once", RACE),
    ("overflow_no_cas", "ring::overflow_once", RACE),
    (
        "runqempty_one_look",
        "ring::never_looks_empty",
        "looks empty",
    ),
    ("bubble_look_then_count", "bubble::wait_against_block", LOST),
    (
        "bubble_count_late",
        "bubble::ready_against_idle",
        "the waiter went on while another could run",
    ),
    ("park_after_commit", "park::park_against_ready", STATUS),
    ("park_unlock_on_stack", "park::park_against_ready", STATUS),
    ("wakep_no_fence", "idle::make_against_idle", DEADLOCK),
    ("recheck_no_fence", "idle::make_against_idle", DEADLOCK),
    ("no_recheck", "idle::make_against_idle", DEADLOCK),
    ("recheck_no_woken", "idle::woken_against_idle", DEADLOCK),
    ("stopm_no_look", "idle::make_against_transit", DEADLOCK),
    (
        "startm_no_needspinning",
        "idle::make_against_transit",
        DEADLOCK,
    ),
    ("no_needspinning", "idle::last_spinner_finds_work", DEADLOCK),
    (
        "needspinning_no_fence",
        "idle::last_spinner_finds_work",
        DEADLOCK,
    ),
    ("drop_no_fence", "idle::last_spinner_finds_work", DEADLOCK),
    (
        "resetspinning_no_wakep",
        "idle::last_spinner_finds_work",
        DEADLOCK,
    ),
    (
        "recheck_no_needspinning",
        "idle::spinner_finds_work_but_no_p",
        DEADLOCK,
    ),
    ("runqsize_relaxed", "idle::batch_in_flight", DEADLOCK),
    ("timer_no_fence", "idle::timer_against_timekeeper", DEADLOCK),
    ("start_no_wakep", "idle::stop_against_idle", DEADLOCK),
    ("drop_while_stopping", "idle::stop_against_idle", ENDLESS),
    (
        "transit_ignores_tray",
        "locked::deliver_against_idle",
        DEADLOCK,
    ),
    (
        "tray_kept_without_p",
        "locked::deliver_with_the_only_p",
        LOST,
    ),
    (
        "tray_kept_at_stop",
        "locked::deliver_against_stop",
        DEADLOCK,
    ),
    (
        "locked_keeps_p",
        "locked::park_locked_against_ready",
        "two owners",
    ),
    ("retake_then_lock", "handoff::idle_m_retakes", LOST),
    ("start_call_idle", "handoff::call_against_stop", DEADLOCK),
    (
        "reenter_anybodys",
        "handoff::two_calls_on_one_p",
        "two owners",
    ),
    (
        "retake_no_cas",
        "handoff::call_against_retake",
        "two owners",
    ),
    ("park_unlock_early", "chan::send_against_receive", READIED),
    ("send_no_recheck", "chan::send_against_receive", DEADLOCK),
    ("recv_no_recheck", "chan::send_against_receive", DEADLOCK),
    ("value_after_wake", "chan::send_against_receive", RACE),
    (
        "full_buffer_forgets_sender",
        "chan::sender_waits_at_a_full_buffer",
        DEADLOCK,
    ),
    ("close_in_two_steps", "chan::close_against_send", DEADLOCK),
    (
        "close_forgets_senders",
        "chan::close_against_send",
        DEADLOCK,
    ),
    (
        "close_forgets_receivers",
        "chan::close_against_receivers",
        DEADLOCK,
    ),
    (
        "batch_readies_one",
        "chan::close_against_receivers",
        DEADLOCK,
    ),
    ("last_sender_relaxed", "chan::last_sender_closes", RACE),
    ("closed_relaxed", "chan::closed_at_a_glance", RACE),
    (
        "closed_before_empty",
        "chan::try_receive_against_close",
        "empty before it was closed",
    ),
    ("claim_no_cas", "select::two_wakers", READIED),
    (
        "pop_stops_at_a_loser",
        "select::loser_is_passed_over",
        DEADLOCK,
    ),
    ("select_unlock_early", "select::two_wakers", READIED),
    ("select_leaves_one_listed", "select::two_wakers", LISTED),
    (
        "select_locks_unsorted",
        "select::two_that_face_each_other",
        DEADLOCK,
    ),
    ("select_locks_twice", "select::one_channel_twice", DEADLOCK),
    ("mutex_lock_relaxed", "mutex::two_lock", RACE),
    ("mutex_unlock_relaxed", "mutex::two_lock", RACE),
    ("mutex_slow_unlock_relaxed", "mutex::three_lock", RACE),
    ("mutex_waits_in_two_steps", "mutex::two_lock", DEADLOCK),
    ("mutex_unlock_wakes_nobody", "mutex::two_lock", DEADLOCK),
    ("mutex_clears_waiters", "mutex::three_lock", DEADLOCK),
    ("mutex_stays_woken", "mutex::three_lock", DEADLOCK),
    (
        "mutex_hands_over_free",
        "mutex::three_lock_and_starve",
        RACE,
    ),
    (
        "mutex_hands_over_unsaid",
        "mutex::three_lock_and_starve",
        DEADLOCK,
    ),
    (
        "last_reader_forgets_writer",
        "sync::readers_and_a_writer",
        DEADLOCK,
    ),
    (
        "readers_come_in_uncounted",
        "sync::readers_and_a_writer",
        RACE,
    ),
    ("writer_comes_in_unsaid", "sync::writers_and_a_reader", RACE),
    ("cond_enlists_late", "sync::wait_against_signal", DEADLOCK),
    ("cond_no_recheck", "sync::wait_against_signal", DEADLOCK),
    ("cond_always_asleep", "sync::wait_against_signal", READIED),
    ("acquire_in_two_steps", "sync::semaphore", DEADLOCK),
    ("release_counts_twice", "sync::semaphore", "permits left"),
    ("waitgroup_add_relaxed", "sync::wait_against_two_done", RACE),
    (
        "waitgroup_no_recheck",
        "sync::wait_against_two_done",
        DEADLOCK,
    ),
    ("waitgroup_glances", "sync::wait_against_two_done", DEADLOCK),
    ("once_done_relaxed", "sync::once", RACE),
    ("once_no_recheck", "sync::once", DEADLOCK),
];

/// Planted bugs that no model can find, with the reason: reviewed instead.
const REVIEWED: &[(&str, &str)] = &[(
    "ring_head_relaxed",
    "lets a thief's read of a slot happen after the owner overwrote it; loom runs each thread's reads in their order",
)];

/// Crates that have models, each in its test program `loom`.
const CRATES: [&str; 2] = ["sched", "csp"];

/// What became of one run.
struct Ran {
    passed: bool,
    timed_out: bool,
    output: String,
    seconds: f64,
}

#[test]
fn models_hold() {
    let _one_at_a_time = TURN.lock();
    let models = list();
    let runs = in_parallel(&models, |model| run(model, None));
    println!(
        "\n{:42} {:>14} {:>12} {:>8}",
        "model", "interleavings", "preemptions", "seconds"
    );
    let mut failed = vec![];
    for (model, ran) in models.iter().zip(&runs) {
        let words: Vec<&str> = report_line(ran).split_whitespace().collect();
        match words[..] {
            [_, n, _, k] if ran.passed => {
                println!("{:42} {n:>14} {k:>12} {:8.1}", model.name, ran.seconds)
            }
            _ => failed.push(format!("{}: {}\n{}", model.name, finding(ran), ran.output)),
        }
    }
    assert!(
        failed.is_empty(),
        "models that failed:\n{}",
        failed.join("\n")
    );
}

#[test]
fn planted_bugs_are_found() {
    let _one_at_a_time = TURN.lock();
    let models = list();
    let runs = in_parallel(MUTANTS, |(mutant, name, _)| {
        let model = models.iter().find(|m| m.name == *name);
        let model = model.unwrap_or_else(|| panic!("there is no model {name}"));
        run(model, Some(mutant))
    });
    println!(
        "\n{:26} {:38} {:>8}  finding",
        "planted bug", "model", "seconds"
    );
    let mut missed = vec![];
    for ((mutant, model, says), ran) in MUTANTS.iter().zip(&runs) {
        println!(
            "{mutant:26} {model:38} {:8.1}  {}",
            ran.seconds,
            finding(ran)
        );
        if ran.passed || ran.timed_out || !finding(ran).contains(says) {
            missed.push(format!(
                "{mutant} in {model}, expected \"{says}\": {}",
                finding(ran)
            ))
        }
    }
    for (mutant, why) in REVIEWED {
        println!("{mutant:26} reviewed, not tested: {why}")
    }
    assert!(
        missed.is_empty(),
        "planted bugs that were not found:\n{}",
        missed.join("\n")
    );
}

/// A place where a bug can be planted, and that no line above names, would never be tried.
#[test]
fn every_planted_bug_is_tried() {
    let mut names = vec![];
    for dir in [
        "kernel/sched/src",
        "kernel/base/src",
        "kernel/sched/tests/loom",
        "kernel/csp/src",
        "kernel/csp/tests/loom",
    ] {
        sources(&root().join(dir), &mut |text| {
            for call in ["mutant(\"", "order(\""] {
                names.extend(
                    text.split(call)
                        .skip(1)
                        .filter_map(|t| t.split('"').next())
                        .map(str::to_string),
                )
            }
        })
    }
    names.sort();
    names.dedup();
    let mut listed: Vec<String> = MUTANTS
        .iter()
        .map(|m| m.0)
        .chain(REVIEWED.iter().map(|r| r.0))
        .map(str::to_string)
        .collect();
    listed.sort();
    assert_eq!(
        names, listed,
        "left: named in the sources; right: in the tables here"
    );
}

fn sources(dir: &Path, f: &mut dyn FnMut(&str)) {
    for entry in std::fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())) {
        let path = entry.expect("a directory entry").path();
        if path.is_dir() {
            sources(&path, f)
        } else if path.extension().is_some_and(|e| e == "rs") {
            f(
                &std::fs::read_to_string(&path)
                    .unwrap_or_else(|e| panic!("{}: {e}", path.display())),
            )
        }
    }
}

/// The two tests would share the processors.
static TURN: Mutex<()> = Mutex::new(());

/// The test programs with the models, built at the first call.
fn programs() -> &'static [PathBuf] {
    static PROGRAMS: OnceLock<Vec<PathBuf>> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let root = root();
        let built = Command::new(env!("CARGO"))
            .args(["test", "--release", "--test", "loom", "--no-run"])
            .args(CRATES.map(|name| ["-p", name]).concat())
            .arg("--message-format=json-render-diagnostics")
            .current_dir(&root)
            .env("RUSTFLAGS", "--cfg ringo_loom")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .env("CARGO_TARGET_DIR", root.join("target/loom"))
            .stderr(Stdio::inherit())
            .output()
            .expect("cargo starts");
        assert!(built.status.success(), "the models do not build");
        let programs: Vec<PathBuf> = String::from_utf8_lossy(&built.stdout)
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
            .filter(|m| m["target"]["name"] == "loom" && m["target"]["kind"][0] == "test")
            .filter_map(|m| m["executable"].as_str().map(PathBuf::from))
            .collect();
        assert_eq!(programs.len(), CRATES.len(), "programs that cargo names");
        programs
    })
}

/// The workspace.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("tests/ lies in it").to_path_buf()
}

/// A model: its name, and the program that has it.
struct Model {
    name: String,
    program: &'static Path,
}

/// All models.
fn list() -> Vec<Model> {
    let mut models = vec![];
    for program in programs() {
        let out = Command::new(program)
            .args(["--list", "--format", "terse"])
            .output()
            .expect("the models' program starts");
        let names = String::from_utf8_lossy(&out.stdout);
        let names: Vec<_> = names
            .lines()
            .filter_map(|line| line.strip_suffix(": test"))
            .collect();
        assert!(!names.is_empty(), "no models in {}", program.display());
        models.extend(names.into_iter().map(|name| Model {
            name: name.to_string(),
            program,
        }))
    }
    models
}

/// Explore one model, with a planted bug or without.
fn run(model: &Model, mutant: Option<&str>) -> Ran {
    let start = Instant::now();
    let mut child = Command::new(model.program)
        .args(["--exact", &model.name, "--nocapture", "--test-threads=1"])
        .env_remove("LOOM_MAX_PREEMPTIONS")
        .env("RUST_BACKTRACE", "0")
        .env("RINGO_MUTANT", mutant.unwrap_or(""))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the models' program starts");
    let readers = [
        child.stdout.take().map(reader),
        child.stderr.take().map(reader),
    ];
    let mut timed_out = false;
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child of ours") {
            break status;
        }
        if start.elapsed() > LIMIT && !timed_out {
            timed_out = true;
            child.kill().expect("a child of ours");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let output = readers
        .into_iter()
        .flatten()
        .filter_map(|r| r.join().ok())
        .collect();
    Ran {
        passed: status.success(),
        timed_out,
        output,
        seconds: start.elapsed().as_secs_f64(),
    }
}

/// Reads all that comes, so that the writer never waits.
fn reader(mut from: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = vec![];
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// The line that a model prints at its end, from the word `interleavings` on.
fn report_line(ran: &Ran) -> &str {
    let line = ran
        .output
        .lines()
        .find_map(|l| l.split_once("RINGO-MODEL "));
    line.map_or("", |(_, line)| line)
}

/// What the model found: the first panic's text in one line.
fn finding(ran: &Ran) -> String {
    if ran.timed_out {
        return format!("nothing within {LIMIT:?}");
    }
    let mut lines = ran
        .output
        .lines()
        .skip_while(|l| !l.contains("panicked at"));
    match lines.next() {
        None => "nothing".to_string(),
        Some(_) => {
            let text: Vec<&str> = lines
                .take_while(|l| !l.starts_with("note:") && !l.starts_with("stack backtrace"))
                .take(3)
                .map(str::trim)
                .collect();
            text.join(" ").chars().take(72).collect()
        }
    }
}

/// `f` of each, as many at a time as there are processors.
fn in_parallel<T: Sync>(items: &[T], f: impl Fn(&T) -> Ran + Sync) -> Vec<Ran> {
    let next = AtomicUsize::new(0);
    let done: Vec<OnceLock<Ran>> = items.iter().map(|_| OnceLock::new()).collect();
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Relaxed);
                    let Some(item) = items.get(i) else { break };
                    let _ = done[i].set(f(item));
                }
            });
        }
    });
    done.into_iter().filter_map(OnceLock::into_inner).collect()
}
