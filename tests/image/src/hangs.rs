//! Machines that hang, and machines that only look like it: what the watchdog outside has to tell apart. And planted bugs
//! that the check of the events has to find.

use crate::param::param;
use crate::wait::others_halt;
use crate::{Outcome, Test};
use base::PreemptGuard;
use ringo::prelude::*;

pub const TESTS: &[Test] = &[
    ("hang_irqs_off", irqs_off),
    ("hang_preemption_off", preemption_off),
    ("hang_beside_idle_p", beside_idle_p),
    ("hang_timer_lost", timer_lost),
    ("calm_sleep", calm_sleep),
    ("calm_blocking", calm_blocking),
    ("calm_computing", calm_computing),
    ("slow_section", slow_section),
    ("bug_no_wakep", bug_no_wakep),
    ("bug_lost_goroutine", bug_lost_goroutine),
];

fn ms(key: &str, default: u64) -> Duration {
    Duration::from_millis(param(key, default))
}

fn spin() -> ! {
    loop {
        core::hint::spin_loop()
    }
}

fn spin_for(time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        core::hint::spin_loop()
    }
}

/// Others go on, where there is another CPU. They sleep by then: one that is runnable, since its timer fired along with that of
/// `hang`, would be what the watchdog sees.
fn beside_sleepers(hang: fn()) -> Outcome {
    go(move || {
        sleep(Duration::from_millis(2));
        // On a slow host main may be anywhere on its way to its sleep: it gets there now.
        (0..100).for_each(|_| yield_now());
        hang()
    });
    let nap = match num_cpu() {
        1 => Duration::from_secs(3600),
        _ => Duration::from_millis(5),
    };
    loop {
        sleep(nap)
    }
}

fn irqs_off() -> Outcome {
    beside_sleepers(|| {
        arch::irq_disable();
        spin()
    })
}

fn preemption_off() -> Outcome {
    beside_sleepers(|| {
        let _guard = PreemptGuard::new();
        spin()
    })
}

/// With the planted bug nobody is woken for the goroutine, and main never gives way.
fn beside_idle_p() -> Outcome {
    sleep(ms("before", 50));
    others_halt(); // whoever was woken along with main has found nothing
    #[cfg(ringo_kernel)]
    crate::param::plant_bug();
    go(|| println!("it ran after all"));
    spin()
}

/// With the planted bug nobody serves timers any more, whichever CPU they interrupt.
fn timer_lost() -> Outcome {
    go(|| {
        loop {
            sleep(Duration::from_millis(1))
        }
    });
    sleep(ms("before", 50));
    #[cfg(ringo_kernel)]
    crate::param::plant_bug();
    // A timer may be due before its CPU has come to the halt: then it fires all the same.
    loop {
        sleep(ms("ms", 10))
    }
}

fn calm_sleep() -> Outcome {
    sleep(ms("ms", 1800));
    Ok(())
}

/// In a call the whole time, a goroutine waits behind it if there is no other CPU.
fn calm_blocking() -> Outcome {
    let other = spawn(|| 5);
    let time = ms("ms", 1800);
    blocking(|| spin_for(time));
    other.join();
    Ok(())
}

/// Hogs on all CPUs, and more goroutines than can ever run soon.
fn calm_computing() -> Outcome {
    let time = ms("ms", 1800);
    let wg = WaitGroup::new();
    for _ in 0..param("gs", 20) {
        wg.go(move || spin_for(time / 10));
    }
    spin_for(time);
    wg.wait();
    Ok(())
}

/// Preemption is off for a while.
fn slow_section() -> Outcome {
    for _ in 0..param("times", 1) {
        let guard = PreemptGuard::new();
        let end = arch::now_ns() + param("us", 400_000) * 1000;
        while arch::now_ns() < end {
            core::hint::spin_loop()
        }
        drop(guard);
        yield_now()
    }
    Ok(())
}

/// Goroutines are made beside an idle P, and with the planted bug nobody is woken for them.
fn bug_no_wakep() -> Outcome {
    sleep(ms("before", 50));
    others_halt();
    #[cfg(ringo_kernel)]
    crate::param::plant_bug();
    for _ in 0..20 {
        go(|| ());
        spin_for(ms("ms", 12));
    }
    Ok(())
}

/// A goroutine is readied and, with the planted bug, queued nowhere.
fn bug_lost_goroutine() -> Outcome {
    let (tx, rx) = chan::<u32>(0);
    go(move || {
        rx.recv();
    });
    sleep(ms("before", 20));
    #[cfg(ringo_kernel)]
    crate::param::plant_bug();
    let _ = tx.send(1);
    spin_for(ms("ms", 150));
    others_halt(); // none can have it in its hands
    trace::emit(trace::Kind::User, 0, 0); // a sign of life at the very end
    Ok(())
}
