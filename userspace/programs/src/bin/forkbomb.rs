//! Starts copies of itself until that is refused, and so do they: limits hold it. Each says how many it started and waits for them.
#![no_std]
#![no_main]
use rt::machine::process_id;
use rt::prelude::*;
use rt::process::Command;
rt::main!(main);

/// How long a copy stays after it was refused: the others are to find the place taken.
const STAY: Duration = Duration::from_millis(200);

fn main() -> rt::Result<()> {
    let mut children = Vec::new();
    let refused = loop {
        match Command::new("forkbomb").arg("copy").spawn() {
            Ok(child) => children.push(child),
            Err(e) => break e,
        }
    };
    let count = children.len();
    println!(
        "process {} started {count} copies; then: {refused}",
        process_id()
    );
    sleep(STAY);
    for child in children {
        child.wait()?;
    }
    if args().next().is_none() {
        println!("all copies have ended");
    }
    Ok(())
}
