//! `--cpu MODEL`, checked against the models that this QEMU has.

use std::path::Path;
use std::process::Command;

use crate::failure::Doing;
use crate::near::near;
use crate::{Failure, Result};

/// Checks a model, with or without `,+feature` words behind it.
///
/// # Errors
///
/// QEMU has no such model; the line names close ones.
pub fn check(qemu: &Path, wanted: &str) -> Result<()> {
    let model = wanted.split(',').next().unwrap_or("");
    // All versions have these.
    if ["max", "qemu64"].contains(&model) {
        return Ok(());
    }
    let output = Command::new(qemu)
        .args(["-cpu", "help"])
        .output()
        .doing("ask QEMU for its CPU models")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let models = models(&text);
    if models.contains(&model) {
        return Ok(());
    }
    let meant = match near(model, models.iter().copied()).as_slice() {
        [] => "max and qemu64 always work;".to_string(),
        close => format!("did you mean {}?", close.join(" or ")),
    };
    Err(Failure::new(format!(
        "--cpu {wanted}: QEMU has no such model; {meant} `qemu-system-x86_64 -cpu help` lists all"
    )))
}

/// The names in QEMU's list: `x86 NAME  what it is`, without the first word since version 8.
fn models(text: &str) -> Vec<&str> {
    text.lines()
        .skip(1)
        .take_while(|line| !line.trim().is_empty())
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            match words.next() {
                Some("x86") => words.next(),
                first => first,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_list() {
        let old = "Available CPUs:\nx86 486                   (alias configured by machine type)\nx86 max   Enables all\n\nRecognized CPUID flags:\n  3dnow\n";
        assert_eq!(models(old), ["486", "max"]);
        let new = "Available CPUs:\n  486           (alias)\n  Denverton-v1  Intel\n\nRecognized CPUID flags:\n  3dnow\n";
        assert_eq!(models(new), ["486", "Denverton-v1"]);
    }
}
