//! Moby (Docker).

use super::kit::*;
use core::mem::forget;
use ringo::prelude::*;

pub const PROGRAMS: &[Program] = &[
    ("moby_4395", moby_4395, &[SENDS]),
    ("moby_4951", moby_4951, &[LOCKS, LOCKS]),
    ("moby_7559", moby_7559, &[LOCKS]),
    ("moby_17176", moby_17176, &[LOCKS]),
    ("moby_21233", moby_21233, &[SENDS, SENDS, SELECTS, RECEIVES]),
    ("moby_25384", moby_25384, &[WAITS]),
    ("moby_27782", moby_27782, &[COND, SELECTS]),
    ("moby_28462", moby_28462, &[SENDS, LOCKS]),
    ("moby_29733", moby_29733, &[COND.kept(), RECEIVES.kept()]),
    ("moby_30408", moby_30408, &[COND, RECEIVES]),
    ("moby_33293", moby_33293, &[SENDS]),
    ("moby_33781", moby_33781, &[SENDS]),
    ("moby_36114", moby_36114, &[LOCKS]),
];

/// What a function answers is sent to whoever asked, who does not listen. One, certain.
fn moby_4395(fixed: bool) {
    let answer = Ch::new(fixed as usize);
    start(&answer, |answer| answer.send("error"));
}

/// To delete a device takes the set's lock, the device's, and gives the set's away for a while: a second one takes it, and waits
/// for the device. Both, certain.
fn moby_4951(fixed: bool) {
    struct Set {
        lock: Mutex<u32>,
        device: Mutex<bool>,
    }
    let set = Arc::new(Set {
        lock: Mutex::new(0),
        device: Mutex::new(true),
    });
    for turns in [0, 1] {
        start(&set, move |set| {
            later(turns);
            let lock = set.lock.lock();
            let lock = (!fixed).then_some(lock);
            let mut device = set.device.lock();
            drop(lock);
            later(2); // until it is gone
            *set.lock.lock() += 1;
            *device = false
        });
    }
}

/// A connection fails, and the loop goes on to the next one with the lock. One, certain, and it has the lock itself.
fn moby_7559(fixed: bool) {
    let proxy = Mutex::new(0);
    for _connection in 0..2 {
        let mut tracked = proxy.lock();
        *tracked += 1;
        if !fixed {
            forget(tracked) // `continue` before the unlock
        }
    }
}

/// There is nothing to clean up, and the early return keeps the lock. The next one who wants it, certain: the owner has ended.
fn moby_17176(fixed: bool) {
    let devices = Arc::new(Mutex::new(0));
    let deleted = devices.lock();
    if *deleted == 0 && !fixed {
        forget(deleted)
    } else {
        drop(deleted)
    }
    let done = Ch::<()>::new(fixed as usize);
    start(&(devices, done.clone()), |(devices, done)| {
        drop(devices.lock());
        done.send(())
    });
    select! { recv(done.rx) -> _v => (), default(TURN) => () }
}

/// Three transfers tell of their progress to one who leaves after the first word. Two send, one waits to be released, and main
/// waits for the first one's end: certain.
fn moby_21233(fixed: bool) {
    struct Watcher {
        released: Ch<()>,
        signals: Ch<()>,
        ended: Ch<()>,
    }
    let progress = Ch::<u32>::new(0);
    let watch = |turns| {
        let watcher = Arc::new(Watcher {
            released: Ch::new(0),
            signals: Ch::new(0),
            ended: Ch::new(0),
        });
        start(
            &(watcher.clone(), progress.clone()),
            move |(w, progress)| {
                later(turns);
                let mut released = false;
                while !released {
                    progress.send(turns);
                    released = select! {
                        recv(w.signals.rx) -> _v => false,
                        recv(w.released.rx) -> _v => true,
                    }
                }
                w.ended.close()
            },
        );
        watcher
    };
    let watchers: Vec<_> = (0..3).rev().map(watch).collect();
    start(
        &progress,
        move |progress| {
            while progress.recv().is_some() && fixed {}
        },
    );
    later(3);
    for w in watchers {
        w.released.close();
        w.ended.recv();
    }
    progress.close()
}

/// All plugins are waited for after the first one's start. Main, certain.
fn moby_25384(fixed: bool) {
    let all = WaitGroup::new();
    all.add(2);
    for _plugin in 0..2 {
        start(&all, |all| all.done());
        if !fixed {
            all.wait()
        }
    }
    all.wait()
}

/// Who follows a log is stopped, and waits for its watcher to see the file go; the watcher still has an older event for him.
/// Both, certain.
fn moby_27782(fixed: bool) {
    struct Watcher {
        exists: Mutex<bool>,
        cond: Cond,
        events: Ch<&'static str>,
        done: Ch<()>,
        closed: Ch<()>,
    }
    let watcher = Arc::new(Watcher {
        exists: Mutex::new(true),
        cond: Cond::new(),
        events: Ch::new(0),
        done: Ch::new(0),
        closed: Ch::new(0),
    });
    start(&watcher, |w| {
        later(1);
        select! { send(w.events.tx, "write") -> _r => (), recv(w.done.rx) -> _v => () }
        *w.exists.lock() = false;
        w.cond.notify_all()
    });
    start(&watcher, move |w| {
        let closed = select! {
            recv(w.events.rx) -> _event => false,
            recv(w.closed.rx) -> _v => true,
        };
        if closed {
            if fixed {
                w.done.close()
            }
            let mut exists = w.exists.lock();
            while *exists {
                exists = w.cond.wait(exists)
            }
        }
    });
    watcher.closed.close()
}

/// A container's health monitor is stopped by a message under the container's lock, while it wants the lock for a probe. Both,
/// certain.
fn moby_28462(fixed: bool) {
    struct Container {
        probes: Mutex<u32>,
        stop: Ch<()>,
    }
    let container = Arc::new(Container {
        probes: Mutex::new(0),
        stop: Ch::new(0),
    });
    start(&container, |c| {
        loop {
            let stopped = select! { recv(c.stop.rx) -> _v => true, default => false };
            if stopped {
                return;
            }
            later(2);
            *c.probes.lock() += 1
        }
    });
    start(&container, move |c| {
        later(1);
        let _probes = c.probes.lock();
        if fixed {
            c.stop.close()
        } else {
            c.stop.send(())
        }
    });
}

/// A plugin is waited for that is never activated.
fn wait_active(kept: bool, activated: bool, failed: bool) {
    struct Plugin {
        active: Mutex<(bool, bool)>,
        cond: Cond,
    }
    let plugin = Arc::new(Plugin {
        active: Mutex::new((false, failed)),
        cond: Cond::new(),
    });
    if kept {
        keep(plugin.clone())
    }
    let done = Ch::<()>::new(0);
    start(&(plugin.clone(), done.clone()), |(plugin, done)| {
        let mut active = plugin.active.lock();
        while !active.0 && !active.1 {
            active = plugin.cond.wait(active)
        }
        done.close()
    });
    if activated {
        later(1);
        plugin.active.lock().0 = true;
        plugin.cond.notify_all()
    }
    drop(plugin);
    done.recv();
}

/// Nobody tells those that wait for a plugin that it is active; all plugins are in a global. The one who waits, and main: both
/// suspect.
fn moby_29733(fixed: bool) {
    wait_active(true, fixed, false)
}

/// A plugin could not be activated, which those that wait for it do not look at. The one who waits, and main: certain.
fn moby_30408(fixed: bool) {
    wait_active(false, false, fixed)
}

/// An error is sent on a channel that the caller gets afterwards. Main, certain.
fn moby_33293(fixed: bool) {
    let wait = || {
        let errors = Ch::new(fixed as usize);
        errors.send("error");
        errors
    };
    wait().recv();
}

/// A probe is under way when its monitor is stopped: its result has no taker. The probe, certain.
fn moby_33781(fixed: bool) {
    let stop = Ch::<()>::new(0);
    start(&stop, move |stop| {
        loop {
            let stopped = select! { recv(stop.rx) -> _v => true, default(TURN) => false };
            if stopped {
                return;
            }
            let results = Ch::new(fixed as usize);
            start(&results, |results| {
                later(2);
                results.send(true)
            });
            let stopped = select! {
                recv(stop.rx) -> _v => true,
                recv(results.rx) -> _v => false,
                default(TURN * 5) => false,
            };
            if stopped {
                return;
            }
        }
    });
    later(2);
    stop.send(())
}

/// Disks are added under the machine's lock, and the way back locks again. Main, certain, and it has the lock itself.
fn moby_36114(fixed: bool) {
    let machine = Mutex::new(0);
    let adding = machine.lock();
    let adding = (!fixed).then_some(adding);
    *machine.lock() += 1;
    drop(adding)
}
