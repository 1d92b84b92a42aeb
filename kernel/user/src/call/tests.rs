//! The calls, as threads of processes make them.

mod ended;
mod futexes;
mod fuzz;
mod handed;
mod ipc;
mod sockets;

use super::*;
use crate::testing::{BASE, BYTES, CONSOLE, FRAMES, Process, TYPED, a_while, run};
use core::sync::atomic::Ordering::Relaxed;

/// The last byte of the memory, and the first behind it.
const LAST: u64 = BASE + BYTES - 1;
/// Addresses at which nothing can be had.
const BAD: [u64; 6] = [0, BASE - 1, LAST - 6, LAST + 1, 1 << 63, u64::MAX];

#[test]
fn files_are_read_to_their_end() {
    run(|| {
        let p = Process::new();
        p.call(|ctx| {
            p.memory.put(BASE, b"text");
            let file = open(ctx, BASE, 4).unwrap();
            assert_eq!(size(ctx, file), Ok(10));
            let other = duplicate(ctx, file).unwrap(); // shares the position
            assert_eq!(read(ctx, file, BASE + 100, 4), Ok(4));
            for bad in BAD {
                assert_eq!(read(ctx, file, bad, 8), Err(Error::BadAddress), "{bad:#x}");
            }
            assert_eq!(read(ctx, other, BASE + 104, u64::MAX), Ok(6)); // nothing was lost
            assert_eq!(read(ctx, file, BASE, 1), Ok(0));
            assert_eq!(p.memory.get(BASE + 100, 10), b"0123456789");
            assert_eq!(write(ctx, file, BASE, 1), Err(Error::BadHandle));
            p.memory.put(BASE, b"empty");
            let empty = open(ctx, BASE, 5).unwrap();
            assert_eq!(
                (size(ctx, empty), read(ctx, empty, BASE, 9)),
                (Ok(0), Ok(0))
            );
        });
    })
}

#[test]
fn names_of_no_file() {
    run(|| {
        let p = Process::new();
        p.call(|ctx| {
            p.memory.put(BASE, b"texts\xff");
            assert_eq!(open(ctx, BASE, 5), Err(Error::NotFound));
            assert_eq!(open(ctx, BASE, 0), Err(Error::NotFound));
            assert_eq!(open(ctx, BASE + 4, 2), Err(Error::NotFound)); // no UTF-8
            assert_eq!(open(ctx, LAST, 2), Err(Error::BadAddress));
            assert_eq!(open(ctx, BASE, 257), Err(Error::BadArgument));
            assert_eq!(open(ctx, BASE, u64::MAX), Err(Error::BadArgument));
        });
        assert_eq!(p.account.used_bytes(), 0);
    })
}

/// One test for both directions: the console is one.
#[test]
fn console() {
    run(|| {
        let p = Process::new();
        let source = || {
            let mut typed = TYPED.lock().unwrap();
            (!typed.is_empty()).then(|| typed.remove(0))
        };
        let input = crate::object::console::Input::new(source);
        p.handles.insert(Object::Input(Arc::new(input))).unwrap();
        p.handles.insert(Object::Output { errors: false }).unwrap();
        let reader = p.thread(|ctx| [read(ctx, 0, BASE, 100), read(ctx, 0, BASE + 2, 100)]);
        a_while();
        TYPED.lock().unwrap().extend(b"ab");
        while !TYPED.lock().unwrap().is_empty() {
            a_while()
        }
        TYPED.lock().unwrap().extend(b"c\x04d");
        assert_eq!(reader.join(), [Ok(2), Ok(1)]);
        p.call(|ctx| {
            assert_eq!(read(ctx, 0, BASE, 100), Ok(0)); // its end stays its end
            assert_eq!(p.memory.get(BASE, 3), b"abc");
            assert_eq!(read(ctx, 1, BASE, 1), Err(Error::BadHandle));
            assert_eq!(write(ctx, 0, BASE, 1), Err(Error::BadHandle));
            assert_eq!(write(ctx, 1, BASE, 3), Ok(3));
            assert_eq!(write(ctx, 1, BASE, BYTES + 1), Ok(4096)); // the rest is another call's
            assert_eq!(write(ctx, 1, LAST, 2), Err(Error::BadAddress));
            assert_eq!(write(ctx, 1, LAST, 0), Ok(0));
        });
        let written = CONSOLE.lock().unwrap();
        assert_eq!((written.len(), &written[..3]), (3 + 4096, &b"abc"[..]));
        TYPED.lock().unwrap().clear()
    })
}

#[test]
fn nothing_reads_and_writes_nothing() {
    run(|| {
        let p = Process::new();
        p.handles.insert(Object::Null).unwrap();
        p.call(|ctx| {
            assert_eq!(read(ctx, 0, BASE, 9), Ok(0));
            assert_eq!(write(ctx, 0, BASE, 9), Ok(9));
            assert_eq!(size(ctx, 0), Err(Error::BadHandle));
            assert_eq!(port(ctx, 0), Err(Error::BadHandle));
            assert_eq!(accept(ctx, 0), Err(Error::BadHandle));
            assert_eq!(send(ctx, 0, BASE, 9), Err(Error::BadHandle));
            assert_eq!(recv(ctx, 0, BASE, 9), Err(Error::BadHandle));
        })
    })
}

#[test]
fn sectors() {
    run(|| {
        let p = Process::new();
        p.call(|ctx| {
            assert_eq!(disk_read(ctx, 7, BASE, 1024), Ok(1024));
            assert_eq!(p.memory.get(BASE + 511, 2), [7, 8]);
            assert_eq!(disk_read(ctx, 99, BASE, 1024), Err(Error::Disk));
            assert_eq!(disk_read(ctx, u64::MAX, BASE, 1024), Err(Error::Disk));
            for bytes in [0, 511, 513, (64 << 10) + 512, u64::MAX, u64::MAX - 511] {
                let answer = disk_read(ctx, 0, BASE, bytes);
                assert_eq!(answer, Err(Error::BadArgument), "{bytes}");
            }
            for bad in BAD {
                assert_eq!(disk_read(ctx, 0, bad, 512), Err(Error::BadAddress));
            }
        });
        assert_eq!(p.account.used_bytes(), 0);
    })
}

#[test]
fn shared_memory_goes_with_its_last_handle() {
    run(|| {
        let (p, q) = (Process::new(), Process::new());
        p.call(|ctx| {
            let memory = shm(ctx, 3 * 4096).unwrap();
            assert_eq!(size(ctx, memory), Ok(3 * 4096));
            let theirs = p.hand(memory, &q);
            close(ctx, memory).unwrap();
            assert_eq!(FRAMES.load(Relaxed), 3);
            assert_eq!(p.account.used_bytes(), 3 * 4096); // who made it pays
            q.call(|ctx| close(ctx, theirs)).unwrap();
            assert_eq!(FRAMES.load(Relaxed), 0);
            assert_eq!(p.account.used_bytes(), 0);
            for bytes in [0, 1, 4095, u64::MAX] {
                assert_eq!(shm(ctx, bytes), Err(Error::BadArgument));
            }
            assert_eq!(shm(ctx, !4095), Err(Error::OutOfMemory));
            assert_eq!(
                shm(ctx, crate::testing::LIMIT + 4096),
                Err(Error::OutOfMemory)
            );
        })
    })
}
