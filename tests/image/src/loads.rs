//! A server under loads: port 7 sends back what comes, at port 9 the machine says how it is. What is done to it, and whether it is
//! right, is the script's at the other end of the cable.

use crate::wait::until;
use crate::{Outcome, Test, ensure};
use alloc::format;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use ringo::net::Error;
use ringo::{machine, prelude::*};

pub const TESTS: &[Test] = &[("loads_serve", loads_serve)];

/// Sends back what comes, until the end, or until the other side breaks it off.
fn echo(stream: &TcpStream) -> Result<(), Error> {
    let (mut from, mut to) = (stream, stream);
    let mut buffer = [0; 4096];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(()),
            n => to.write_all(&buffer[..n])?,
        }
    }
}

/// Goroutines, those of them that wait for the network, bytes of the heap in use; TCP connections that take memory, how many may,
/// and how often somebody found no place; how often somebody gave way to one who was woken.
fn state() -> [u64; 7] {
    let heap = mem::heap::usage();
    let bytes = heap.small_used_bytes + heap.large_used_bytes;
    let waiters = sched::this().netpoll_waiters();
    let c = sched::this().connections();
    let gs = sched::num_goroutine() as u64;
    [
        gs,
        waiters.into(),
        bytes as u64,
        c.open,
        c.most,
        c.turned_away,
        machine::counts().gave_way,
    ]
}

/// Asks the other end of the cable for a connection, and says whether there was no room for one.
fn finds_no_room() -> bool {
    let asked = TcpStream::connect("10.0.2.2:9");
    asked.is_err_and(|e| e.kind() == ErrorKind::OutOfMemory)
}

/// Loops without a call, two for each P, until they are told to end.
struct Hogs(Arc<AtomicBool>);

impl Hogs {
    fn begin() -> Hogs {
        let end = Arc::new(AtomicBool::new(false));
        for _ in 0..2 * machine::procs() {
            let end = end.clone();
            // Relaxed: nothing else follows from it.
            go(move || while !end.load(Relaxed) {})
        }
        Hogs(end)
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        self.0.store(true, Relaxed)
    }
}

/// Both ports, until port 9 is told to end (`e`). To `c` it answers with whether there was no room for a connection of its own, to any
/// other byte with the state; after `h` there are [`Hogs`], up to the next byte.
fn loads_serve() -> Outcome {
    let said = |e: Error| format!("{e}");
    let listener = Arc::new(TcpListener::bind("0.0.0.0:7").map_err(said)?);
    let control = TcpListener::bind("0.0.0.0:9").map_err(said)?;
    let server = {
        let listener = listener.clone();
        spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                // A connection that breaks concerns nobody else.
                go(move || _ = echo(&stream))
            }
        })
    };
    let (mut asks, _) = control.accept().map_err(said)?;
    let mut byte = [0];
    let mut _hogs = None;
    loop {
        asks.read_exact(&mut byte).map_err(|e| format!("{e:?}"))?;
        if byte == *b"e" {
            break;
        }
        if byte == *b"c" {
            let answer = [u8::from(finds_no_room())];
            asks.write_all(&answer).map_err(said)?;
            continue;
        }
        _hogs = (byte == *b"h").then(Hogs::begin);
        let words = state().map(u64::to_be_bytes);
        asks.write_all(words.as_flattened()).map_err(said)?
    }
    listener.close();
    server.join();
    drop((asks, control));
    until(|| sched::num_goroutine() == 1);
    let waiters = sched::this().netpoll_waiters();
    ensure!(waiters == 0, "{waiters} wait for the network at rest");
    println!("= free_mib {}", machine::free_bytes().unwrap_or(0) >> 20);
    Ok(())
}
