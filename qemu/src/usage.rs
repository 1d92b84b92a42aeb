//! Wrong usage, in one line: what clap finds, in words that say what would be right.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory, Error};

use crate::exec::EXEC;
use crate::options::{PROGRAM_RUN, RunArgs};
use crate::program::RESERVED;

/// The line about `error` that `words` have got from `command`.
pub fn line(error: &Error, command: &Command, words: &[String]) -> String {
    let name = command.get_name();
    let unknown = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(word))) => Some(word),
        _ => None,
    };
    // Clap knows a close option itself.
    let has_close = error.get(ContextKind::SuggestedArg).is_some();
    if let Some(line) = no_value(error, command) {
        return line;
    }
    match unknown {
        Some(word) if name == PROGRAM_RUN && !has_close => not_an_option(command, words, word),
        Some(word) if name == EXEC && !has_close => {
            let absent = || format!("there is no option {word} (`{EXEC} --help` lists all)");
            one_dash(command, words).unwrap_or_else(absent)
        }
        _ => one_line(&error.render().to_string(), name),
    }
}

/// An option whose value is missing or empty, where clap has no list of what it can be: its help says that.
fn no_value(error: &Error, command: &Command) -> Option<String> {
    let typed = match error.get(ContextKind::InvalidArg)? {
        ContextValue::String(typed) => typed,
        _ => return None,
    };
    let has_list = matches!(error.get(ContextKind::ValidValue), Some(ContextValue::Strings(all)) if !all.is_empty());
    let is_empty = matches!(error.get(ContextKind::InvalidValue), Some(ContextValue::String(value)) if value.is_empty());
    if error.kind() != ErrorKind::InvalidValue || has_list || !is_empty {
        return None;
    }
    let name = typed.strip_prefix("--")?.split(' ').next()?;
    let mut options = command.get_arguments();
    let help = options
        .find(|arg| arg.get_long() == Some(name))?
        .get_help()?;
    Some(format!("--{name} needs a value, {typed}: {help}"))
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

/// `unknown` is neither an option nor the one program: perhaps an option with a dash too few, a command, or meant for
/// the program.
fn not_an_option(command: &Command, words: &[String], unknown: &str) -> String {
    if let Some(line) = one_dash(command, words) {
        return line;
    }
    let bare = unknown.trim_start_matches('-');
    if bare != unknown && RESERVED.contains(&bare) {
        return format!("there is no option {unknown}; `{PROGRAM_RUN} {bare}` is a command");
    }
    let what = if unknown.starts_with('-') {
        format!("there is no option {unknown}")
    } else {
        format!("\"{unknown}\" is a word too many")
    };
    let Some(right) = with_dashes(command, words) else {
        return format!("{what} (`{PROGRAM_RUN} --help` lists all)");
    };
    let program = right.split(' ').next().unwrap_or_default();
    if RESERVED.contains(&program) {
        return format!(
            "`{PROGRAM_RUN} {program}` is a command, and stands before its options: `{PROGRAM_RUN} {program} --help`"
        );
    }
    format!("{what}; what is for the program goes behind --: `{PROGRAM_RUN} {right}`")
}

/// The line about an option with a dash too few.
fn one_dash(command: &Command, words: &[String]) -> Option<String> {
    words.iter().find_map(|word| {
        let name = word.strip_prefix('-')?.split('=').next()?;
        let mut options = command.get_arguments();
        options
            .any(|arg| arg.get_long() == Some(name))
            .then(|| format!("{word}: options have two dashes, --{name}"))
    })
}

/// The words with `--` before all that is for the program; nothing if they name no program.
fn with_dashes(command: &Command, words: &[String]) -> Option<String> {
    let takes_value = |name: &str| {
        let mut options = command.get_arguments();
        let option = options.find(|arg| arg.get_long() == Some(name))?;
        Some(option.get_action().takes_values())
    };
    let (mut ours, mut for_program, mut program) = (Vec::new(), Vec::new(), None);
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let name = word
            .strip_prefix("--")
            .map(|w| w.split('=').next().unwrap_or(w));
        match name.map(|name| (name, takes_value(name))) {
            Some(("", _)) => for_program.extend(rest.by_ref().map(|word| quoted(word))),
            Some((_, Some(takes_value))) => {
                ours.push(quoted(word));
                if takes_value && !word.contains('=') {
                    ours.extend(rest.next().map(|word| quoted(word)));
                }
            }
            None if program.is_none() && !word.starts_with('-') => program = Some(quoted(word)),
            _ => for_program.push(quoted(word)),
        }
    }
    let parts = [program?].into_iter().chain(ours).chain(["--".to_string()]);
    Some(parts.chain(for_program).collect::<Vec<_>>().join(" "))
}

/// An option of the runner's among the words for the program, which are those behind `mark`: the line about it, for a program that
/// has failed.
pub fn option_behind(words: &[String], mark: &str) -> Option<String> {
    let command = RunArgs::command();
    words.iter().find_map(|word| {
        let name = word.strip_prefix("--")?.split('=').next()?;
        let mut options = command.get_arguments().filter_map(Arg::get_long);
        options.find(|option| *option == name).map(|option| {
            format!(
                "--{option} stands behind {mark}, so the program got it; the runner's options go before"
            )
        })
    })
}

/// As a shell takes it for one word.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=+,.:/@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::ExecArgs;
    use clap::Parser;

    fn of(typed: &[&str]) -> String {
        let words: Vec<String> = typed.iter().map(ToString::to_string).collect();
        let error = RunArgs::try_parse_from([&["x"], typed].concat()).unwrap_err();
        line(&error, &RunArgs::command(), &words)
    }

    #[test]
    fn a_command_behind_its_options() {
        let first = "`cargo run -- exec` is a command, and stands before its options";
        let line = of(&["--smp", "2", "exec", "crash"]);
        assert!(line.starts_with(first), "{line}");
    }

    #[test]
    fn what_is_for_the_program() {
        let behind = "what is for the program goes behind --: `cargo run -- ";
        for (typed, says, right) in [
            (
                &["hello", "some", "args"][..],
                "\"some\" is a word too many",
                "hello -- some args",
            ),
            (
                &["hello", "a b", "--smp", "4", "it's", "--json"],
                "\"a b\" is a word too many",
                "hello --smp 4 --json -- 'a b' 'it'\\''s'",
            ),
            (
                &["echo", "1000", "--smp=2", "--", "x"],
                "\"1000\" is a",
                "echo --smp=2 -- 1000 x",
            ),
            (
                &["hello", "--frobnicate"],
                "there is no option --frobnicate",
                "hello -- --frobnicate",
            ),
            (&["hello", "-v"], "there is no option -v", "hello -- -v"),
        ] {
            let line = of(typed);
            assert!(line.starts_with(says), "{line}");
            assert!(line.ends_with(&format!("; {behind}{right}`")), "{line}");
        }
    }

    #[test]
    fn options_of_exec() {
        let line = |typed: &[&str]| {
            let words: Vec<String> = typed.iter().map(ToString::to_string).collect();
            let error = ExecArgs::try_parse_from([&["x"], typed].concat()).unwrap_err();
            line(&error, &ExecArgs::command(), &words)
        };
        assert_eq!(
            line(&["-smp", "4", "hello"]),
            "-smp: options have two dashes, --smp"
        );
        assert_eq!(
            line(&["--frobnicate", "hello"]),
            "there is no option --frobnicate (`cargo run -- exec --help` lists all)"
        );
        assert!(line(&["--semp", "2", "hello"]).contains("'--smp'"));
    }

    #[test]
    fn options_that_the_program_got() {
        let line = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            option_behind(&words, "`--`")
        };
        let wanted =
            "--set stands behind `--`, so the program got it; the runner's options go before";
        for words in [&["300", "--set", "steal=off"][..], &["--set=steal=off"]] {
            assert_eq!(line(words).as_deref(), Some(wanted));
        }
        assert_eq!(line(&["set", "--", "--depth", "-smp", "x"]), None);
    }

    #[test]
    fn what_is_an_option_or_a_command() {
        assert_eq!(
            of(&["hello", "-smp", "4"]),
            "-smp: options have two dashes, --smp"
        );
        assert_eq!(
            of(&["--list"]),
            "there is no option --list; `cargo run -- list` is a command"
        );
        assert_eq!(
            of(&["--xyzzy"]),
            "there is no option --xyzzy (`cargo run -- --help` lists all)"
        );
        assert!(of(&["hello", "--semp", "2"]).contains("'--smp'"));
        assert!(!of(&["hello", "--smp", "x"]).contains('\n'));
        let line = "--mem needs a value, --mem <SIZE>: Memory, as 512M or 2G [default: 512M]";
        assert_eq!(of(&["hello", "--mem"]), line);
        assert_eq!(of(&["hello", "--mem="]), line);
        assert!(of(&["hello", "--board="]).contains("[possible values: q35, microvm]"));
    }
}
