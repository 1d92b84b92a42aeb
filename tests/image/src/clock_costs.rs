//! What timers cost and how late they are: Go's benchmarks (time/sleep_test.go, time/tick_test.go), in our words. The figures are
//! not judged; that everything fired as often as it should is.

use crate::param::param;
use crate::{Outcome, Test, ensure, figure};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use ringo::prelude::*;

/// The tests of this file.
pub const TESTS: &[Test] = &[
    ("bench_timers", bench_timers),
    ("bench_timer_latency", bench_timer_latency),
    ("bench_ticker_latency", bench_ticker_latency),
];

const HOUR: Duration = Duration::from_secs(3600);
/// Timers at a time, as in the names of Go's benchmarks.
const MANY: u64 = 1000;

/// Time that one of `n` took, in ns.
fn each_ns(n: u64, f: impl FnOnce()) -> u64 {
    let begin = Instant::now();
    f();
    begin.elapsed().as_nanos() as u64 / n
}

/// Go: StartStop1000, Reset1000, SimultaneousAfterFunc1000, AfterFunc1000, Sleep1000, ChanToSyncTimerReset.
fn bench_timers() -> Outcome {
    let rounds = param("rounds", 10);
    let n = rounds * MANY;
    let mut wrong = 0;
    let start_stop = each_ns(n, || {
        for _ in 0..rounds {
            let timers: Vec<_> = (0..MANY).map(|_| after_func(HOUR, || ())).collect();
            wrong += timers.iter().filter(|t| !t.stop()).count()
        }
    });
    figure!("start_stop_ns", start_stop);
    let timers: Vec<_> = (0..MANY).map(|_| after_func(HOUR, || ())).collect();
    let reset = each_ns(n, || {
        for round in 0..rounds as u32 {
            let d = HOUR + round * Duration::from_secs(1);
            wrong += timers.iter().filter(|t| !t.reset(d)).count()
        }
    });
    wrong += timers.iter().filter(|t| !t.stop()).count();
    figure!("reset_ns", reset);
    ensure!(wrong == 0, "{wrong} answers were wrong");

    let (tx, rx) = chan::<u64>(MANY as usize);
    let mut came = 0;
    let at_once = each_ns(n, || {
        for _ in 0..rounds {
            for i in 0..MANY {
                let tx = tx.clone();
                after_func(Duration::ZERO, move || tx.send(i).unwrap());
            }
            came += (0..MANY).filter_map(|_| rx.recv()).sum::<u64>()
        }
    });
    figure!("after_func_ns", at_once);
    ensure!(came == rounds * MANY * (MANY - 1) / 2, "{came} came");
    let chain = each_ns(n, || {
        next(n, tx);
        came = rx.recv().unwrap_or(0)
    });
    figure!("after_func_chain_ns", chain);
    ensure!(came == 7, "the chain broke");

    let sleeps = each_ns(n, || {
        for _ in 0..rounds {
            let sleeper = |_| spawn(|| sleep(Duration::from_nanos(50)));
            let gs: Vec<_> = (0..MANY).map(sleeper).collect();
            gs.into_iter().for_each(JoinHandle::join)
        }
    });
    figure!("sleep_ns", sleeps);
    let timer = Timer::new(Duration::from_nanos(1));
    let receive = each_ns(n, || {
        for _ in 0..n {
            timer.recv();
            timer.reset(Duration::from_nanos(1));
        }
    });
    figure!("receive_and_reset_ns", receive);
    Ok(())
}

/// Each function starts the next.
fn next(left: u64, done: Sender<u64>) {
    if left == 0 {
        return done.send(7).unwrap();
    }
    after_func(Duration::ZERO, move || next(left - 1, done.clone()));
}

/// Lateness of many.
#[derive(Default)]
struct Late {
    n: AtomicU64,
    sum_ns: AtomicU64,
    most_ns: AtomicU64,
}

impl Late {
    fn note(&self, due: Instant) {
        let ns = due.elapsed().as_nanos() as u64;
        self.n.fetch_add(1, Relaxed);
        self.sum_ns.fetch_add(ns, Relaxed);
        self.most_ns.fetch_max(ns, Relaxed);
    }
    fn average_ns(&self) -> u64 {
        self.sum_ns.load(Relaxed) / self.n.load(Relaxed).max(1)
    }
}

/// Go: ParallelTimerLatency: as many timers as there are Ps, all due at one moment, again and again.
fn bench_timer_latency() -> Outcome {
    let (late, rounds) = (Arc::new(Late::default()), param("rounds", 50));
    let timers = gomaxprocs(0) as u64;
    for _ in 0..rounds {
        let due = Instant::now() + Duration::from_millis(1);
        let wg = WaitGroup::new();
        for _ in 0..timers {
            wg.add(1);
            let (late, wg) = (late.clone(), wg.clone());
            after_func(Duration::from_millis(1), move || {
                late.note(due);
                wg.done()
            });
        }
        wg.wait();
    }
    figure!("average_late_ns", late.average_ns());
    figure!("most_late_ns", late.most_ns.load(Relaxed));
    let fired = late.n.load(Relaxed);
    ensure!(fired == rounds * timers, "{fired} fired");
    Ok(())
}

/// Go: StaggeredTickerLatency: 1, 5 and 10 tickers for each P, whose beats are spread over the period.
fn bench_ticker_latency() -> Outcome {
    let (period, ticks) = (Duration::from_millis(3), param("ticks", 10));
    let mut averages = Vec::new();
    for of_each in [1, 5, 10] {
        let n = of_each * gomaxprocs(0) as u32;
        let late = Arc::new(Late::default());
        let gs: Vec<_> = (0..n)
            .map(|i| {
                let late = late.clone();
                spawn(move || {
                    sleep(period * i / n);
                    let ticker = Ticker::new(period);
                    for _ in 0..ticks {
                        late.note(ticker.recv());
                    }
                })
            })
            .collect();
        gs.into_iter().for_each(JoinHandle::join);
        let seen = late.n.load(Relaxed);
        ensure!(seen == ticks * u64::from(n), "{seen} ticks of {n} tickers");
        averages.push(late.average_ns())
    }
    figure!("average_late_1_ns", averages[0]);
    figure!("average_late_5_ns", averages[1]);
    figure!("average_late_10_ns", averages[2]);
    Ok(())
}
