//! What is left of connections, in bytes. Nobody else may be in this process: what is counted is all that it allocates.

use core::alloc::{GlobalAlloc, Layout};
use core::net::SocketAddrV4;
use net::device::Checksum;
use net::stack::tcp::{Conn, Listener, Places};
use net::stack::{Config, Out, Ready, Stack};
use std::alloc::System;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Counts the bytes that are allocated.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;
static BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all is System's; a counter is touched beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller's promises are System's conditions.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above; `block` is System's.
        unsafe { System.dealloc(block, layout) }
    }
}

/// No card: all of it goes to ourselves.
struct Nowhere;

impl Out<()> for Nowhere {
    fn frame(
        &mut self,
        _: u16,
        _: usize,
        _: Option<Checksum>,
        _: &mut dyn FnMut(&mut [u8]),
    ) -> bool {
        true
    }
    fn near(&self) -> u16 {
        0
    }
    fn ready(&mut self, _: &Arc<()>, _: Ready) {}
}

const SECOND: u64 = 1_000_000_000;

/// Connections to ourselves, each by somebody else.
struct World {
    stack: Stack<()>,
    listener: Listener<()>,
    now_ns: u64,
}

impl World {
    fn new(time_waits: usize) -> World {
        let mut config = Config::new([2, 0, 0, 0, 0, 1], 7);
        config.tcp.time_waits = time_waits;
        let stack = Stack::new(config);
        let at: SocketAddrV4 = "127.0.0.1:80".parse().unwrap();
        let listener = stack.listen(at, 8, Arc::new(())).unwrap();
        World {
            stack,
            listener,
            now_ns: SECOND,
        }
    }

    fn connect(&mut self) -> (Conn<()>, Conn<()>) {
        let to = self.listener.local();
        let asked = self
            .stack
            .connect(to, Arc::new(()), self.now_ns, &mut Nowhere);
        let asked = asked.unwrap();
        let accepted = self.listener.accept(&self.stack, Arc::new(())).unwrap();
        (asked, accepted)
    }

    fn close(&mut self, conn: Conn<()>) {
        conn.close(&self.stack, self.now_ns, &mut Nowhere)
    }

    fn pass(&mut self, seconds: u64) {
        for _ in 0..10 * seconds {
            self.now_ns += SECOND / 10;
            while self.stack.has_more(self.now_ns) {
                self.stack.tick(self.now_ns, &mut Nowhere)
            }
        }
    }
}

fn bytes() -> usize {
    BYTES.load(Relaxed)
}

/// Of connections that have ended a record is left for a minute, of so many and no more, and then nothing.
fn ended_ones() {
    const N: usize = 2_000;
    const REMEMBERED: usize = 500;
    let mut world = World::new(REMEMBERED);
    let (a, b) = world.connect();
    let one = bytes();
    let (c, d) = world.connect();
    let buffers = bytes() - one;
    // Two ends with two buffers each.
    assert!(buffers > 64 << 10, "{buffers} bytes of two ends");
    for conn in [a, b, c, d] {
        world.close(conn)
    }
    world.pass(200);
    let before = bytes();
    for n in 0..N {
        let (a, b) = world.connect();
        world.close(a);
        world.close(b);
        if n == REMEMBERED - 1 {
            let each = (bytes() - before) / REMEMBERED;
            println!("{each} bytes for each that has just ended");
            // A record in a table that is half full, and reminders: of the wait, of what was under way at either end.
            assert!(each < 350, "{each} bytes for each that has just ended")
        }
    }
    assert_eq!(world.stack.places().taken, 0);
    assert_eq!(world.stack.remembered_connections(), REMEMBERED);
    world.pass(2);
    let each = (bytes() - before) / REMEMBERED;
    println!("{each} bytes for each of those that are remembered");
    // Of the others nothing is left but a few reminders.
    assert!(each < 300, "{each} bytes for each of those remembered");
    world.pass(200);
    assert_eq!(world.stack.connections(), 0);
    let left = bytes().saturating_sub(before);
    assert!(left < 64 << 10, "{left} bytes are left of {N} connections")
}

/// Closed on one side alone: no buffers on that side.
fn half_ended_ones() {
    const N: usize = 200;
    let mut world = World::new(1_000);
    let before = bytes();
    let other: Vec<_> = (0..N)
        .map(|_| {
            let (a, b) = world.connect();
            world.close(a);
            b
        })
        .collect();
    world.pass(1);
    let Places { taken, .. } = world.stack.places();
    assert_eq!((taken, world.stack.remembered_connections()), (N, N));
    let each = (bytes() - before) / N;
    println!("{each} bytes for one that is closed on one side, both sides together");
    assert!(
        (32 << 10..36 << 10).contains(&each),
        "{each} bytes for one that is closed on one side"
    );
    for conn in other {
        world.close(conn)
    }
    world.pass(200);
    assert_eq!(
        (world.stack.connections(), world.stack.places().taken),
        (0, 0)
    )
}

/// One function, so that no other test allocates beside it.
#[test]
fn bytes_of_what_has_ended() {
    ended_ones();
    half_ended_ones()
}
