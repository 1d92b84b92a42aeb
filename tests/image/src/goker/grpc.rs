//! gRPC.

use super::kit::*;
use core::mem::forget;
use ringo::prelude::*;

pub const PROGRAMS: &[Program] = &[
    ("grpc_660", grpc_660, &[SENDS]),
    ("grpc_795", grpc_795, &[LOCKS, LOCKS]),
    ("grpc_1275", grpc_1275, &[RECEIVES]),
    ("grpc_1353", grpc_1353, &[SENDS, LOCKS, RECEIVES]),
    ("grpc_1424", grpc_1424, &[RECEIVES]),
    ("grpc_1460", grpc_1460, &[RECEIVES, LOCKS]),
    ("grpc_3017", grpc_3017, &[LOCKS, RECEIVES]),
];

pub const RETRIES: &[Program] = &[("grpc_862", grpc_862, &[SELECTS.timed()])];

/// The loop of a benchmark is stopped while a call is under way; the call's result has no taker. The call, certain.
fn grpc_660(fixed: bool) {
    let stop = Ch::<()>::new(0);
    start(&stop, move |stop| {
        loop {
            let done = Ch::new(fixed as usize);
            start(&done, |done| {
                later(2);
                done.send(true)
            });
            let stopped = select! { recv(stop.rx) -> _v => true, recv(done.rx) -> _v => false };
            if stopped {
                return;
            }
        }
    });
    later(1);
    stop.send(())
}

/// A server that is stopped keeps its lock; a second stop, and the goroutine that serves, want it. Both, certain.
fn grpc_795(fixed: bool) {
    let drains = Arc::new(Mutex::new(false));
    start(&drains, |drains| {
        later(1);
        drop(drains.lock())
    });
    for _stop in 0..3 {
        let mut drain = drains.lock();
        *drain = true;
        if !fixed {
            forget(drain) // no unlock
        }
    }
}

/// Dialling fails and the connection is not closed: its goroutine tries again and again, with longer and longer pauses. It does
/// run again: suspect.
fn grpc_862(fixed: bool) {
    let conn = Arc::new(Context::background().with_cancel());
    start(&conn, |conn| {
        for retries in 1.. {
            let closed = select! {
                recv(conn.0.done()) -> _v => true,
                recv(after(TURN * (1 << retries))) -> _t => false,
            };
            if closed {
                return;
            }
        }
    });
    if fixed {
        later(3);
        conn.1.cancel()
    }
}

/// A stream is closed under a reader, who is not told. The reader, certain.
fn grpc_1275(fixed: bool) {
    let (received, done) = (Ch::<u8>::new(0), Ch::<()>::new(0));
    start(&(received.clone(), done.clone()), |(received, done)| {
        received.recv();
        done.close()
    });
    if fixed {
        received.close()
    }
    select! { recv(done.rx) -> _v => (), default(TURN) => () }
}

/// Addresses are told under the balancer's lock, which their reader needs to take a connection down. Both, and who waits for the
/// end of the updates: certain.
fn grpc_1353(fixed: bool) {
    struct Balancer {
        lock: Mutex<u32>,
        addrs: Ch<u32>,
        told: Ch<()>,
    }
    let balancer = Arc::new(Balancer {
        lock: Mutex::new(0),
        addrs: Ch::new(fixed as usize),
        told: Ch::new(0),
    });
    start(&balancer, move |balancer| {
        for addr in 0..5 {
            let _lock = balancer.lock.lock();
            if fixed {
                let _ = balancer.addrs.rx.try_recv(); // the last one counts
            }
            balancer.addrs.send(addr)
        }
        balancer.told.close()
    });
    start(&balancer, |balancer| {
        for addr in balancer.addrs.rx.iter() {
            later(1);
            *balancer.lock.lock() = addr
        }
    });
    start(&balancer, |balancer| {
        balancer.told.recv();
        let _lock = balancer.lock.lock();
        balancer.addrs.close()
    });
}

/// The watcher of addresses returns without a word to the one who waits until it has begun. One, certain.
fn grpc_1424(fixed: bool) {
    let addrs = Ch::<u32>::new(0);
    start(&addrs, move |addrs| {
        let begun = Ch::<()>::new(0);
        start(&(addrs, begun.clone()), move |(addrs, begun)| {
            addrs.rx.iter().for_each(drop);
            if fixed {
                begun.close()
            }
        });
        begun.recv();
    });
    addrs.close()
}

/// A connection without streams waits for the first under its lock, and the first stream needs the lock. Both, certain.
fn grpc_1460(fixed: bool) {
    struct Client {
        streams: Mutex<u32>,
        awaken: Ch<()>,
    }
    let client = Arc::new(Client {
        streams: Mutex::new(0),
        awaken: Ch::new(0),
    });
    start(&client, move |client| {
        let streams = client.streams.lock();
        if *streams == 0 {
            let held = (!fixed).then_some(streams);
            client.awaken.recv();
            drop(held)
        }
    });
    start(&client, |client| {
        later(1);
        let mut streams = client.streams.lock();
        *streams += 1;
        let _ = client.awaken.tx.try_send(());
    });
}

/// A connection that is to be forgotten is wanted again while its timer goes off: the timer's function sees that and returns
/// with the lock. The next one who removes, and main: certain.
fn grpc_3017(fixed: bool) {
    let (aborted, done) = (Arc::new(Mutex::new(false)), Ch::<()>::new(0));
    start(&(aborted.clone(), done.clone()), move |(aborted, done)| {
        let theirs = aborted.clone();
        let removal = after_func(TURN, move || {
            let abort = theirs.lock();
            if *abort && !fixed {
                forget(abort) // no unlock
            }
        });
        let mut abort = aborted.lock();
        later(2); // the timer goes off meanwhile
        *abort = !removal.stop();
        drop(abort);
        later(1);
        *aborted.lock() = false; // removed again
        done.close()
    });
    done.recv();
}
