//! etcd.

use super::kit::*;
use core::mem::forget;
use ringo::prelude::*;

pub const PROGRAMS: &[Program] = &[
    ("etcd_5509", etcd_5509, &[WRITES]),
    ("etcd_6708", etcd_6708, &[READS]),
    ("etcd_6857", etcd_6857, &[SENDS]),
    ("etcd_6873", etcd_6873, &[RECEIVES, LOCKS]),
    ("etcd_7443", etcd_7443, &[SENDS, LOCKS, LOCKS, RECEIVES]),
    ("etcd_7492", etcd_7492, &[LOCKS, SENDS, WAITS]),
    ("etcd_7902", etcd_7902, &[RECEIVES, LOCKS, LOCKS, WAITS]),
    ("etcd_10492", etcd_10492, &[WRITES]),
];

/// A request that meets a closed client returns with the read lock; the client, while it closes, gives its lock away and
/// wants it back. Main, certain.
fn etcd_5509(fixed: bool) {
    let closed = Arc::new(RwLock::new(false));
    start(&closed, move |closed| {
        later(1);
        let client = closed.read();
        if *client && !fixed {
            forget(client) // the early return
        }
    });
    *closed.write() = true;
    later(2);
    drop(closed.write())
}

/// The list of members is brought up to date under the write lock, and to do so asks the leader, under the read lock. Main,
/// certain.
fn etcd_6708(fixed: bool) {
    let client = RwLock::new("endpoints");
    let sync = client.write();
    let sync = (!fixed).then_some(sync);
    let leader = *client.read();
    core::hint::black_box((leader, sync));
}

/// The status is asked for when the node has stopped already: its loop takes no question any more. The one who asks, certain.
fn etcd_6857(fixed: bool) {
    struct Node {
        status: Ch<Ch<u32>>,
        stop: Ch<()>,
        done: Ch<()>,
    }
    let node = Arc::new(Node {
        status: Ch::new(0),
        stop: Ch::new(0),
        done: Ch::new(0),
    });
    start(&node, |node| {
        loop {
            let asked = select! {
                recv(node.status.rx) -> asked => asked,
                recv(node.stop.rx) -> _v => None,
            };
            match asked {
                Some(answer) => answer.send(7),
                None => return node.done.close(),
            }
        }
    });
    start(&node, |node| {
        select! { send(node.stop.tx, ()) -> _r => (), recv(node.done.rx) -> _v => () }
        node.done.recv();
    });
    start(&node, move |node| {
        later(1);
        let answer = Ch::new(0);
        let stopped = fixed.then(|| node.done.rx.clone());
        node.status.send_or(answer.clone(), stopped);
        if !fixed {
            answer.recv();
        }
    });
}

/// Broadcasts are stopped under the lock, waiting for the goroutine that needs the lock for its last one. Both, certain.
fn etcd_6873(fixed: bool) {
    struct Broadcasts {
        lock: Mutex<u32>,
        updates: Ch<u32>,
        done: Ch<()>,
    }
    let all = Arc::new(Broadcasts {
        lock: Mutex::new(0),
        updates: Ch::new(1),
        done: Ch::new(0),
    });
    start(&all, |all| {
        for update in all.updates.rx.iter() {
            later(1);
            *all.lock.lock() += update
        }
        all.done.close()
    });
    all.updates.send(1);
    start(&all, move |all| {
        let lock = all.lock.lock();
        all.updates.close();
        let held = (!fixed).then_some(lock);
        all.done.recv();
        drop(held)
    });
}

/// The balancer tells of a pinned address under its lock, on a channel that is full; the reader of it is taking a connection
/// down, which needs the lock, and so does who closes. The teller, those two, and main, which waits for the close: certain.
fn etcd_7443(fixed: bool) {
    struct Balancer {
        pinned: Mutex<Option<u32>>,
        notes: Ch<Vec<u32>>,
    }
    impl Balancer {
        fn tell(&self, mut note: Vec<u32>) {
            // What is told last is what counts.
            while let Err(TrySendError::Full(back)) = self.notes.tx.try_send(note) {
                note = back;
                let _ = self.notes.rx.try_recv();
            }
        }
        fn up(&self, addr: u32, fixed: bool) {
            let mut pinned = self.pinned.lock();
            if fixed {
                *pinned = Some(addr);
                drop(pinned);
                self.tell(vec![addr])
            } else {
                self.notes.send(vec![addr]) // address 0 counts as none: each pins anew
            }
        }
    }
    let balancer = Arc::new(Balancer {
        pinned: Mutex::new(None),
        notes: Ch::new(1),
    });
    balancer.notes.send(vec![0, 1]);
    start(&balancer, |balancer| {
        while balancer.notes.recv().is_some() {
            later(3);
            *balancer.pinned.lock() = None // connections that are gone go down
        }
    });
    for addr in 0..2 {
        start(&balancer, move |balancer| {
            later(addr + 1);
            balancer.up(addr, fixed)
        });
    }
    let closed = Ch::<()>::new(0);
    start(&(balancer, closed.clone()), |(balancer, closed)| {
        later(4);
        let _pinned = balancer.pinned.lock();
        balancer.notes.close();
        closed.close()
    });
    closed.recv();
}

/// A token is handed to its keeper under the lock of all tokens; the keeper is deleting old ones, for which it needs the lock,
/// and its channel is full. Keeper, sender, and main, which waits for the senders: certain.
fn etcd_7492(fixed: bool) {
    struct Store {
        tokens: Mutex<u32>,
        added: Ch<()>,
        stop: Ch<()>,
    }
    let store = Arc::new(Store {
        tokens: Mutex::new(0),
        added: Ch::new(1),
        stop: Ch::new(0),
    });
    start(&store, |store| {
        let mut kept = 0;
        loop {
            select! {
                recv(store.added.rx) -> _v => kept += 1,
                recv(store.stop.rx) -> _v => return,
                default(TURN) => {
                    if kept > 0 {
                        later(2); // they have grown old
                        *store.tokens.lock() -= kept;
                        kept = 0
                    }
                }
            }
        }
    });
    let all = WaitGroup::new();
    for turns in [0, 2, 2] {
        all.add(1);
        start(&(store.clone(), all.clone()), move |(store, all)| {
            later(turns);
            let mut tokens = store.tokens.lock();
            *tokens += 1;
            let held = (!fixed).then_some(tokens);
            store.added.send(());
            drop(held);
            all.done()
        });
    }
    all.wait();
    store.stop.close()
}

/// Rounds end under one lock: a follower waits there for the leader, who waits for the lock, as the other follower does. All
/// three, and who waits for them: certain.
fn etcd_7902(fixed: bool) {
    let (lock, next, all) = (Arc::new(Mutex::new(())), Ch::<()>::new(0), WaitGroup::new());
    for client in 0..3 {
        all.add(1);
        start(
            &(lock.clone(), next.clone(), all.clone()),
            move |(lock, next, all)| {
                let leads = client == 0;
                if leads {
                    later(1)
                }
                let held = (!fixed).then(|| lock.lock());
                if leads {
                    next.close()
                } else {
                    next.recv();
                }
                drop(held);
                all.done()
            },
        );
    }
    all.wait()
}

/// Renewing a lease calls the checkpointer under the write lock, and that takes it again. Main, certain.
fn etcd_10492(fixed: bool) {
    let lessor = Arc::new(RwLock::new(0u32));
    let inner = lessor.clone();
    let checkpoint = move || *inner.write() += 1;
    let renewing = lessor.write();
    let renewing = (!fixed).then_some(renewing);
    checkpoint();
    drop(renewing)
}
