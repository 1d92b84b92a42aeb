//! Gives the kernel addresses that it must not follow, in every call that takes one. Each gets its error, nothing is lost by it.
//! `pointers`, `pointers race [ROUNDS]`.
#![no_std]
#![no_main]
use abi::{Call, Error, MAP_READ_ONLY, PAGE_BYTES, Spawn};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use rt::io::{Read, Write};
use rt::prelude::*;
use rt::process::Command;
use rt::{io, message, syscall};
rt::main!(main);

/// The end of what ring 3 may have, and of what an address can be below the gap.
const USER_END: u64 = 0x7fff_ffff_0000;
const GAP: u64 = 0x8000_0000_0000;
/// The kernel's map of all memory, and its image.
const KERNEL: [u64; 4] = [
    0xffff_8000_0000_0000,
    0xffff_8000_0010_0000,
    0xffff_ffff_8010_0000,
    u64::MAX - 4095,
];

/// A call with an address in it: its name, whether the kernel writes there, and how.
type Way<'a> = (&'static str, bool, &'a dyn Fn(u64) -> rt::Result<u64>);

fn call<const N: usize>(number: Call, args: [u64; N]) -> rt::Result<u64> {
    // SAFETY: addresses that are none are the purpose; those that are lead to pages that nobody else uses.
    unsafe { syscall::call(number, args) }
}

fn map(pages: u64, flags: u64) -> rt::Result<u64> {
    call(Call::Map, [pages * PAGE_BYTES, flags])
}

/// Addresses at which 16 bytes can be neither read nor written.
fn bad_addresses() -> rt::Result<Vec<(&'static str, u64)>> {
    // Nothing is mapped after them: it would come to lie there.
    let (gone, half) = (map(1, 0)?, map(2, 0)?);
    call(Call::Unmap, [gone, PAGE_BYTES])?;
    call(Call::Unmap, [half + PAGE_BYTES, PAGE_BYTES])?;
    let mut bad = vec![
        ("null", 0),
        ("the first page", 4088),
        ("unmapped", gone),
        ("half-mapped", half + PAGE_BYTES - 4),
        ("the end of ring 3's", USER_END - 8),
        ("behind the end of ring 3's", USER_END),
        ("into the gap", GAP - 8),
        ("the gap", GAP),
        ("wraps", u64::MAX - 7),
        ("the last byte", u64::MAX),
    ];
    bad.extend(KERNEL.map(|address| ("the kernel's", address)));
    Ok(bad)
}

/// Handles that the calls below use.
struct Objects {
    pipe: (io::PipeReader, io::PipeWriter),
    messages: (message::MessageSender, message::MessageReceiver),
    ended: rt::process::Process,
}

fn handle(of: &impl AsRef<rt::Handle>) -> u64 {
    of.as_ref().number().into()
}

/// `Spawn` whose record is good, and one of whose addresses is `address`.
fn spawn_with(which: usize, address: u64) -> rt::Result<u64> {
    let mut record = Spawn {
        name: ["null".as_ptr() as u64, 4],
        ..Spawn::default()
    };
    match which {
        0 => record.name = [address, 16],
        1 => record.args = [address, 16],
        _ => record.handles = [address, 4],
    }
    call(Call::SpawnProcess, [&raw const record as u64])
}

/// Every call with an address, at every address that is bad.
fn all_bad(o: &Objects) -> Result<u64, String> {
    let ways: &[Way] = &[
        ("read", true, &|a| {
            call(Call::Read, [handle(&o.pipe.0), a, 16])
        }),
        ("write", false, &|a| {
            call(Call::Write, [handle(&o.pipe.1), a, 16])
        }),
        ("write to the console", false, &|a| {
            call(Call::Write, [1, a, 16])
        }),
        ("send", false, &|a| {
            call(Call::Send, [handle(&o.messages.0), a, 16])
        }),
        ("recv", true, &|a| {
            call(Call::Recv, [handle(&o.messages.1), a, 16])
        }),
        ("wait", true, &|a| call(Call::Wait, [handle(&o.ended), a])),
        ("pipe", true, &|a| call(Call::Pipe, [a])),
        ("chan", true, &|a| call(Call::Chan, [1, a])),
        ("open", false, &|a| call(Call::Open, [a, 16])),
        ("spawn", false, &|a| call(Call::SpawnProcess, [a])),
        ("spawn, name", false, &|a| spawn_with(0, a)),
        ("spawn, arguments", false, &|a| spawn_with(1, a)),
        ("spawn, handles", false, &|a| spawn_with(2, a)),
        ("disk read", true, &|a| call(Call::DiskRead, [0, a, 512])),
    ];
    let read_only = map(1, MAP_READ_ONLY).map_err(|e| e.to_string())?;
    let bad = bad_addresses().map_err(|e| e.to_string())?;
    let only_read = [
        ("read-only", read_only),
        ("the code", main as *const () as u64),
        ("a constant", "null".as_ptr() as u64),
    ];
    let mut tried = 0;
    for &(name, writes, way) in ways {
        let addresses = bad
            .iter()
            .chain(only_read.iter().take(if writes { 3 } else { 0 }));
        for &(what, address) in addresses {
            let answer = way(address);
            if answer != Err(Error::BadAddress) {
                return Err(format!("{name}, {what} ({address:#x}): {answer:?}"));
            }
            tried += 1;
        }
    }
    Ok(tried)
}

/// Words to sleep at, and where a thread may begin: those of one word or none.
fn words(tried: &mut u64) -> Result<(), String> {
    let mapped = map(1, 0).map_err(|e| e.to_string())?;
    let bad = bad_addresses().map_err(|e| e.to_string())?;
    // A word fits into what is mapped of the half-mapped one.
    let addresses = bad.iter().filter(|(what, _)| *what != "half-mapped");
    let odd = [1, 2, 3].map(|n| ("no multiple of 4", mapped + n));
    for &(what, address) in addresses.chain(&odd) {
        for (name, answer) in [
            ("wait", call(Call::FutexWait, [address, 0, 0])),
            ("wake", call(Call::FutexWake, [address, 1])),
        ] {
            if answer != Err(Error::BadAddress) {
                return Err(format!("futex {name}, {what} ({address:#x}): {answer:?}"));
            }
            *tried += 1;
        }
    }
    for address in KERNEL.into_iter().chain([0, GAP, USER_END, u64::MAX]) {
        for args in [[address, 0, mapped + 8], [mapped, 0, address]] {
            let answer = call(Call::SpawnThread, args);
            if !matches!(answer, Err(Error::BadAddress | Error::BadArgument)) {
                return Err(format!("a thread with {args:x?}: {answer:?}"));
            }
            *tried += 1;
        }
        for bytes in [PAGE_BYTES, 1 << 40, u64::MAX - 4095] {
            let address = address / PAGE_BYTES * PAGE_BYTES;
            let answer = call(Call::Unmap, [address, bytes]);
            if answer != Err(Error::BadAddress) {
                return Err(format!("unmap of {bytes:#x} at {address:#x}: {answer:?}"));
            }
            *tried += 1;
        }
    }
    Ok(())
}

/// What lay in the pipe and in the channel still lies there, and no handle was left behind.
fn still_there(o: &Objects, next_handle: u64) -> Result<(), String> {
    let mut buffer = [0; 64];
    let n = o.pipe.0.read(&mut buffer).map_err(|e| e.to_string())?;
    if &buffer[..n] != b"in the pipe" {
        return Err(format!("{:?} was in the pipe", &buffer[..n]));
    }
    let n = o.messages.1.recv(&mut buffer).map_err(|e| e.to_string())?;
    if n.map(|n| &buffer[..n]) != Some(b"a message") {
        return Err(format!("{n:?} bytes were the message"));
    }
    let code = o.ended.wait().map_err(|e| e.to_string())?.code();
    if code != Some(0) {
        return Err(format!("the child's code is {code:?}"));
    }
    let next = call(Call::Duplicate, [1]).map_err(|e| e.to_string())?;
    match next == next_handle {
        true => Ok(()),
        false => Err(format!("the next handle was {next_handle}, and is {next}")),
    }
}

fn pointers() -> Result<u64, String> {
    let text = |e: Error| e.to_string();
    let objects = Objects {
        pipe: io::pipe().map_err(text)?,
        messages: message::channel(2).map_err(text)?,
        ended: Command::new("null").spawn().map_err(text)?,
    };
    objects.pipe.1.write_all(b"in the pipe").map_err(text)?;
    objects.messages.0.send(b"a message").map_err(text)?;
    let next_handle = call(Call::Duplicate, [1]).map_err(text)?;
    call(Call::Close, [next_handle]).map_err(text)?;
    let mut tried = 0;
    for _ in 0..20 {
        tried += all_bad(&objects)?;
        words(&mut tried)?;
    }
    still_there(&objects, next_handle)?;
    Ok(tried)
}

/// Address of the page that comes and goes.
static PAGE: AtomicU64 = AtomicU64::new(0);
static OVER: AtomicBool = AtomicBool::new(false);
/// Calls that found it, and that did not.
static FOUND: AtomicU64 = AtomicU64::new(0);
static MISSED: AtomicU64 = AtomicU64::new(0);

/// Rounds more, of 100 us each, until a call has found the page.
const PATIENCE: u64 = 100_000;

/// A page is mapped and taken out, while other threads pass its address to calls.
fn race(rounds: u64) -> Result<(), String> {
    let text = |e: Error| e.to_string();
    let (reader, writer) = io::pipe().map_err(text)?;
    let (sender, receiver) = message::channel(8).map_err(text)?;
    let first = map(1, 0).map_err(text)?;
    PAGE.store(first, Relaxed);
    // With what they need before the first page goes: no other memory of this process may come to lie there.
    let (pipe, chan) = (
        [handle(&reader), handle(&writer)],
        [handle(&sender), handle(&receiver)],
    );
    let calls: [Box<dyn Fn(u64) -> rt::Result<u64> + Send>; 6] = [
        Box::new(move |a| call(Call::Write, [pipe[1], a, 4096])),
        Box::new(move |a| call(Call::Read, [pipe[0], a, 4096])),
        Box::new(move |a| call(Call::Send, [chan[0], a, 3000])),
        Box::new(move |a| call(Call::Recv, [chan[1], a, 4096])),
        Box::new(move |a| match call(Call::FutexWait, [a, 0, 1000]) {
            Err(Error::TimedOut | Error::Again) => Ok(0),
            other => other,
        }),
        Box::new(move |a| match call(Call::SpawnProcess, [a]) {
            // A page full of zeroes is the record of a program without a name.
            Err(Error::NotFound | Error::Again) => Ok(0),
            other => other,
        }),
    ];
    let mut threads = Vec::with_capacity(calls.len());
    for one in calls {
        threads.push(spawn(move || worker(&one)));
    }
    // So many, and more while the host keeps the CPUs of those who call from running.
    for round in 0..rounds + PATIENCE {
        if round >= rounds {
            if FOUND.load(Relaxed) != 0 {
                break;
            }
            sleep(Duration::from_micros(100))
        }
        let page = PAGE.load(Relaxed);
        call(Call::Unmap, [page, PAGE_BYTES]).map_err(text)?;
        if round % 4 == 0 {
            yield_now();
        }
        PAGE.store(map(1, 0).map_err(text)?, Relaxed);
        if round % 2 == 0 {
            yield_now();
        }
    }
    OVER.store(true, Release);
    drop((reader, writer, sender, receiver)); // who waits for the other side goes on
    threads.into_iter().try_for_each(JoinHandle::join)?;
    println!("= found {}", FOUND.load(Relaxed));
    println!("= missed {}", MISSED.load(Relaxed));
    match FOUND.load(Relaxed) != 0 {
        true => Ok(()),
        false => Err("no call ever found the page".to_string()),
    }
}

/// One call, until it is over: nothing but success and a bad address may be the answer.
fn worker(one: &dyn Fn(u64) -> rt::Result<u64>) -> Result<(), String> {
    while !OVER.load(Acquire) {
        match one(PAGE.load(Relaxed)) {
            Ok(_) => FOUND.fetch_add(1, Relaxed),
            Err(Error::BadAddress) => MISSED.fetch_add(1, Relaxed),
            Err(Error::BadHandle | Error::Closed) if OVER.load(Acquire) => return Ok(()),
            Err(e) => return Err(format!("a page that comes and goes: {e}")),
        };
        yield_now();
    }
    Ok(())
}

fn main() -> Result<(), String> {
    if args().next().as_deref() == Some("race") {
        return race(rt::args::number(1, "rounds", 1000, 1..=1_000_000));
    }
    println!("= tried {}", pointers()?);
    Ok(())
}
