//! What a guest prints: a JSON object a line, the same keys on both sides.

use serde_json::Value;

use crate::bench_table::Row;
use crate::{Failure, Result};

/// A time that both sides tell.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The benchmark, with whatever else tells its figures apart.
    pub name: String,
    /// Ps, Go's GOMAXPROCS.
    pub procs: u64,
    /// In ns: the median of an operation, of the whole, or a percentile.
    pub ns: f64,
}

/// What is a distribution: of these the percentiles are compared.
const DISTRIBUTIONS: &[&str] = &["preempt_sleep1ms", "sleepers"];

/// The figures in a line, or `None` if there are none: what else a guest says.
///
/// # Errors
///
/// It begins as an object and is none.
pub fn row(line: &str) -> Result<Option<Row>> {
    // Something else may stand before it on a serial line.
    let Some(at) = line.find("{\"bench\"") else {
        return Ok(None);
    };
    let text = line[at..].trim_end();
    let value: Value = serde_json::from_str(text)
        .map_err(|error| Failure::new(format!("a figure cannot be read ({error}): {text}")))?;
    Ok(Some(Row(value)))
}

/// The times in a line; none in one that tells of something else.
pub fn figures(row: &Row) -> Vec<Figure> {
    if !matches!(row.0["unit"].as_str(), Some("ns" | "ns/op")) {
        return Vec::new();
    }
    let (label, procs) = (row.label(), row.procs());
    let of = |name: String, ns: Option<f64>| {
        Some(Figure {
            name,
            procs,
            ns: ns?,
        })
    };
    let all = if DISTRIBUTIONS.contains(&row.name()) {
        ["p50", "p99"]
            .map(|p| of(format!("{label} {p}"), row.extra(p)))
            .to_vec()
    } else {
        vec![of(label, row.number("med"))]
    };
    all.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Vec<Figure> {
        figures(&row(line).unwrap().unwrap())
    }

    fn figure(name: &str, procs: u64, ns: f64) -> Figure {
        let name = name.to_string();
        Figure { name, procs, ns }
    }

    #[test]
    fn an_operation() {
        let line = r#"[ 1.2] {"bench":"yield2","env":"x","procs":1,"unit":"ns/op","ops":1,"reps":3,"min":1,"med":2.5,"max":3}"#;
        assert_eq!(of(line), [figure("yield2", 1, 2.5)]);
    }

    #[test]
    fn a_distribution_and_variants() {
        let line = r#"{"bench":"preempt_sleep1ms","procs":2,"unit":"ns","med":7,"params":{"spinners":8},"extra":{"p50":7,"p99":90}}"#;
        let wanted = [
            figure("preempt_sleep1ms spinners=8 p50", 2, 7.0),
            figure("preempt_sleep1ms spinners=8 p99", 2, 90.0),
        ];
        assert_eq!(of(line), wanted);
        let line = r#"{"bench":"fib_serial","procs":1,"unit":"ns/op","med":7,"params":{"n":27}}"#;
        assert_eq!(of(line), [figure("fib_serial n=27", 1, 7.0)]);
    }

    #[test]
    fn what_is_no_time() {
        assert_eq!(row("Linux says something"), Ok(None));
        assert_eq!(of(r#"{"bench":"info","procs":1,"unit":"","med":0}"#), []);
        assert_eq!(
            of(r#"{"bench":"x","procs":1,"unit":"instructions","med":5}"#),
            []
        );
        let cut = row(r#"{"bench":"yield2","procs"#).unwrap_err().line;
        assert!(cut.starts_with("a figure cannot be read (EOF"), "{cut}");
    }
}
