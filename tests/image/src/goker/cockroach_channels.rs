//! CockroachDB: who stops whom, and who still sends.

use super::kit::*;
use core::sync::atomic::{AtomicBool, Ordering::*};
use ringo::prelude::*;

pub const PROGRAMS: &[Program] = &[
    (
        "cockroach_1055",
        cockroach_1055,
        &[RECEIVES, RECEIVES, RECEIVES, LOCKS, WAITS, RECEIVES],
    ),
    ("cockroach_1462", cockroach_1462, &[SENDS, WAITS]),
    ("cockroach_2448", cockroach_2448, &[SELECTS, SELECTS]),
    ("cockroach_10790", cockroach_10790, &[RECEIVES, RECEIVES]),
    ("cockroach_13197", cockroach_13197, &[RECEIVES]),
    ("cockroach_13755", cockroach_13755, &[RECEIVES.kept()]),
    ("cockroach_18101", cockroach_18101, &[SENDS]),
    ("cockroach_24808", cockroach_24808, &[SENDS]),
    ("cockroach_25456", cockroach_25456, &[RECEIVES]),
    ("cockroach_35073", cockroach_35073, &[SENDS, SENDS]),
    ("cockroach_35931", cockroach_35931, &[SENDS]),
];

/// A stopper quiesces with its lock held until its tasks are over, but no task ever says that it is. Three workers wait to be
/// stopped, a late one for the lock, one for the tasks, and main for the end: all certain.
fn cockroach_1055(fixed: bool) {
    struct Stopper {
        stopped: Ch<()>,
        workers: WaitGroup,
        lock: Mutex<()>,
        draining: AtomicBool,
        tasks: WaitGroup,
    }
    let one = |_| {
        Arc::new(Stopper {
            stopped: Ch::new(0),
            workers: WaitGroup::new(),
            lock: Mutex::new(()),
            draining: AtomicBool::new(false),
            tasks: WaitGroup::new(),
        })
    };
    let stoppers: Vec<_> = (0..3).map(one).collect();
    for (i, late) in [(0, 0), (1, 0), (2, 0), (0, 2)] {
        stoppers[i].workers.add(1);
        start(&stoppers[i], move |s| {
            if !s.draining.load(Relaxed) {
                later(late);
                let _lock = s.lock.lock();
                s.tasks.add(1);
                if fixed {
                    s.tasks.done()
                }
            }
            s.stopped.recv();
            s.workers.done()
        });
    }
    let done = Ch::<()>::new(0);
    start(&(stoppers, done.clone()), move |(stoppers, done)| {
        later(1);
        for s in &stoppers {
            let lock = s.lock.lock();
            s.draining.store(true, Relaxed);
            let held = (!fixed).then_some(lock);
            s.tasks.wait();
            drop(held)
        }
        for s in &stoppers {
            s.stopped.close();
            s.workers.wait()
        }
        done.close()
    });
    done.recv();
}

/// Events are sent without a look at the stop; their reader stops first. The sender, and who waits for both: certain.
fn cockroach_1462(fixed: bool) {
    let (stop, events, workers) = (Ch::<()>::new(0), Ch::new(0), WaitGroup::new());
    workers.add(2);
    let shared = (stop.clone(), events, workers.clone());
    start(&shared, move |(stop, events, workers)| {
        while !stop.is_closed() {
            events.send_or(0, fixed.then(|| stop.rx.clone()))
        }
        workers.done()
    });
    start(&shared, |(stop, events, workers)| {
        while !stop.is_closed() {
            select! { recv(events.rx) -> _v => later(2), recv(stop.rx) -> _v => () }
        }
        workers.done()
    });
    later(1);
    stop.close();
    workers.wait()
}

/// The store answers an event with a callback, which it sends to the loop that is sending it the next event. Both select on a
/// stop as well that nobody else has: certain.
fn cockroach_2448(fixed: bool) {
    struct Raft {
        stop: Ch<()>,
        events: Ch<u32>,
        callbacks: Ch<u32>,
    }
    let raft = Arc::new(Raft {
        stop: Ch::new(0),
        events: Ch::new(0),
        callbacks: Ch::new(0),
    });
    start(&raft, |raft| {
        while !raft.stop.is_closed() {
            let event =
                select! { recv(raft.events.rx) -> e => e, recv(raft.stop.rx) -> _v => None };
            if let Some(event) = event {
                later(1);
                select! { send(raft.callbacks.tx, event) -> _r => (), recv(raft.stop.rx) -> _v => () }
            }
        }
    });
    start(&raft, move |raft| {
        for event in 0.. {
            if raft.stop.is_closed() {
                break;
            }
            let _ = raft.callbacks.rx.try_recv();
            let callbacks = if fixed {
                raft.callbacks.rx.clone()
            } else {
                never()
            };
            select! {
                send(raft.events.tx, event) -> _r => (),
                recv(callbacks) -> _v => (),
                recv(raft.stop.rx) -> _v => (),
            }
        }
    });
    if fixed {
        later(5);
        raft.stop.close()
    }
}

/// Commands are cancelled before their predecessors have answered: a goroutine each is to take the answers, which the
/// cancelled sender does not send. Two, certain.
fn cockroach_10790(fixed: bool) {
    let answers: Arc<Vec<Ch<bool>>> = Arc::new((0..2).map(|_| Ch::new(fixed as usize)).collect());
    let (ctx, cancel) = Context::background().with_cancel();
    cancel.cancel();
    start(&(answers.clone(), ctx.clone()), move |(answers, ctx)| {
        for answer in answers.iter() {
            if fixed {
                answer.send(true) // has room
            } else {
                select! { send(answer.tx, true) -> _r => (), recv(ctx.done()) -> _v => return }
            }
        }
    });
    start(&(answers, ctx), move |(answers, ctx)| {
        later(1); // the sender has gone
        for (i, answer) in answers.iter().enumerate() {
            let cancelled = select! {
                recv(answer.rx) -> _v => false,
                recv(ctx.done()) -> _v => true,
            };
            if cancelled {
                let from = if fixed { i } else { 0 };
                start(&answers, move |all| {
                    all[from..].iter().for_each(|a| _ = a.recv())
                });
                if fixed {
                    return;
                }
            }
        }
    });
}

/// A transaction's goroutine waits for its context, and nobody else has the transaction that could cancel it. One, certain.
fn cockroach_13197(fixed: bool) {
    let tx = Arc::new(Context::background().with_cancel());
    start(&tx, |tx| _ = tx.0.done().recv());
    if fixed {
        later(1);
        tx.1.cancel()
    }
}

/// The rows of a query are never closed, so the goroutine that awaits their end goes on waiting; the session still has them.
/// One, suspect.
fn cockroach_13755(fixed: bool) {
    let rows = Arc::new(Context::background().with_cancel());
    start(&rows, |rows| _ = rows.0.done().recv());
    keep(rows.clone());
    if fixed {
        later(1);
        rows.1.cancel()
    }
}

/// The importer leaves its loop when it is cancelled; who splits the work sends more than there is room for. One, certain.
fn cockroach_18101(fixed: bool) {
    const ROOM: usize = 6;
    let spans = Ch::<usize>::new(ROOM);
    let (ctx, cancel) = Context::background().with_cancel();
    start(&(spans.clone(), ctx.clone()), move |(spans, ctx)| {
        for i in 0..ROOM + 2 {
            spans.send_or(i, fixed.then(|| ctx.done()))
        }
    });
    start(&(spans, ctx), |(spans, ctx)| {
        if spans.recv().is_some() {
            ctx.done().recv();
        }
    });
    later(1);
    cancel.cancel()
}

/// The compactor sends itself a first suggestion before it starts the goroutine that takes them, and there is one already. Main,
/// certain.
fn cockroach_24808(fixed: bool) {
    let (suggestions, stop) = (Ch::new(1), Ch::<()>::new(0));
    suggestions.send(());
    if fixed {
        let _ = suggestions.tx.try_send(());
    } else {
        suggestions.send(())
    }
    start(&(suggestions, stop.clone()), |(suggestions, stop)| {
        while !stop.is_closed() {
            select! { recv(suggestions.rx) -> _v => (), recv(stop.rx) -> _v => () }
        }
    });
    later(1);
    stop.close()
}

/// A check runs until its store is stopped, and the only one that could stop it is the caller. Main, certain.
fn cockroach_25456(fixed: bool) {
    let quiescer = Ch::<()>::new(0);
    if fixed {
        start(&quiescer, |quiescer| {
            later(1);
            quiescer.close()
        });
    }
    for _replica in 0..2 {
        quiescer.recv();
    }
}

/// The outbox ends without saying that it reads no more: its 16 places are full, one row is being pushed, main pushes another.
/// Both, certain.
fn cockroach_35073(fixed: bool) {
    const ROOM: usize = 16;
    struct Rows {
        data: Ch<usize>,
        closed: AtomicBool,
    }
    impl Rows {
        fn push(&self, row: usize) {
            if !self.closed.load(Acquire) {
                self.data.send(row)
            }
        }
    }
    let rows = Arc::new(Rows {
        data: Ch::new(ROOM),
        closed: AtomicBool::new(false),
    });
    (0..ROOM).for_each(|row| rows.push(row));
    start(&rows, |rows| rows.push(ROOM));
    later(1);
    let outbox = WaitGroup::new();
    outbox.add(1);
    start(&(rows.clone(), outbox.clone()), move |(rows, outbox)| {
        if fixed {
            rows.closed.store(true, Release);
            let _ = rows.data.rx.try_recv(); // who pushes gets the place
        }
        outbox.done()
    });
    outbox.wait();
    rows.push(ROOM + 1)
}

/// A flow is cancelled by a message to each of its receivers, one of which is full and was never connected. Main, certain.
fn cockroach_35931(fixed: bool) {
    let streams = [Ch::new(1), Ch::new(1)];
    streams[0].send("row");
    for stream in &streams {
        if fixed {
            let _ = stream.tx.try_send("cancelled");
        } else {
            stream.send("cancelled")
        }
    }
}
