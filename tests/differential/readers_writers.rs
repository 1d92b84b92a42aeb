//! Readers see both halves of a pair or neither, and several of them read at a time.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

#[derive(Default)]
struct Pair {
    a: u32,
    b: u32,
}

fn write(p: &RwLock<Pair>) {
    for _ in 0..100 {
        let mut p = p.write();
        p.a += 1;
        yield_now();
        p.b += 1;
    }
}

fn read(p: &RwLock<Pair>) -> u32 {
    let (mut torn, mut last) = (0, 0);
    for _ in 0..100 {
        {
            let p = p.read();
            if p.a != p.b || p.a < last {
                torn += 1;
            }
            last = p.a;
        }
        yield_now();
    }
    torn
}

fn main() {
    let p = &RwLock::<Pair>::default();
    let torn: u32 = scope(|s| {
        for _ in 0..3 {
            s.go(|| write(p));
        }
        let readers: Vec<_> = (0..6).map(|_| s.spawn(|| read(p))).collect();
        readers.into_iter().map(|r| r.join()).sum()
    });
    let done = p.read();
    println!("written {} {} - torn reads {torn}", done.a, done.b);
    drop(done);

    // All four are inside at once, or this never ends.
    let ((tx, inside), (gate, leave)) = (chan(0), chan::<()>(0));
    scope(|s| {
        for _ in 0..4 {
            s.go(|| {
                let _guard = p.read();
                tx.send(()).unwrap();
                leave.recv();
            });
        }
        for _ in 0..4 {
            inside.recv();
        }
        let (write, read) = (p.try_write().is_some(), p.try_read().is_some());
        println!("while four read: write {write} read {read}");
        gate.close();
    });
    let write = p.try_write();
    let read = p.try_read();
    println!(
        "when all have left: write {} read {}",
        write.is_some(),
        read.is_some()
    );
}
