//! The accept loop over connections in memory.

use crate::site::site;
use crate::wire::{Wire, answers, peer};
use core::net::SocketAddr;
use embedded_io::{ErrorKind, ErrorType, Read, Write};
use net::http::{Accept, End, Limits, Shutdown, Side, Stream, serve};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The server's end of a pipe between threads.
struct Pipe {
    from: Receiver<Vec<u8>>,
    rest: Vec<u8>,
    to: Sender<Vec<u8>>,
}

/// The client's.
struct Peer {
    from: Receiver<Vec<u8>>,
    to: Sender<Vec<u8>>,
}

fn pipe() -> (Pipe, Peer) {
    let ((there, from), (to, back)) = (channel(), channel());
    let rest = Vec::new();
    (
        Pipe { from, rest, to },
        Peer {
            from: back,
            to: there,
        },
    )
}

impl ErrorType for Pipe {
    type Error = ErrorKind;
}

impl Read for Pipe {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        if self.rest.is_empty() {
            self.rest = self.from.recv().unwrap_or_default();
        }
        let n = self.rest.len().min(buf.len());
        buf[..n].copy_from_slice(&self.rest[..n]);
        self.rest.drain(..n);
        Ok(n)
    }
}

impl Write for Pipe {
    fn write(&mut self, buf: &[u8]) -> Result<usize, ErrorKind> {
        self.to
            .send(buf.to_vec())
            .map_err(|_| ErrorKind::BrokenPipe)?;
        Ok(buf.len())
    }

    fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

impl Stream for Pipe {
    fn deadline(&mut self, _: Side, _: Option<Duration>) {}
}

struct Pipes(Receiver<Pipe>);

impl Accept for Pipes {
    type Stream = Pipe;
    type Error = ErrorKind;

    fn accept(&mut self) -> Result<Option<(Pipe, SocketAddr)>, ErrorKind> {
        Ok(self.0.recv().ok().map(|pipe| (pipe, peer())))
    }
}

impl Peer {
    fn ask(&self, request: &str) -> u16 {
        self.to.send(request.as_bytes().to_vec()).unwrap();
        let mut all = self.from.recv().unwrap();
        while answers(&all).is_err() {
            all.extend(self.from.recv().unwrap());
        }
        answers(&all).unwrap()[0].status
    }
}

#[test]
fn a_thread_per_connection() {
    let limits = Limits {
        connections: 3,
        ..Limits::default()
    };
    let server = Arc::new(site().limits(limits));
    let shutdown = Shutdown::new();
    let (dial, listener) = channel();
    let get = "GET /hello HTTP/1.1\r\nHost: h\r\n\r\n";
    let ends = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let (server, shutdown, ends) = (&server, &shutdown, &ends);
        let accepting = scope.spawn(move || {
            serve(server, &mut Pipes(listener), shutdown, |task| {
                scope.spawn(move || {
                    let outcome = task.run();
                    ends.lock().unwrap().push(outcome.end);
                });
            })
        });
        let peers: Vec<Peer> = std::iter::repeat_with(|| {
            let (one, two) = pipe();
            dial.send(one).unwrap();
            two
        })
        .take(3)
        .collect();
        for round in 0..50 {
            assert_eq!(peers[round % 3].ask(get), 200);
        }
        // A fourth is one too many, until there is room again.
        let (one, fourth) = pipe();
        dial.send(one).unwrap();
        let text = String::from_utf8(fourth.from.iter().flatten().collect()).unwrap();
        assert!(
            text.starts_with("HTTP/1.1 503 ") && text.contains("Retry-After: 1\r\n"),
            "{text}"
        );
        assert_eq!(
            peers[0].ask(&get.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")),
            200
        );
        while ends.lock().unwrap().is_empty() {
            std::thread::yield_now();
        }
        let (one, fifth) = pipe();
        dial.send(one).unwrap();
        assert_eq!(fifth.ask(get), 200);
        shutdown.begin();
        drop(dial);
        assert_eq!(accepting.join().unwrap(), Ok(()));
        drop((peers, fifth));
    });
    // The others end as they see that the server does, or their peers do.
    let (asked, others): (Vec<End>, Vec<End>) = ends
        .into_inner()
        .unwrap()
        .iter()
        .partition(|end| **end == End::Asked);
    assert_eq!((asked.len(), others.len()), (1, 3), "{others:?}");
    assert!(
        others
            .iter()
            .all(|end| matches!(end, End::PeerClosed | End::Shutdown)),
        "{others:?}"
    );
    assert_eq!(server.counters().requests(), 52);
}

#[test]
fn a_listener_that_fails() {
    struct Broken;
    impl Accept for Broken {
        type Stream = Wire;
        type Error = ErrorKind;
        fn accept(&mut self) -> Result<Option<(Wire, SocketAddr)>, ErrorKind> {
            Err(ErrorKind::OutOfMemory)
        }
    }
    let start = |_| panic!("nobody came");
    assert_eq!(
        serve(&Arc::new(site()), &mut Broken, &Shutdown::new(), start),
        Err(ErrorKind::OutOfMemory)
    );
    let over = Shutdown::new();
    over.begin();
    assert_eq!(serve(&Arc::new(site()), &mut Broken, &over, |_| ()), Ok(()));
}
