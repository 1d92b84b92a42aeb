//! `cargo run`: see the library for what it does.

use std::process::ExitCode;

fn main() -> ExitCode {
    ringo_runner::cli::main()
}
