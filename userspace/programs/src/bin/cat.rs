//! Prints a file of the boot module or of the archive on the disk; without a name, standard input. `cat [FILE]...`.
#![no_std]
#![no_main]
use rt::fs::File;
use rt::io::{stdin, stdout};
use rt::prelude::*;
rt::main!(main);

fn print(from: &impl Read) -> rt::Result<()> {
    let out = stdout();
    let mut buffer = vec![0; 16 << 10];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(()),
            n => out.write_all(&buffer[..n])?,
        }
    }
}

fn main() -> Result<(), String> {
    let mut names = args().peekable();
    if names.peek().is_none() {
        return print(&stdin()).map_err(|e| format!("standard input: {e}"));
    }
    for name in names {
        let printed = File::open(&name).and_then(|file| print(&file));
        printed.map_err(|e| format!("{name}: {e}"))?;
    }
    Ok(())
}
