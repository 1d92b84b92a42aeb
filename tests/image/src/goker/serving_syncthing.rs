//! Knative Serving and Syncthing.

use super::kit::*;
use ringo::prelude::*;

pub const PROGRAMS: &[Program] = &[
    ("serving_2137", serving_2137, &[SENDS, LOCKS, RECEIVES]),
    ("syncthing_4829", syncthing_4829, &[READS]),
    ("syncthing_5795", syncthing_5795, &[RECEIVES, RECEIVES]),
];

/// A breaker lets one request through at a time, and main releases them in the order in which they were made: the second came
/// first. The first at the breaker, the second at its lock, and main: certain.
fn serving_2137(fixed: bool) {
    struct Request {
        lock: Mutex<()>,
        accepted: Ch<bool>,
    }
    let request = || {
        Arc::new(Request {
            lock: Mutex::new(()),
            accepted: Ch::new(1),
        })
    };
    let (pending, active) = (Ch::new(2), Ch::new(1));
    let (first, second) = (request(), request());
    let (first_held, second_held) = (first.lock.lock(), second.lock.lock());
    for (request, turns) in [(first.clone(), 1), (second.clone(), 0)] {
        start(
            &(request, pending.clone(), active.clone()),
            move |(request, pending, active)| {
                later(turns);
                pending.send(());
                active.send(());
                drop(request.lock.lock());
                active.recv();
                pending.recv();
                request.accepted.send(true)
            },
        );
    }
    later(2);
    drop(first_held);
    let second_held = if fixed {
        drop(second_held);
        None
    } else {
        Some(second_held)
    };
    first.accepted.recv();
    drop(second_held);
    second.accepted.recv();
}

/// A mapping is emptied under its lock, and who is told of it reads the mapping. Main, certain.
fn syncthing_4829(fixed: bool) {
    let (service, mapping) = (Mutex::new(0), RwLock::new(vec!["address"]));
    let mut removals = service.lock();
    let mut addresses = mapping.write();
    addresses.clear();
    let addresses = (!fixed).then_some(addresses);
    *removals += mapping.read().len();
    drop(addresses)
}

/// A message makes its handler close the connection, which waits until the handler is done. It, and main: certain.
fn syncthing_5795(fixed: bool) {
    struct Connection {
        inbox: Ch<&'static str>,
        closed: Ch<()>,
        stopped: Ch<()>,
        close: Once,
    }
    fn close(c: &Connection) {
        c.close.call_once(|| {
            c.closed.close();
            c.stopped.recv();
        })
    }
    let connection = Arc::new(Connection {
        inbox: Ch::new(0),
        closed: Ch::new(0),
        stopped: Ch::new(0),
        close: Once::new(),
    });
    start(&connection, |c| _ = c.closed.recv()); // reads
    start(&connection, move |c| {
        loop {
            let message = select! {
                recv(c.inbox.rx) -> message => message,
                recv(c.closed.rx) -> _v => None,
            };
            match message {
                Some(_config) if fixed => start(&c, |c| close(&c)),
                Some(_config) => close(&c),
                None => return c.stopped.close(),
            }
        }
    });
    connection.inbox.send("cluster config");
    connection.stopped.recv();
}
