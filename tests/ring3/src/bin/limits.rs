//! Goes to each limit of a process and of its job, and finds the right error there. Exit code 0: it has.
#![no_std]
#![no_main]
use abi::{Call, Ending};
use rt::prelude::*;
use rt::process::Command;
use rt::{Error, message, syscall};
rt::main!(main);

/// What the kernel allows (`kernel/user/src/limits.rs`).
const THREADS: usize = 1024;
const HANDLES: usize = 256;
const PROCESSES: usize = 64;
const AREAS: usize = 8192;
const PROCESS_PAGES: usize = 16384;
const MAPPED_FACTOR: usize = 16;
const ARGS_BYTES: usize = 64 << 10;

/// Name, what it does.
type Part = (&'static str, fn() -> rt::Result<()>);

const PARTS: &[Part] = &[
    ("threads", threads),
    ("handles", handles),
    ("addresses", addresses),
    ("areas", areas),
    ("memory", memory),
    ("kernel memory", kernel_memory),
    ("processes", processes),
    ("arguments", arguments),
];

/// How often `f` succeeds, and the error then.
fn until_refused<T>(mut f: impl FnMut() -> rt::Result<T>) -> (Vec<T>, Error) {
    let mut got = Vec::new();
    loop {
        match f() {
            Ok(one) => got.push(one),
            Err(why) => return (got, why),
        }
    }
}

fn map(bytes: usize) -> rt::Result<u64> {
    // SAFETY: fresh memory.
    unsafe { syscall::call(Call::Map, [bytes as u64, 0]) }
}

fn unmap(address: u64, bytes: usize) -> rt::Result<u64> {
    // SAFETY: what the callers have mapped.
    unsafe { syscall::call(Call::Unmap, [address, bytes as u64]) }
}

fn threads() -> rt::Result<()> {
    let gate = Arc::new(Mutex::new(()));
    let shut = gate.lock();
    let builder = rt::thread::Builder::new().stack_bytes(16 << 10);
    let (sleepers, why) = until_refused(|| {
        let gate = gate.clone();
        builder.spawn(move || drop(gate.lock()))
    });
    assert_eq!((sleepers.len(), why), (THREADS - 1, Error::Limit)); // and this one
    drop(shut);
    sleepers.into_iter().for_each(JoinHandle::join);
    // A thread is gone a moment after who joined it knows.
    while let Err(why) = builder.go(|| {}) {
        assert_eq!(why, Error::Limit);
        sleep(Duration::from_millis(1))
    }
    Ok(())
}

fn handles() -> rt::Result<()> {
    let out = rt::io::stdout();
    let (copies, why) = until_refused(|| out.as_ref().duplicate());
    assert_eq!((copies.len(), why), (HANDLES - 3, Error::Limit));
    drop(copies);
    // With room for one, two are none.
    let (mut copies, _) = until_refused(|| out.as_ref().duplicate());
    copies.pop();
    assert_eq!(rt::io::pipe().err(), Some(Error::Limit));
    copies.push(out.as_ref().duplicate()?);
    Ok(())
}

/// More than it may touch can be mapped, but not without end.
fn addresses() -> rt::Result<()> {
    const STEP: usize = 16 << 20;
    let (blocks, why) = until_refused(|| map(STEP));
    let most = PROCESS_PAGES * 4096 * MAPPED_FACTOR / STEP;
    assert_eq!(why, Error::OutOfMemory);
    assert!(
        (most - 1..=most).contains(&blocks.len()),
        "{}",
        blocks.len()
    );
    blocks
        .into_iter()
        .try_for_each(|at| unmap(at, STEP).map(drop))
}

fn areas() -> rt::Result<()> {
    let (pages, why) = until_refused(|| map(4096));
    assert_eq!(why, Error::Limit);
    assert!(pages.len() > AREAS - 100 && pages.len() < AREAS);
    pages
        .into_iter()
        .try_for_each(|at| unmap(at, 4096).map(drop))
}

/// Touching the page that is one too many ends the process that does it; the kernel's own writing there is an error.
fn memory() -> rt::Result<()> {
    let toucher = Command::new("limits").arg("touch").spawn()?.wait()?;
    assert_eq!(toucher.0.how, Ending::OutOfMemory as u32, "{toucher}");
    let filler = Command::new("limits").arg("fill").spawn()?.wait()?;
    assert!(filler.success(), "{filler}");
    Ok(())
}

/// On a machine of 64 MiB: pipes until there are no more handles, then messages that take twice their length, until a quarter of the
/// machine's memory is kept for this process. What that is made of is counted in full.
fn keep() -> rt::Result<()> {
    const CHANNELS: usize = 8;
    let (mut pipes, why) = until_refused(rt::io::pipe);
    assert_eq!(why, Error::Limit);
    pipes.truncate(pipes.len() - CHANNELS);
    let channels: Result<Vec<_>, _> = (0..CHANNELS).map(|_| message::channel(1024)).collect();
    let channels = channels?;
    let message = [1; 2049];
    let mut all = channels.iter().flat_map(|(tx, _)| [tx; 1024]);
    let (sent, why) = until_refused(|| all.next().ok_or(Error::TooSmall)?.send(&message));
    assert_eq!(why, Error::OutOfMemory);
    let bytes = pipes.len() * (64 << 10) + sent.len() * 4096;
    assert!(
        (14 << 20..16 << 20).contains(&bytes),
        "{bytes} bytes, {} pipes",
        pipes.len()
    );
    Ok(())
}

/// Messages and pipes that nobody empties count.
fn kernel_memory() -> rt::Result<()> {
    let mut ends = Vec::new();
    let message = vec![1; message::MAX_BYTES];
    let (_, why) = until_refused(|| {
        let (tx, rx) = message::channel(1024)?;
        for _ in 0..1024 {
            tx.send(&message)?
        }
        ends.push((tx, rx));
        Ok(())
    });
    assert_eq!(why, Error::OutOfMemory);
    let mib = ends.len() * 4; // of each channel that is full
    assert!((50..64).contains(&mib), "{mib} MiB of messages");
    drop(ends);
    // All of that is back.
    let (tx, _rx) = message::channel(1)?;
    tx.send(&message)
}

fn processes() -> rt::Result<()> {
    let (children, why) = until_refused(|| Command::new("limits").arg("stay").spawn());
    assert_eq!((children.len(), why), (PROCESSES - 1, Error::Limit));
    for child in &children {
        child.kill()?
    }
    for child in children {
        assert_eq!(child.wait()?.to_string(), "killed");
    }
    // There is room again as soon as the first is waited for.
    assert!(Command::new("null").spawn()?.wait()?.success());
    Ok(())
}

fn arguments() -> rt::Result<()> {
    let long = "x".repeat(ARGS_BYTES - 1); // and its NUL
    assert!(Command::new("null").arg(&long).spawn()?.wait()?.success());
    let too_long = Command::new("null").arg(&long).arg("").spawn();
    assert_eq!(too_long.err(), Some(Error::Limit));
    let out = rt::io::stdout();
    let many = (0..HANDLES).fold(Command::new("null"), |command, _| command.give(&out));
    assert_eq!(many.spawn().err(), Some(Error::Limit));
    Ok(())
}

/// Twice what may be touched: in two pieces, since one alone may not be so large.
fn twice() -> rt::Result<impl Iterator<Item = u64>> {
    let half = PROCESS_PAGES * 4096;
    let (first, second) = (map(half)?, map(half)?);
    let pages = move |at| (0..PROCESS_PAGES as u64).map(move |page| at + page * 4096);
    Ok(pages(first).chain(pages(second)))
}

/// More than may be touched.
fn touch() -> rt::Result<()> {
    for page in twice()? {
        // SAFETY: mapped just now.
        unsafe { (page as *mut u8).write_volatile(1) }
    }
    Ok(())
}

/// The kernel writes to one page after the other, until it may not.
fn fill() -> rt::Result<()> {
    let mut pages = twice()?;
    let (filled, why) = until_refused(|| {
        let to = pages.next().ok_or(Error::TooSmall)?;
        // SAFETY: mapped just now; the handles are closed right away.
        unsafe {
            syscall::call(Call::Pipe, [to])?;
            let [read, write] = *(to as *const [u32; 2]);
            syscall::call(Call::Close, [read.into()])?;
            syscall::call(Call::Close, [write.into()])
        }
    });
    assert_eq!(why, Error::OutOfMemory);
    assert!(filled.len() > PROCESS_PAGES - 500, "{}", filled.len());
    Ok(())
}

fn main() -> Result<(), String> {
    let said = |name: &str, why| format!("{name}: {why}");
    match args().next().as_deref() {
        Some("stay") => sleep(Duration::from_secs(3600)),
        Some("keep") => keep().map_err(|why| said("keep", why))?,
        Some("print") => loop {
            println!("and on")
        },
        Some("touch") => touch().map_err(|why| said("touch", why))?,
        Some("fill") => fill().map_err(|why| said("fill", why))?,
        _ => {
            for (name, part) in PARTS {
                let start = now();
                part().map_err(|why| said(name, why))?;
                println!("{name}: {:.1?}", now() - start);
            }
        }
    }
    Ok(())
}
