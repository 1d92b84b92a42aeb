//! `cargo run -- NAME` from the first check to the last figure.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use crate::builder::{self, BuildOptions};
use crate::options::{MachineKind, RunArgs, RunOptions};
use crate::program::Program;
use crate::resolved::Resolved;
use crate::say::say;
use crate::user_build::{USER_PROGRAMS, build_user_file, user_programs_for};
use crate::{Disk, HostMachine, Input, Machine, Outcome, Output, Result, Root};
use crate::{accel, cpu_models, install, net, report, sys, usage};

/// Runs what the user asked for; the exit status.
pub fn run(args: &RunArgs) -> Result<u8> {
    let root = Root::find()?;
    let resolved = args.options.resolve()?;
    let cwd = std::env::current_dir().unwrap_or_else(|_| root.path().to_path_buf());
    let program = Program::find(&root, &cwd, &args.program)?;
    let (options, args) = (&args.options, &args.args);
    let job = Job {
        program,
        user_file: None,
        options,
        resolved,
        args,
    };
    let outcome = job.run(&root)?;
    if outcome.exit == 1 {
        usage::option_behind(args, "`--`").into_iter().for_each(say);
    }
    Ok(outcome.exit)
}

/// A program, and how it is to run.
pub struct Job<'a> {
    /// What is built.
    pub program: Program,
    /// A ring-3 program in a file of the user's own, and its name: the machine gets it beside the project's.
    pub user_file: Option<(PathBuf, String)>,
    /// As they are typed.
    pub options: &'a RunOptions,
    /// What they come to.
    pub resolved: Resolved,
    /// Arguments of the program.
    pub args: &'a [String],
}

impl Job<'_> {
    /// Builds and runs it, and prints its figures.
    ///
    /// # Errors
    ///
    /// It does not build, the machine cannot be had, or the figures cannot be written.
    pub fn run(&self, root: &Root) -> Result<Outcome> {
        self.resolved.cut.iter().for_each(say);
        sys::do_not_stop_in_background();
        let outcome = match self.options.kind() {
            MachineKind::Qemu => self.on_qemu(root)?,
            MachineKind::Host => self.on_host(root)?,
        };
        report::report(self.options, &self.resolved, self.program.name(), &outcome)?;
        Ok(outcome)
    }

    fn build_options(&self) -> BuildOptions {
        BuildOptions {
            debug: self.options.debug,
            progress: true,
            ..BuildOptions::default()
        }
    }

    fn on_qemu(&self, root: &Root) -> Result<Outcome> {
        let (options, resolved) = (self.options, &self.resolved);
        let qemu = install::prepare()?;
        cpu_models::check(&qemu, &resolved.cpu)?;
        let accel = if options.seed.is_some() {
            crate::Accel::Tcg
        } else {
            accel::choose(&qemu, resolved.accel)?
        };
        let how = self.build_options();
        let kernel = builder::build_program(root, &self.program, false, &how)?;
        let user_programs = self.user_programs(root, &kernel, &how)?;
        let mut machine = Machine::new(kernel, self.program.name());
        machine.user_programs = user_programs;
        machine.smp = resolved.smp;
        machine.mem_bytes = resolved.mem_bytes;
        machine.accel = accel;
        machine.cpu.clone_from(&resolved.cpu);
        machine.board = resolved.board;
        machine.words = words(options, resolved);
        machine.args = self.args.to_vec();
        machine.seed = options.seed;
        machine.disk = match &options.disk {
            Some(file) => Disk::File(file.clone()),
            None => Disk::IfUsed,
        };
        machine.net.clone_from(&resolved.net);
        machine.forwards.clone_from(&resolved.forwards);
        machine.forward_listeners = resolved.forwards.is_empty();
        machine.capture.clone_from(&options.capture);
        machine.timeout = options.timeout;
        machine.gdb = options.gdb;
        if options.gdb && options.timeout.is_some() {
            say("--timeout is off while gdb has the machine");
        }
        machine.input = Input::PassThrough;
        machine.output = Output::PassThrough;
        machine.json = options.json;
        machine.event_log = event_log();
        machine.run()
    }

    /// A file's comes in the place of another one of its name.
    fn user_programs(
        &self,
        root: &Root,
        kernel: &Path,
        how: &BuildOptions,
    ) -> Result<Vec<(String, PathBuf)>> {
        let mut all = user_programs_for(root, kernel, &[USER_PROGRAMS], how)?;
        if let Some((file, name)) = &self.user_file {
            let elf = build_user_file(root, file, name, how)?;
            all.retain(|(other, _)| other != name);
            all.push((name.clone(), elf));
        }
        Ok(all)
    }

    fn on_host(&self, root: &Root) -> Result<Outcome> {
        let (options, resolved) = (self.options, &self.resolved);
        if let meaningless @ [_, ..] = options.meaningless().as_slice() {
            let meaningless = meaningless.join(", ");
            say(format_args!(
                "under --machine host this changes nothing: {meaningless}"
            ));
        }
        let executable = builder::build_program(root, &self.program, true, &self.build_options())?;
        net::say_missed_on_host(&executable);
        let mut machine = HostMachine::new(executable, self.program.name());
        machine.smp = resolved.smp;
        machine.words = words(options, resolved);
        machine
            .words
            .extend(options.seed.map(|seed| format!("seed={seed}")));
        machine
            .words
            .extend(options.json.then(|| "json=1".to_string()));
        machine.args = self.args.to_vec();
        machine.timeout = options.timeout;
        machine.input = Input::PassThrough;
        machine.output = Output::PassThrough;
        machine.run()
    }
}

/// `RINGO_EVENTS=FILE` writes the scheduler's events into a file, one a line.
fn event_log() -> Option<PathBuf> {
    let file = std::env::var_os("RINGO_EVENTS")?;
    (!file.is_empty()).then(|| file.into())
}

/// The resolved words, and one that tells the program whether somebody sits there. A seeded machine has no input.
fn words(options: &RunOptions, resolved: &Resolved) -> Vec<String> {
    let somebody =
        options.seed.is_none() && std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let mut words = resolved.words.clone();
    words.extend(somebody.then(|| "tty=1".to_string()));
    words
}
