use super::*;
use crate::handles::HANDLE_BYTES;

const HERE: u64 = 0x7f00_0001;

#[test]
fn a_connection() {
    run(|| {
        let p = Process::new();
        let listener = p.call(|ctx| listen(ctx, 0)).unwrap();
        let at = p.call(|ctx| port(ctx, listener)).unwrap();
        let server = p.thread(move |ctx| -> Result<u64, Error> {
            let stream = accept(ctx, listener)?;
            let mut total = 0;
            loop {
                let n = read(ctx, stream, BASE, 4096)?;
                if n == 0 {
                    return Ok(total);
                }
                total += write(ctx, stream, BASE, n)?
            }
        });
        p.call(|ctx| {
            let stream = connect(ctx, HERE, at).unwrap();
            assert_ne!(port(ctx, stream).unwrap(), at);
            p.memory.put(BASE + 8192, b"hello");
            assert_eq!(write(ctx, stream, BASE + 8192, 5), Ok(5));
            assert_eq!(read(ctx, stream, LAST, 2), Err(Error::BadAddress));
            assert_eq!(read(ctx, stream, BASE + 9000, 99), Ok(5)); // still there
            assert_eq!(p.memory.get(BASE + 9000, 5), b"hello");
            assert_eq!(
                (read(ctx, stream, 0, 0), write(ctx, stream, BASE, 0)),
                (Ok(0), Ok(0))
            );
            close(ctx, stream).unwrap();
        });
        assert_eq!(server.join(), Ok(5));
    })
}

#[test]
fn what_cannot_be_had() {
    run(|| {
        let p = Process::new();
        p.call(|ctx| {
            assert_eq!(listen(ctx, 1 << 16), Err(Error::BadArgument));
            assert_eq!(connect(ctx, HERE, u64::MAX), Err(Error::BadArgument));
            assert_eq!(connect(ctx, 1 << 32, 80), Err(Error::BadArgument));
            assert_eq!(connect(ctx, HERE, 9), Err(Error::Refused));
            assert_eq!(connect(ctx, 0x0a00_0001, 80), Err(Error::Network)); // no card
            let listener = listen(ctx, 0).unwrap();
            let at = port(ctx, listener).unwrap();
            assert_eq!(listen(ctx, at), Err(Error::InUse));
            close(ctx, listener).unwrap();
            let again = listen(ctx, at).unwrap();
            assert_eq!(read(ctx, again, BASE, 1), Err(Error::BadHandle));
        })
    })
}

/// A listener that two processes share serves the one when the other is ended in the middle of it.
#[test]
fn a_listener_outlives_one_of_its_processes() {
    run(|| {
        let p = Process::new();
        let listener = p.call(|ctx| listen(ctx, 0)).unwrap();
        let at = p.call(|ctx| port(ctx, listener)).unwrap();
        for _ in 0..20 {
            let q = Process::new();
            let theirs = p.hand(listener, &q);
            let ended = q.thread(move |ctx| accept(ctx, theirs)); // its turn is the first
            a_while();
            let mine = p.thread(move |ctx| {
                let stream = accept(ctx, listener)?;
                close(ctx, stream)
            });
            let also = q.thread(move |ctx| accept(ctx, theirs)); // waits for its turn
            a_while();
            q.end();
            assert_eq!(ended.join(), Err(Error::Killed));
            assert_eq!(also.join(), Err(Error::Killed));
            p.call(|ctx| {
                let stream = connect(ctx, HERE, at).unwrap();
                close(ctx, stream).unwrap();
            });
            assert_eq!(mine.join(), Ok(0));
        }
    })
}

/// Nobody answers there: who connects is ended all the same.
#[test]
fn a_connect_is_ended() {
    run(|| {
        let p = Process::new();
        // Nobody accepts; what does not fit into the backlog waits.
        let listener = p.call(|ctx| listen(ctx, 0)).unwrap();
        let at = p.call(|ctx| port(ctx, listener)).unwrap();
        let q = Process::new();
        let threads: Vec<_> = (0..3)
            .map(|_| {
                q.thread(move |ctx| {
                    let stream = connect(ctx, HERE, at)?;
                    read(ctx, stream, BASE, 1)
                })
            })
            .collect();
        a_while();
        q.end();
        for thread in threads {
            assert_eq!(thread.join(), Err(Error::Killed))
        }
    })
}

/// Their buffers are the kernel's memory: a program that opens and never closes, or never accepts, comes to its own limit.
#[test]
fn connections_count_for_who_has_them() {
    run(|| {
        let (p, q) = (Process::new(), Process::new());
        let one = net::stack::tcp::Config::default().connection_bytes() as u64;
        p.call(|ctx| {
            let listener = listen(ctx, 0).unwrap();
            let unaccepted = p.account.used_bytes();
            let backlog = crate::object::socket::backlog(&p.account);
            assert_eq!(unaccepted, backlog * one + HANDLE_BYTES);
            let at = port(ctx, listener).unwrap();
            let theirs = q.call(|ctx| connect(ctx, HERE, at)).unwrap();
            assert_eq!(q.account.used_bytes(), one + HANDLE_BYTES);
            let mine = accept(ctx, listener).unwrap();
            let all = unaccepted + one + HANDLE_BYTES;
            assert_eq!(p.account.used_bytes(), all);
            // With all used up there is none.
            let rest = p.account.charge(crate::testing::LIMIT - all).unwrap();
            assert_eq!(connect(ctx, HERE, at), Err(Error::OutOfMemory));
            assert_eq!(listen(ctx, 0), Err(Error::OutOfMemory));
            let second = q.call(|ctx| connect(ctx, HERE, at)).unwrap();
            assert_eq!(accept(ctx, listener), Err(Error::OutOfMemory));
            drop(rest);
            let also_mine = accept(ctx, listener).unwrap(); // it has waited
            for handle in [listener, mine, also_mine] {
                close(ctx, handle).unwrap();
            }
            for theirs in [theirs, second] {
                assert_eq!(q.call(|ctx| read(ctx, theirs, BASE, 1)), Ok(0))
            }
        });
        q.end();
        p.nothing_left();
        q.nothing_left();
    })
}

/// Buffers that the other side does not empty stay, and count, when the last handle has closed.
#[test]
fn a_connection_counts_until_its_memory_is_free() {
    run(|| {
        let (p, q) = (Process::new(), Process::new());
        let one = net::stack::tcp::Config::default().connection_bytes() as u64;
        let listener = p.call(|ctx| listen(ctx, 0)).unwrap();
        let at = p.call(|ctx| port(ctx, listener)).unwrap();
        let stream = q.call(|ctx| connect(ctx, HERE, at)).unwrap();
        let mine = p.call(|ctx| accept(ctx, listener)).unwrap();
        // Until both its buffer and the other side's window are full; then it gives up, but what was written goes on.
        let writer = q.thread(move |ctx| while write(ctx, stream, BASE, 4096).is_ok() {});
        a_while();
        q.end();
        writer.join();
        a_while();
        assert_eq!(q.account.used_bytes(), one);
        p.call(|ctx| while read(ctx, mine, BASE, 4096) != Ok(0) {});
        p.call(|ctx| close(ctx, mine)).unwrap();
        q.nothing_left();
    })
}

/// A small process has a small backlog.
#[test]
fn a_listener_takes_an_eighth_at_most() {
    let one = net::stack::tcp::Config::default().connection_bytes() as u64;
    for (limit, most) in [(0, 1), (8 * 7 * one, 7), (1 << 30, 128)] {
        let account = crate::account::Account::new(limit, crate::limits::Job::new(), |_| true);
        assert_eq!(crate::object::socket::backlog(&account), most)
    }
}
