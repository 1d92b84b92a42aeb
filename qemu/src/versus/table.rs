//! The two sides beside each other.

use serde_json::{Value, json};

use super::Boot;
use super::lines::{Figure, figures};
use crate::bench_table::time;

/// Loops of plain code; both sides run them, so that it shows whether the host was the same for both.
pub const CALIBRATION: &[&str] = &["calib_alu", "calib_mem"];
/// More than that is no chance.
const CALIBRATION_MAY_DIFFER: f64 = 0.1;
/// From the start of QEMU to the first line of the first goroutine.
const BOOT: &str = "boot to first goroutine";

/// A benchmark, and for each boot what either side says of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    name: String,
    procs: u64,
    go: Vec<f64>,
    ours: Vec<f64>,
}

/// Pairs in the order in which they are told; `go` and `ours` are boots that took turns.
pub fn pairs(go: &[Boot], ours: &[Boot]) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = Vec::new();
    let mut add = |boots: &[Boot], side: fn(&mut Pair) -> &mut Vec<f64>| {
        for boot in boots {
            for Figure { name, procs, ns } in told(boot) {
                let at = pairs
                    .iter()
                    .position(|pair| pair.name == name && pair.procs == procs);
                let at = at.unwrap_or_else(|| {
                    let (go, ours) = (Vec::new(), Vec::new());
                    pairs.push(Pair {
                        name,
                        procs,
                        go,
                        ours,
                    });
                    pairs.len() - 1
                });
                side(&mut pairs[at]).push(ns);
            }
        }
    };
    add(go, |pair| &mut pair.go);
    add(ours, |pair| &mut pair.ours);
    pairs
}

/// A boot's figures, each once: of several of one name the median.
fn told(boot: &Boot) -> Vec<Figure> {
    let mut all: Vec<(Figure, Vec<f64>)> = Vec::new();
    let first = boot.first_goroutine.map(|time| Figure {
        name: BOOT.to_string(),
        procs: 0,
        ns: time.as_secs_f64() * 1e9,
    });
    for figure in boot.rows.iter().flat_map(figures).chain(first) {
        let same = |(other, _): &&mut (Figure, Vec<f64>)| {
            other.name == figure.name && other.procs == figure.procs
        };
        match all.iter_mut().find(same) {
            Some((_, values)) => values.push(figure.ns),
            None => all.push((figure.clone(), vec![figure.ns])),
        }
    }
    all.into_iter()
        .map(|(figure, values)| Figure {
            ns: median(&values),
            ..figure
        })
        .collect()
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0
}

/// How many times faster ours is.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ratio {
    /// Of the medians of all boots.
    medians: f64,
    /// The least of two boots that followed each other.
    least: f64,
    /// And the most.
    most: f64,
}

impl Pair {
    /// `None`: only one side has it.
    fn ratio(&self) -> Option<Ratio> {
        if self.go.is_empty() || self.ours.is_empty() {
            return None;
        }
        let turns = self.go.iter().zip(&self.ours).map(|(go, ours)| go / ours);
        Some(Ratio {
            medians: median(&self.go) / median(&self.ours),
            least: turns.clone().fold(f64::INFINITY, f64::min),
            most: turns.fold(0.0, f64::max),
        })
    }

    fn line(&self, width: usize, show: fn(f64) -> String) -> String {
        let none = || "-".to_string();
        let cell = |side: &[f64]| match side {
            [] => none(),
            _ => show(median(side)),
        };
        let procs = match self.procs {
            0 => none(),
            n => n.to_string(),
        };
        let ratio = self.ratio().map_or_else(none, |ratio| match self.go.len() {
            1 => format!("{:.2}", ratio.medians),
            _ => format!(
                "{:.2} ({:.2} to {:.2})",
                ratio.medians, ratio.least, ratio.most
            ),
        });
        let (name, go, ours) = (&self.name, cell(&self.go), cell(&self.ours));
        format!("{name:width$} {procs:>2} {go:>11} {ours:>11}  {ratio}\n")
    }

    /// The same for scripts.
    pub fn json(&self, unit: &str) -> Value {
        let ratio = self.ratio();
        json!({
            "event": "versus", "bench": self.name, "procs": self.procs, "unit": unit, "go": self.go, "ours": self.ours,
            "ratio": ratio.map(|r| r.medians), "ratio_min": ratio.map(|r| r.least), "ratio_max": ratio.map(|r| r.most),
        })
    }
}

/// The table of times, with a line of headings.
pub fn times(pairs: &[Pair]) -> String {
    table(pairs, time)
}

/// The table of counts of instructions.
pub fn counts(pairs: &[Pair]) -> String {
    table(pairs, |count| format!("{count:.0}"))
}

fn table(pairs: &[Pair], show: fn(f64) -> String) -> String {
    let names = pairs.iter().map(|pair| pair.name.len());
    let width = names.chain(["benchmark".len()]).max().unwrap_or(0);
    let head = format!(
        "{:width$} {:>2} {:>11} {:>11}  Go / ringo\n",
        "benchmark", "P", "Go", "ringo"
    );
    let lines = pairs.iter().map(|pair| pair.line(width, show));
    [head].into_iter().chain(lines).collect()
}

/// A line for each loop of plain code that took unlike times on the two sides.
pub fn unlike(pairs: &[Pair]) -> Vec<String> {
    let is_loop = |pair: &&Pair| CALIBRATION.contains(&pair.name.as_str());
    let line = |pair: &Pair| {
        let ratio = pair.ratio()?.medians;
        let (slower, times) = match ratio {
            ratio if ratio > 1.0 => ("Go", ratio),
            ratio => ("ringo", 1.0 / ratio),
        };
        let percent = (times - 1.0) * 100.0;
        (times > 1.0 + CALIBRATION_MAY_DIFFER).then(|| {
            format!(
                "{} took {percent:.0} % longer on the side of {slower}: the host was not the same for both, a ratio is \
                 worth no more than that",
                pair.name
            )
        })
    };
    pairs.iter().filter(is_loop).filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench_table::Row;
    use std::time::Duration;

    /// Fixtures: what either side prints.
    fn boot(first_ms: u64, figures: &[(&str, u64, f64)]) -> Boot {
        let line = |(bench, procs, med): &(&str, u64, f64)| {
            json!({
                "bench": bench, "env": "x", "procs": procs, "unit": "ns/op", "ops": 9, "reps": 3, "min": med, "med": med,
                "max": med, "params": {}, "extra": {},
            })
        };
        Boot {
            first_goroutine: Some(Duration::from_millis(first_ms)),
            rows: figures.iter().map(line).map(Row).collect(),
            others_cores: None,
        }
    }

    #[test]
    fn ratios_are_of_medians_and_their_range_of_boots_in_turn() {
        let go = [600.0, 700.0, 900.0].map(|ns| boot(2000, &[("yield2", 1, ns)]));
        let ours = [100.0, 100.0, 300.0].map(|ns| boot(200, &[("yield2", 1, ns)]));
        let pairs = pairs(&go, &ours);
        assert_eq!(
            pairs[0].ratio(),
            Some(Ratio {
                medians: 7.0,
                least: 3.0,
                most: 7.0
            })
        );
        assert_eq!(pairs[1].name, BOOT);
        assert_eq!(
            pairs[1].ratio(),
            Some(Ratio {
                medians: 10.0,
                least: 10.0,
                most: 10.0
            })
        );
        let json = pairs[0].json("ns");
        assert_eq!(json["ratio"], 7.0);
        assert_eq!(json["go"], json!([600.0, 700.0, 900.0]));
    }

    #[test]
    fn a_table() {
        let go = [boot(
            2190,
            &[
                ("chan_pingpong", 1, 3216.0),
                ("chan_pingpong", 2, 3430.0),
                ("calib_syscall", 1, 541.0),
            ],
        )];
        let ours = [boot(
            180,
            &[("chan_pingpong", 1, 804.0), ("switch", 1, 23.5)],
        )];
        let wanted = "\
benchmark                P          Go       ringo  Go / ringo
chan_pingpong            1     3216 ns      804 ns  4.00
chan_pingpong            2     3430 ns           -  -
calib_syscall            1      541 ns           -  -
boot to first goroutine  -     2190 ms      180 ms  12.17
switch                   1           -     23.5 ns  -
";
        assert_eq!(times(&pairs(&go, &ours)), wanted);
    }

    #[test]
    fn of_several_boots_the_range_is_shown() {
        let go = [600.0, 700.0].map(|ns| boot(1, &[("yield2", 1, ns)]));
        let ours = [100.0, 150.0].map(|ns| boot(1, &[("yield2", 1, ns)]));
        let text = times(&pairs(&go, &ours));
        assert!(
            text.contains("  650 ns      125 ns  5.20 (4.67 to 6.00)\n"),
            "{text}"
        );
    }

    #[test]
    fn a_host_that_was_not_the_same_is_said() {
        let go = [boot(
            1,
            &[
                ("calib_alu", 1, 4.5),
                ("calib_mem", 1, 5.0),
                ("yield2", 1, 600.0),
            ],
        )];
        let ours = [boot(
            1,
            &[
                ("calib_alu", 1, 4.2),
                ("calib_mem", 1, 6.0),
                ("yield2", 1, 100.0),
            ],
        )];
        let lines = unlike(&pairs(&go, &ours));
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(
            lines[0].starts_with("calib_mem took 20 % longer on the side of ringo"),
            "{lines:?}"
        );
    }

    #[test]
    fn several_lines_of_one_name_are_one_figure() {
        let go = [boot(
            1,
            &[("parked", 1, 5.0), ("parked", 1, 9.0), ("parked", 1, 6.0)],
        )];
        assert_eq!(pairs(&go, &[])[0].go, [6.0]);
    }
}
