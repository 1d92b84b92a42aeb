//! A line of figures, in the form of the harness for Go: one JSON object.

use crate::Value;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Figures of a benchmark on one number of Ps.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The benchmark's name.
    pub bench: &'static str,
    /// Where it ran, such as `ringo-qemu-tcg-smp2`. Written as it is: a word without quotes.
    pub env: String,
    /// Ps that it ran on.
    pub procs: usize,
    /// What `min`, `med` and `max` are.
    pub unit: &'static str,
    /// Operations of a run.
    pub ops: u64,
    /// Runs that were measured.
    pub reps: usize,
    /// The least of them, or of a run's samples.
    pub min: f64,
    /// The one in the middle.
    pub med: f64,
    /// The most.
    pub max: f64,
    /// Its settings.
    pub params: Vec<(&'static str, Value)>,
    /// What else was found, in the run in the middle.
    pub extra: Vec<(&'static str, Value)>,
}

impl fmt::Display for Line {
    /// As JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let num = Value::Num;
        write!(
            f,
            "{{\"bench\":\"{}\",\"env\":\"{}\",\"procs\":{},\"unit\":\"{}\",\"ops\":{},\"reps\":{},\"min\":{},\"med\":{},\"max\":{}",
            self.bench,
            self.env,
            self.procs,
            self.unit,
            self.ops,
            self.reps,
            num(self.min),
            num(self.med),
            num(self.max)
        )?;
        object(f, "params", &self.params)?;
        object(f, "extra", &self.extra)?;
        f.write_str("}")
    }
}

fn object(f: &mut fmt::Formatter<'_>, name: &str, members: &[(&str, Value)]) -> fmt::Result {
    write!(f, ",\"{name}\":{{")?;
    for (i, (key, value)) in members.iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        write!(f, "{comma}\"{key}\":{value}")?
    }
    f.write_str("}")
}
