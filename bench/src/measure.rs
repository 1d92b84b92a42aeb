//! Several runs of a benchmark, and the line that comes of them.

use crate::{Bench, Line, Params, Procs, Sample, Unit, Value};
use alloc::string::String;
use alloc::vec::Vec;
use ringo::prelude::{gomaxprocs, num_cpu};

/// How benchmarks are run.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Measured runs of each; one more comes first, which is not measured.
    pub reps: usize,
    /// Every count is multiplied by this.
    pub scale: f64,
    /// What the lines call the place.
    pub env: String,
}

/// Runs `bench` on each number of Ps that it is for, and hands each line to `tell` as soon as it is there.
///
/// # Panics
/// If the plan has no runs, or if the benchmark's own result is wrong.
pub fn measure(bench: &Bench, plan: &Plan, tell: &mut dyn FnMut(&Line)) {
    assert!(plan.reps > 0, "measured no times");
    for procs in procs(bench.procs) {
        let before = gomaxprocs(procs);
        let params = Params {
            procs,
            scale: plan.scale,
        };
        let mut line = Line {
            bench: bench.name(),
            env: plan.env.clone(),
            procs,
            unit: bench.unit.word(),
            ops: 0,
            reps: 1,
            min: 0.0,
            med: 0.0,
            max: 0.0,
            params: Vec::new(),
            extra: Vec::new(),
        };
        match bench.unit {
            Unit::PerOp | Unit::Run => {
                timed(bench, plan.reps, &params, &mut line);
                tell(&line)
            }
            Unit::Late => {
                late((bench.run)(&params), &mut line);
                tell(&line)
            }
            Unit::EachRun => {
                for rep in 0..plan.reps {
                    each(rep, (bench.run)(&params), &mut line);
                    tell(&line)
                }
            }
        }
        gomaxprocs(before);
    }
}

/// The numbers of Ps that are meant.
fn procs(rule: Procs) -> Vec<usize> {
    let cpus = num_cpu();
    match rule {
        Procs::One => [1].into(),
        Procs::Two => [cpus.min(2)].into(),
        Procs::All => [cpus].into(),
        Procs::Each => {
            let powers = (0..).map(|i| 1 << i).take_while(|procs| *procs < cpus);
            powers.chain([cpus]).collect()
        }
    }
}

fn timed(bench: &Bench, reps: usize, params: &Params, line: &mut Line) {
    (bench.run)(params);
    let mut samples: Vec<Sample> = (0..reps).map(|_| (bench.run)(params)).collect();
    let figure = |sample: &Sample| match bench.unit {
        Unit::Run => sample.elapsed.as_nanos() as f64,
        _ => sample.ns_per_op(),
    };
    samples.sort_by(|a, b| figure(a).total_cmp(&figure(b)));
    let (least, most) = (&samples[0], &samples[reps - 1]);
    line.min = figure(least);
    line.max = figure(most);
    line.med = (figure(&samples[(reps - 1) / 2]) + figure(&samples[reps / 2])) / 2.0;
    line.reps = reps;
    let middle = samples.swap_remove((reps - 1) / 2);
    line.ops = middle.ops;
    line.params = middle.params;
    line.extra = middle.extra;
}

/// Lateness: minimum, median and maximum of all samples, and quantiles.
fn late(sample: Sample, line: &mut Line) {
    let mut sorted = sample.late_ns;
    sorted.sort_unstable();
    let at = |per_mille: usize| {
        let i = (sorted.len().saturating_sub(1) * per_mille + 500) / 1000;
        sorted.get(i).copied().unwrap_or(0)
    };
    let sum: f64 = sorted.iter().map(|ns| *ns as f64).sum();
    line.ops = sample.ops;
    line.min = at(0) as f64;
    line.med = at(500) as f64;
    line.max = at(1000) as f64;
    line.params = sample.params;
    let quantiles = [("p50", 500), ("p90", 900), ("p99", 990), ("p999", 999)];
    line.extra = quantiles
        .map(|(name, per_mille)| (name, Value::Int(at(per_mille))))
        .into();
    let mean = sum / sorted.len().max(1) as f64;
    line.extra.push(("mean", Value::Num(mean)));
    line.extra.extend(sample.extra);
}

/// Run `rep` alone.
fn each(rep: usize, sample: Sample, line: &mut Line) {
    let figure = sample.ns_per_op();
    (line.min, line.med, line.max) = (figure, figure, figure);
    line.ops = sample.ops;
    line.params = sample.params;
    line.params.push(("rep", Value::Int(rep as u64)));
    line.extra = sample.extra;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Needs;
    use crate::bench;
    use ringo::prelude::Duration;

    fn line() -> Line {
        let unit = "";
        Line {
            bench: "x",
            env: String::new(),
            procs: 1,
            unit,
            ops: 0,
            reps: 1,
            min: 0.0,
            med: 0.0,
            max: 0.0,
            params: Vec::new(),
            extra: Vec::new(),
        }
    }

    #[test]
    fn quantiles_of_lateness() {
        let mut line = line();
        late(Sample::late((0..=100).rev().collect()), &mut line);
        assert_eq!((line.min, line.med, line.max), (0.0, 50.0, 100.0));
        assert_eq!((line.ops, line.extra[2]), (101, ("p99", Value::Int(99))));
        assert_eq!(line.extra[4], ("mean", Value::Num(50.0)));
        late(Sample::late(Vec::new()), &mut line);
        assert_eq!((line.ops, line.max), (0, 0.0));
    }

    #[test]
    fn the_first_run_is_not_measured() {
        use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
        static RUNS: AtomicU64 = AtomicU64::new(0);
        // Takes 1, 3, 2, 4 us for 10 operations.
        fn run(_: &Params) -> Sample {
            let us = [1, 3, 2, 4][RUNS.fetch_add(1, Relaxed) as usize];
            Sample::timed(Duration::from_micros(us), 10).extra("us", us as f64)
        }
        let mut line = line();
        let params = Params {
            procs: 1,
            scale: 1.0,
        };
        let it = bench("yield2", Needs::Nothing, Procs::One, Unit::PerOp, run);
        timed(&it, 3, &params, &mut line);
        assert_eq!((line.min, line.med, line.max), (200.0, 300.0, 400.0));
        assert_eq!((line.reps, line.ops), (3, 10));
        assert_eq!(line.extra, [("us", Value::Num(3.0))]);
    }
}
