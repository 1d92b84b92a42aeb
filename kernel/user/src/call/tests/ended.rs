//! Whatever a thread waits for, the end of its process, and the closing of the handle, let it go on at once.

use super::*;
use crate::testing::HANDLES;
use csp::time::Instant;
use std::boxed::Box;

/// A call that waits, on a handle that the process has got for it.
type Waiting = Box<dyn FnOnce(&Ctx<'_>) -> Result<u64, Error> + Send>;

/// Each way to wait for ever: its handle, if it has one.
fn ways(p: &Arc<Process>) -> Vec<(&'static str, Option<u64>, Waiting)> {
    fn on(handle: u64, f: fn(&Ctx<'_>, u64) -> Result<u64, Error>) -> (Option<u64>, Waiting) {
        (Some(handle), Box::new(move |ctx| f(ctx, handle)))
    }
    let all = p.call(|ctx| {
        pipe(ctx, BASE).unwrap();
        let [pipe_read, _] = p.memory.handles(BASE);
        pipe(ctx, BASE).unwrap();
        let [_, pipe_full] = p.memory.handles(BASE);
        for _ in 0..16 {
            assert_eq!(write(ctx, pipe_full, BASE, 4096), Ok(4096));
        }
        chan(ctx, 0, BASE).unwrap();
        let [offer, _] = p.memory.handles(BASE);
        chan(ctx, 1, BASE).unwrap();
        let [full, _] = p.memory.handles(BASE);
        send(ctx, full, BASE, 8).unwrap();
        chan(ctx, 1, BASE).unwrap();
        let [_, empty] = p.memory.handles(BASE);
        let listener = listen(ctx, 0).unwrap();
        let to = port(ctx, listener).unwrap();
        let stream = connect(ctx, 0x7f00_0001, to).unwrap();
        let nobody = listen(ctx, 0).unwrap();
        let input = Object::Input(Arc::new(crate::object::console::Input::new(|| None)));
        let input = u64::from(ctx.handles.insert(input).unwrap());
        [
            ("pipe read", on(pipe_read, |ctx, h| read(ctx, h, BASE, 8))),
            ("pipe write", on(pipe_full, |ctx, h| write(ctx, h, BASE, 8))),
            ("send, no room", on(offer, |ctx, h| send(ctx, h, BASE, 8))),
            ("send, full", on(full, |ctx, h| send(ctx, h, BASE, 8))),
            ("receive", on(empty, |ctx, h| recv(ctx, h, BASE, 8))),
            ("TCP read", on(stream, |ctx, h| read(ctx, h, BASE, 8))),
            ("accept", on(nobody, accept)),
            ("console", on(input, |ctx, h| read(ctx, h, BASE, 8))),
            ("TCP write", on(stream, fill)),
        ]
    });
    let mut ways: Vec<_> = all
        .into_iter()
        .map(|(name, (handle, f))| (name, handle, f))
        .collect();
    let futex = |ctx: &Ctx<'_>| futex_wait(ctx, BASE + 4092, 0, abi::FOREVER).map(|_| 0);
    let slow = |ctx: &Ctx<'_>| futex_wait(ctx, BASE + 4092, 0, u64::MAX - 1).map(|_| 0);
    ways.push(("futex", None, Box::new(futex)));
    ways.push(("futex with a time", None, Box::new(slow)));
    ways.push(("sleep", None, Box::new(|ctx| sleep(ctx, u64::MAX - 1))));
    ways.push((
        "sleep for ever",
        None,
        Box::new(|ctx| sleep(ctx, abi::FOREVER)),
    ));
    ways
}

/// Writes to a connection that nobody reads until there is no room.
fn fill(ctx: &Ctx<'_>, stream: u64) -> Result<u64, Error> {
    loop {
        write(ctx, stream, BASE, 4096)?;
    }
}

#[test]
fn the_end_of_the_process_ends_every_wait() {
    run(|| {
        let p = Process::new();
        let begun: Vec<_> = ways(&p)
            .into_iter()
            .map(|(name, _, f)| (name, p.thread(f)))
            .collect();
        assert!(begun.len() < HANDLES);
        a_while();
        csp::time::sleep(csp::time::Duration::from_millis(30)); // the connection is full
        let begin = Instant::now();
        p.stop.stop();
        for (name, thread) in begun {
            assert_eq!(thread.join(), Err(Error::Killed), "{name}")
        }
        assert!(begin.elapsed().as_millis() < 1000);
        p.end();
        p.nothing_left();
    })
}

#[test]
fn waits_that_begin_after_the_end_are_none() {
    run(|| {
        let p = Process::new();
        let ways = ways(&p);
        p.stop.stop();
        for (name, _, f) in ways {
            assert_eq!(p.call(f), Err(Error::Killed), "{name}")
        }
    })
}

#[test]
fn closing_ends_the_waits_on_that_handle() {
    run(|| {
        let p = Process::new();
        for (name, handle, f) in ways(&p) {
            let Some(handle) = handle else { continue };
            // Another handle, so that the object stays.
            let also = p.call(|ctx| duplicate(ctx, handle)).unwrap();
            let thread = p.thread(f);
            csp::time::sleep(csp::time::Duration::from_millis(20));
            if name == "TCP read" {
                // The last way uses it too.
                p.call(|ctx| close(ctx, also)).unwrap();
                p.handles.close(handle, &p.stop).unwrap();
                assert_eq!(thread.join(), Err(Error::BadHandle), "{name}");
                break;
            }
            p.handles.close(handle, &p.stop).unwrap();
            assert_eq!(thread.join(), Err(Error::BadHandle), "{name}");
            p.call(|ctx| close(ctx, also)).unwrap();
        }
    })
}

/// A nudge at every point of a wait: none is lost, none is counted twice.
#[test]
fn ends_at_any_time() {
    run(|| {
        let mut rng = base::Rng::new(7);
        for _ in 0..300 {
            let p = Process::new();
            p.call(|ctx| pipe(ctx, BASE)).unwrap();
            let threads = [0, 1, 2].map(|i| {
                let spins = rng.below(3000);
                p.thread(move |ctx| {
                    (0..spins).for_each(|_| core::hint::spin_loop());
                    match i {
                        0 => read(ctx, 0, BASE, 8),
                        1 => futex_wait(ctx, BASE + 16, 0, abi::FOREVER).map(|_| 0),
                        _ => sleep(ctx, abi::FOREVER),
                    }
                })
            });
            (0..rng.below(3000)).for_each(|_| core::hint::spin_loop());
            p.stop.stop();
            for thread in threads {
                assert_eq!(thread.join(), Err(Error::Killed))
            }
        }
    })
}
