//! Programs that send bytes and check bytes. They try again only when they are told to: one that is not told stands still, and the test
//! sees it.

use super::wire::{Host, Told};
use super::world::{Side, World};
use crate::stack::tcp::{Conn, TcpError};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Byte `i` of a stream.
pub(crate) fn byte(stream: u64, i: u64) -> u8 {
    ((i ^ stream).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// A program's end of a connection.
pub(crate) struct End {
    pub side: Side,
    pub conn: Conn<Told>,
    pub told: Arc<Told>,
    /// The stream that it sends, how much of it, and how much has gone.
    pub sends: u64,
    pub total: u64,
    pub sent: u64,
    /// The stream that it receives, and how much has come.
    pub receives: u64,
    pub received: u64,
    /// It takes at most so much at a time.
    pub sip: usize,
    /// It has shut its half behind the last byte.
    pub shut: bool,
    pub ended: bool,
    pub error: Option<TcpError>,
    told_read: u32,
    told_write: u32,
    block_read: bool,
    block_write: bool,
}

impl End {
    /// One that sends `total` bytes of `sends`, shuts its half, and receives `receives` to its end.
    pub fn new(
        side: Side,
        conn: Conn<Told>,
        told: Arc<Told>,
        sends: u64,
        total: u64,
        receives: u64,
    ) -> Self {
        Self {
            side,
            conn,
            told,
            sends,
            total,
            sent: 0,
            receives,
            received: 0,
            sip: 1 << 16,
            shut: false,
            ended: false,
            error: None,
            told_read: 0,
            told_write: 0,
            block_read: false,
            block_write: false,
        }
    }

    pub fn is_done(&self) -> bool {
        self.error.is_some() || self.shut && self.ended
    }

    /// Goes on as far as it can. True: something moved.
    pub fn go(&mut self, host: &mut Host, now_ns: u64) -> bool {
        let (read, write) = self.is_told();
        let mut moved = false;
        while write && self.error.is_none() && !self.shut && !self.block_write {
            moved |= self.send(host, now_ns)
        }
        while read && self.error.is_none() && !self.ended && !self.block_read {
            moved |= self.receive(host, now_ns);
            if self.sip < 1 << 16 {
                break;
            }
        }
        moved
    }

    fn is_told(&mut self) -> (bool, bool) {
        let closed = self.told.closed.load(Relaxed);
        let (r, w) = (
            self.told.readable.load(Relaxed) + closed,
            self.told.writable.load(Relaxed) + closed,
        );
        if r != self.told_read {
            self.block_read = false
        }
        if w != self.told_write {
            self.block_write = false
        }
        (self.told_read, self.told_write) = (r, w);
        (!self.block_read, !self.block_write)
    }

    fn send(&mut self, host: &mut Host, now_ns: u64) -> bool {
        let Host { stack, card } = host;
        if self.sent == self.total {
            // Before it stands there is nothing to shut.
            match self.conn.connected() {
                Err(TcpError::WouldBlock) => self.block_write = true,
                Err(e) => self.error = Some(e),
                Ok(()) => {
                    let shut = self.conn.shutdown_write(stack, now_ns, card);
                    self.error = shut.err();
                    self.shut = true
                }
            }
            return false;
        }
        let n = (self.total - self.sent).min(5000);
        let data: Vec<u8> = (0..n).map(|i| byte(self.sends, self.sent + i)).collect();
        match self.conn.send(stack, &data, now_ns, card) {
            Ok(n) => {
                assert!(n > 0);
                self.sent += n as u64
            }
            Err(TcpError::WouldBlock) => self.block_write = true,
            Err(e) => self.error = Some(e),
        }
        true
    }

    fn receive(&mut self, host: &mut Host, now_ns: u64) -> bool {
        let Host { stack, card } = host;
        let mut to = vec![0; self.sip.min(3000)];
        match self.conn.recv(stack, &mut to, now_ns, card) {
            Ok(0) => self.ended = true,
            Ok(n) => {
                for (i, &b) in to[..n].iter().enumerate() {
                    let at = self.received + i as u64;
                    assert_eq!(b, byte(self.receives, at), "byte {at} of {}", self.receives)
                }
                self.received += n as u64
            }
            Err(TcpError::WouldBlock) => self.block_read = true,
            Err(e) => self.error = Some(e),
        }
        true
    }
}

/// Runs the world with these programs in it until all are done. Fails if they stand still.
pub(crate) fn run(world: &mut World, ends: &mut [End]) {
    let mut steps = 0u64;
    loop {
        let now = world.now_ns;
        for end in &mut *ends {
            let side = end.side;
            end.go(world.host(side), now);
        }
        if ends.iter().all(End::is_done) {
            return;
        }
        steps += 1;
        assert!(steps < 3_000_000, "for ever: {}", tell(ends));
        assert!(
            world.step(world.now_ns + 3_600_000_000_000),
            "they stand still: {}",
            tell(ends)
        )
    }
}

fn tell(ends: &[End]) -> String {
    ends.iter()
        .filter(|e| !e.is_done())
        .take(4)
        .map(|e| {
            format!(
                "{:?}: sent {} of {}, received {}, shut {}, ended {}; ",
                e.side, e.sent, e.total, e.received, e.shut, e.ended
            )
        })
        .collect()
}

/// Two connected programs: A has asked B's port 80.
pub(crate) fn connect(world: &mut World, from_a: u64, from_b: u64) -> (End, End) {
    let listener = world
        .b
        .stack
        .listen("0.0.0.0:80".parse().unwrap(), 8, Arc::default())
        .unwrap();
    let told = Arc::<Told>::default();
    let now = world.now_ns;
    let Host { stack, card } = &mut world.a;
    let conn = stack
        .connect("10.0.0.2:80".parse().unwrap(), told.clone(), now, card)
        .unwrap();
    let a = End::new(Side::A, conn, told, 1, from_a, 2);
    let told = Arc::<Told>::default();
    let until = world.now_ns + 100_000_000_000;
    let conn = loop {
        if let Some(conn) = listener.accept(&world.b.stack, told.clone()) {
            break conn;
        }
        assert!(world.step(until), "no connection")
    };
    let b = End::new(Side::B, conn, told, 2, from_b, 1);
    let now = world.now_ns;
    let Host { stack, card } = &mut world.b;
    listener.close(stack, now, card);
    (a, b)
}
