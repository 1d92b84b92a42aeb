//! Two processes and a pipe: one writes lines, the other reads and sums them. `pipeline [LINES]`.
#![no_std]
#![no_main]
use rt::io::{pipe, stdin, stdout};
use rt::prelude::*;
use rt::process::Command;
rt::main!(main);

/// Writes the numbers from 1 to `lines`, one a line.
fn produce(lines: u64) -> rt::Result<()> {
    let out = stdout();
    let mut text = String::new();
    for n in 1..=lines {
        text += &format!("{n}\n");
        if text.len() > 4000 || n == lines {
            out.write_all(text.as_bytes())?;
            text.clear();
        }
    }
    Ok(())
}

/// Reads lines up to the end; how many, and their sum.
fn consume() -> rt::Result<(u64, u64)> {
    let (mut lines, mut sum, mut number) = (0, 0_u64, 0);
    let mut buffer = vec![0; 4096];
    loop {
        let n = stdin().read(&mut buffer)?;
        if n == 0 {
            return Ok((lines, sum));
        }
        for &byte in &buffer[..n] {
            match byte {
                b'\n' => {
                    (lines, sum) = (lines + 1, sum + number);
                    number = 0;
                }
                digit => number = number * 10 + u64::from(digit.wrapping_sub(b'0')),
            }
        }
    }
}

/// Both processes, and whether they did well.
fn run(lines: u64) -> rt::Result<bool> {
    let (reader, writer) = pipe()?;
    let this = Command::new("pipeline").arg(&lines.to_string());
    let producer = this.clone().arg("produce").stdout(&writer).spawn()?;
    let consumer = this.arg("consume").stdin(&reader).spawn()?;
    // Only the producer has the end that writes, so its end is the pipe's.
    drop((reader, writer));
    let (produced, consumed) = (producer.wait()?, consumer.wait()?);
    Ok(produced.success() && consumed.success())
}

fn main() -> Result<(), String> {
    let lines = rt::args::number(0, "lines", 100_000, 1..=100_000_000);
    match args().nth(1).as_deref() {
        Some("produce") => produce(lines).map_err(|e| e.to_string()),
        Some("consume") => {
            let (read, sum) = consume().map_err(|e| e.to_string())?;
            println!("{read} lines came, their sum is {sum}");
            let whole = read == lines && sum == lines * (lines + 1) / 2;
            whole.then_some(()).ok_or(format!("{lines} were sent"))
        }
        Some(_) => Err("pipeline [LINES]: the second argument is its own".to_string()),
        None => match run(lines).map_err(|e| e.to_string())? {
            true => Ok(()),
            false => Err("one of the two processes has failed".to_string()),
        },
    }
}
