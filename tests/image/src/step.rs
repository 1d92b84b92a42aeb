//! An interrupt at each instruction: single steps through parking, the switch, the injected call, blocking calls. Each test does
//! something again and again, and is interrupted one instruction later each time, until it ends before its turn comes.

use crate::param::param;
use crate::{Outcome, Test, ensure, figure};
use alloc::vec::Vec;
use arch::bare::{step_at, step_off, step_on, steps};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use ringo::machine::counts;
use ringo::prelude::*;

/// The tests of this file.
pub const TESTS: &[Test] = &[
    ("step_yield", step_yield),
    ("step_park", step_park),
    ("step_blocking", step_blocking),
    ("step_spawn", step_spawn),
    ("step_lock", step_lock),
    ("step_sleep", step_sleep),
];

static STOP: AtomicBool = AtomicBool::new(false);

/// Does `what` until an interrupt at its `at`-th instruction (the first, the `stride`-th after that, and so on) would come after
/// its end. Answers the last `at`.
pub fn one_later_each_time(mut what: impl FnMut() -> Outcome) -> (u64, Outcome) {
    let (mut at, mut longest) = (1, 0);
    step_on();
    let result = loop {
        step_at(at);
        let result = what();
        let took = steps();
        if result.is_err() || took < at {
            break result;
        }
        longest = longest.max(took);
        at += param("stride", 1)
    };
    step_off();
    figure!("instructions", at);
    figure!("longest", longest);
    (at, result)
}

/// Interrupts `what` at each instruction in turn (or every `stride`-th), beside a G that always can run.
fn at_each_instruction(mut what: impl FnMut() -> Outcome) -> Outcome {
    let other = spawn(|| {
        let mut turns = 0u64;
        while !STOP.load(Relaxed) {
            turns += 1;
            yield_now()
        }
        turns
    });
    for _ in 0..5 {
        what()? // stacks and caches are there
    }
    let before = counts().preemptions;
    let (at, result) = one_later_each_time(&mut what);
    STOP.store(true, Relaxed);
    let turns = other.join();
    let preemptions = counts().preemptions - before;
    figure!("preemptions", preemptions);
    figure!("turns", turns);
    result?;
    let interrupted = at / param("stride", 1);
    ensure!(at > 50, "it ended after {at} instructions");
    // Where the scheduler runs anyway it sees the bit itself, and nobody is preempted for it.
    ensure!(
        preemptions >= interrupted / 5,
        "{preemptions} preemptions of {interrupted} interrupts"
    );
    Ok(())
}

fn step_yield() -> Outcome {
    at_each_instruction(|| {
        yield_now();
        Ok(())
    })
}

/// A round trip over two channels: both sides park and are readied.
fn step_park() -> Outcome {
    let (ping, pinged) = chan::<u64>(0);
    let (pong, ponged) = chan::<u64>(0);
    go(move || {
        for n in pinged {
            pong.send(n + 1).unwrap()
        }
    });
    let mut n = 0;
    at_each_instruction(|| {
        n += 1;
        ping.send(n).map_err(|e| e.to_string())?;
        let back = ponged.recv();
        ensure!(back == Some(n + 1), "{n} came back as {back:?}");
        Ok(())
    })
}

/// `entersyscall` and `exitsyscall`.
fn step_blocking() -> Outcome {
    let mut n = 0u64;
    at_each_instruction(|| {
        n += 1;
        let seen = blocking(|| core::hint::black_box(n));
        ensure!(seen == n, "{seen} instead of {n}");
        Ok(())
    })
}

/// Birth and death of a G, and the wait for it.
fn step_spawn() -> Outcome {
    let mut n = 0u64;
    at_each_instruction(|| {
        n += 1;
        let m = n;
        let got = spawn(move || core::hint::black_box(m) * 3).join();
        ensure!(got == 3 * n, "{got} instead of {}", 3 * n);
        Ok(())
    })
}

/// A mutex that another G wants as well.
fn step_lock() -> Outcome {
    static BOTH: Mutex<u64> = Mutex::new(0);
    static THEIRS: AtomicU64 = AtomicU64::new(0);
    go(|| {
        while !STOP.load(Relaxed) {
            let mut held = BOTH.lock();
            *held += 1;
            THEIRS.fetch_add(1, Relaxed);
            yield_now();
            drop(held);
            yield_now()
        }
    });
    let mut ours = 0;
    at_each_instruction(|| {
        let mut held = BOTH.lock();
        *held += 1;
        ours += 1;
        let sum = ours + THEIRS.load(Relaxed);
        ensure!(*held == sum, "{} instead of {sum}", *held);
        Ok(())
    })
}

/// A timer is set, and fires.
fn step_sleep() -> Outcome {
    let mut late: Vec<u64> = Vec::new();
    let result = at_each_instruction(|| {
        let begin = Instant::now();
        sleep(Duration::from_nanos(1));
        late.push(begin.elapsed().as_nanos() as u64);
        Ok(())
    });
    ensure!(late.iter().all(|ns| *ns > 0), "a sleep took no time");
    result
}
