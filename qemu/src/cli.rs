//! What the user typed: a program to run, or one of the commands.

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use crate::bench::BenchArgs;
use crate::exec::ExecArgs;
use crate::options::{PROGRAM_RUN, RunArgs};
use crate::program::RESERVED;
use crate::say::{print, say};
use crate::soak::SoakArgs;
use crate::top::{TopArgs, top};
use crate::{Failure, Result, bench, check, doctor, exec, list, run, soak, usage};

/// Commands that come later.
const LATER: &[&str] = &["experiment"];

#[derive(Debug, Parser)]
#[command(name = "cargo run -- list", disable_version_flag = true)]
/// Names the programs in demos/src/bin and those of ring 3, each with what its documentation says first.
struct ListArgs {}

#[derive(Debug, Parser)]
#[command(name = "cargo run -- doctor", disable_version_flag = true)]
/// Says what this system has and what it lacks. Exit status 0: nothing is missing.
struct DoctorArgs {}

#[derive(Debug, Parser)]
#[command(name = "cargo run -- check", disable_version_flag = true)]
/// Formatting, lints and documentation of host, kernel and ring-3 builds, and scans of each program's final ELF.
struct CheckArgs {
    /// Only scans this program's ELF; may be given several times
    #[arg(long, value_name = "NAME|FILE.rs")]
    elf: Vec<String>,
}

/// The runner's `main`. Whatever happens, the user sees words, never a backtrace of this tool.
pub fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.to_string().replace('\n', " ");
        say(format_args!(
            "the runner itself failed, please report it: {text}"
        ));
        std::process::exit(1);
    }));
    let words: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    match dispatch(&words) {
        Ok(status) => ExitCode::from(status),
        Err(failure) => {
            if !failure.line.is_empty() {
                say(&failure);
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
        Some("bench") => parse::<BenchArgs>(words)?.map_or(Ok(0), |args| bench::bench(&args)),
        Some("exec") => parse::<ExecArgs>(words)?.map_or(Ok(0), |args| exec::exec(&args)),
        Some("help") => help(&words[1..]),
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

/// `help`: the options; `help COMMAND`: that command's; `help NAME`: what that program is about.
fn help(words: &[std::ffi::OsString]) -> Result<u8> {
    match words {
        [] => dispatch(&["--help".into()]),
        [word] => match word.to_str() {
            Some("help") => dispatch(&["--help".into()]),
            Some(word) if RESERVED.contains(&word) => dispatch(&[word.into(), "--help".into()]),
            _ => list::about_program(&word.to_string_lossy()),
        },
        _ => Err(Failure::new(format!(
            "help takes one word, a command or a program: `{PROGRAM_RUN} help top`"
        ))),
    }
}

/// `None`: help was asked for and has been printed. The first word is the command's own name.
fn parse<T: Parser>(words: &[std::ffi::OsString]) -> Result<Option<T>> {
    // Clap shows the first word in its usage.
    let name = T::command().get_name().into();
    let all = [name].into_iter().chain(words.iter().skip(1).cloned());
    match T::try_parse_from(all) {
        Ok(args) => Ok(Some(args)),
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
            ) =>
        {
            print(&error.render().to_string())?;
            Ok(None)
        }
        Err(error) => {
            let words = words.iter().skip(1);
            let words: Vec<String> = words.map(|w| w.to_string_lossy().into_owned()).collect();
            Err(Failure::new(usage::line(&error, &T::command(), &words)))
        }
    }
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
        assert!(line(&["hello", "--smp", "99"]).starts_with(
            "invalid value '99' for '--smp <N>': a whole number from 1 to 64, such as 4"
        ));
        assert!(line(&["hello", "--accel", "xen"]).contains("[possible values: auto, tcg, kvm]"));
        assert!(line(&["hello", "--semp", "2"]).contains("--smp"));
        assert!(line(&["hello", "more"]).ends_with("`cargo run -- hello -- more`"));
        assert!(line(&["list", "more"]).contains("'more'"));
        assert!(line(&["bench", "yeld2"]).contains("did you mean yield2?"));
        assert!(line(&["bench", "--semp", "2"]).contains("--smp"));
        assert!(line(&["soak", "--boots", "0"]).contains("`cargo run -- soak --help`"));
        assert!(line(&["exec", "--semp", "2", "hello"]).contains("--smp"));
        assert!(line(&["top", "a", "b"]).contains("`cargo run -- top --help`"));
        for words in [
            &["hello", "--smp", "99"][..],
            &["--nothing"],
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
    fn numbers_that_are_none() {
        for (words, says) in [
            (&["hello", "--smp", "2x"][..], "a whole number from 1 to 64"),
            (&["hello", "--smp", ""], "a whole number from 1 to 64"),
            (&["hello", "--smp", "-1"], "a whole number from 1 to 64"),
            (&["hello", "--procs", "1.5"], "a whole number from 1 to 64"),
            (&["hello", "--seed", "x"], "a seed is a whole number"),
            (&["hello", "--seed", "-1"], "a seed is a whole number"),
            (&["hello", "--timeout", "10s"], "a number of seconds"),
            (&["hello", "--timeout", "-1"], "a number of seconds"),
            (&["hello", "--mem", "-5"], "--mem -5 is no size"),
            (
                &["hello", "--mem", ""],
                "--mem needs a value, --mem <SIZE>: ",
            ),
            (
                &["hello", "--cpu", ""],
                "--cpu needs a value, --cpu <MODEL>: ",
            ),
            (
                &["hello", "--net", ""],
                "--net needs a value, --net <NET>: ",
            ),
            (&["exec", "--smp", "x", "hello"], "number from 1 to 64"),
            (&["bench", "--smp", "0"], "a whole number from 1 to 64"),
            (&["bench", "--reps", "0"], "a whole number from 1 to 1000"),
            (&["bench", "--scale", "x"], "a number above 0 and up to"),
            (&["soak", "--smp", "x"], "a whole number from 1 to 64"),
            (&["soak", "--seed", "x"], "a seed is a whole number"),
            (&["soak", "--boots", "0"], "a whole number from 1 to"),
            (&["top", "--count", "x"], "a whole number from 1 to"),
        ] {
            assert!(line(words).contains(says), "{}", line(words));
        }
    }

    #[test]
    fn help_about_something() {
        let help = |words: &[&str]| {
            let words: Vec<_> = ["help"].iter().chain(words).map(Into::into).collect();
            dispatch(&words)
        };
        for right in [
            &[][..],
            &["top"],
            &["bench"],
            &["exec"],
            &["help"],
            &["hello"],
        ] {
            assert_eq!(help(right), Ok(0), "{right:?}");
        }
        let wrong = help(&["helo"]).unwrap_err().line;
        assert!(wrong.contains("did you mean hello"), "{wrong}");
        assert!(
            help(&["top", "x"])
                .unwrap_err()
                .line
                .starts_with("help takes one word")
        );
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
