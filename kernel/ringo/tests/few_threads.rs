//! The host machine on a system that gives the process too few threads: one line says so, and the program does not run.

use std::process::{Command, ExitCode};

/// Set for the process that is the program.
const PROGRAM: &str = "RINGO_TEST_PROGRAM";

ringo::program_main!(program);

fn program() {
    ringo::println!("the program ran on {} CPUs", sched::num_cpu())
}

/// Status, stdout and stderr of the program on a machine of 4 threads whose stacks are to be of `stack_bytes` each.
fn run(stack_bytes: &str) -> (Option<i32>, String, String) {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command
        .env(PROGRAM, "1")
        .env(arch::hosted::CMDLINE_VARIABLE, "smp=4")
        .env("RUST_MIN_STACK", stack_bytes);
    let out = command.output().expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (out.status.code(), text(&out.stdout), text(&out.stderr))
}

fn main() -> ExitCode {
    if std::env::var_os(PROGRAM).is_some() {
        return ExitCode::from(ringo::start::host_main() as u8);
    }
    let all = (Some(0), "the program ran on 4 CPUs\n".into(), "".into());
    assert_eq!(run("1000000"), all);
    let line =
        "ringo: this process could start 1 of 4 threads; raise its limits, or give --smp 1\n";
    let none = (Some(1), "".into(), line.into());
    assert_eq!(run("200000000000000"), none, "stacks that do not fit");
    ExitCode::SUCCESS
}
