//! `cargo run -- exec NAME ARGS`: a ring-3 program, in a machine that does nothing else.

use std::path::PathBuf;

use clap::Parser;

use crate::failure::Doing;
use crate::options::{MachineKind, RunOptions};
use crate::program::Program;
use crate::program_file::{self, Ring};
use crate::run::Job;
use crate::say::say;
use crate::{Failure, Result, Root, usage, user_names};

/// The words before those of the user.
pub const EXEC: &str = "cargo run -- exec";
/// The kernel program that does it: `demos/src/bin/exec.rs`.
pub const PROGRAM: &str = "exec";

/// Boots a machine that runs one program of ring 3. What stands behind its name is for the program.
#[derive(Debug, Parser)]
#[command(
    name = EXEC,
    override_usage = "cargo run -- exec [OPTIONS] NAME|FILE.rs [ARGS FOR THE PROGRAM]",
    after_help = after_help(),
    disable_version_flag = true
)]
pub struct ExecArgs {
    /// A program in userspace/programs/src/bin or in the tar archive of --disk, or a file of your own; behind it, its arguments
    #[arg(trailing_var_arg = true, value_name = "NAME|FILE.rs ARGS")]
    command: Vec<String>,
    #[command(flatten)]
    options: RunOptions,
}

/// Runs what the user asked for; the exit status.
///
/// # Errors
///
/// There is no such program, or what a run may fail with.
pub fn exec(args: &ExecArgs) -> Result<u8> {
    let root = Root::find()?;
    let options = &args.options;
    let resolved = options.resolve()?;
    let Some((name, rest)) = args.command.split_first() else {
        let all = user_names::names(&root)?.join(", ");
        return Err(Failure::new(format!(
            "exec needs the name of a ring-3 program; there are {all}"
        )));
    };
    if options.kind() == MachineKind::Host {
        return Err(Failure::new(
            "--machine host has no ring 3; exec boots a machine under QEMU",
        ));
    }
    let user_file = look(&root, name, options)?;
    let mut args = args.command.clone();
    if let Some((_, name)) = &user_file {
        args[0].clone_from(name);
    }
    let job = Job {
        program: Program::Demo {
            name: PROGRAM.to_string(),
        },
        user_file,
        options,
        resolved,
        args: &args,
    };
    let outcome = job.run(&root)?;
    if outcome.exit == 1 {
        let mark = "the program's name";
        usage::option_behind(rest, mark).into_iter().for_each(say);
    }
    Ok(outcome.exit)
}

/// Looks whether the program is there; if it is a file of the user's own, where that is, and its name.
fn look(root: &Root, name: &str, options: &RunOptions) -> Result<Option<(PathBuf, String)>> {
    if !program_file::is_path(name) {
        return user_names::check(root, name, options.disk.as_deref()).map(|()| None);
    }
    let cwd = std::env::current_dir().doing("find the current folder")?;
    program_file::find(root, &cwd, name, Ring::User).map(Some)
}

fn after_help() -> String {
    let names = Root::find().and_then(|root| user_names::names(&root));
    format!(
        "Programs: {}\n\nExit status: 0 fine; 1 the program failed (its own code is printed) or was ended, or wrong usage; 2 fatal, the \
         kernel panicked; 3 the machine died or hung",
        names.unwrap_or_default().join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> ExecArgs {
        ExecArgs::try_parse_from(["x"].into_iter().chain(line.split_whitespace())).unwrap()
    }

    #[test]
    fn options_before_the_name_and_arguments_behind() {
        let args = parse("--smp 4 --net none hello --smp -x -- y");
        assert_eq!(args.options.smp, Some(4));
        assert_eq!(args.command, ["hello", "--smp", "-x", "--", "y"]);
        assert!(parse("--smp 4").command.is_empty());
    }

    #[test]
    fn what_is_refused() {
        let line = |words| exec(&parse(words)).unwrap_err().line;
        let none = line("--smp 2");
        assert!(none.starts_with("exec needs the name of a ring-3 program; there are "));
        assert!(none.contains("hello"), "{none}");
        let host = line("--machine host hello");
        assert_eq!(
            host,
            "--machine host has no ring 3; exec boots a machine under QEMU"
        );
        assert!(
            line("no/x.rs").starts_with("there is no file no/x.rs; a program is a name in user")
        );
        assert!(line("helo").contains("did you mean hello?"));
        assert!(line("--smp 2 --procs 3 hello").contains("more than the 2 CPUs"));
    }
}
