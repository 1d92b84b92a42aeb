//! `stuck PLACE`: stays there until it is ended.
#![no_std]
#![no_main]
use core::net::Ipv4Addr;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use rt::io::{pipe, stdin};
use rt::net::{TcpListener, TcpStream};
use rt::prelude::*;
use rt::process::Command;
use rt::{disk, futex, message, syscall};
rt::main!(main);

/// Nobody has this address.
const NOBODY: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 77);

fn stay(place: &str) -> rt::Result<()> {
    match place {
        "ring3" => loop {
            core::hint::spin_loop()
        },
        "calls" => loop {
            // SAFETY: touches no memory.
            let _ = unsafe { syscall::call(abi::Call::Yield, []) };
        },
        "faults" => loop {
            // Fresh pages each time: too large for the allocator to keep.
            drop(core::hint::black_box(vec![1_u8; 1 << 20]))
        },
        "disk" => {
            let mut sectors = vec![0; 64 << 10];
            loop {
                disk::read(0, &mut sectors)?
            }
        }
        "sleep" => sleep(Duration::from_secs(3600)),
        // Beside a thread that runs now and then: all asleep would be a deadlock.
        "futex" => {
            go(|| sleep(Duration::from_secs(3600)));
            futex::wait(&AtomicU32::new(0), 0)?
        }
        "pipe" => {
            let (reader, _writer) = pipe()?;
            let _ = reader.read(&mut [0; 1])?;
        }
        "full-pipe" => {
            let (_reader, writer) = pipe()?;
            writer.write_all(&vec![0; 1 << 20])?
        }
        "receive" => {
            let (_tx, rx) = message::channel(1)?;
            let _ = rx.recv(&mut [0; 8])?;
        }
        "send" => {
            let (tx, _rx) = message::channel(0)?;
            tx.send(b"nobody wants it")?
        }
        "accept" => drop(TcpListener::bind(0)?.accept()?),
        "connect" => loop {
            let _ = TcpStream::connect(NOBODY, 7);
        },
        "console" => {
            let _ = stdin().read(&mut [0; 1])?;
        }
        "child" => {
            let _ = Command::new("stuck").arg("sleep").spawn()?.wait()?;
        }
        "threads" => threads(),
        _ => {}
    }
    panic!("{place} is no place to stay")
}

/// Threads that start threads that end, and some at each place.
fn threads() {
    static STARTED: AtomicU32 = AtomicU32::new(0);
    for place in ["ring3", "sleep", "pipe", "receive", "send", "faults"] {
        go(move || stay(place).unwrap());
    }
    loop {
        spawn(|| STARTED.fetch_add(1, Relaxed)).join();
    }
}

fn main() -> rt::Result<()> {
    stay(&args().next().unwrap_or_default())
}
