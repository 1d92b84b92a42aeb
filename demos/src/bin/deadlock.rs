//! Everybody waits for somebody else: the report names each goroutine and what it waits for. Ends with status 2.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

fn main() {
    let (tx, rx) = chan::<u32>(0);
    let lock = Arc::new(Mutex::new(()));
    let group = WaitGroup::new();
    group.add(1);

    let held = lock.lock();
    go({
        let lock = lock.clone();
        move || drop(lock.lock())
    });
    go({
        let group = group.clone();
        move || group.wait()
    });
    println!(
        "main waits for a value that nobody will send, and holds the lock that another one waits for"
    );
    println!("received {:?}", rx.recv());
    // Never reached.
    drop((held, tx));
    group.done();
}
