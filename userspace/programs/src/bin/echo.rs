//! A TCP echo server (RFC 862), a thread for each connection. `echo [PORT]`: 7 if not said.
#![no_std]
#![no_main]
use rt::net::{TcpListener, TcpStream};
use rt::prelude::*;
use rt::thread::Builder;
rt::main!(main);

/// Sends back what comes, until the end.
fn echo(stream: TcpStream) -> rt::Result<()> {
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            n => stream.write_all(&buffer[..n])?,
        }
    }
}

fn main() -> rt::Result<()> {
    let port = rt::args::number(0, "port", 7, 0..=65_535) as u16;
    let listener = TcpListener::bind(port)?;
    println!(
        "an echo server, at port {} of this machine",
        listener.port()?
    );
    loop {
        match listener.accept() {
            // A connection that breaks, or that there is no thread for, concerns nobody else.
            Ok(stream) => _ = Builder::new().go(|| _ = echo(stream)),
            // As many as there may be: some will end.
            Err(rt::Error::Limit | rt::Error::OutOfMemory) => sleep(Duration::from_millis(10)),
            Err(e) => return Err(e),
        }
    }
}
