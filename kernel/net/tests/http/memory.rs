//! What a connection takes, and that a request takes nothing more. Prints what a request costs.

use crate::wire::{Wire, peer};
use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::time::Duration;
use embedded_io::{ErrorType, Read, Write};
use net::http::{End, Method, Refusal, Request, Response, Router, Server, Side, Stream};
use std::alloc::System;

/// Counts what this thread allocates.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

fn count(layout: Layout) {
    CALLS.set(CALLS.get() + 1);
    LARGEST.set(LARGEST.get().max(layout.size()));
}

// SAFETY: all is System's; counters without destructors are touched beside it, which allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout);
        // SAFETY: the caller's promises are System's conditions.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above; `block` is System's.
        unsafe { System.dealloc(block, layout) }
    }
}

/// The same request `times` times; what is written is counted.
struct Again {
    request: &'static [u8],
    times: u64,
    reads: u64,
    written: u64,
    /// What the thread had allocated at the read before the tenth request, and at the last.
    before: u64,
    after: u64,
}

impl ErrorType for Again {
    type Error = core::convert::Infallible;
}

impl Read for Again {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, Self::Error> {
        if self.reads == 10 {
            self.before = CALLS.get();
        }
        self.after = CALLS.get();
        if self.reads == self.times {
            return Ok(0);
        }
        self.reads += 1;
        let n = self.request.len();
        buf[..n].copy_from_slice(self.request);
        Ok(n)
    }
}

impl Write for Again {
    fn write(&mut self, buf: &[u8]) -> Result<usize, Self::Error> {
        self.written += buf.len() as u64;
        Ok(buf.len())
    }

    fn flush(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

impl Stream for Again {
    fn deadline(&mut self, _: Side, _: Option<Duration>) {}
}

fn server() -> Server<Router> {
    let router = Router::new()
        .route(
            Method::Get,
            "/hello/{name}",
            |q: &Request, r: &mut Response| {
                r.header("Content-Type", "text/plain")?
                    .body(q.param("name").unwrap_or_default())
            },
        )
        .route(Method::Post, "/chunks", |q: &Request, r: &mut Response| {
            let mut body = r.chunked()?;
            body.write_all(q.body())?;
            body.write_all(q.field_str("user-agent").unwrap_or_default().as_bytes())
        })
        .route(
            Method::Put,
            "/hello/{name}",
            |_: &Request, r: &mut Response| r.body(""),
        );
    Server::new(router)
}

/// Processor time of this thread, ns; 0 where the host does not say.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = text.split(' ').next().and_then(|ns| ns.parse().ok());
    ns.unwrap_or(0)
}

#[test]
fn requests_allocate_nothing() {
    let requests: [&[u8]; 5] = [
        b"GET /hello/you HTTP/1.1\r\nHost: localhost:8080\r\n\r\n",
        b"GET /hello/you HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: wrk/4.2\r\nAccept: */*\r\nAccept-Encoding: identity\r\n\r\n",
        b"POST /chunks HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nUser-Agent: a\r\n\r\n5\r\nhello\r\n4\r\n you\r\n0\r\n\r\n",
        b"DELETE /hello/you HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET /nowhere HTTP/1.1\r\nHost: h\r\n\r\n",
    ];
    for request in requests {
        const TIMES: u64 = 100_000;
        let mut stream = Again {
            request,
            times: TIMES,
            reads: 0,
            written: 0,
            before: 0,
            after: 0,
        };
        let server = server();
        let start = cpu_ns();
        let outcome = server.serve_connection(&mut stream, peer(), &|| false);
        let ns = (cpu_ns() - start) / TIMES;
        assert_eq!(outcome.requests, TIMES);
        assert_eq!(
            stream.after - stream.before,
            0,
            "allocations, over {}",
            request.escape_ascii()
        );
        let line = request
            .split(|&byte| byte == b'\r')
            .next()
            .unwrap()
            .escape_ascii();
        println!(
            "{line}, {} bytes: {ns} ns each, {} a second; {} bytes each written",
            request.len(),
            1_000_000_000 / ns.max(1),
            stream.written / TIMES
        );
    }
}

/// What is announced takes no memory before it is there: the buffer grows with what came.
#[test]
fn announcements_take_nothing() {
    let head = "PUT /hello/you HTTP/1.1\r\nHost: h\r\n";
    let some = "a".repeat(3000);
    for request in [
        format!("{head}Content-Length: 1000000\r\n\r\n{some}"),
        format!("{head}Transfer-Encoding: chunked\r\n\r\nf4240\r\n{some}"),
    ] {
        let mut wire = Wire::new([request]);
        let server = server();
        LARGEST.set(0);
        let outcome = server.serve_connection(&mut wire, peer(), &|| false);
        assert_eq!(outcome.end, End::Refused(Refusal::BodyCutOff));
        assert!(LARGEST.get() < 10_000, "{}", LARGEST.get());
    }
}
