//! Endless loops without a call on every P, and a ticker beside them. `-- N`: loops.
//!
//! Try `--procs 1`, and `--set wakeup=off` (Go's way), and `--set preempt=off`.
#![no_std]
#![no_main]
use ringo::machine;
use ringo::prelude::*;
ringo::main!(main);

const TICK: Duration = Duration::from_millis(1);
const RUN: Duration = Duration::from_secs(3);

/// The loop that nobody but a timer interrupt can stop. On the host machine nothing can, so there it gives way by itself.
fn hog() {
    loop {
        if machine::IS_HOST {
            yield_now();
        }
        core::hint::spin_loop();
    }
}

fn main() -> Result<(), String> {
    let procs = machine::procs();
    let hogs = ringo::args::number("endless loops", procs as u64 + 1, 1..=1000);
    let slice = machine::slice();
    let count = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let (loops, ps) = (count(hogs, "endless loop"), count(procs as u64, "P"));
    println!("{loops} on {ps}; a ticker every {TICK:?}; slices of {slice:?}");
    if machine::IS_HOST {
        println!(
            "the host machine is cooperative: here the loops yield, or they would keep their threads for good"
        );
    } else if !machine::preempts() {
        println!(
            "nobody is preempted: once a loop has each P the ticker never runs again, and --timeout ends this run"
        );
    }
    if machine::preempts() && !machine::wakes_preempt() {
        println!("as in Go, the ticker waits for the end of somebody's slice when it is woken");
    }
    for _ in 0..hogs {
        go(hog);
    }

    let before = machine::counts();
    let start = Instant::now();
    let mut late: Vec<Duration> = Vec::new();
    let mut due = start + TICK;
    while start.elapsed() < RUN {
        sleep(due - Instant::now());
        let now = Instant::now();
        late.push(now - due);
        // A late tick moves the next one: what is measured is the wait of one wake-up.
        due = now + TICK;
    }

    let (took, after) = (start.elapsed(), machine::counts());
    let preempted = after.preemptions - before.preemptions;
    late.sort_unstable();
    let at = |percent: usize| late[(late.len() - 1) * percent / 100];
    let slices = |d: Duration| d.as_secs_f64() / slice.as_secs_f64();
    println!("{} ticks in {:.1?}", late.len(), took);
    for (name, percent) in [
        ("one in four at most", 25),
        ("half at most", 50),
        ("nine in ten at most", 90),
        ("worst", 100),
    ] {
        println!(
            "{name:<20} {:.1?} late, {:.2} slices",
            at(percent),
            slices(at(percent))
        );
    }
    if !machine::preempts() {
        return Ok(());
    }
    // A host with fewer free cores than we have CPUs takes its own time off them; a slice is then longer by the clock.
    let real = took * procs as u32 / preempted.max(1) as u32;
    println!("a loop's slice lasted {real:.1?}; {preempted} times one was over");
    println!(
        "{} times a loop gave way to the ticker for a moment, its slice kept",
        after.gave_way - before.gave_way
    );
    if at(50) > 2 * slice.max(real) {
        return Err("the ticker does not get its turn within two slices".to_string());
    }
    Ok(())
}
