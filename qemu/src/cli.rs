//! What the user typed: a program to run, or one of the commands.

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use crate::options::RunArgs;
use crate::soak::SoakArgs;
use crate::top::{TopArgs, top};
use crate::{Failure, Result, check, doctor, list, run, soak};

/// Commands that come later.
const LATER: &[&str] = &["bench", "experiment", "exec"];

#[derive(Debug, Parser)]
#[command(name = "cargo run -- list", disable_version_flag = true)]
/// Names the programs in demos/src/bin, each with the first line of its documentation.
struct ListArgs {}

#[derive(Debug, Parser)]
#[command(name = "cargo run -- doctor", disable_version_flag = true)]
/// Says what this system has and what it lacks. Exit status 0: nothing is missing.
struct DoctorArgs {}

#[derive(Debug, Parser)]
#[command(name = "cargo run -- check", disable_version_flag = true)]
/// Formatting, lints and documentation of host and kernel builds, and scans of each program's final ELF.
struct CheckArgs {
    /// Only scans this program's ELF; may be given several times
    #[arg(long, value_name = "NAME|FILE.rs")]
    elf: Vec<String>,
}

/// The runner's `main`. Whatever happens, the user sees words, never a backtrace of this tool.
pub fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.to_string().replace('\n', " ");
        eprintln!("ringo: the runner itself failed, please report it: {text}");
        std::process::exit(1);
    }));
    let words: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    match dispatch(&words) {
        Ok(status) => ExitCode::from(status),
        Err(failure) => {
            if !failure.line.is_empty() {
                eprintln!("ringo: {failure}");
            }
            ExitCode::from(failure.status)
        }
    }
}

fn dispatch(words: &[std::ffi::OsString]) -> Result<u8> {
    match words.first().and_then(|word| word.to_str()) {
        Some("list") => parse::<ListArgs>(words)?.map_or(Ok(0), |_| list::list()),
        Some("doctor") => parse::<DoctorArgs>(words)?.map_or(Ok(0), |_| doctor::doctor()),
        Some("check") => parse::<CheckArgs>(words)?.map_or(Ok(0), |args| check::check(&args.elf)),
        Some("top") => parse::<TopArgs>(words)?.map_or(Ok(0), |args| top(&args)),
        Some("soak") => parse::<SoakArgs>(words)?.map_or(Ok(0), |args| soak::soak(&args)),
        Some("help") => parse::<RunArgs>(&["".into(), "--help".into()])?.map_or(Ok(0), |_| Ok(0)),
        Some(later) if LATER.contains(&later) => {
            Err(Failure::new(format!("{later} is not there yet")))
        }
        _ => {
            let words: Vec<_> = ["".into()]
                .into_iter()
                .chain(words.iter().cloned())
                .collect();
            parse::<RunArgs>(&words)?.map_or(Ok(0), |args| run::run(&args))
        }
    }
}

/// `None`: help was asked for and has been printed. The first word is the command's own name.
fn parse<T: Parser>(words: &[std::ffi::OsString]) -> Result<Option<T>> {
    match T::try_parse_from(words) {
        Ok(args) => Ok(Some(args)),
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
            ) =>
        {
            drop(error.print());
            Ok(None)
        }
        Err(error) => {
            let name = T::command().get_name().to_string();
            Err(Failure::new(one_line(&error.render().to_string(), &name)))
        }
    }
}

/// Clap's report is several lines; what is wrong and its advice fit into one. `command`: whose help lists more.
fn one_line(report: &str, command: &str) -> String {
    let useful = report
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:"));
    let parts: Vec<&str> = useful.filter(|line| !line.is_empty()).collect();
    let text = parts.join("; ");
    let text = text
        .strip_prefix("error: ")
        .unwrap_or(&text)
        .replace("; For more information, try '--help'.", "");
    format!("{text} (`{command} --help` lists all)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &[&str]) -> String {
        let words: Vec<_> = words.iter().map(Into::into).collect();
        dispatch(&words).unwrap_err().line
    }

    #[test]
    fn wrong_usage_is_one_line() {
        assert!(
            line(&["hello", "--smp", "99"])
                .starts_with("invalid value '99' for '--smp <N>': 99 is not in 1..=64")
        );
        assert!(line(&["hello", "--accel", "xen"]).contains("[possible values: auto, tcg, kvm]"));
        assert!(line(&["hello", "--semp", "2"]).contains("--smp"));
        assert!(line(&["hello", "--mem"]).contains("--mem <SIZE>"));
        assert!(line(&["hello", "more"]).contains("'more'"));
        assert!(line(&["list", "more"]).contains("'more'"));
        assert!(line(&["soak", "--boots", "0"]).contains("`cargo run -- soak --help`"));
        assert!(line(&["top", "abc"]).contains("`cargo run -- top --help`"));
        for words in [
            &["hello", "--smp", "99"][..],
            &["hello", "--nothing"],
            &["hello", "--timeout", "x"],
        ] {
            assert!(
                !line(words).contains('\n') && line(words).contains("--help"),
                "{}",
                line(words)
            );
        }
    }

    #[test]
    fn commands_that_come_later() {
        for later in LATER {
            assert_eq!(
                line(&[later, "--help"]),
                format!("{later} is not there yet")
            );
        }
    }
}
