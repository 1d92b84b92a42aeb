//! CockroachDB: locks taken twice, and in two orders.

use super::kit::*;
use core::mem::forget;
use ringo::prelude::*;

pub const PROGRAMS: &[Program] = &[
    ("cockroach_584", cockroach_584, &[LOCKS]),
    ("cockroach_3710", cockroach_3710, &[READS, WRITES]),
    (
        "cockroach_6181",
        cockroach_6181,
        &[WRITES, READS, READS, WAITS],
    ),
    ("cockroach_7504", cockroach_7504, &[LOCKS, LOCKS, WAITS]),
    ("cockroach_9935", cockroach_9935, &[LOCKS]),
    ("cockroach_10214", cockroach_10214, &[LOCKS, LOCKS]),
    ("cockroach_16167", cockroach_16167, &[READS, WRITES]),
];

/// Gossip is closed: the loop of the first stage is left with the lock, the second stage locks again. One G, certain.
fn cockroach_584(fixed: bool) {
    let closed = Mutex::new(true);
    for _stage in ["bootstrap", "manage"] {
        let state = closed.lock();
        if *state && !fixed {
            forget(state); // `break` before the unlock
        }
    }
}

/// A scan of the replicas holds the store's read lock and asks each for its status, which reads again; a writer came between.
/// The reader and the writer, certain.
fn cockroach_3710(fixed: bool) {
    struct Store {
        replicas: RwLock<Vec<u32>>,
        queue: Mutex<u64>,
    }
    let store = Arc::new(Store {
        replicas: RwLock::new(vec![1, 2]),
        queue: Mutex::new(0),
    });
    let status = |store: &Store, _replica: u32| store.replicas.read().len() as u64;
    start(&store, move |store| {
        let scan = store.replicas.read();
        let all = scan.clone();
        let held = (!fixed).then_some(scan);
        for replica in all {
            let mut queue = store.queue.lock();
            later(2);
            *queue += status(&store, replica);
        }
        drop(held)
    });
    start(&store, |store| {
        later(1);
        store.replicas.write().push(3)
    });
}

/// Printing the cache under its read lock reads it again; one that has printed already wants to write. It, the two that print,
/// and who waits for all: certain.
fn cockroach_6181(fixed: bool) {
    let (cache, all) = (Arc::new(RwLock::new(0u64)), WaitGroup::new());
    for turns in [1, 2, 2] {
        all.add(1);
        start(&(cache.clone(), all.clone()), move |(cache, all)| {
            let held = cache.read();
            later(turns);
            if turns == 2 {
                let printed = if fixed { *held } else { *cache.read() };
                core::hint::black_box(printed);
            }
            drop(held);
            *cache.write() += 1;
            all.done()
        });
    }
    all.wait()
}

/// By name: the cache of names, then the lease; released: the lease, then the cache. Both, and who waits for them: certain.
fn cockroach_7504(fixed: bool) {
    struct Leases {
        names: Mutex<Vec<u32>>,
        lease: Mutex<bool>,
    }
    let leases = Arc::new(Leases {
        names: Mutex::new(vec![0]),
        lease: Mutex::new(true),
    });
    let both = WaitGroup::new();
    both.add(2);
    start(&(leases.clone(), both.clone()), move |(leases, both)| {
        let names = leases.names.lock();
        later(1);
        let names = (!fixed).then_some(names);
        let valid = *leases.lease.lock();
        core::hint::black_box((valid, names));
        both.done()
    });
    start(&(leases, both.clone()), |(leases, both)| {
        let mut lease = leases.lease.lock();
        later(1);
        leases.names.lock().clear();
        *lease = false;
        drop(lease);
        both.done()
    });
    both.wait()
}

/// The log's file cannot be made, and the way out locks the log that the writer has locked. One G, certain.
fn cockroach_9935(fixed: bool) {
    let log = Arc::new(Mutex::new(Vec::<&str>::new()));
    start(&log, move |log| {
        let entries = log.lock();
        let entries = (!fixed).then_some(entries);
        log.lock().push("no file: exit");
        drop(entries)
    });
}

/// Heartbeats are sent under their lock and report to the replica, whose tick adds heartbeats under the replica's lock. Both,
/// certain.
fn cockroach_10214(fixed: bool) {
    struct Store {
        heartbeats: Mutex<Vec<u32>>,
        replica: Mutex<u32>,
    }
    let store = Arc::new(Store {
        heartbeats: Mutex::new(vec![1, 2]),
        replica: Mutex::new(0),
    });
    start(&store, move |store| {
        let mut waiting = store.heartbeats.lock();
        let out = core::mem::take(&mut *waiting);
        later(1);
        let held = (!fixed).then_some(waiting);
        out.iter().for_each(|n| *store.replica.lock() += n);
        drop(held)
    });
    start(&store, |store| {
        let replica = store.replica.lock();
        later(1);
        store.heartbeats.lock().push(*replica)
    });
}

/// A statement runs under the read lock on the configuration and takes it again for the cache of databases; an update came
/// between. The session and the update, certain.
fn cockroach_16167(fixed: bool) {
    let config = Arc::new(RwLock::new(1u32));
    start(&config, |config| {
        later(1);
        *config.write() += 1
    });
    let statement = config.read();
    later(2);
    let databases = if fixed { *statement } else { *config.read() };
    core::hint::black_box(databases);
}
