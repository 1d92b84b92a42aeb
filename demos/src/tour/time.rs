//! Time: sleepers, timers, contexts with deadlines, and a clock of one's own.

use super::{Outcome, check, each};
use ringo::prelude::*;
use ringo::synctest;

pub fn sleepers() -> Outcome {
    const N: u64 = 1000;
    let hs: Vec<_> = (0..N)
        .map(|i| {
            spawn(move || {
                let d = Duration::from_micros(10_000 + i * 7919 % 100_000);
                let start = Instant::now();
                sleep(d);
                start.elapsed().checked_sub(d)
            })
        })
        .collect();
    let late: Option<Vec<Duration>> = hs.into_iter().map(|h| h.join()).collect();
    let mut late = late.ok_or("a sleeper woke too early")?;
    late.sort_unstable();
    let (median, worst) = (late[late.len() / 2], late[late.len() - 1]);
    check(median < Duration::from_millis(100), || {
        format!("the median sleeper is {median:.1?} late")
    })?;
    Ok(format!(
        "{N} sleepers, none early; late {median:.1?} at the median, {worst:.1?} at worst"
    ))
}

/// Timers that never get to fire, functions that do, and a ticker.
pub fn timers() -> Outcome {
    const N: u64 = 1000;
    const HOUR: Duration = Duration::from_secs(3600);
    let start = Instant::now();
    let timers: Vec<_> = (0..N).map(|_| Timer::new(HOUR)).collect();
    let set = start.elapsed();
    let start = Instant::now();
    let were_set = timers.iter().filter(|t| t.reset(2 * HOUR)).count();
    let reset = start.elapsed();
    let start = Instant::now();
    let stopped = timers.iter().filter(|t| t.stop()).count();
    let stop = start.elapsed();
    check((were_set, stopped) == (N as usize, N as usize), || {
        format!("{were_set} timers ran when set anew, {stopped} when stopped, of {N}")
    })?;
    let start = Instant::now();
    let (tx, rx) = chan::<()>(N as usize);
    for _ in 0..N {
        let tx = tx.clone();
        after_func(Duration::ZERO, move || tx.send(()).unwrap());
    }
    (0..N).for_each(|_| _ = rx.recv());
    let fired = start.elapsed();
    let ticker = Ticker::new(Duration::from_millis(2));
    let ticks: Vec<Instant> = (0..5).map(|_| ticker.recv()).collect();
    check(ticks.is_sorted(), || format!("it ticked at {ticks:?}"))?;
    Ok(format!(
        "{} ns to set one, {} to reset, {} to stop; a function that starts at once {} ns",
        each(set, N),
        each(reset, N),
        each(stop, N),
        each(fired, N)
    ))
}

/// A tree of contexts: one deadline and one cancel reach everybody below.
pub fn contexts() -> Outcome {
    const N: usize = 500;
    let wait_below = |root: &Context| -> Vec<JoinHandle<Option<ContextError>>> {
        let mut tree = vec![root.clone()];
        (0..N)
            .map(|i| {
                let ctx = tree[i / 2].with_cancel().0;
                tree.push(ctx.clone());
                spawn(move || {
                    ctx.done().recv();
                    ctx.err()
                })
            })
            .collect()
    };
    let all = |gs: Vec<JoinHandle<Option<ContextError>>>, why| {
        gs.into_iter().all(|g| g.join() == Some(why))
    };
    let (root, cancel) = Context::background().with_cancel();
    let gs = wait_below(&root);
    let start = Instant::now();
    cancel.cancel();
    let right = all(gs, ContextError::Canceled);
    let took = start.elapsed();
    check(right, || "somebody below was not cancelled".to_string())?;
    let (root, _cancel) = Context::background().with_timeout(Duration::from_millis(5));
    let right = all(wait_below(&root), ContextError::DeadlineExceeded);
    check(right, || "a deadline did not reach everybody".to_string())?;
    Ok(format!(
        "a tree of {N}: one cancel ended all in {took:.1?}, one deadline as well"
    ))
}

/// A bubble: its clock jumps whenever everybody inside is blocked.
pub fn bubble() -> Outcome {
    const HOUR: Duration = Duration::from_secs(3600);
    let start = Instant::now();
    let (tx, rx) = chan::<(Duration, u32)>(1);
    synctest::run({
        let day = move || {
            let begin = Instant::now();
            let ticks = Arc::new(Mutex::new(0));
            let counted = ticks.clone();
            go(move || {
                let ticker = Ticker::new(HOUR / 60);
                for _ in 0..24 * 60 {
                    ticker.recv();
                    *counted.lock() += 1
                }
            });
            sleep(24 * HOUR);
            synctest::wait();
            let ticks = *ticks.lock();
            (begin.elapsed(), ticks)
        };
        move || tx.send(day()).unwrap()
    });
    let took = start.elapsed();
    let passed = rx.recv().ok_or("the bubble said nothing")?;
    check(passed == (24 * HOUR, 24 * 60), || {
        format!("{passed:?} passed inside instead of a day with a tick each minute")
    })?;
    check(took < HOUR, || format!("it took {took:.1?}"))?;
    Ok(format!("a day with 1440 ticks went by in {took:.1?}"))
}
