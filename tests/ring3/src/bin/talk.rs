//! A client of `echo` and `httpd` in the same machine: many connections side by side, several requests each.
//! `talk [ECHO'S PORT [HTTPD'S PORT [CONNECTIONS]]]`.
#![no_std]
#![no_main]
use abi::{Call, Error};
use core::sync::atomic::{AtomicU64, Ordering::*};
use rt::net::{Ipv4Addr, TcpStream};
use rt::prelude::*;
use rt::{args::number, syscall};
rt::main!(main);

/// Connections that stand.
static STAND: AtomicU64 = AtomicU64::new(0);
/// Somewhere in the kernel.
const BAD: u64 = 0xffff_ffff_8010_0000;

/// Connects; a server that was started a moment ago may not listen yet.
fn connect(port: u16) -> rt::Result<TcpStream> {
    loop {
        match TcpStream::connect(Ipv4Addr::LOCALHOST, port) {
            Err(Error::Refused) => sleep(Duration::from_millis(2)),
            other => return other,
        }
    }
}

fn echoed(port: u16, me: u64, all: u64) -> rt::Result<()> {
    let stream = connect(port)?;
    STAND.fetch_add(1, AcqRel);
    while STAND.load(Acquire) < all {
        sleep(Duration::from_millis(1)) // side by side: all of them stand before the first one says anything
    }
    for bytes in [1, 100, 5000] {
        let sent: Vec<u8> = (0..bytes).map(|i| (i * 7 + me) as u8).collect();
        stream.write_all(&sent)?;
        // A bad buffer takes nothing of what comes.
        let handle = stream.as_ref().number().into();
        // SAFETY: the kernel does not write there: that is what is tried.
        let bad = unsafe { syscall::call(Call::Read, [handle, BAD, 1]) };
        assert_eq!(bad, Err(Error::BadAddress));
        let mut back = vec![0; sent.len()];
        stream.read_exact(&mut back)?;
        assert!(back == sent, "it came back otherwise");
    }
    Ok(())
}

/// What comes up to the length that the head says.
fn answer(stream: &TcpStream) -> Result<String, String> {
    let (mut text, mut buffer) = (String::new(), [0; 1024]);
    loop {
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("Content-Length: "));
            let length: usize = length.and_then(|n| n.parse().ok()).ok_or("no length")?;
            if body.len() >= length {
                return Ok(text);
            }
        }
        match stream.read(&mut buffer).map_err(|e| e.to_string())? {
            0 => return Err(format!("the answer ends early: {text}")),
            n => text.push_str(&String::from_utf8_lossy(&buffer[..n])),
        }
    }
}

fn browse(port: u16) -> Result<(), String> {
    let text = |e: Error| e.to_string();
    let stream = connect(port).map_err(text)?;
    for (path, more, first) in [
        ("/hello", "", "HTTP/1.1 200 OK"),
        ("/", "", "HTTP/1.1 200 OK"),
        ("/nowhere", "", "HTTP/1.1 404 Not Found"),
        ("/hello", "Connection: close\r\n", "HTTP/1.1 200 OK"),
    ] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: here\r\n{more}\r\n");
        stream.write_all(request.as_bytes()).map_err(text)?;
        let answer = answer(&stream)?;
        if !answer.starts_with(first) {
            return Err(format!("{path}: {answer}"));
        }
    }
    match stream.read(&mut [0; 16]).map_err(text)? {
        0 => Ok(()),
        n => Err(format!("{n} bytes after the last answer")),
    }
}

fn main() -> Result<(), String> {
    let echo = number(0, "port of echo", 7, 1..=65_535) as u16;
    let httpd = number(1, "port of httpd", 80, 1..=65_535) as u16;
    let all = number(2, "connections", 100, 1..=200);
    let threads: Vec<_> = (0..all)
        .map(|me| spawn(move || echoed(echo, me, all)))
        .collect();
    let echoed: rt::Result<()> = threads.into_iter().try_for_each(JoinHandle::join);
    echoed.map_err(|e| format!("echo: {e}"))?;
    let browsers: Vec<_> = (0..8).map(|_| spawn(move || browse(httpd))).collect();
    let browsed: Result<(), String> = browsers.into_iter().try_for_each(JoinHandle::join);
    browsed.map_err(|e| format!("httpd: {e}"))
}
