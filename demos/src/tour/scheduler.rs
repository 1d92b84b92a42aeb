//! The machine and its scheduler: stealing, preemption, idling.

use super::{Outcome, check};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use ringo::machine;
use ringo::prelude::*;

pub fn about_the_machine() -> Outcome {
    let (cpus, procs) = (num_cpu(), machine::procs());
    check((1..=cpus).contains(&procs), || {
        format!("{procs} Ps on {cpus} CPUs")
    })?;
    check(current().id() == 1, || {
        format!("main is goroutine {}", current().id())
    })?;
    let memory = match machine::free_bytes() {
        Some(free) => format!(", {} MiB free", free >> 20),
        None => String::new(),
    };
    Ok(format!(
        "{cpus} CPUs, {procs} Ps, clock {}{memory}",
        machine::clock_source()
    ))
}

pub fn stealing() -> Outcome {
    let procs = machine::procs();
    let before = machine::counts().steals;
    let mut ran = vec![0u32; num_cpu()];
    let busy = |ran: &[u32]| ran.iter().filter(|&&n| n > 0).count();
    // With more CPUs than the host has, some come too late for their share.
    let wanted = if procs <= 4 { procs } else { procs / 2 };
    // More than once only where the host let a CPU sleep all the while.
    for _ in 0..10 {
        let hs: Vec<_> = (0..100 * procs)
            .map(|i| {
                spawn(move || {
                    let mut x = i as u64;
                    for _ in 0..50_000 {
                        x = core::hint::black_box(
                            x.wrapping_mul(6364136223846793005).wrapping_add(1),
                        );
                    }
                    machine::cpu()
                })
            })
            .collect();
        for h in hs {
            ran[h.join()] += 1;
        }
        if busy(&ran) >= wanted {
            break;
        }
    }
    let steals = machine::counts().steals - before;
    check(busy(&ran) >= wanted || !machine::steals(), || {
        format!("only {} CPUs worked, with {procs} Ps: {ran:?}", busy(&ran))
    })?;
    Ok(format!(
        "work from one P ran on the CPUs: {ran:?}, {steals} steals"
    ))
}

pub fn preemption() -> Outcome {
    if !machine::preempts() {
        return Ok("left out: this machine, as it is set, preempts nobody".to_string());
    }
    static STOP: AtomicU64 = AtomicU64::new(0);
    let (procs, slice) = (machine::procs(), machine::slice());
    let before = machine::counts().preemptions;
    let wg = WaitGroup::new();
    let start = Instant::now();
    for _ in 0..procs {
        // No call inside: only a timer interrupt can stop it.
        wg.go(|| while STOP.load(Relaxed) == 0 {});
    }
    let mut late: Vec<Duration> = (0..30)
        .map(|_| {
            let due = Instant::now() + Duration::from_millis(1);
            sleep(Duration::from_millis(1));
            due.elapsed()
        })
        .collect();
    let (took, preempted) = (start.elapsed(), machine::counts().preemptions - before);
    STOP.store(1, Relaxed);
    wg.wait();

    // A host with fewer free cores than we have CPUs takes its own time off them; a slice is then longer by the clock.
    let real = took * procs as u32 / preempted.max(1) as u32;
    late.sort_unstable();
    let slices = |d: Duration| d.as_secs_f64() / slice.as_secs_f64();
    let (median, worst) = (late[late.len() / 2], late[late.len() - 1]);
    check(median <= 2 * slice.max(real), || {
        format!("beside {procs} endless loops half of the ticks are over {median:.1?} late")
    })?;
    Ok(format!(
        "beside {procs} endless loops a ticker is {:.2} slices late, worst {:.2}; a loop ran {real:.1?} at a stretch",
        slices(median),
        slices(worst)
    ))
}

pub fn idle() -> Outcome {
    let before = machine::counts();
    sleep(Duration::from_millis(300));
    let after = machine::counts();
    let switches = after.switches - before.switches;
    check(switches < 100, || {
        format!("{switches} switches while everybody slept")
    })?;
    Ok(format!(
        "300 ms of sleep took {switches} switches, {} halts, {} timers",
        after.halts - before.halts,
        after.timers - before.timers
    ))
}
