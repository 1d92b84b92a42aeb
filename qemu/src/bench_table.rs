//! The figures of `cargo run -- bench` as a table: each beside what bounds it.

use bench_names::{Group, Limit, Name, find};
use serde_json::Value;

/// A figure: a line that the machine printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Row(pub Value);

impl Row {
    /// The benchmark's name.
    pub fn name(&self) -> &str {
        self.0["bench"].as_str().unwrap_or("")
    }

    /// A number by its key.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.0[key].as_f64()
    }

    /// One of the other figures.
    pub fn extra(&self, key: &str) -> Option<f64> {
        self.0["extra"][key].as_f64()
    }

    /// Ps that it ran on.
    pub fn procs(&self) -> u64 {
        self.0["procs"].as_u64().unwrap_or(0)
    }

    /// Its name, with the setting that tells it from others of that name.
    pub fn label(&self) -> String {
        let name = self.name();
        let setting = match name {
            "fib_serial" => "n",
            "preempt_sleep1ms" => "spinners",
            "parked" => "tasks",
            _ => return name.to_string(),
        };
        let value = self.0["params"][setting].as_u64();
        value.map_or(name.to_string(), |n| format!("{name} {setting}={n}"))
    }
}

/// The table of what was asked for, and of what bounds it.
pub fn table(rows: &[Row], names: &[&Name]) -> String {
    let mut text = format!(
        "{:<28} {:>2} {:>10} {:>10} {:>10}  {}\n",
        "benchmark", "P", "least", "median", "most", "beside"
    );
    let is_shown = |row: &&Row| {
        find(row.name()).is_some_and(|name| name.group == Group::Bare || names.contains(&name))
    };
    for row in rows.iter().filter(is_shown) {
        let figure = |key| row.number(key).map_or("-".to_string(), time);
        let line = format!(
            "{:<28} {:>2} {:>10} {:>10} {:>10}  {}",
            row.label(),
            row.procs(),
            figure("min"),
            figure("med"),
            figure("max"),
            beside(row, rows)
        );
        text += line.trim_end();
        text.push('\n')
    }
    text
}

/// Nanoseconds, in a unit that leaves few digits.
pub fn time(ns: f64) -> String {
    let (x, unit) = match ns {
        ns if ns < 1e4 => (ns, "ns"),
        ns if ns < 1e7 => (ns / 1e3, "us"),
        ns if ns < 1e10 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    match x {
        x if x < 100.0 => format!("{x:.1} {unit}"),
        x => format!("{x:.0} {unit}"),
    }
}

/// What bounds a figure, in the same run, and what else is to be known of it.
fn beside(row: &Row, rows: &[Row]) -> String {
    let Some(name) = find(row.name()) else {
        return String::new();
    };
    let mut parts: Vec<String> = limit(row, name.limit, rows).into_iter().collect();
    parts.extend(speed_up(row, rows));
    let ns = |key, what: &str| row.extra(key).map(|ns| format!("{what} {}", time(ns)));
    parts.extend(ns("overhead_ns", "a spawn adds"));
    parts.extend(
        row.extra("bytes_per_task")
            .map(|bytes| format!("{bytes:.0} bytes")),
    );
    parts.extend(ns("wake_exit_ns_per_task", "wake and exit"));
    parts.join("; ")
}

/// What bounds it, and how many times that it is.
fn limit(row: &Row, limit: Limit, rows: &[Row]) -> Option<String> {
    let bare = |name: &str| rows.iter().find(|row| row.name() == name);
    let times = |bound: &str, n: u32, what: &str| {
        let one = bare(bound)?.number("med")?;
        let times = row.number("med")? / (one * f64::from(n));
        let (s, count) = if n == 1 {
            ("", "a".to_string())
        } else {
            ("s", n.to_string())
        };
        Some(format!("{times:.1} x {count} {what}{s}"))
    };
    match limit {
        Limit::None => None,
        Limit::Switches(1) => times("bare_switch", 1, "switch"),
        Limit::Switches(n) => {
            let one = bare("bare_switch")?.number("med")?;
            Some(format!(
                "{:.1} x {n} switches",
                row.number("med")? / (one * f64::from(n))
            ))
        }
        Limit::Lock => times("bare_lock", 1, "lock"),
        Limit::Loads(n) => times("bare_load", n, "load"),
        Limit::Timer => {
            let own = time(row.extra("p99")?);
            let timer = time(bare("bare_timer")?.extra("p99")?);
            Some(format!("p99 {own}, the timer's {timer}"))
        }
        Limit::Ideal => {
            let ideal = row.extra("ideal_ns")?;
            Some(format!(
                "{:.2} x without goroutines",
                row.number("med")? / ideal
            ))
        }
    }
}

/// How many times faster it is than on one P, if that was measured in the same run.
fn speed_up(row: &Row, rows: &[Row]) -> Option<String> {
    let is_time = !row.0["unit"].is_null() && row.extra("p99").is_none();
    let alone = rows
        .iter()
        .find(|other| other.label() == row.label() && other.procs() == 1)?;
    (is_time && row.procs() > 1).then_some(())?;
    Some(format!(
        "{:.2} x as fast as P=1",
        alone.number("med")? / row.number("med")?
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(bench: &str, procs: u64, med: f64, extra: Value) -> Row {
        Row(json!({
            "bench": bench, "env": "e", "procs": procs, "unit": "ns/op", "ops": 1, "reps": 3, "min": med, "med": med, "max": med,
            "params": {"spinners": 4, "n": 27}, "extra": extra,
        }))
    }

    #[test]
    fn figures_stand_beside_their_limits() {
        let rows = [
            row("bare_switch", 1, 25.0, json!({})),
            row("bare_lock", 1, 10.0, json!({})),
            row("bare_timer", 1, 30_000.0, json!({"p99": 60_000})),
            row("yield2", 1, 100.0, json!({})),
            row("chan_pingpong", 1, 800.0, json!({})),
            row("chan_pingpong", 2, 400.0, json!({})),
            row("mutex8", 1, 15.0, json!({})),
            row(
                "forkjoin_fib27c2",
                1,
                3e9,
                json!({"ideal_ns": 1e9, "overhead_ns": 1500.0}),
            ),
            row("preempt_sleep1ms", 1, 40_000.0, json!({"p99": 90_000})),
        ];
        let of = |i: usize| beside(&rows[i], &rows);
        assert_eq!(of(0), "");
        assert_eq!(of(3), "4.0 x a switch");
        assert_eq!(of(4), "16.0 x 2 switches");
        assert_eq!(of(5), "8.0 x 2 switches; 2.00 x as fast as P=1");
        assert_eq!(of(6), "1.5 x a lock");
        assert_eq!(of(7), "3.00 x without goroutines; a spawn adds 1500 ns");
        assert_eq!(of(8), "p99 90.0 us, the timer's 60.0 us");
        assert_eq!(rows[8].label(), "preempt_sleep1ms spinners=4");
        let names = [find("yield2").unwrap()];
        let table = table(&rows, &names);
        let names: Vec<_> = table
            .lines()
            .filter_map(|line| line.split(' ').next())
            .collect();
        assert_eq!(
            names,
            [
                "benchmark",
                "bare_switch",
                "bare_lock",
                "bare_timer",
                "yield2"
            ]
        );
    }

    #[test]
    fn times() {
        let all = [
            (26.04, "26.0 ns"),
            (1234.5, "1234 ns"),
            (12_345.0, "12.3 us"),
            (5.18e9, "5180 ms"),
            (1.5e10, "15.0 s"),
        ];
        for (ns, text) in all {
            assert_eq!(time(ns), text);
        }
    }
}
