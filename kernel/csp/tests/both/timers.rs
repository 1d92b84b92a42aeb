//! Go's tests of timers and tickers (time/sleep_test.go, time/tick_test.go), in our words. For a clock that jumps
//! (`clock=virtual`): only so is it sure what has happened when somebody has slept.

use alloc::sync::Arc;
use alloc::vec::Vec;
use base::Rng;
use core::sync::atomic::{AtomicU32, Ordering::*};
use csp::time::{Duration, Instant, Ticker, Timer, after, after_func, sleep};
use csp::{JoinHandle, chan, go, never, select, spawn};

/// The tests of this file.
pub const TESTS: &[(&str, fn())] = &[
    (
        "timer_after_func_runs_in_a_goroutine_each",
        after_func_runs_in_a_goroutine_each,
    ),
    ("timer_stop_tells_the_truth", stop_tells_the_truth),
    ("timer_after_is_not_early", after_is_not_early),
    ("timer_in_order_of_deadlines", in_order_of_deadlines),
    (
        "timer_nothing_stale_after_reset_or_stop",
        nothing_stale_after_reset_or_stop,
    ),
    ("timer_moved_earlier_and_later", moved_earlier_and_later),
    ("timer_random_changes", random_changes),
    (
        "timer_stopped_ones_do_not_pile_up",
        stopped_ones_do_not_pile_up,
    ),
    ("timer_ticker_keeps_its_beat", ticker_keeps_its_beat),
    (
        "timer_endless_ones_do_not_disturb",
        endless_ones_do_not_disturb,
    ),
    ("timer_select_with_timeout", select_with_timeout),
    ("timer_many_on_one_ticker", many_on_one_ticker),
    (
        "timer_functions_may_touch_timers",
        functions_may_touch_timers,
    ),
    ("timer_before_and_after", before_and_after),
    ("timer_unheard_tickers_rest", unheard_tickers_rest),
    ("timer_drops_what_it_ran", drops_what_it_ran),
    ("timer_function_goexits", function_goexits),
];

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

/// Go: AfterFunc: a chain of ten, each starts the next.
fn after_func_runs_in_a_goroutine_each() {
    fn next(left: u32, done: csp::Sender<()>) {
        match left {
            0 => done.send(()).unwrap(),
            _ => drop(after_func(MS, move || {
                next(left - 1, done.clone());
                sleep(2 * MS) // it may park
            })),
        }
    }
    let (tx, rx) = chan(0);
    next(10, tx);
    assert_eq!(rx.recv(), Some(()));
}

/// Go: AfterStop, and what Stop reports.
fn stop_tells_the_truth() {
    let n = Arc::new(AtomicU32::new(0));
    let count = n.clone();
    let never_fires = after_func(20 * MS, move || {
        count.fetch_add(1, Relaxed);
    });
    assert!(never_fires.stop());
    assert!(!never_fires.stop());
    let count = n.clone();
    let fires = after_func(MS, move || {
        count.fetch_add(10, Relaxed);
    });
    sleep(60 * MS);
    assert!(!fires.stop());
    assert_eq!(n.load(Relaxed), 10);
    // Set anew, it runs again.
    assert!(!fires.reset(MS));
    sleep(60 * MS);
    assert_eq!(n.load(Relaxed), 20);
}

/// Go: AfterTick, After: each lasts as long as asked, and the value is the moment of firing.
fn after_is_not_early() {
    for _ in 0..10 {
        let begin = Instant::now();
        let rx = after(5 * MS);
        sleep(15 * MS);
        let at = rx.recv().unwrap();
        assert_eq!(at - begin, 5 * MS, "the moment of firing, not of receiving");
    }
}

/// Go: AfterQueuing: whatever the order of setting, they fire in the order of their deadlines.
fn in_order_of_deadlines() {
    for seed in 0..5 {
        let (tx, rx) = chan(16);
        let mut delays = [5, 3, 6, 6, 6, 1, 1, 2, 7, 9, 4, 8, 0];
        let mut rng = Rng::new(seed);
        (1..delays.len()).for_each(|i| delays.swap(i, rng.below(i as u32 + 1) as usize));
        for d in delays {
            let (tx, rx) = (tx.clone(), after(30 * d * MS));
            go(move || tx.send((d, rx.recv().unwrap())).unwrap());
        }
        drop(tx);
        let got: Vec<(u32, Instant)> = rx.into_iter().collect();
        assert!(got.is_sorted_by_key(|&(d, _)| d) && got.is_sorted_by_key(|&(_, at)| at));
    }
}

/// Go: Reset, and TestResetResult: a value that was not received is taken back, and reset says so.
fn nothing_stale_after_reset_or_stop() {
    let timer = Timer::new(HOUR);
    assert!(timer.reset(MS));
    sleep(30 * MS);
    assert_eq!(
        (timer.receiver().len(), timer.receiver().capacity()),
        (0, 0)
    );
    assert!(timer.reset(HOUR), "fired, but not received");
    assert!(timer.receiver().try_recv().is_err());
    assert!(timer.reset(MS));
    sleep(30 * MS);
    assert!(timer.stop(), "fired, but not received");
    assert!(timer.receiver().try_recv().is_err());
    assert!(!timer.reset(MS));
    timer.recv();
    assert!(!timer.stop());
}

/// golang/go #47329: a timer that is set to an earlier time fires then.
fn moved_earlier_and_later() {
    let timer = Timer::new(HOUR);
    for _ in 0..20 {
        let begin = Instant::now();
        assert!(timer.reset(HOUR));
        assert!(timer.reset(2 * MS));
        assert!(timer.reset(4 * MS)); // later: its entry fires early and goes back
        timer.recv();
        assert!(begin.elapsed() >= 4 * MS);
        assert!(begin.elapsed() < HOUR / 2);
        timer.reset(HOUR);
    }
}

/// Go: AdjustTimers: stop, reset and new ones at random, each answer checked.
fn random_changes() {
    let mut rng = Rng::new(7);
    let (mut timers, mut inactive) = (Vec::new(), Vec::new());
    let pick = |rng: &mut Rng, v: &mut Vec<Timer>| {
        let i = rng.below(v.len() as u32) as usize;
        v.swap_remove(i)
    };
    for _ in 0..20_000 {
        match rng.below(4) {
            0 => timers.push(Timer::new(HOUR + rng.below(1000) * MS)),
            1 if !timers.is_empty() => {
                let t = pick(&mut rng, &mut timers);
                assert!(t.stop());
                inactive.push(t)
            }
            2 if !timers.is_empty() => {
                let t = pick(&mut rng, &mut timers);
                assert!(t.reset(HOUR / 2 + rng.below(1_800_000) * MS));
                timers.push(t)
            }
            3 if !inactive.is_empty() => {
                let t = pick(&mut rng, &mut inactive);
                assert!(!t.reset(HOUR));
                timers.push(t)
            }
            _ => {}
        }
    }
}

/// Entries of all heaps.
fn entries() -> u32 {
    let ps = sched::this().allp.iter();
    ps.map(|p| p.timers.len()).sum()
}

/// Go: Teardown, and 1.23's word that tickers which nobody can reach are gone: stopped or dropped ones go out of the heap although
/// their time is far away, and with them what they hold.
fn stopped_ones_do_not_pile_up() {
    let (before, held) = (entries(), Arc::new(()));
    for _ in 0..10_000 {
        drop(after(HOUR));
        drop(Ticker::new(HOUR));
        let h = held.clone();
        after_func(HOUR, move || drop(h.clone())).stop();
    }
    let more = entries() - before.min(entries());
    assert!(more < 200 + before, "{more} entries more");
    let holders = Arc::strong_count(&held) - 1;
    assert_eq!(holders, 0, "functions that will never run are kept");
}

/// Go: Ticker, TickerReset, TickTimes.
fn ticker_keeps_its_beat() {
    let period = 10 * MS;
    let begin = Instant::now();
    let ticker = Ticker::new(period);
    for i in 1..=10 {
        assert_eq!(ticker.recv(), begin + i * period);
    }
    ticker.stop();
    let ticker = Ticker::new(HOUR);
    ticker.reset(MS);
    ticker.recv();
    ticker.stop();
    sleep(5 * MS);
    assert!(ticker.receiver().try_recv().is_err());
    // Missed ticks are left out.
    ticker.reset(2 * MS);
    sleep(50 * MS);
    ticker.recv();
    assert!(ticker.receiver().try_recv().is_err());
}

/// Go: OverflowRuntimeTimer, OverflowPeriodRuntimeTimer, LongSleep: durations beyond all bounds neither fire nor keep others from
/// firing.
fn endless_ones_do_not_disturb() {
    let far = Timer::new(Duration::MAX);
    let rare = Ticker::new(Duration::MAX);
    let near = Timer::new(MS);
    near.recv();
    assert!(far.receiver().try_recv().is_err() && rare.receiver().try_recv().is_err());
    // One tick, and then never again.
    let once = Ticker::new(Duration::from_nanos(u64::MAX / 2));
    once.reset(MS);
    once.recv();
    once.reset(Duration::from_nanos(u64::MAX - 1));
    Timer::new(MS).recv();
    assert!(once.receiver().try_recv().is_err());
    assert!(far.stop());
}

/// `select!` with a timeout: the others go first, then time.
fn select_with_timeout() {
    let (tx, rx) = chan::<u32>(1);
    let begin = Instant::now();
    let timed_out = select! { recv(rx) -> _v => false, default(10 * MS) => true };
    assert!(timed_out && begin.elapsed() >= 10 * MS);
    tx.send(1).unwrap();
    for d in [Duration::ZERO, HOUR] {
        let got = select! { recv(rx) -> v => v, default(d) => None };
        assert_eq!(got, Some(1));
        tx.send(1).unwrap();
    }
    rx.recv();
    let at_once = select! { recv(rx) -> _v => false, default(Duration::ZERO) => true };
    assert!(at_once);
    go(move || {
        sleep(5 * MS);
        tx.send(2).unwrap()
    });
    let got = select! { recv(rx) -> v => v, recv(never::<u32>()) -> v => v, default(HOUR) => None };
    assert_eq!(got, Some(2));
    // Nothing but the time.
    let begin = Instant::now();
    select! { default(3 * MS) => {} }
    assert!(begin.elapsed() >= 3 * MS);
}

/// Go: MultiWakeupTimer: many receivers on one fast ticker, each with a timeout of its own.
fn many_on_one_ticker() {
    let ticker = Arc::new(Ticker::new(Duration::from_micros(20)));
    let gs: Vec<_> = (0..4)
        .map(|_| {
            let rx = ticker.receiver().clone();
            spawn(move || {
                (0..500)
                    .filter(|_| select! { recv(rx) -> _at => true, default(50 * MS) => false })
                    .count()
            })
        })
        .collect();
    let ticks: usize = gs.into_iter().map(JoinHandle::join).sum();
    assert!(ticks > 100, "{ticks} ticks in 2000 waits");
}

/// Go: Issue5745 (a timer's lock that stays taken): what a timer runs holds no lock of any timer: it may stop and set its own, and
/// others, and wait.
fn functions_may_touch_timers() {
    let (tx, rx) = chan::<u32>(0);
    let (own_tx, own_rx) = chan::<Arc<Timer>>(1);
    let ticker = Arc::new(Ticker::new(HOUR));
    let mut runs = 0;
    let own = Arc::new(after_func(MS, {
        let ticker = ticker.clone();
        move || {
            runs += 1;
            let own = own_rx.recv().unwrap();
            assert!(!own.stop(), "it has fired");
            ticker.stop();
            ticker.reset(HOUR);
            assert!(!own.reset(if runs < 3 { MS } else { HOUR }));
            tx.send(runs).unwrap()
        }
    }));
    for run in 1..=3 {
        own_tx.send(own.clone()).unwrap();
        assert_eq!(rx.recv(), Some(run));
    }
    assert!(own.stop());
}

/// A timer is waited for before its time, and looked at after it: what comes is the moment of firing.
fn before_and_after() {
    let begin = Instant::now();
    let waits = Timer::new(2 * MS);
    assert!(waits.receiver().try_recv().is_err());
    assert!(waits.recv() - begin >= 2 * MS);
    let looks = Timer::new(MS);
    sleep(20 * MS);
    let late = Instant::now();
    assert!(looks.receiver().try_recv().is_ok_and(|at| at < late));
    assert!(looks.receiver().try_recv().is_err(), "once");
}

/// A ticker that nobody listens to goes out of the heap once a tick lies there, and comes back with its beat when that is taken, in
/// whatever way.
fn unheard_tickers_rest() {
    sleep(MS); // whoever is left of other tests ends meanwhile
    let live = || -> i64 { sched::this().allp.iter().map(|p| p.timers.live()).sum() };
    let before = live();
    let begin = Instant::now();
    let tickers: Vec<_> = (0..10).map(|_| Ticker::new(2 * MS)).collect();
    assert_eq!(live(), before + 10);
    sleep(11 * MS); // five beats and a half
    assert_eq!(live(), before, "nobody takes their ticks");
    for (i, ticker) in tickers.iter().enumerate() {
        let rx = ticker.receiver();
        let take = || match i % 3 {
            0 => rx.recv(),
            1 => rx.try_recv().ok(),
            _ => select! { recv(rx) -> at => at, recv(never::<Instant>()) -> at => at },
        };
        assert_eq!(take(), Some(begin + 2 * MS), "the one that lay there");
        assert!(rx.try_recv().is_err(), "one only");
    }
    assert_eq!(live(), before + 10, "they tick again");
    for ticker in &tickers {
        assert_eq!(ticker.recv(), begin + 12 * MS, "at the beat");
    }
    sleep(7 * MS);
    // Stopped or set anew while they rest.
    tickers[0].stop();
    tickers[1].reset(3 * MS);
    let again = Instant::now();
    assert!(tickers[0].receiver().try_recv().is_err());
    assert_eq!(tickers[1].recv(), again + 3 * MS);
    drop(tickers);
    sleep(7 * MS);
    assert_eq!(live(), before);
}

/// A stopped timer whose handle is gone, while its function still runs: what it keeps is dropped when all are asleep, by a
/// goroutine, and nobody is there to start one.
fn drops_what_it_ran() {
    let ms = Duration::from_millis;
    let t = csp::time::after_func(ms(1), move || sleep(ms(100)));
    sleep(ms(2));
    t.reset(ms(50));
    t.stop();
    drop(t);
    sleep(ms(300))
}

/// A function that ends its goroutine has run: it is no hindrance to the next time, and what it holds goes with the last.
fn function_goexits() {
    let held = Arc::new(());
    let theirs = held.clone();
    let (tx, rx) = chan(0);
    let mut runs = 0;
    let timer = after_func(MS, move || {
        let _theirs = &theirs;
        runs += 1;
        tx.send(runs).unwrap();
        csp::goexit()
    });
    for run in 1..=3 {
        assert_eq!(rx.recv(), Some(run));
        timer.reset(MS);
    }
    assert_eq!(rx.recv(), Some(4));
    drop(timer);
    sleep(MS); // the last of them ends meanwhile
    assert_eq!(Arc::strong_count(&held), 1, "it will never run again");
}
