//! Timers, tickers and timeouts on the machine (Go: time/sleep_test.go, time/tick_test.go).

use crate::param::param;
use crate::{Outcome, Test, ensure, figure};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use ringo::prelude::*;

/// The tests of this file.
pub const TESTS: &[Test] = &[
    ("clock_ticker_stress", clock_ticker_stress),
    ("clock_many_on_one_ticker", clock_many_on_one_ticker),
    ("clock_many_on_one_timer", clock_many_on_one_timer),
    ("clock_sleep_zero", clock_sleep_zero),
    ("clock_stop_result", clock_stop_result),
    ("clock_stop_stress", clock_stop_stress),
    ("clock_timeouts_race", clock_timeouts_race),
    ("clock_over_gomaxprocs", clock_over_gomaxprocs),
    ("clock_context_storm", clock_context_storm),
    ("clock_stopped_is_dead", clock_stopped_is_dead),
    ("clock_unheard_is_dead", clock_unheard_is_dead),
    ("clock_func_at_once", clock_func_at_once),
    ("clock_virtual", clock_virtual),
    ("clock_virtual_deadlock", clock_virtual_deadlock),
];

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

/// Go: TickerStress, TickerConcurrentStress: a ticker of 1 ns with several readers, while the world is stopped in a loop.
fn clock_ticker_stress() -> Outcome {
    static STOP: AtomicBool = AtomicBool::new(false);
    let stopper = spawn(|| {
        let mut stops = 0;
        while !STOP.load(Relaxed) {
            stops += 1;
            let n = gomaxprocs(0);
            gomaxprocs(1 + stops % num_cpu());
            gomaxprocs(n);
            sleep(Duration::from_micros(50));
        }
        stops
    });
    let ticker = Arc::new(Ticker::new(Duration::from_nanos(1)));
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let ticker = ticker.clone();
            spawn(move || {
                for _ in 0..param("ticks", 100) {
                    ticker.recv();
                }
            })
        })
        .collect();
    readers.into_iter().for_each(JoinHandle::join);
    ticker.stop();
    STOP.store(true, Relaxed);
    figure!("stops", stopper.join());
    Ok(())
}

/// Go: MultiWakeupTicker: a G on each P selects on one shared fast ticker, with a timeout of its own each time.
fn clock_many_on_one_ticker() -> Outcome {
    let ticker = Arc::new(Ticker::new(Duration::from_micros(1)));
    let gs: Vec<_> = (0..gomaxprocs(0).max(2))
        .map(|_| {
            let rx = ticker.receiver().clone();
            spawn(move || {
                (0..param("rounds", 2000))
                    .filter(|_| select! { recv(rx) -> _at => true, default(MS) => false })
                    .count()
            })
        })
        .collect();
    let ticks: usize = gs.into_iter().map(JoinHandle::join).sum();
    figure!("ticks", ticks);
    ensure!(ticks > 0, "no tick came");
    Ok(())
}

/// Go: MultiWakeupTimer: the same with a timer that each of them sets anew.
fn clock_many_on_one_timer() -> Outcome {
    let timer = Arc::new(Timer::new(Duration::from_nanos(1)));
    let gs: Vec<_> = (0..gomaxprocs(0).max(2))
        .map(|_| {
            let timer = timer.clone();
            spawn(move || {
                (0..param("rounds", 1000))
                    .filter(|_| {
                        let rx = timer.receiver();
                        let came = select! { recv(rx) -> _at => true, default(MS) => false };
                        timer.reset(Duration::from_nanos(1));
                        came
                    })
                    .count()
            })
        })
        .collect();
    let came: usize = gs.into_iter().map(JoinHandle::join).sum();
    figure!("came", came);
    ensure!(came > 0, "it never fired");
    Ok(())
}

/// Go: SleepZeroDeadlock: sleeps of nothing while the world is stopped again and again.
fn clock_sleep_zero() -> Outcome {
    static STOP: AtomicBool = AtomicBool::new(false);
    let gs: Vec<_> = (0..4)
        .map(|_| {
            spawn(|| {
                let mut sleeps = 0u64;
                while !STOP.load(Relaxed) {
                    sleep(Duration::ZERO);
                    sleeps += 1;
                    if sleeps.is_multiple_of(16) {
                        yield_now()
                    }
                }
                sleeps
            })
        })
        .collect();
    for _ in 0..param("stops", 20) {
        sched::this().with_world_stopped(sched::StopReason::Look, |_| ());
        sleep(Duration::from_micros(50));
    }
    STOP.store(true, Relaxed);
    let sleeps: u64 = gs.into_iter().map(JoinHandle::join).sum();
    figure!("sleeps_of_nothing", sleeps);
    Ok(())
}

/// Go: StopResult, ResetResult: of two timers that are due together one is received. To stop the other, or to set it anew, says
/// that nobody got its value, be it about to fire, firing, or done with it; and nobody gets it.
fn clock_stop_result() -> Outcome {
    let due = Duration::from_micros(200);
    for anew in [false, true] {
        let take_back = move |t: &Timer| if anew { t.reset(HOUR) } else { t.stop() };
        let gs: Vec<_> = (0..20)
            .map(|_| {
                spawn(move || {
                    (0..param("rounds", 30))
                        .filter(|_| {
                            let (a, b) = (Timer::new(due), Timer::new(due));
                            let other = select! {
                                recv(a.receiver()) -> _at => b,
                                recv(b.receiver()) -> _at => a,
                            };
                            !take_back(&other) || other.receiver().try_recv().is_ok()
                        })
                        .count()
                })
            })
            .collect();
        let wrong: usize = gs.into_iter().map(JoinHandle::join).sum();
        ensure!(wrong == 0, "{wrong} answers were wrong, anew: {anew}");
    }
    Ok(())
}

/// Go: TimerStopStress: what is stopped in time never fires.
fn clock_stop_stress() -> Outcome {
    static FIRED: AtomicU64 = AtomicU64::new(0);
    let mut stopped = 0;
    for _ in 0..param("rounds", 20) {
        let timers: Vec<_> = (0..50)
            .map(|_| {
                after_func(300 * MS, || {
                    FIRED.fetch_add(1, Relaxed);
                })
            })
            .collect();
        sleep(MS);
        stopped += timers.iter().filter(|t| t.stop()).count() as u64;
    }
    sleep(320 * MS);
    let fired = FIRED.load(Relaxed);
    let all = param("rounds", 20) * 50;
    figure!("fired", fired);
    ensure!(
        stopped + fired == all,
        "{stopped} were stopped and {fired} fired, of {all}"
    );
    Ok(())
}

/// A value and the end of the time at one moment: each `select!` ends once, and no value is lost.
fn clock_timeouts_race() -> Outcome {
    let rounds = param("rounds", 1000);
    let (tx, rx) = chan::<u64>(0);
    let sender = spawn(move || {
        for i in 0..rounds {
            sleep(Duration::from_micros(100));
            if tx.send(i).is_err() {
                break;
            }
        }
    });
    let (mut next, mut timeouts) = (0, 0u64);
    loop {
        select! {
            recv(rx) -> v => match v {
                Some(v) => {
                    ensure!(v == next, "{v} came instead of {next}");
                    next += 1
                }
                None => break,
            },
            default(Duration::from_micros(100)) => timeouts += 1,
        }
    }
    sender.join();
    figure!("timeouts", timeouts);
    ensure!(next == rounds, "{next} of {rounds} values came");
    Ok(())
}

/// golang/go #45716: tickers go on when the P that they were set on goes away.
fn clock_over_gomaxprocs() -> Outcome {
    let all = num_cpu();
    let tickers: Vec<_> = (0..2 * all)
        .map(|_| spawn(|| Ticker::new(2 * MS)))
        .map(JoinHandle::join)
        .collect();
    for n in [1, all, 1, all] {
        gomaxprocs(n);
        for (i, ticker) in tickers.iter().enumerate() {
            for _ in 0..3 {
                let came = select! { recv(ticker.receiver()) -> _at => true, default(Duration::from_secs(20)) => false };
                ensure!(came, "ticker {i} stands still at {n} Ps");
            }
        }
    }
    Ok(())
}

/// Contexts with deadlines that are made, ended and forgotten by all CPUs at once.
fn clock_context_storm() -> Outcome {
    let before = num_goroutine();
    let (root, end) = Context::background().with_cancel();
    let ended = Arc::new(AtomicU64::new(0));
    let gs: Vec<_> = (0..4 * num_cpu() as u64)
        .map(|i| {
            let (root, ended) = (root.clone(), ended.clone());
            spawn(move || {
                for k in 0..param("rounds", 100) {
                    let (ctx, cancel) =
                        root.with_timeout(Duration::from_micros(50 + 37 * (i * k % 20)));
                    let ended = ended.clone();
                    ctx.after_func(move || {
                        ended.fetch_add(1, Relaxed);
                    });
                    if k % 2 == 0 {
                        cancel.cancel()
                    }
                    ctx.done().recv();
                    assert!(ctx.err().is_some())
                }
            })
        })
        .collect();
    let all = gs.len() as u64 * param("rounds", 100);
    gs.into_iter().for_each(JoinHandle::join);
    end.cancel();
    // The functions' goroutines are on their way out; if one stays, the harness's clock ends this.
    while ended.load(Relaxed) < all || num_goroutine() > before {
        sleep(MS)
    }
    Ok(())
}

/// A timer that was stopped hides no deadlock, however far away its time is.
fn clock_stopped_is_dead() -> Outcome {
    let timer = Timer::new(HOUR);
    let ticker = Ticker::new(HOUR);
    let func = after_func(HOUR, || {});
    ensure!(timer.stop() && func.stop(), "they were running");
    ticker.stop();
    timer.recv();
    Err("a stopped timer fired".to_owned())
}

/// Nor does a ticker that nobody listens to.
fn clock_unheard_is_dead() -> Outcome {
    let _ticker = Ticker::new(MS);
    never::<u8>().recv();
    Err("something came".to_owned())
}

/// A function that is due at once runs, although nobody keeps the timer.
fn clock_func_at_once() -> Outcome {
    static RAN: AtomicU64 = AtomicU64::new(0);
    let rounds = param("rounds", 1000);
    for _ in 0..rounds {
        after_func(Duration::ZERO, || {
            RAN.fetch_add(1, Relaxed);
        });
    }
    let end = Instant::now() + Duration::from_secs(20);
    while RAN.load(Relaxed) < rounds && Instant::now() < end {
        sleep(MS)
    }
    let ran = RAN.load(Relaxed);
    ensure!(ran == rounds, "{ran} of {rounds} ran");
    Ok(())
}

/// Go: FakeTime, and with `clock=virtual` more of it: days pass in no time, everything fires exactly at its deadline, and a
/// loop that only computes takes none.
fn clock_virtual() -> Outcome {
    let begin = Instant::now();
    let computed = spawn(|| {
        let begin = Instant::now();
        (0..1_000_000u64).for_each(|n| _ = core::hint::black_box(n));
        begin.elapsed()
    });
    ensure!(computed.join().is_zero(), "computing took time");
    let gs: Vec<_> = (1..=50)
        .map(|i| {
            spawn(move || {
                let begin = Instant::now();
                sleep(i * HOUR);
                let slept = begin.elapsed();
                (slept, i)
            })
        })
        .collect();
    for g in gs {
        let (slept, i) = g.join();
        ensure!(slept == i * HOUR, "{slept:?} of {i} hours");
    }
    ensure!(begin.elapsed() == 50 * HOUR, "{:?}", begin.elapsed());

    let ticker = Ticker::new(7 * MS);
    let (mut ticks, mut timeouts) = (0, 0);
    let end = Timer::new(70 * MS + MS / 2);
    let begin = Instant::now();
    loop {
        select! {
            recv(ticker.receiver()) -> at => {
                ticks += 1;
                ensure!(at == Some(begin + ticks * 7 * MS), "tick {ticks} at {at:?}");
            }
            recv(end.receiver()) -> _at => break,
            default(2 * MS) => timeouts += 1,
        }
    }
    ensure!(
        ticks == 10 && timeouts == 30,
        "{ticks} ticks, {timeouts} timeouts"
    );
    ensure!(begin.elapsed() == 70 * MS + MS / 2, "{:?}", begin.elapsed());

    ticker.stop(); // or the clock would stop half a million times on the way
    let (ctx, _cancel) = Context::background().with_timeout(HOUR);
    ctx.done().recv();
    ensure!(
        begin.elapsed() == HOUR + 70 * MS + MS / 2,
        "{:?}",
        begin.elapsed()
    );
    // What lies behind the clock is due at once.
    Timer::new(Duration::ZERO).recv();
    drop(after(HOUR));
    ensure!(
        begin.elapsed() < 2 * HOUR,
        "a timer that was dropped moved the clock"
    );
    Ok(())
}

/// A deadlock is seen with a clock that jumps as well.
fn clock_virtual_deadlock() -> Outcome {
    sleep(HOUR);
    let timer = Timer::new(HOUR);
    timer.stop();
    // One beat, at the end of time, and never again: whether it was taken or not.
    let (rare, taken) = (Ticker::new(Duration::MAX), Ticker::new(Duration::MAX));
    taken.recv();
    let (_tx, rx) = chan::<u8>(0);
    rx.recv();
    drop(rare);
    Err("something came".to_owned())
}
