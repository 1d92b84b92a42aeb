//! What goes into a run of a benchmark, and what comes out of it.

use alloc::vec::Vec;
use core::fmt;
use ringo::prelude::Duration;

/// What a run is given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// Ps that it runs on.
    pub procs: usize,
    /// Every count is multiplied by this; 1: as it is defined.
    pub scale: f64,
}

impl Params {
    /// `n`, scaled; at least 1.
    pub fn scaled(&self, n: u64) -> u64 {
        ((n as f64 * self.scale) as u64).max(1)
    }

    /// Whether less is to be done than is defined. What grows faster than its count, as a tree, then takes a smaller one.
    pub fn is_scaled_down(&self) -> bool {
        self.scale < 1.0
    }
}

/// A value in a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A count.
    Int(u64),
    /// A figure; six digits of it are written.
    Num(f64),
    /// A word.
    Text(&'static str),
}

impl fmt::Display for Value {
    /// As JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(n) => write!(f, "{n}"),
            Value::Num(x) => write!(f, "{}", six_digits(*x)),
            Value::Text(text) => write!(f, "\"{text}\""),
        }
    }
}

/// `x` with six significant digits; 0 for what is no number.
pub fn six_digits(x: f64) -> f64 {
    if !x.is_finite() {
        return 0.0;
    }
    alloc::format!("{x:.5e}").parse().unwrap_or(x)
}

/// What a run has found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// How long it took.
    pub elapsed: Duration,
    /// Operations in that time.
    pub ops: u64,
    /// How late each of many was; empty where the time is the figure.
    pub late_ns: Vec<u64>,
    /// Its settings.
    pub params: Vec<(&'static str, Value)>,
    /// What else it found.
    pub extra: Vec<(&'static str, Value)>,
}

impl Sample {
    /// A run of `ops` operations that took so long.
    pub fn timed(elapsed: Duration, ops: u64) -> Sample {
        Sample {
            elapsed,
            ops,
            ..Sample::default()
        }
    }

    /// A run that has seen how late these were.
    pub fn late(late_ns: Vec<u64>) -> Sample {
        Sample {
            ops: late_ns.len() as u64,
            late_ns,
            ..Sample::default()
        }
    }

    /// With a setting that is a count.
    pub fn param(mut self, name: &'static str, n: u64) -> Sample {
        self.params.push((name, Value::Int(n)));
        self
    }

    /// With a setting that is a word.
    pub fn word(mut self, name: &'static str, text: &'static str) -> Sample {
        self.params.push((name, Value::Text(text)));
        self
    }

    /// With one more figure.
    pub fn extra(mut self, name: &'static str, figure: f64) -> Sample {
        self.extra.push((name, Value::Num(figure)));
        self
    }

    /// Nanoseconds of an operation.
    pub fn ns_per_op(&self) -> f64 {
        self.elapsed.as_nanos() as f64 / self.ops.max(1) as f64
    }
}
