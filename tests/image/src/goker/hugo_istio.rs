//! Hugo and Istio.

use super::kit::*;
use core::sync::atomic::{AtomicU32, Ordering::*};
use ringo::prelude::*;

pub const PROGRAMS: &[Program] = &[
    (
        "hugo_3251",
        hugo_3251,
        &[READS.kept(), LOCKS.kept(), WRITES.kept(), WAITS.kept()],
    ),
    ("hugo_5379", hugo_5379, &[LOCKS, LOCKS, LOCKS, WAITS]),
    ("istio_16224", istio_16224, &[LOCKS, SENDS]),
    ("istio_17860", istio_17860, &[SENDS]),
    ("istio_18454", istio_18454, &[RECEIVES, SENDS]),
];

/// A lock for each address, in a table with a lock of its own: the second one takes an address under the table's lock, and the
/// first needs that to give the address back. Those two, a third at the table, and who waits for them; the table is a global,
/// so nobody can say that they are lost: suspect.
fn hugo_3251(fixed: bool) {
    struct Urls {
        table: RwLock<()>,
        url: Mutex<u32>,
    }
    let urls = Arc::new(Urls {
        table: RwLock::new(()),
        url: Mutex::new(0),
    });
    keep(urls.clone());
    let all = WaitGroup::new();
    for turns in [0, 1, 3] {
        all.add(1);
        start(&(urls.clone(), all.clone()), move |(urls, all)| {
            later(turns);
            let table = urls.table.write();
            let table = (!fixed).then_some(table);
            let url = urls.url.lock();
            drop(table);
            later(2);
            let _table = urls.table.read();
            drop(url);
            all.done()
        });
    }
    all.wait()
}

/// A page's content is made under its lock, and the short codes in it ask the page for its words, which takes the lock again,
/// in a `Once`. The maker, two renderers that wait for the same `Once`, and who waits for them: certain.
fn hugo_5379(fixed: bool) {
    #[derive(Default)]
    struct Page {
        content: Once,
        plain: Once,
        lock: Mutex<u32>,
    }
    fn words(page: &Arc<Page>, turns: u32, locked: bool, fixed: bool) {
        page.content.call_once(|| {
            let made = Ch::new(1);
            start(&(page.clone(), made.clone()), move |(page, made)| {
                let _content = page.lock.lock();
                words(&page, 0, fixed, fixed);
                made.send(())
            });
            select! { recv(made.rx) -> _v => (), default(TURN) => () }
        });
        later(turns);
        page.plain.call_once(|| {
            if !locked {
                *page.lock.lock() += 1
            }
        });
    }
    let (page, all) = (Arc::<Page>::default(), WaitGroup::new());
    for _renderer in 0..2 {
        all.add(1);
        start(&(page.clone(), all.clone()), move |(page, all)| {
            words(&page, 1, false, fixed);
            all.done()
        });
    }
    all.wait()
}

/// An event's handler sends under a lock that main takes before it receives. Both, certain.
fn istio_16224(fixed: bool) {
    struct Monitor {
        events: Ch<u32>,
        stop: Ch<()>,
        done: Ch<()>,
        lock: Mutex<()>,
    }
    let monitor = Arc::new(Monitor {
        events: Ch::new(0),
        stop: Ch::new(0),
        done: Ch::new(0),
        lock: Mutex::new(()),
    });
    start(&monitor, |monitor| {
        loop {
            let event = select! {
                recv(monitor.events.rx) -> event => event,
                recv(monitor.stop.rx) -> _v => None,
            };
            if event.is_none() {
                return;
            }
            let _lock = monitor.lock.lock();
            monitor.done.send(())
        }
    });
    monitor.events.send(0);
    later(1);
    if !fixed {
        drop(monitor.lock.lock())
    }
    monitor.done.recv();
    monitor.stop.close()
}

/// An agent goes when no epoch is active, and an epoch begun after that reports to nobody. The second one's goroutine, certain.
fn istio_17860(fixed: bool) {
    struct Agent {
        active: AtomicU32,
        ended: Ch<u32>,
        context: Context,
    }
    let (context, cancel) = Context::background().with_cancel();
    let agent = Arc::new(Agent {
        active: AtomicU32::new(0),
        ended: Ch::new(0),
        context,
    });
    start(&agent, move |agent| {
        loop {
            select! {
                recv(agent.ended.rx) -> _epoch => {
                    if agent.active.fetch_sub(1, Relaxed) == 1 && !fixed {
                        return;
                    }
                }
                recv(agent.context.done()) -> _v => return,
            }
        }
    });
    for epoch in 1..3 {
        agent.active.fetch_add(1, Relaxed);
        start(&agent, move |agent| agent.ended.send(epoch));
        later(1)
    }
    cancel.cancel()
}

/// A change that comes when the timer has fired already, and was received, waits for it to fire; changes queue up behind. The
/// strategy's goroutine and the processor's, certain.
fn istio_18454(fixed: bool) {
    struct Strategy {
        timer: Timer,
        resets: Ch<()>,
        context: Context,
    }
    let (context, cancel) = Context::background().with_cancel();
    let strategy = Arc::new(Strategy {
        timer: Timer::new(TURN),
        resets: Ch::new(1),
        context,
    });
    start(&strategy, move |s| {
        loop {
            select! {
                recv(s.timer.receiver()) -> _t => (),
                recv(s.resets.rx) -> _v => {
                    if !s.timer.stop() && !fixed {
                        s.timer.recv();
                    }
                    s.timer.reset(TURN);
                }
                recv(s.context.done()) -> _v => return,
            }
        }
    });
    start(&(strategy, cancel), |(strategy, cancel)| {
        later(2);
        (0..3).for_each(|_change| strategy.resets.send(()));
        cancel.cancel()
    });
}
