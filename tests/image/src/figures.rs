//! What the scheduler says about itself (Go: runtime/metrics_test.go, and the lines of `schedtrace`).

use crate::param::param;
use crate::wait::{hold_until, until};
use crate::{Outcome, Test, ensure, figure};
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use ringo::metrics::{self, Metrics};
use ringo::prelude::*;
use sched::StopReason;

pub const TESTS: &[Test] = &[
    ("trace_idle", trace_idle),
    ("trace_busy", trace_busy),
    ("sched_metrics", sched_metrics),
    ("sched_pause_metrics", sched_pause_metrics),
    ("mutex_wait_metric", mutex_wait_metric),
    ("cpu_metrics_sleep", cpu_metrics_sleep),
    ("read_metrics_cumulative", read_metrics_cumulative),
    ("latency_tracking", latency_tracking),
    ("latency_of_who_waits", latency_of_who_waits),
];

/// Sleeps until `schedtrace` has printed so often.
fn until_traced(times: u64) {
    let enough = sched::this().schedtraces() + times;
    while sched::this().schedtraces() < enough {
        sleep(Duration::from_millis(5))
    }
}

/// For the lines of `schedtrace`: everything idle, one G locked to its CPU.
fn trace_idle() -> Outcome {
    let (tx, rx) = chan::<()>(0);
    go(move || {
        lock_to_cpu();
        rx.recv();
    });
    until_traced(param("traces", 10));
    drop(tx);
    Ok(())
}

/// The same with every P busy, and a queue of those that wait for one.
fn trace_busy() -> Outcome {
    static STOP: AtomicBool = AtomicBool::new(false);
    static RUN: AtomicUsize = AtomicUsize::new(0);
    let n = 4 * num_cpu();
    let busy = || {
        RUN.fetch_add(1, Relaxed);
        until(|| STOP.load(Relaxed))
    };
    let gs: Vec<_> = (0..n).map(|_| spawn(busy)).collect();
    // As long as the host keeps one from running that spins for work nobody else is woken.
    until(|| RUN.load(Relaxed) == n && sched::this().npidle() == 0);
    eprintln!("all are busy");
    until_traced(param("traces", 10));
    eprintln!("no more");
    STOP.store(true, Relaxed);
    gs.into_iter().for_each(|g| g.join());
    Ok(())
}

/// Reads until it fits, for as long as a host may keep a CPU from running, and much longer.
fn settles(what: &str, fits: impl Fn(&Metrics) -> bool) -> Result<Metrics, String> {
    let end = Instant::now() + Duration::from_secs(60);
    while Instant::now() < end {
        let m = metrics::read();
        if fits(&m) {
            return Ok(m);
        }
        yield_now()
    }
    let m = metrics::read();
    Err(format!(
        "{what}: gomaxprocs {}, created {}, {:?}",
        m.gomaxprocs, m.created, m.goroutines
    ))
}

/// Go: TestSchedMetrics. A staged program, and what the figures make of each stage.
fn sched_metrics() -> Outcome {
    static STOP: AtomicBool = AtomicBool::new(false);
    let procs = gomaxprocs(0) as u64;
    let first = settles("alone", |m| {
        m.goroutines.running == 1 && m.goroutines.total() == 1
    })?;
    ensure!(
        first.gomaxprocs as u64 == procs && first.threads as usize == num_cpu(),
        "{} Ps, {} Ms",
        first.gomaxprocs,
        first.threads
    );

    let many = param("many", 1000);
    let (tx, rx) = chan::<()>(0);
    let blocked: Vec<_> = (0..many)
        .map(|_| {
            let rx = rx.clone();
            spawn(move || _ = rx.recv())
        })
        .collect();
    let m = settles("all wait", |m| m.goroutines.waiting == many)?;
    ensure!(
        m.created == first.created + many,
        "{} made, not {many}",
        m.created - first.created
    );

    // All others want to run, for ever: as many run as there are Ps.
    let spinners = 3 * procs;
    let spinning: Vec<_> = (0..spinners)
        .map(|_| spawn(|| until(|| STOP.load(Relaxed))))
        .collect();
    settles("all run", |m| {
        m.goroutines.running == procs && m.goroutines.runnable == spinners + 1 - procs
    })?;
    STOP.store(true, Relaxed);
    spinning.into_iter().for_each(|g| g.join());

    if num_cpu() > 1 {
        STOP.store(false, Relaxed);
        let call = spawn(|| blocking(|| hold_until(|| STOP.load(Relaxed))));
        settles("one in a call", |m| m.goroutines.not_in_go == 1)?;
        STOP.store(true, Relaxed);
        call.join();
        gomaxprocs(num_cpu() - 1);
        let m = metrics::read();
        ensure!(
            m.gomaxprocs as usize == num_cpu() - 1,
            "{} Ps after the change",
            m.gomaxprocs
        );
        gomaxprocs(num_cpu());
    }
    drop(tx);
    blocked.into_iter().for_each(|g| g.join());
    let m = settles("alone again", |m| m.goroutines.total() == 1)?;
    ensure!(m.latencies.total() > 0, "no latency was measured");
    figure!("p50_ns", m.latencies.quantile_ns(500).unwrap_or(0));
    figure!("p99_ns", m.latencies.quantile_ns(990).unwrap_or(0));
    Ok(())
}

/// Go: TestSchedPauseMetrics. Each stop counts for its reason, once, and the part until all stand is no longer than the
/// whole.
fn sched_pause_metrics() -> Outcome {
    let n = 20;
    let before = metrics::read();
    for i in 0..n {
        gomaxprocs(1 + i % num_cpu());
    }
    let changes = if num_cpu() > 1 { n } else { 0 };
    for _ in 0..5 {
        sched::this().with_world_stopped(StopReason::Look, |_| ());
    }
    let after = metrics::read();
    for (was, is) in before.pauses.iter().zip(&after.pauses) {
        let want = if is.reason == StopReason::Look {
            5
        } else {
            // The first one changes nothing if there is one P already.
            changes as u64
        };
        let (stopping, total) = (is.stopping.since(&was.stopping), is.total.since(&was.total));
        let near = |n: u64| n == want || is.reason == StopReason::GoMaxProcs && n + 1 == want;
        ensure!(
            near(stopping.total()) && stopping.total() == total.total(),
            "{:?}: {} and {} instead of {want}",
            is.reason,
            stopping.total(),
            total.total()
        );
        for per_mille in [0, 500, 1000] {
            ensure!(
                stopping.quantile_ns(per_mille) <= total.quantile_ns(per_mille),
                "{:?}: it took longer to stop than to stop and start",
                is.reason
            );
        }
        if let Some(ns) = total.quantile_ns(500) {
            ensure!(ns > 0, "a stop took no time");
        }
    }
    let look = &after.pauses[StopReason::Look.index()];
    figure!("look_p50_ns", look.total.quantile_ns(500).unwrap_or(0));
    Ok(())
}

/// Go: TestMutexWaitTimeMetric. A lock that is held for 10 ms while one waits for it.
fn mutex_wait_metric() -> Outcome {
    static MUTEX: Mutex<u32> = Mutex::new(0);
    static LOCK: RwLock<u32> = RwLock::new(0);
    let hold = Duration::from_millis(10);
    let waits = |take: fn(), held: &dyn Fn(&mut dyn FnMut())| -> Result<u64, String> {
        let before = metrics::read().mutex_wait_ns;
        let mut waiter = None;
        let begin = Instant::now();
        let mut failed = None;
        held(&mut || {
            waiter = Some(spawn(take));
            failed = settles("one waits", |m| m.goroutines.waiting == 1).err();
            sleep(hold);
        });
        if let Some(waiter) = waiter {
            waiter.join()
        }
        if let Some(why) = failed {
            return Err(why);
        }
        let waited = metrics::read().mutex_wait_ns - before;
        let (least, most) = (hold.as_nanos() as u64, begin.elapsed().as_nanos() as u64);
        ensure!(
            (least..=most).contains(&waited),
            "{waited} ns of waiting, not between {least} and {most}"
        );
        Ok(waited)
    };
    let ns = waits(|| *MUTEX.lock() += 1, &|f| {
        let _held = MUTEX.lock();
        f()
    })?;
    figure!("mutex_wait_ns", ns);
    waits(|| *LOCK.write() += 1, &|f| {
        let _held = LOCK.read();
        f()
    })?;
    waits(|| _ = *LOCK.read(), &|f| {
        let _held = LOCK.write();
        f()
    })?;
    // Locks that nobody waits for add nothing.
    let before = metrics::read().mutex_wait_ns;
    (0..1000).for_each(|_| *MUTEX.lock() += 1);
    let after = metrics::read().mutex_wait_ns;
    ensure!(after == before, "{} ns without any waiting", after - before);
    Ok(())
}

/// Go: TestCPUMetricsSleep. While all sleep, all Ps are idle, and their CPUs halt: nobody waits by looking. The host may
/// have other things to do for once.
fn cpu_metrics_sleep() -> Outcome {
    let (ms, procs) = (100, gomaxprocs(0) as f64);
    let least = |cpus: f64| ((cpus - 0.5) * ms as f64 * 1e6) as u64;
    let (idle_least, halted_least) = (least(procs), least(num_cpu() as f64));
    let (mut idle, mut halted) = (0, 0);
    for _ in 0..100 {
        let before = metrics::read();
        sleep(Duration::from_millis(ms));
        let after = metrics::read();
        idle = after.idle_ns() - before.idle_ns();
        halted = after.halted_ns() - before.halted_ns();
        if idle >= idle_least && halted >= halted_least {
            figure!("idle_ms", idle / 1_000_000);
            figure!("halted_ms", halted / 1_000_000);
            return Ok(());
        }
    }
    Err(format!(
        "of {ms} ms on {procs} Ps {idle} ns were idle (at least {idle_least}), CPUs halted {halted} ns (at least {halted_least})"
    ))
}

/// Go: TestReadMetricsConsistency, TestReadMetricsCumulative. What sums up never falls, whatever goes on meanwhile.
fn read_metrics_cumulative() -> Outcome {
    static STOP: AtomicBool = AtomicBool::new(false);
    static DONE: AtomicU64 = AtomicU64::new(0);
    let workers = 4;
    for i in 0..workers {
        go(move || {
            let lock = Mutex::new(0);
            while !STOP.load(Relaxed) {
                spawn(yield_now).join();
                *lock.lock() += 1;
                match i {
                    0 => sleep(Duration::from_micros(100)),
                    1 => _ = gomaxprocs(1 + *lock.lock() % num_cpu()),
                    _ => yield_now(),
                }
            }
            DONE.fetch_add(1, Relaxed);
        });
    }
    let sums = |m: &Metrics| {
        let mut v = vec![
            m.created,
            m.latencies.total(),
            m.mutex_wait_ns,
            m.cpu_user_ns,
            m.cpu_total_ns(),
        ];
        v.extend(&m.cpu_idle_ns);
        v.extend(&m.cpu_halted_ns);
        v.extend(m.pauses.iter().map(|p| p.total.total()));
        v.extend(m.pauses.iter().map(|p| p.stopping.total()));
        v
    };
    let mut before = sums(&metrics::read());
    let reads = param("reads", 1000);
    for i in 0..reads {
        let m = metrics::read();
        let now = sums(&m);
        for (k, (was, is)) in before.iter().zip(&now).enumerate() {
            ensure!(was <= is, "read {i}: figure {k} fell from {was} to {is}");
        }
        ensure!(
            m.goroutines.total() >= 1 && m.created > workers as u64,
            "read {i}: {:?}, {} made",
            m.goroutines,
            m.created
        );
        ensure!(
            m.cpu_total_ns() == m.cpu_user_ns + m.idle_ns(),
            "read {i}: times do not add up"
        );
        before = now;
        if i % 8 == 0 {
            yield_now()
        }
    }
    STOP.store(true, Relaxed);
    until(|| DONE.load(Relaxed) == workers as u64);
    Ok(())
}

/// One in eight of the times that a G stops running is measured, whatever the phase that it began with; who yields asked for
/// the wait and is not.
fn latency_tracking() -> Outcome {
    let (pairs, rounds) = (8u64, 400u64);
    let before = metrics::read().latencies;
    let all: Vec<_> = (0..pairs)
        .flat_map(|_| {
            let ((tx_a, rx_a), (tx_b, rx_b)) = (chan::<u64>(0), chan::<u64>(0));
            [
                spawn(move || {
                    for i in 0..rounds {
                        yield_now();
                        let _ = (tx_a.send(i), rx_b.recv());
                    }
                }),
                spawn(move || {
                    for i in 0..rounds {
                        yield_now();
                        let _ = (rx_a.recv(), tx_b.send(i));
                    }
                }),
            ]
        })
        .collect();
    all.into_iter().for_each(|g| g.join());
    let n = metrics::read().latencies.since(&before).total();
    figure!("tracked", n);
    // Each of the two stops once or twice a round, whoever comes first. With the yields it would be twice as often.
    let (least, most) = (pairs * rounds * 2 / 8, pairs * rounds * 4 / 8);
    ensure!(
        (least - 2 * pairs..=most + 2 * pairs).contains(&n),
        "{n} were measured, not {least} to {most}"
    );
    Ok(())
}

/// A G that is ready and does not get a CPU for 1 ms is measured so: one P, nobody is preempted.
fn latency_of_who_waits() -> Outcome {
    let (tx, rx) = chan::<u32>(1);
    let waiter = spawn(move || for _ in rx.iter() {});
    let wait_ns = 1_000_000;
    let before = metrics::read().latencies;
    for i in 0..2 * sched::metrics::TRACKING_PERIOD {
        yield_now(); // it waits
        tx.send(i).map_err(|e| format!("{e:?}"))?;
        arch::spin_wait_ns(wait_ns);
    }
    drop(tx);
    waiter.join();
    let c = metrics::read().latencies.since(&before);
    let longest = c.quantile_ns(1000).unwrap_or(0);
    figure!("longest_ns", longest);
    ensure!(
        longest >= wait_ns,
        "the longest of {} was {longest} ns",
        c.total()
    );
    Ok(())
}
