//! A TCP proxy: `cargo run -- proxy -- HOST:PORT`, and who connects to port 8000 of the machine talks to HOST:PORT.
//!
//! The computer that QEMU runs on is 10.0.2.2 to the machine. Two goroutines for each connection, one for each direction, and no
//! memory but a buffer each: who reads slowly slows down who writes. An end of one direction is passed on as what it is; the other
//! goes on (`nc -N`, HTTP/1.0). What breaks one direction ends both.
#![no_std]
#![no_main]
use ringo::net::{Error, Result, ToSocketAddrs};
use ringo::prelude::*;
ringo::main!(main);

/// At once; who comes later waits to be accepted.
const CONNECTIONS: usize = 500;
const BUFFER_BYTES: usize = 16 << 10;
/// So long may the target take to answer.
const CONNECT: Duration = Duration::from_secs(10);
/// After so long a silence each side is asked whether it is still there.
const ASK: Duration = Duration::from_secs(30);

/// Everything that comes, and then the end. How many bytes that was.
fn pipe(mut from: &TcpStream, mut to: &TcpStream) -> Result<u64> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut bytes = 0;
    loop {
        match from.read(&mut buffer)? {
            0 => {
                to.shutdown(Shutdown::Write)?;
                return Ok(bytes);
            }
            n => {
                to.write_all(&buffer[..n])?;
                bytes += n as u64
            }
        }
    }
}

/// Both directions, until both have ended: how many bytes went there, and how many back.
fn relay(client: &TcpStream, target: &str) -> Result<(u64, u64)> {
    let server = TcpStream::connect_timeout(target, CONNECT)?;
    client.set_keepalive(Some(ASK))?;
    server.set_keepalive(Some(ASK))?;
    let close_both = |_: &Error| {
        client.close();
        server.close()
    };
    scope(|s| {
        let there = s.spawn(|| pipe(client, &server).inspect_err(close_both));
        let back = pipe(&server, client).inspect_err(close_both);
        Ok((there.join()?, back?))
    })
}

/// The target, which has to be one: whether it answers shows with each connection.
fn target() -> core::result::Result<String, String> {
    let mut args = args();
    let (Some(target), None) = (args.next(), args.next()) else {
        return Err("it takes one argument, HOST:PORT, such as 10.0.2.2:8080".to_string());
    };
    match target.to_socket_addrs() {
        Ok(_) => Ok(target),
        Err(error) if error.kind() == ErrorKind::InvalidInput => Err(format!(
            "{target} is not HOST:PORT, such as example.org:80 or 10.0.2.2:8080"
        )),
        Err(error) => Err(format!("{target}: {error}")),
    }
}

fn main() -> Result<()> {
    let target = target().unwrap_or_else(|why| {
        eprintln!("proxy: {why}");
        exit(1)
    });
    let target: Arc<str> = target.into();
    let listener = TcpListener::bind("0.0.0.0:8000")?;
    println!("a proxy for {target}, at port 8000 of this machine");
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        places.acquire();
        let (client, from) = listener.accept()?;
        let (target, places) = (target.clone(), places.clone());
        go(move || {
            match relay(&client, &target) {
                Ok((there, back)) => println!("{from}: {there} bytes there, {back} back"),
                Err(error) => eprintln!("proxy: {from} to {target}: {error}"),
            }
            drop(client);
            places.release()
        })
    }
}
