//! Lets `crash` die in every way that it lists, while a neighbour counts. It says how each has ended; exit code 0: the neighbour went on.
#![no_std]
#![no_main]
use core::sync::atomic::Ordering::Relaxed;
use rt::io::pipe;
use rt::prelude::*;
use rt::process::Command;
use rt::shm::Shm;
rt::main!(main);

/// The ways, as `crash` lists them: a name at the beginning of each line.
fn ways() -> rt::Result<Vec<String>> {
    let (from, to) = pipe()?;
    let lists = Command::new("crash").stdout(&to).spawn()?;
    drop(to);
    let mut text = Vec::new();
    from.read_to_end(&mut text)?;
    lists.wait()?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let first = |line: &str| line.split(' ').next().unwrap_or_default().to_string();
    Ok(text.lines().map(first).collect())
}

/// Counts in the first word of the memory that it was given.
fn count() -> rt::Result<()> {
    let shm = Shm::given(3).map()?;
    loop {
        shm.words()[0].fetch_add(1, Relaxed);
        sleep(Duration::from_micros(300))
    }
}

fn main() -> rt::Result<()> {
    if args().next().is_some() {
        return count();
    }
    let shm = Shm::new(4096)?;
    let mapped = shm.map()?;
    let counted = || mapped.words()[0].load(Relaxed);
    let neighbour = Command::new("crashes").arg("count").give(&shm).spawn()?;
    let (_nobody_reads, errors) = pipe()?;
    for way in ways()? {
        let before = counted();
        let crash = Command::new("crash").arg(&way).stderr(&errors).spawn()?;
        println!("> {way}: {}", crash.wait()?);
        while counted() == before {
            sleep(Duration::from_micros(300))
        }
    }
    neighbour.kill()?;
    assert_eq!(neighbour.wait()?.to_string(), "killed");
    Ok(())
}
