//! Pipes and channels.

use super::*;
use crate::handles::HANDLE_BYTES;
use crate::object::channel::{CAPACITY_MAX, MESSAGE_BYTES};

#[test]
fn a_pipe_has_an_end_at_both_ends() {
    run(|| {
        let p = Process::new();
        p.call(|ctx| {
            pipe(ctx, BASE).unwrap();
            let [from, to] = p.memory.handles(BASE);
            p.memory.put(BASE, b"hello");
            assert_eq!(write(ctx, to, BASE, 5), Ok(5));
            assert_eq!(write(ctx, to, LAST, 2), Err(Error::BadAddress));
            for bad in BAD {
                assert_eq!(read(ctx, from, bad, 8), Err(Error::BadAddress));
            }
            assert_eq!(read(ctx, to, BASE, 1), Err(Error::BadHandle));
            assert_eq!(write(ctx, from, BASE, 1), Err(Error::BadHandle));
            assert_eq!(read(ctx, from, BASE + 10, 0), Ok(0));
            assert_eq!(read(ctx, from, BASE + 10, 2), Ok(2));
            close(ctx, to).unwrap();
            assert_eq!(read(ctx, from, BASE + 12, 90), Ok(3)); // what was written is still there
            assert_eq!(p.memory.get(BASE + 10, 5), b"hello");
            assert_eq!(read(ctx, from, BASE, 90), Ok(0));
            close(ctx, from).unwrap();

            pipe(ctx, BASE).unwrap();
            let [from, to] = p.memory.handles(BASE);
            close(ctx, from).unwrap();
            assert_eq!(write(ctx, to, BASE, 1), Err(Error::Closed));
            close(ctx, to).unwrap();
        });
        assert_eq!(p.account.used_bytes(), 0);
    })
}

#[test]
fn bytes_go_through_a_pipe_in_order() {
    run(|| {
        const TOTAL: u64 = 300_000;
        let p = Process::new();
        p.call(|ctx| pipe(ctx, BASE)).unwrap();
        let writer = p.thread(|ctx| {
            let (mut rng, mut n) = (base::Rng::new(3), 0);
            while n < TOTAL {
                let piece = (1 + u64::from(rng.below(4000))).min(TOTAL - n);
                let bytes: Vec<u8> = (n..n + piece).map(|i| (i % 251) as u8).collect();
                ctx.memory.copy_out(BASE, &bytes).unwrap();
                n += write(ctx, 1, BASE, piece).unwrap()
            }
            close(ctx, 1).unwrap();
        });
        let q = p.clone();
        let reader = p.thread(move |ctx| {
            let (mut rng, mut n) = (base::Rng::new(4), 0);
            loop {
                let got = read(ctx, 0, BASE + 4096, 1 + u64::from(rng.below(5000))).unwrap();
                if got == 0 {
                    return n;
                }
                let bytes = q.memory.get(BASE + 4096, got as usize);
                assert!((n..).zip(&bytes).all(|(i, &b)| b == (i % 251) as u8));
                n += got
            }
        });
        writer.join();
        assert_eq!(reader.join(), TOTAL);
    })
}

#[test]
fn messages_stay_whole() {
    run(|| {
        let p = Process::new();
        p.call(|ctx| {
            chan(ctx, 4, BASE).unwrap();
            let [to, from] = p.memory.handles(BASE);
            p.memory.put(BASE, b"abcdef");
            send(ctx, to, BASE, 3).unwrap();
            send(ctx, to, BASE + 3, 3).unwrap();
            send(ctx, to, BASE, 0).unwrap();
            send(ctx, to, BASE, 4096).unwrap();
            assert_eq!(send(ctx, to, BASE, 4097), Err(Error::BadArgument));
            assert_eq!(send(ctx, to, BASE, u64::MAX), Err(Error::BadArgument));
            assert_eq!(send(ctx, to, LAST, 2), Err(Error::BadAddress));
            for bad in BAD {
                assert_eq!(recv(ctx, from, bad, 8), Err(Error::BadAddress));
            }
            assert_eq!(recv(ctx, from, BASE + 100, 2), Err(Error::TooSmall)); // and lost
            assert_eq!(recv(ctx, from, BASE + 100, 3), Ok(3));
            assert_eq!(p.memory.get(BASE + 100, 3), b"def");
            assert_eq!(recv(ctx, from, 0, 0), Ok(0)); // no room is needed
            close(ctx, to).unwrap();
            assert_eq!(recv(ctx, from, BASE + 4096, u64::MAX), Ok(4096));
            assert_eq!(recv(ctx, from, BASE, 9), Err(Error::Closed));
            close(ctx, from).unwrap();
            assert_eq!(chan(ctx, 1025, BASE), Err(Error::BadArgument));
            assert_eq!(chan(ctx, u64::MAX, BASE), Err(Error::BadArgument));
        });
        assert_eq!(p.account.used_bytes(), 0);
    })
}

/// A message counts for what it takes, not for its length; a queue that was long counts for nothing, and is nothing.
#[test]
fn messages_count_for_what_they_take() {
    run(|| {
        let p = Process::new();
        p.call(|ctx| {
            chan(ctx, CAPACITY_MAX, BASE).unwrap();
            let [to, from] = p.memory.handles(BASE);
            let ends = 2 * HANDLE_BYTES;
            assert_eq!(p.account.used_bytes(), ends);
            for (bytes, takes) in [(0, 0), (1, 16), (2048, 2048), (2049, 4096), (4096, 4096)] {
                send(ctx, to, BASE, bytes).unwrap();
                assert_eq!(p.account.used_bytes(), ends + takes + MESSAGE_BYTES);
                recv(ctx, from, BASE, 4096).unwrap();
            }
            for _ in 0..CAPACITY_MAX {
                send(ctx, to, BASE, 0).unwrap();
            }
            let all = ends + CAPACITY_MAX * MESSAGE_BYTES;
            assert_eq!(p.account.used_bytes(), all);
            for _ in 0..CAPACITY_MAX {
                recv(ctx, from, BASE, 0).unwrap();
            }
            assert_eq!(p.account.used_bytes(), ends)
        })
    })
}

#[test]
fn handles_that_cannot_be_told_are_taken_back() {
    run(|| {
        let p = Process::new();
        p.call(|ctx| {
            for bad in BAD {
                assert_eq!(pipe(ctx, bad), Err(Error::BadAddress));
                assert_eq!(chan(ctx, 0, bad), Err(Error::BadAddress));
            }
        });
        assert_eq!((p.handles.count(), p.account.used_bytes()), (0, 0));
    })
}

#[test]
fn who_sends_waits_for_who_receives() {
    run(|| {
        let p = Process::new();
        p.call(|ctx| chan(ctx, 0, BASE)).unwrap();
        let [to, from] = p.memory.handles(BASE);
        let sender = p.thread(move |ctx| [send(ctx, to, BASE, 1), send(ctx, to, BASE, 2)]);
        a_while();
        p.call(|ctx| {
            assert_eq!(recv(ctx, from, BASE, 9), Ok(1));
            assert_eq!(recv(ctx, from, BASE, 9), Ok(2));
        });
        assert_eq!(sender.join(), [Ok(0), Ok(0)]);
        // Nobody is left to receive while it waits.
        let sender = p.thread(move |ctx| [send(ctx, to, BASE, 1), send(ctx, to, BASE, 2)]);
        a_while();
        p.call(|ctx| close(ctx, from)).unwrap();
        assert_eq!(sender.join(), [Err(Error::Closed); 2]);
    })
}

/// What the sender has taken back, because its process ends, nobody receives.
#[test]
fn an_offer_ends_with_its_process() {
    run(|| {
        let (p, q) = (Process::new(), Process::new());
        p.call(|ctx| chan(ctx, 0, BASE)).unwrap();
        let [to, from] = p.memory.handles(BASE);
        let (to, from) = (p.hand(to, &q), from);
        let also = q.hand(to, &p);
        let ended = q.thread(move |ctx| send(ctx, to, BASE, 1));
        a_while();
        let sender = p.thread(move |ctx| send(ctx, also, BASE, 2)); // behind the offer
        a_while();
        q.end();
        assert_eq!(ended.join(), Err(Error::Killed));
        assert_eq!(p.call(|ctx| recv(ctx, from, BASE, 9)), Ok(2));
        assert_eq!(sender.join(), Ok(0));
        assert_eq!(q.account.used_bytes(), 0);
    })
}

/// Each message comes once, whatever the room, while some of those who send and receive are ended.
#[test]
fn each_message_once() {
    run(|| {
        for capacity in [0, 1, 7] {
            let p = Process::new();
            p.call(|ctx| chan(ctx, capacity, BASE)).unwrap();
            let [to, from] = p.memory.handles(BASE);
            // Processes that come and go: they offer nothing, or take it and are gone.
            let (q, to_q) = (Process::new(), Process::new());
            let theirs = p.hand(from, &q);
            let idle = q.thread(move |ctx| recv(ctx, theirs, BASE, 0));
            let senders: Vec<_> = (0..4u64)
                .map(|i| {
                    p.thread(move |ctx| {
                        let at = BASE + 100 + 8 * i;
                        for n in 0..200u64 {
                            ctx.memory
                                .copy_out(at, &(i << 32 | n).to_le_bytes())
                                .unwrap();
                            send(ctx, to, at, 8).unwrap();
                        }
                    })
                })
                .collect();
            let lost = matches!(idle.join(), Err(Error::TooSmall)) as usize;
            q.end();
            drop(to_q);
            let receivers: Vec<_> = (0..3u64)
                .map(|i| {
                    p.thread(move |ctx| {
                        let at = BASE + 200 + 8 * i;
                        let mut got = Vec::new();
                        while recv(ctx, from, at, 8).is_ok() {
                            let mut n = [0; 8];
                            ctx.memory.copy_in(at, &mut n).unwrap();
                            got.push(u64::from_le_bytes(n))
                        }
                        got
                    })
                })
                .collect();
            senders.into_iter().for_each(|s| s.join());
            p.call(|ctx| close(ctx, to)).unwrap();
            let mut all: Vec<_> = receivers.into_iter().flat_map(|r| r.join()).collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!((lost, all.len()), (1, 4 * 200 - 1));
        }
    })
}
