//! An echo server, TCP and UDP at port 7, a goroutine for each connection (RFC 862): `nc localhost 8007`. The runner says which port of
//! the host's leads here. With `-- N` it asks itself, N times over the loopback interface, and ends.
#![no_std]
#![no_main]
use ringo::net::{Error, Result};
use ringo::prelude::*;
ringo::main!(main);

/// Sends back what comes, until the end.
fn echo(stream: TcpStream) -> Result<()> {
    let (mut from, mut to) = (&stream, &stream);
    let mut buffer = [0; 4096];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(()),
            n => to.write_all(&buffer[..n])?,
        }
    }
}

fn datagrams(socket: UdpSocket) -> Result<()> {
    let mut buffer = [0; 2048];
    loop {
        let (n, from) = socket.recv_from(&mut buffer)?;
        // Whoever cannot be answered concerns nobody else.
        let _ = socket.send_to(&buffer[..n], from);
    }
}

fn main() -> core::result::Result<(), Error> {
    let times = args().next().and_then(|n| n.parse::<u32>().ok());
    let at = if times.is_some() {
        "127.0.0.1:7"
    } else {
        "0.0.0.0:7"
    };
    let listener = TcpListener::bind(at)?;
    let socket = UdpSocket::bind(at)?;
    go(|| _ = datagrams(socket));
    let server = move || {
        for stream in listener.incoming().flatten() {
            // A connection that breaks concerns nobody else.
            go(|| _ = echo(stream))
        }
    };
    let Some(times) = times else {
        println!("an echo server, at port 7 of this machine");
        server();
        return Ok(());
    };
    go(server);
    let mut stream = TcpStream::connect(at)?;
    let begin = Instant::now();
    let mut back = [0; 5];
    for _ in 0..times {
        stream.write_all(b"hello")?;
        stream
            .read_exact(&mut back)
            .map_err(|_| ErrorKind::ConnectionReset)?;
        assert_eq!(&back, b"hello");
    }
    let each = begin.elapsed() / times.max(1);
    println!("{times} times to the server and back: {each:?} each");
    Ok(())
}
