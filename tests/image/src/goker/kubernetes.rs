//! Kubernetes.

use super::kit::*;
use core::sync::atomic::{AtomicU32, Ordering::*};
use ringo::prelude::*;

pub const PROGRAMS: &[Program] = &[
    ("kubernetes_1321", kubernetes_1321, &[SENDS, LOCKS]),
    ("kubernetes_5316", kubernetes_5316, &[SENDS]),
    ("kubernetes_6632", kubernetes_6632, &[SENDS, LOCKS]),
    ("kubernetes_10182", kubernetes_10182, &[SENDS, WRITES]),
    (
        "kubernetes_11298",
        kubernetes_11298,
        &[COND, RECEIVES, RECEIVES],
    ),
    ("kubernetes_13135", kubernetes_13135, &[WRITES, LOCKS]),
    ("kubernetes_25331", kubernetes_25331, &[SENDS]),
    (
        "kubernetes_26980",
        kubernetes_26980,
        &[RECEIVES, LOCKS, RECEIVES],
    ),
    ("kubernetes_30872", kubernetes_30872, &[LOCKS, LOCKS, LOCKS]),
    ("kubernetes_38669", kubernetes_38669, &[SENDS]),
    ("kubernetes_58107", kubernetes_58107, &[COND, WRITES, READS]),
    ("kubernetes_62464", kubernetes_62464, &[READS, WRITES]),
    ("kubernetes_70277", kubernetes_70277, &[RECEIVES]),
];

/// Events are handed to the watchers under a lock that a watcher needs to stop. The sender and the watcher, certain.
fn kubernetes_1321(fixed: bool) {
    struct Mux {
        lock: Mutex<bool>,
        result: Ch<u32>,
        stopped: Ch<()>,
    }
    let mux = Arc::new(Mux {
        lock: Mutex::new(true),
        result: Ch::new(0),
        stopped: Ch::new(0),
    });
    start(&mux, move |mux| {
        for event in 0..3 {
            let watched = mux.lock.lock();
            if *watched {
                mux.result
                    .send_or(event, fixed.then(|| mux.stopped.rx.clone()))
            }
        }
    });
    later(1);
    if fixed {
        mux.stopped.close()
    }
    *mux.lock.lock() = false;
    mux.result.close()
}

/// A request is given up after a time; its result, that comes later, has no taker. One, certain.
fn kubernetes_5316(fixed: bool) {
    let result = Ch::new(fixed as usize);
    start(&result, |result| {
        later(2);
        result.send("done")
    });
    select! { recv(result.rx) -> _v => (), default(TURN) => () }
}

/// A frame is written under a lock that is held until the monitor has seen it; the monitor closes, for which it needs the lock.
/// Both, certain.
fn kubernetes_6632(fixed: bool) {
    struct Framer {
        open: Mutex<bool>,
        resets: Ch<()>,
        closes: Ch<()>,
    }
    let framer = Arc::new(Framer {
        open: Mutex::new(true),
        resets: Ch::new(0),
        closes: Ch::new(0),
    });
    start(&framer, move |framer| {
        framer.closes.recv();
        if fixed {
            start(&framer, |framer| framer.resets.rx.iter().for_each(drop));
        }
        *framer.open.lock() = false;
        framer.resets.close()
    });
    start(&framer, |framer| {
        let open = framer.open.lock();
        if *open {
            framer.resets.send(())
        }
    });
    later(1);
    framer.closes.send(())
}

/// A pod's status is sent under the lock that its receiver needs to delete the one before. The second sender and the receiver,
/// certain.
fn kubernetes_10182(fixed: bool) {
    struct Manager {
        statuses: RwLock<u32>,
        sent: Ch<()>,
    }
    let manager = Arc::new(Manager {
        statuses: RwLock::new(0),
        sent: Ch::new(0),
    });
    start(&manager, |manager| {
        for _ in 0..2 {
            manager.sent.recv();
            later(1);
            *manager.statuses.write() -= 1
        }
    });
    for _setter in 0..2 {
        start(&manager, move |manager| {
            let mut statuses = manager.statuses.write();
            *statuses += 1;
            let held = (!fixed).then_some(statuses);
            manager.sent.send(());
            drop(held)
        });
    }
}

/// The end is signalled before the helper waits for the signal, and the loop then waits for the helper. Helper, loop, and main:
/// certain.
fn kubernetes_11298(fixed: bool) {
    struct Notifier {
        over: Mutex<bool>,
        cond: Cond,
        abort: Ch<()>,
        helped: Ch<()>,
        done: Ch<()>,
    }
    let notifier = Arc::new(Notifier {
        over: Mutex::new(false),
        cond: Cond::new(),
        abort: Ch::new(0),
        helped: Ch::new(0),
        done: Ch::new(0),
    });
    start(&notifier, move |n| {
        start(&n, move |n| {
            later(2); // late
            let over = n.over.lock();
            if !(fixed && *over) {
                drop(n.cond.wait(over))
            }
            n.helped.close()
        });
        n.abort.recv();
        *n.over.lock() = true;
        n.cond.notify_one();
        n.helped.recv();
        n.done.close()
    });
    later(1);
    notifier.abort.close();
    notifier.done.recv();
}

/// The cacher locks itself, then its watch cache; an event locks the watch cache, then the cacher. Both, certain.
fn kubernetes_13135(fixed: bool) {
    struct Cacher {
        lock: Mutex<u32>,
        watched: RwLock<u32>,
        ready: WaitGroup,
    }
    let cacher = Arc::new(Cacher {
        lock: Mutex::new(0),
        watched: RwLock::new(0),
        ready: WaitGroup::new(),
    });
    cacher.ready.add(1);
    start(&cacher, |c| {
        for round in 0..2 {
            let mut lock = c.lock.lock();
            later(round);
            *c.watched.write() += 1;
            *lock += 1;
            drop(lock);
            if round == 0 {
                c.ready.done()
            }
        }
    });
    cacher.ready.wait();
    start(&cacher, move |c| {
        let watched = c.watched.write();
        later(1);
        let watched = (!fixed).then_some(watched);
        *c.lock.lock() += 1;
        drop(watched)
    });
}

/// A watch that has failed is stopped without taking its last result. One, certain.
fn kubernetes_25331(fixed: bool) {
    struct Watch {
        results: Ch<bool>,
        errors: Ch<&'static str>,
        context: Context,
    }
    let (context, cancel) = Context::background().with_cancel();
    let watch = Arc::new(Watch {
        results: Ch::new(0),
        errors: Ch::new(0),
        context,
    });
    start(&watch, move |w| {
        let failed = select! {
            recv(w.errors.rx) -> error => error.is_some(),
            recv(w.context.done()) -> _v => false,
        };
        if failed {
            w.results.send_or(true, fixed.then(|| w.context.done()))
        }
    });
    start(&(watch, cancel), |(watch, cancel)| {
        watch.errors.send("compacted");
        cancel.cancel()
    });
}

/// A listener that has something to tell waits under its lock for room, or the end; who adds needs the lock, and main, which
/// would end it, waits for that one. All three, certain.
fn kubernetes_26980(fixed: bool) {
    struct Listener {
        pending: Mutex<Vec<u32>>,
        cond: Cond,
        stop: Ch<()>,
    }
    let listener = Arc::new(Listener {
        pending: Mutex::new(vec![1]),
        cond: Cond::new(),
        stop: Ch::new(0),
    });
    start(&listener, move |l| {
        let mut pending = l.pending.lock();
        while pending.is_empty() {
            pending = l.cond.wait(pending)
        }
        let held = (!fixed).then_some(pending);
        l.stop.recv();
        drop(held)
    });
    later(1);
    let added = Ch::<()>::new(0);
    start(&(listener.clone(), added.clone()), |(l, added)| {
        l.pending.lock().push(2);
        l.cond.notify_all();
        added.close()
    });
    added.recv();
    listener.stop.close()
}

/// An object is handled under the queue's lock and needs the informer's; whether all is in step is asked under the informer's
/// and needs the queue's; stopping needs the informer's. All three, certain.
fn kubernetes_30872(fixed: bool) {
    struct Informer {
        queue: Mutex<u32>,
        clusters: Mutex<u32>,
    }
    let informer = Arc::new(Informer {
        queue: Mutex::new(1),
        clusters: Mutex::new(0),
    });
    start(&informer, |i| {
        let mut queue = i.queue.lock();
        later(1);
        *i.clusters.lock() += *queue;
        *queue = 0
    });
    start(&informer, move |i| {
        let clusters = i.clusters.lock();
        later(1);
        let clusters = (!fixed).then_some(clusters);
        let in_step = *i.queue.lock() == 0;
        core::hint::black_box((in_step, clusters));
    });
    start(&informer, |i| {
        later(2);
        *i.clusters.lock() = 0
    });
}

/// A watcher is stopped while it sends what was there at its start. One, certain.
fn kubernetes_38669(fixed: bool) {
    let (input, result) = (Ch::<u32>::new(0), Ch::<u32>::new(0));
    start(&(input.clone(), result), move |(input, result)| {
        for event in 1..3 {
            result.send_or(event, fixed.then(|| input.rx.clone()))
        }
        input.rx.iter().for_each(drop);
        result.close()
    });
    input.close()
}

/// Workers take the read lock and then wait for work: one's queue is empty, the synchroniser wants the write lock, so the other
/// gets no read lock, and it is the one that makes work for the first. All three, certain.
fn kubernetes_58107(fixed: bool) {
    #[derive(Default)]
    struct Queue {
        n: Mutex<u32>,
        cond: Cond,
    }
    impl Queue {
        fn put(&self) {
            *self.n.lock() += 1;
            self.cond.notify_one()
        }
        fn get(&self) {
            let mut n = self.n.lock();
            while *n == 0 {
                n = self.cond.wait(n)
            }
            *n -= 1
        }
    }
    #[derive(Default)]
    struct Quota {
        lock: RwLock<u32>,
        queues: [Queue; 2],
    }
    let quota = Arc::<Quota>::default();
    for (worker, turns) in [(0, 0), (1, 2)] {
        start(&quota, move |quota| {
            later(turns);
            let held = (!fixed).then(|| quota.lock.read());
            quota.queues[worker].get();
            let _lock = held.unwrap_or_else(|| quota.lock.read());
            if worker == 1 {
                quota.queues[0].put()
            }
        });
    }
    later(1);
    start(&quota, |quota| *quota.lock.write() += 1);
    later(2);
    quota.queues[1].put()
}

/// The state of the CPUs is read under its read lock by functions that read-lock it too; a container is removed between. Reader
/// and writer, certain.
fn kubernetes_62464(fixed: bool) {
    let state = Arc::new(RwLock::new(0u32));
    start(&state, move |state| {
        let held = state.read();
        later(2);
        let cpus = if fixed { *held } else { *state.read() };
        core::hint::black_box(cpus);
    });
    start(&state, |state| {
        let cpus = *state.read();
        later(1);
        *state.write() = cpus + 1
    });
}

/// A condition holds at once; main then waits for the end of a stop channel that it would have to close itself. While the poller
/// is at work it might; its time is up after a while, and then main is certain.
fn kubernetes_70277(fixed: bool) {
    let stop = Ch::<()>::new(0);
    let ticks = Ch::<u32>::new(0);
    let polls = Arc::new(AtomicU32::new(0));
    start(
        &(stop.clone(), ticks.clone(), polls),
        |(stop, ticks, polls)| {
            while polls.fetch_add(1, Relaxed) < 5 {
                let stopped = select! { recv(stop.rx) -> _v => true, default(TURN) => false };
                if stopped {
                    break;
                }
                let _ = ticks.tx.try_send(1);
            }
            ticks.close()
        },
    );
    ticks.recv();
    if fixed {
        stop.close()
    }
    stop.recv();
}
