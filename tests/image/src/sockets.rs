//! Sockets over the loopback interface (Go: net's tests of timeouts, closing, concurrent use; spec of the netpoller).

use crate::param::param;
use crate::wait::{bump, chance, until};
use crate::{Outcome, Test, ensure, figure};
use alloc::format;
use alloc::string::String;
use core::sync::atomic::{AtomicU64, Ordering::*};
use ringo::net::{Error, lookup};
use ringo::prelude::*;

pub const TESTS: &[Test] = &[
    ("sockets_echo", sockets_echo),
    ("sockets_deadlines", sockets_deadlines),
    ("sockets_close", sockets_close),
    ("sockets_many", sockets_many),
    ("sockets_stream", sockets_stream),
    ("sockets_datagrams", sockets_datagrams),
    ("sockets_refused", sockets_refused),
    ("sockets_again", sockets_again),
    ("sockets_serve", sockets_serve),
    ("sockets_last_word", sockets_last_word),
];

fn said(error: Error) -> String {
    format!("{error}")
}

/// A listener at some port, and where it is.
fn listen() -> Result<(Arc<TcpListener>, core::net::SocketAddr), String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(said)?;
    let addr = listener.local_addr().map_err(said)?;
    Ok((Arc::new(listener), addr))
}

/// Both ends of a connection.
fn pair() -> Result<(TcpStream, TcpStream), String> {
    let (listener, addr) = listen()?;
    let a = TcpStream::connect(addr).map_err(said)?;
    let (b, peer) = listener.accept().map_err(said)?;
    ensure!(
        peer == a.local_addr().map_err(said)?,
        "accepted from {peer}"
    );
    Ok((a, b))
}

/// Sends back what comes, until the end.
fn echo(mut stream: TcpStream) -> Outcome {
    let mut buffer = [0; 3000];
    loop {
        match stream.read(&mut buffer).map_err(said)? {
            0 => return Ok(()),
            n => stream.write_all(&buffer[..n]).map_err(said)?,
        }
    }
}

/// Go #60782: nobody waits, and the scheduler knows it.
fn at_rest() -> Outcome {
    until(|| sched::num_goroutine() == 1);
    let waiters = sched::this().netpoll_waiters();
    ensure!(waiters == 0, "{waiters} wait for the network at rest");
    Ok(())
}

/// A goroutine for each connection; every byte comes back.
fn sockets_echo() -> Outcome {
    let (connections, messages) = (param("connections", 20), param("messages", 50));
    let (listener, addr) = listen()?;
    let server = listener.clone();
    let acceptor = spawn(move || -> Outcome {
        let served: Vec<_> = server
            .incoming()
            .take(connections as usize)
            .map(|stream| stream.map(|stream| spawn(move || echo(stream))))
            .collect();
        served
            .into_iter()
            .try_for_each(|one| one.map_err(said)?.join())
    });
    let clients: Vec<_> = (0..connections)
        .map(|c| {
            spawn(move || -> Outcome {
                let mut rng = chance(c);
                let mut stream = TcpStream::connect(addr).map_err(said)?;
                for i in 0..messages {
                    let sent: Vec<u8> = (0..1 + rng.below(5000))
                        .map(|at| (at as u64 ^ i ^ c) as u8)
                        .collect();
                    let mut back = vec![0; sent.len()];
                    stream.write_all(&sent).map_err(said)?;
                    stream.read_exact(&mut back).map_err(|e| format!("{e:?}"))?;
                    ensure!(sent == back, "message {i} of {c} came back otherwise");
                }
                Ok(())
            })
        })
        .collect();
    clients.into_iter().try_for_each(|c| c.join())?;
    acceptor.join()?;
    drop(listener);
    at_rest()
}

/// Go: TestReadTimeout and its kind: not before its time, an error of the right kind, and the connection is good for more.
fn sockets_deadlines() -> Outcome {
    let (mut a, mut b) = pair()?;
    let mut buffer = [0; 16];
    for ns in [1, 1_000, 100_000, 3_000_000, 20_000_000] {
        let when = Instant::now() + Duration::from_nanos(ns);
        a.set_read_deadline(Some(when));
        let error = a.read(&mut buffer).err().map(|e| e.kind());
        ensure!(Instant::now() >= when, "a deadline of {ns} ns came early");
        ensure!(error == Some(ErrorKind::TimedOut), "{ns} ns: {error:?}");
        let again = a.read(&mut buffer).err().map(|e| e.kind());
        ensure!(
            again == Some(ErrorKind::TimedOut),
            "it passed once: {again:?}"
        );
    }
    // Moved while somebody reads (Go: TestReadWriteProlongedTimeout), and then there is something.
    let reader = a.try_clone().map_err(said)?;
    reader.set_read_deadline(Some(Instant::now() + Duration::from_secs(3600)));
    let got = spawn(move || (&reader).read(&mut [0; 16]));
    for _ in 0..200 {
        a.set_read_deadline(Some(Instant::now() + Duration::from_secs(3600)));
        yield_now()
    }
    b.write_all(b"there").map_err(said)?;
    ensure!(got.join() == Ok(5), "the read of a moved deadline");
    // A writer that finds no room.
    a.set_read_deadline(None);
    let block = [7; 4096];
    let mut taken = a.write(&block).map_err(said)?;
    a.set_write_deadline(Some(Instant::now() + Duration::from_millis(5)));
    let error = loop {
        match a.write(&block) {
            Ok(n) => taken += n,
            Err(error) => break error.kind(),
        }
    };
    ensure!(error == ErrorKind::TimedOut, "a full connection: {error:?}");
    a.set_write_deadline(None);
    a.shutdown(Shutdown::Write).map_err(said)?;
    let mut came = 0;
    loop {
        match b.read(&mut buffer).map_err(said)? {
            0 => break,
            n => came += n,
        }
    }
    figure!("filled_bytes", taken);
    ensure!(came == taken && came != 0, "{came} of {taken} bytes came");
    Ok(())
}

/// Closing unblocks who reads, writes and accepts; what follows fails.
fn sockets_close() -> Outcome {
    fn closed<T>(what: &str, result: ringo::net::Result<T>) -> Outcome {
        let kind = result.err().map(|e| e.kind());
        ensure!(kind == Some(ErrorKind::NotConnected), "{what}: {kind:?}");
        Ok(())
    }
    let (a, b) = pair()?;
    let (reader, writer) = (a.try_clone().map_err(said)?, a.try_clone().map_err(said)?);
    let reads = spawn(move || (&reader).read(&mut [0; 8]));
    let writes = spawn(move || {
        let block = [0; 4096];
        loop {
            (&writer).write(&block)?;
        }
        #[allow(unreachable_code)]
        Ok::<(), Error>(())
    });
    until(|| sched::this().netpoll_waiters() == 2);
    a.close();
    closed("read", reads.join())?;
    closed("write", writes.join())?;
    closed("read after", (&a).read(&mut [0; 8]))?;
    a.close();
    drop((a, b));
    // One direction alone: whoever reads gets the end, at once and later.
    let (a, mut b) = pair()?;
    a.set_keepalive(Some(Duration::MAX)).map_err(said)?;
    let reader = a.try_clone().map_err(said)?;
    let reads = spawn(move || (&reader).read(&mut [0; 8]));
    until(|| sched::this().netpoll_waiters() == 1);
    a.shutdown(Shutdown::Read).map_err(said)?;
    ensure!(reads.join() == Ok(0), "a reader of a direction that ends");
    b.write_all(b"for nobody").map_err(said)?;
    ensure!((&a).read(&mut [0; 8]) == Ok(0), "a read after that");
    drop((a, b));
    let (listener, _) = listen()?;
    let accepts = {
        let listener = listener.clone();
        spawn(move || listener.accept().map(|_| ()))
    };
    until(|| sched::this().netpoll_waiters() == 1);
    listener.close();
    closed("accept", accepts.join())?;
    let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").map_err(said)?);
    let receives = {
        let socket = socket.clone();
        spawn(move || socket.recv(&mut [0; 8]))
    };
    until(|| sched::this().netpoll_waiters() == 1);
    socket.close();
    closed("receive", receives.join())?;
    at_rest()
}

/// As many connections as the backlog never saw, all at once: none is reset.
fn sockets_many() -> Outcome {
    static STAND: AtomicU64 = AtomicU64::new(0);
    let n = param("connections", 500);
    let (listener, addr) = listen()?;
    let clients: Vec<_> = (0..n)
        .map(|_| {
            spawn(move || -> Outcome {
                let mut stream = TcpStream::connect(addr).map_err(said)?;
                bump(&STAND);
                let mut number = [0; 8];
                stream
                    .read_exact(&mut number)
                    .map_err(|e| format!("{e:?}"))?;
                Ok(())
            })
        })
        .collect();
    until(|| STAND.load(Relaxed) == n);
    for i in 0..n {
        let (mut stream, _) = listener.accept().map_err(said)?;
        stream.write_all(&i.to_le_bytes()).map_err(said)?
    }
    clients.into_iter().try_for_each(|c| c.join())?;
    at_rest()
}

/// One direction at full length, with a reader that is slow at times; then the other half still works.
fn sockets_stream() -> Outcome {
    let kib = param("kib", 2048);
    let (mut a, mut b) = pair()?;
    let writer = spawn(move || -> Outcome {
        let mut block = [0u8; 1024];
        for i in 0..kib {
            block.fill(i as u8);
            a.write_all(&block).map_err(said)?
        }
        a.shutdown(Shutdown::Write).map_err(said)?;
        let late = a.write(b"x").err().map(|e| e.kind());
        ensure!(
            late == Some(ErrorKind::BrokenPipe),
            "after the end: {late:?}"
        );
        let mut back = [0; 4];
        a.read_exact(&mut back).map_err(|e| format!("{e:?}"))?;
        ensure!(&back == b"done", "{back:?}");
        Ok(())
    });
    let (mut at, mut buffer) = (0u64, [0; 5000]);
    let mut rng = chance(3);
    loop {
        let n = b.read(&mut buffer).map_err(said)?;
        if n == 0 {
            break;
        }
        for byte in &buffer[..n] {
            ensure!(*byte == (at / 1024) as u8, "byte {at} is {byte}");
            at += 1
        }
        if rng.below(100) == 0 {
            sleep(Duration::from_micros(200))
        }
    }
    ensure!(at == kib * 1024, "{at} bytes");
    b.write_all(b"done").map_err(said)?;
    writer.join()
}

/// Datagrams: of no length, too long, for nobody, cut.
fn sockets_datagrams() -> Outcome {
    let a = UdpSocket::bind("127.0.0.1:0").map_err(said)?;
    let b = UdpSocket::bind("127.0.0.1:0").map_err(said)?;
    let to = b.local_addr().map_err(said)?;
    let mut buffer = [0; 2000];
    for len in [0usize, 1, 1472, 1473, 2000, 60_000] {
        a.send_to(&vec![len as u8; len], to).map_err(said)?;
        let (n, from) = b.recv_from(&mut buffer).map_err(said)?;
        ensure!(
            n == len.min(2000) && buffer[..n].iter().all(|x| *x == len as u8),
            "{n} of {len} bytes"
        );
        ensure!(from == a.local_addr().map_err(said)?, "from {from}");
    }
    let long = a.send_to(&[0; 65_508], to).err().map(|e| e.kind());
    ensure!(long == Some(ErrorKind::InvalidInput), "too long: {long:?}");
    let nobody = { UdpSocket::bind("127.0.0.1:0").map_err(said)? };
    a.connect(nobody.local_addr().map_err(said)?)
        .map_err(said)?;
    drop(nobody);
    a.send(b"?").map_err(said)?;
    let refused = a.recv(&mut buffer).err().map(|e| e.kind());
    ensure!(refused == Some(ErrorKind::ConnectionRefused), "{refused:?}");
    Ok(())
}

/// Addresses that are not there, and such as cannot be.
fn sockets_refused() -> Outcome {
    let kind = |e: Error| e.kind();
    let refused = TcpStream::connect("127.0.0.1:9").err().map(kind);
    ensure!(refused == Some(ErrorKind::ConnectionRefused), "{refused:?}");
    for (text, wanted) in [
        ("127.0.0.1", ErrorKind::InvalidInput),
        ("127.0.0.1:x", ErrorKind::InvalidInput),
        ("[::1]:7", ErrorKind::Unsupported),
        ("no name:7", ErrorKind::InvalidInput),
    ] {
        let got = TcpStream::connect(text).err().map(kind);
        ensure!(got == Some(wanted), "{text}: {got:?}");
    }
    let name = lookup("example.org").err().map(kind);
    ensure!(
        name == Some(ErrorKind::NetworkDown),
        "without a network: {name:?}"
    );
    let away = TcpStream::connect("10.0.2.2:7").err().map(kind);
    ensure!(away == Some(ErrorKind::NetworkUnreachable), "{away:?}");
    let not_ours = TcpListener::bind("10.9.9.9:7").err().map(kind);
    ensure!(
        not_ours == Some(ErrorKind::AddrNotAvailable),
        "{not_ours:?}"
    );
    Ok(())
}

/// Go: TestListenCloseListen: a port is free again at once, also after connections.
fn sockets_again() -> Outcome {
    for round in 0..10 {
        let listener = TcpListener::bind("127.0.0.1:700").map_err(said)?;
        let stream = TcpStream::connect("127.0.0.1:700").map_err(said)?;
        if round % 2 == 0 {
            drop(listener.accept().map_err(said)?)
        }
        drop(listener);
        drop(stream)
    }
    at_rest()
}

/// An echo server behind the card: so many connections, one after another or at once.
fn sockets_serve() -> Outcome {
    let connections = param("connections", 4);
    let listener = TcpListener::bind("0.0.0.0:7").map_err(said)?;
    let served: Vec<_> = listener
        .incoming()
        .take(connections as usize)
        .map(|stream| stream.map(|stream| spawn(move || echo(stream))))
        .collect();
    served
        .into_iter()
        .try_for_each(|one| one.map_err(said)?.join())?;
    at_rest()
}

/// The program ends right after its last word, with the connection dropped or (`keep=1`) not, and somebody busy beside it: the
/// other side reads all of it, and the end.
fn sockets_last_word() -> Outcome {
    let listener = TcpListener::bind("0.0.0.0:7").map_err(said)?;
    let (mut stream, _) = listener.accept().map_err(said)?;
    if param("busy", 0) == 1 {
        go(|| {
            loop {
                core::hint::spin_loop()
            }
        })
    }
    let word: Vec<u8> = (0..param("bytes", 50_000)).map(|i| i as u8).collect();
    stream.write_all(&word).map_err(said)?;
    if param("keep", 0) == 1 {
        core::mem::forget(stream)
    }
    Ok(())
}
