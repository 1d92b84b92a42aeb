//! Starts copies of itself until that is refused, and so do they: limits hold it. Who started any says how many, and waits for them.
#![no_std]
#![no_main]
use rt::machine::process_id;
use rt::prelude::*;
use rt::process::Command;
rt::main!(main);

/// How long a copy stays after it was refused: the others are to find the place taken.
const STAY: Duration = Duration::from_secs(1);

fn main() -> rt::Result<()> {
    let mut children = Vec::new();
    let refused = loop {
        match Command::new("forkbomb").arg("copy").spawn() {
            Ok(child) => children.push(child),
            Err(e) => break e,
        }
    };
    let (count, copy) = (children.len(), args().next().is_some());
    if count > 0 || !copy {
        let process = process_id();
        println!("process {process} started {count} copies; then: {refused}");
    }
    sleep(STAY);
    for child in children {
        child.wait()?;
    }
    if !copy {
        println!("all copies have ended");
    }
    Ok(())
}
