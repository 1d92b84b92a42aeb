//! `cargo run -- NAME` from the first check to the last figure.

use std::io::IsTerminal;

use crate::builder::{self, BuildOptions};
use crate::options::{MachineKind, RunArgs};
use crate::program::Program;
use crate::resolved::Resolved;
use crate::say::say;
use crate::{Disk, HostMachine, Input, Machine, Outcome, Output, Result, Root};
use crate::{accel, cpu_models, install, net, report, sys, usage};

/// Runs what the user asked for; the exit status.
pub fn run(args: &RunArgs) -> Result<u8> {
    let root = Root::find()?;
    let resolved = args.resolve()?;
    let cwd = std::env::current_dir().unwrap_or_else(|_| root.path().to_path_buf());
    let program = Program::find(&root, &cwd, &args.program)?;
    resolved.cut.iter().for_each(say);
    sys::do_not_stop_in_background();
    let outcome = match args.kind() {
        MachineKind::Qemu => on_qemu(&root, args, &resolved, &program)?,
        MachineKind::Host => on_host(&root, args, &resolved, &program)?,
    };
    report::report(args, &resolved, program.name(), &outcome)?;
    if outcome.exit == 1 {
        usage::option_behind(&args.args).into_iter().for_each(say);
    }
    Ok(outcome.exit)
}

fn build_options(args: &RunArgs) -> BuildOptions {
    BuildOptions {
        debug: args.debug,
        progress: true,
        ..BuildOptions::default()
    }
}

fn on_qemu(root: &Root, args: &RunArgs, resolved: &Resolved, program: &Program) -> Result<Outcome> {
    let qemu = install::prepare()?;
    cpu_models::check(&qemu, &resolved.cpu)?;
    let accel = if args.seed.is_some() {
        crate::Accel::Tcg
    } else {
        accel::choose(&qemu, resolved.accel)?
    };
    let kernel = builder::build_program(root, program, false, &build_options(args))?;
    let mut machine = Machine::new(kernel, program.name());
    machine.smp = resolved.smp;
    machine.mem_bytes = resolved.mem_bytes;
    machine.accel = accel;
    machine.cpu.clone_from(&resolved.cpu);
    machine.board = resolved.board;
    machine.words = words(args, resolved);
    machine.args.clone_from(&args.args);
    machine.seed = args.seed;
    machine.disk = match &args.disk {
        Some(file) => Disk::File(file.clone()),
        None => Disk::IfUsed,
    };
    machine.net.clone_from(&resolved.net);
    machine.forwards.clone_from(&resolved.forwards);
    machine.forward_listeners = resolved.forwards.is_empty();
    machine.capture.clone_from(&args.capture);
    machine.timeout = args.timeout;
    machine.gdb = args.gdb;
    if args.gdb && args.timeout.is_some() {
        say("--timeout is off while gdb has the machine");
    }
    machine.input = Input::PassThrough;
    machine.output = Output::PassThrough;
    machine.json = args.json;
    machine.event_log = event_log();
    machine.run()
}

fn on_host(root: &Root, args: &RunArgs, resolved: &Resolved, program: &Program) -> Result<Outcome> {
    if let options @ [_, ..] = args.meaningless().as_slice() {
        let options = options.join(", ");
        say(format_args!(
            "under --machine host this changes nothing: {options}"
        ));
    }
    let executable = builder::build_program(root, program, true, &build_options(args))?;
    net::say_missed_on_host(&executable);
    let mut machine = HostMachine::new(executable, program.name());
    machine.smp = resolved.smp;
    machine.words = words(args, resolved);
    machine
        .words
        .extend(args.seed.map(|seed| format!("seed={seed}")));
    machine
        .words
        .extend(args.json.then(|| "json=1".to_string()));
    machine.args.clone_from(&args.args);
    machine.timeout = args.timeout;
    machine.input = Input::PassThrough;
    machine.output = Output::PassThrough;
    machine.run()
}

/// `RINGO_EVENTS=FILE` writes the scheduler's events into a file, one a line.
fn event_log() -> Option<std::path::PathBuf> {
    let file = std::env::var_os("RINGO_EVENTS")?;
    (!file.is_empty()).then(|| file.into())
}

/// The resolved words, and one that tells the program whether somebody sits there. A seeded machine has no input.
fn words(args: &RunArgs, resolved: &Resolved) -> Vec<String> {
    let somebody =
        args.seed.is_none() && std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let mut words = resolved.words.clone();
    words.extend(somebody.then(|| "tty=1".to_string()));
    words
}
