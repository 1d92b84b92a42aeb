//! What the runner concludes from outside: hangs, and what only looks like one; planted bugs by the machine's events.

use std::time::Duration;
use tests::{Case, DEFAULT, NO_NET, injection};

/// The watchdog's patience here: a second instead of ten.
fn case(test: &str, smp: u32) -> Case {
    Case::new("hangs", test)
        .smp(smp)
        .machine(|m| m.hang_limit = Some(Duration::from_secs(1)))
}

fn hung(test: &str, smp: u32) -> Case {
    case(test, smp).exit(3).says("hung: ").says("goroutines: ")
}

fn planted(case: Case, bug: u64) -> Case {
    case.kernel(injection).arg("bug", bug)
}

fn hanging() -> Vec<Case> {
    let mut all = Vec::new();
    for smp in [1, 2] {
        all.push(
            hung("hang_irqs_off", smp)
                .says("has served no timer for 1.")
                .says("its interrupts are off, in goroutine ")
                .says("last events of CPU 0:"),
        );
        all.push(
            hung("hang_preemption_off", smp)
                .says("has served no timer for 1.")
                .says("preemption is off there, in goroutine "),
        );
    }
    for smp in [2, 4] {
        all.push(
            planted(hung("hang_beside_idle_p", smp).mode(NO_NET), 10)
                .never_says("it ran after all")
                .says("in runnext of P ")
                .says("was runnable for 1.")
                .says("beside an idle P"),
        );
    }
    // It dies over its report: what that was is in its memory.
    all.push(
        hung("at_exit_panics", 1)
            .word("point=fatal.leave:delay_ns=60000000000")
            .says("  its last words:")
            .says("    panic: at the exit"),
    );
    all.push(planted(hung("hang_timer_lost", 2), 12).says("is overdue by 1."));
    all
}

/// None of these hangs, though each takes nearly twice the watchdog's patience.
fn calm() -> Vec<Case> {
    let mut all = Vec::new();
    for smp in [1, 2] {
        for mode in [DEFAULT, NO_NET] {
            for test in ["calm_sleep", "calm_blocking", "calm_computing"] {
                all.push(case(test, smp).mode(mode).never_says("watchdog"));
            }
        }
        let limit = |m: &mut ringo_runner::Machine| m.timeout = Some(Duration::from_millis(2500));
        let endless = case("hang", smp).mode(NO_NET).machine(limit);
        all.push(
            endless
                .exit(3)
                .says("time limit reached")
                .never_says("hung"),
        );
    }
    all.push(
        case("calm_blocking", 1)
            .named("handoff=off")
            .word("handoff=off"),
    );
    all
}

fn slow() -> Vec<Case> {
    vec![
        // Long enough for a host that has much else to do; shorter than what is a hang.
        Case::new("hangs", "slow_section")
            .arg("us", 2_500_000)
            .says("watchdog: CPU ")
            .says("has kept interrupts or preemption off for 1")
            .says("slow_section"),
        case("slow_section", 2)
            .named("short")
            .arg("us", 2000)
            .never_says("watchdog"),
    ]
}

fn wrong_events() -> Vec<Case> {
    vec![
        planted(case("bug_no_wakep", 2).mode(NO_NET), 10)
            .violates("while a P and a CPU were idle and nobody looked for work"),
        case("bug_no_wakep", 2).named("without").mode(NO_NET),
        planted(case("bug_lost_goroutine", 2), 11).violates(" runnable for "),
        // Where idle Ps do not take from others nothing is said before the end, and then by what the memory shows. Without sysmon,
        // or the other CPU could be at work for it at that moment, and have the goroutine in its hands as far as anybody knows.
        planted(case("bug_lost_goroutine", 2).named("at the end"), 11)
            .word("steal=off")
            .word("sysmon=off")
            .violates("and on no queue")
            .one_of(5),
        case("bug_lost_goroutine", 2).named("without"),
    ]
}

pub fn cases() -> Vec<Case> {
    [hanging(), calm(), slow(), wrong_events()].concat()
}
