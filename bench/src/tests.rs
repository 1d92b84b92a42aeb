//! All benchmarks that run on the host machine, with the smallest counts: results are right and lines are well formed.

use super::*;
use alloc::string::ToString;
use alloc::vec::Vec;
use serde_json::Value as Json;

/// Names that the harness for Go has and we have not: it measures a system call of Linux.
const NOT_OURS: &[&str] = &["calib_syscall"];

/// The benchmarks of the harness for Go.
const OF_THE_HARNESS: &str = "spawn_batch spawn_one yield2 yield1000 chan_pingpong chan_pingpong_many calib_thread_pingpong \
     chan_buf128_1to1 chan_buf128_4to4 select4_recv select4_ready select4_default mutex8 mutex_uncontended parked fib_serial \
     forkjoin_fib27c2 forkjoin_fib27c10 forkjoin_fib35c18 skew_fine skew_mid skew_coarse preempt_sleep1ms sleepers skynet sieve \
     sieve_select ring503 calib_alu calib_mem calib_atomic_add calib_atomic_cas calib_syscall calib_nanotime";

#[test]
fn every_name_has_a_run_and_every_run_a_place() {
    for name in NAMES {
        assert!(
            BENCHES.iter().any(|bench| bench.about == *name),
            "{}",
            name.name
        );
    }
    let rank = |bench: &Bench| NAMES.iter().position(|name| *name == bench.about);
    assert!(
        BENCHES.is_sorted_by_key(rank),
        "they run in the order of their names"
    );
    for name in OF_THE_HARNESS.split_whitespace() {
        assert!(find(name).is_some() != NOT_OURS.contains(&name), "{name}");
    }
}

/// All lines of what runs on this many threads, at a hundredth of the counts or less.
fn lines(threads: usize) -> Vec<Line> {
    let lines = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let theirs = lines.clone();
    sched::testing::run(threads, threads, move || {
        for bench in BENCHES.iter().filter(|bench| bench.runs_here()) {
            let plan = Plan {
                reps: 2,
                scale: 0.002,
                env: "test".into(),
            };
            measure(bench, &plan, &mut |line| {
                theirs.lock().unwrap().push(line.clone())
            })
        }
    });
    let lines = lines.lock().unwrap();
    lines.clone()
}

#[test]
fn lines_are_well_formed() {
    let lines = lines(2);
    let here = BENCHES.iter().filter(|bench| bench.runs_here());
    for bench in here {
        assert!(
            lines.iter().any(|line| line.bench == bench.name()),
            "{}",
            bench.name()
        );
    }
    for line in &lines {
        let text = line.to_string();
        let json: Json = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        let keys = [
            "bench", "env", "procs", "unit", "ops", "reps", "min", "med", "max", "params", "extra",
        ];
        for key in keys {
            assert!(json.get(key).is_some(), "{key}: {text}");
        }
        let figure = |key: &str| json[key].as_f64().unwrap();
        assert!(
            figure("min") <= figure("med") && figure("med") <= figure("max"),
            "{text}"
        );
        assert!(
            figure("ops") >= 1.0 && json["params"] != serde_json::json!({}),
            "{text}"
        );
        assert!([1, 2].contains(&line.procs), "{text}");
    }
    for bench in ["chan_pingpong", "mutex8", "skynet"] {
        let procs: Vec<usize> = lines
            .iter()
            .filter(|line| line.bench == bench)
            .map(|line| line.procs)
            .collect();
        assert_eq!(procs, [1, 2], "{bench}");
    }
}

#[test]
fn six_digits_are_written() {
    let text = |x| Value::Num(x).to_string();
    assert_eq!(text(123.456_789), "123.457");
    assert_eq!(text(1_234_567.9), "1234570");
    assert_eq!((text(0.0), text(f64::NAN)), ("0".into(), "0".into()));
}
