//! Runs one program of ring 3 and ends as that ends: what `cargo run -- exec NAME` boots.
#![no_std]
#![no_main]
use ringo::prelude::*;
use ringo::user::{self, Stdio};
ringo::main!(main);

fn main() -> Result<(), String> {
    let mut args = args();
    let name = args
        .next()
        .ok_or("the name of a program of ring 3 is missing")?;
    let args: Vec<String> = args.collect();
    let process = match user::spawn(&name, &args, Stdio::console()) {
        Ok(process) => process,
        Err(why) => {
            eprintln!("Error: {why}"); // for people, so without the quotes of a `Result`'s
            exit(1)
        }
    };
    // If it did not end itself, the line that says why stands there already.
    match process.wait_in_foreground().code() {
        0 => Ok(()),
        code => exit(code),
    }
}
