//! A walk through what works: each point is tried out, measured and checked. The default program.
#![no_std]
#![no_main]
use ringo::machine;
use ringo::prelude::*;
ringo::main!(main);

#[path = "../tour/channels.rs"]
mod channels;
#[path = "../tour/goroutines.rs"]
mod goroutines;
#[path = "../tour/scheduler.rs"]
mod scheduler;
#[path = "../tour/time.rs"]
mod time;

/// A point's figure, or why it failed.
type Outcome = Result<String, String>;
/// What is tried, and how.
type Point = (&'static str, fn() -> Outcome);

fn main() -> Result<(), String> {
    let begun = machine::since_start();
    let points: &[Point] = &[
        ("machine", scheduler::about_the_machine),
        ("spawn and join", goroutines::spawning),
        ("yield", goroutines::yielding),
        ("ping-pong over channels", channels::ping_pong),
        ("buffered channel", channels::pipeline),
        ("close and drain", channels::closing),
        ("select", channels::selecting),
        ("mutex", goroutines::mutual_exclusion),
        ("borrowing goroutines", goroutines::scoped),
        ("prime sieve", channels::sieve),
        ("stealing", scheduler::stealing),
        ("preemption", scheduler::preemption),
        ("sleepers", time::sleepers),
        ("timers", time::timers),
        ("contexts", time::contexts),
        ("a clock of one's own", time::bubble),
        ("deep stack", goroutines::deep_stack),
        ("many goroutines", goroutines::crowd),
        ("idle", scheduler::idle),
    ];
    let machine = if machine::IS_HOST {
        "threads of the host"
    } else {
        "the bare machine"
    };
    println!("Ringo on {machine}: goroutines on every CPU.");
    println!(
        "{:>2}  {:<24} main began {begun:.1?} after the start",
        0, "boot"
    );
    let mut failed = 0;
    for (i, (name, point)) in points.iter().enumerate() {
        let figure = point().and_then(settled).unwrap_or_else(|why| {
            failed += 1;
            format!("FAILED: {why}")
        });
        println!("{:>2}  {name:<24} {figure}", i + 1);
    }
    println!(
        "{} of {} points hold; {:.1?} since the start",
        points.len() - failed,
        points.len(),
        machine::since_start()
    );
    if ringo::shell::is_wanted() {
        println!("A shell: help lists its commands, exit ends the machine.");
        ringo::shell::run()
    }
    if failed == 0 {
        Ok(())
    } else {
        Err(format!("{failed} of {} points failed", points.len()))
    }
}

/// Waits until main is the only goroutine again, so that one point does not disturb the next.
fn settled(figure: String) -> Outcome {
    let start = Instant::now();
    while num_goroutine() > 1 {
        check(start.elapsed() < Duration::from_secs(20), || {
            format!(
                "{figure}, but {} goroutines are still there 20 s later",
                num_goroutine() - 1
            )
        })?;
        sleep(Duration::from_micros(200));
    }
    Ok(figure)
}

fn check(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}

/// What one of `n` took, in ns.
fn each(took: Duration, n: u64) -> u64 {
    took.as_nanos() as u64 / n
}
