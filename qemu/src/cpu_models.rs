//! `--cpu MODEL`, checked against the models that this QEMU has.

use std::io::Seek;
use std::path::Path;
use std::process::Command;

use crate::failure::Doing;
use crate::near::near;
use crate::{Failure, Result, sys};

/// Checks a model, with or without `,+feature` words behind it.
///
/// # Errors
///
/// QEMU has no such model or feature, or no such value of it; the line names close ones.
pub fn check(qemu: &Path, wanted: &str) -> Result<()> {
    let model = wanted.split(',').next().unwrap_or("");
    // All versions have these.
    let known = ["max", "qemu64"].contains(&model);
    if known && model == wanted {
        return Ok(());
    }
    let output = Command::new(qemu)
        .args(["-cpu", "help"])
        .output()
        .doing("ask QEMU for its CPU models")?;
    let list = String::from_utf8_lossy(&output.stdout);
    if !known {
        has_model(&list, wanted, model)?;
    }
    if model == wanted {
        return Ok(());
    }
    match refusal(&refused_by(qemu, wanted)?, &list) {
        Some(why) => Err(wrong(wanted, &why)),
        None => Ok(()),
    }
}

fn wrong(wanted: &str, why: &str) -> Failure {
    Failure::new(format!(
        "--cpu {wanted}: {why} `qemu-system-x86_64 -cpu help` lists all"
    ))
}

fn has_model(list: &str, wanted: &str, model: &str) -> Result<()> {
    let models = models(list);
    if models.contains(&model) {
        return Ok(());
    }
    let meant = match near(model, models).as_slice() {
        [] => "max and qemu64 always work;".to_string(),
        close => format!("did you mean {}?", close.join(" or ")),
    };
    Err(wrong(wanted, &format!("QEMU has no such model; {meant}")))
}

/// What QEMU says when it makes such a CPU, which never executes anything. A property need not be in its list of
/// features, and KVM may not be there, so it is asked this way.
fn refused_by(qemu: &Path, wanted: &str) -> Result<String> {
    let mut commands = sys::memory_file(b"quit\n").doing("talk to QEMU")?;
    commands.rewind().doing("talk to QEMU")?;
    let mut command = Command::new(qemu);
    command.args(["-nodefaults", "-no-user-config", "-nic", "none", "-S"]);
    command.args(["-display", "none", "-serial", "none", "-monitor", "stdio"]);
    command.args(["-machine", "q35", "-m", "16M", "-accel", "tcg"]);
    command.args(["-cpu", wanted]).stdin(commands);
    sys::tie(&mut command, &[]);
    let output = command.output().doing("start QEMU")?;
    Ok(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// What of QEMU's words is about a feature, said in ours.
fn refusal(words: &str, list: &str) -> Option<String> {
    // `Property 'max-x86_64-cpu.NAME' not found`
    let unknown = |line: &str| {
        let name = line
            .split_once("Property '")?
            .1
            .strip_suffix("' not found")?;
        Some(name.rsplit_once('.')?.1.to_string())
    };
    if let Some(name) = words.lines().find_map(unknown) {
        let meant = match near(&name, features(list)).as_slice() {
            [] => String::new(),
            close => format!(" did you mean {}?", close.join(" or ")),
        };
        return Some(format!("QEMU knows no CPU feature \"{name}\";{meant}"));
    }
    // `can't apply global max-x86_64-cpu.avx=7: Parameter 'avx' expects 'on' or 'off'`
    let value = |line: &str| {
        Some(
            line.split_once("can't apply global ")?
                .1
                .split_once(": ")?
                .1
                .to_string(),
        )
    };
    Some(format!("{};", words.lines().find_map(value)?))
}

/// The names of features in QEMU's list, below their headline.
fn features(text: &str) -> Vec<&str> {
    let lines = text
        .lines()
        .skip_while(|line| !line.starts_with("Recognized"));
    let lines = lines.skip(1).take_while(|line| line.starts_with("  "));
    lines.flat_map(str::split_whitespace).collect()
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
    use crate::install;

    #[test]
    fn both_kinds_of_list() {
        let old = "Available CPUs:\nx86 486                   (alias configured by machine type)\nx86 max   Enables all\n\nRecognized CPUID flags:\n  3dnow\n";
        assert_eq!(models(old), ["486", "max"]);
        let new = "Available CPUs:\n  486           (alias)\n  Denverton-v1  Intel\n\nRecognized CPUID flags:\n  3dnow\n";
        assert_eq!(models(new), ["486", "Denverton-v1"]);
    }

    const LIST: &str = "Available CPUs:\nx86 486   x\nx86 max   Enables all\n\nRecognized CPUID flags:\n  3dnow avx\n  fxsr nx\n";

    #[test]
    fn unknown_models() {
        assert_eq!(has_model(LIST, "486,+nx", "486"), Ok(()));
        let line = has_model(LIST, "mx", "mx").unwrap_err().line;
        let wanted = "--cpu mx: QEMU has no such model; did you mean max? `qemu-system-x86_64 -cpu help` lists all";
        assert_eq!(line, wanted);
    }

    #[test]
    fn unknown_features() {
        let of = |words: &str| refusal(words, LIST);
        assert_eq!(
            of("qemu-system-x86_64: warning: TCG doesn't support requested feature: x\n"),
            None
        );
        let words = "x: Property 'max-x86_64-cpu.avy' not found\n";
        assert_eq!(
            of(words).unwrap(),
            "QEMU knows no CPU feature \"avy\"; did you mean avx?"
        );
        let words = "x: can't apply global max-x86_64-cpu.nosuch=on: Property 'max-x86_64-cpu.nosuch' not found\n";
        assert_eq!(of(words).unwrap(), "QEMU knows no CPU feature \"nosuch\";");
        let words =
            "x: can't apply global max-x86_64-cpu.avx=7: Parameter 'avx' expects 'on' or 'off'\n";
        assert_eq!(of(words).unwrap(), "Parameter 'avx' expects 'on' or 'off';");
    }

    /// By the QEMU that is there.
    #[test]
    fn what_this_qemu_knows() {
        let qemu = install::prepare().unwrap();
        for right in [
            "max",
            "max,-avx",
            "max,vendor=AuthenticAMD",
            "qemu64,enforce",
        ] {
            assert_eq!(check(&qemu, right), Ok(()), "{right}");
        }
        for wrong in ["max,+nosuch", "qemu64,-nosuch", "max,nosuch=1"] {
            let failure = check(&qemu, wrong).unwrap_err();
            assert!(
                failure.line.contains("no CPU feature \"nosuch\""),
                "{}",
                failure.line
            );
            assert_eq!(failure.status, 1);
        }
    }
}
