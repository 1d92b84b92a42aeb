//! Timers, tickers, timeouts, contexts, bubbles.

use tests::{Case, DEFAULT, NO_NET};

const STRESS: &[&str] = &[
    "clock_ticker_stress",
    "clock_many_on_one_ticker",
    "clock_many_on_one_timer",
    "clock_sleep_zero",
    "clock_stop_result",
    "clock_stop_stress",
    "clock_timeouts_race",
    "clock_over_gomaxprocs",
    "clock_context_storm",
    "clock_func_at_once",
    "bubble_side_by_side",
    "bubble_waits",
];

const COSTS: &[&str] = &[
    "bench_timers",
    "bench_timer_latency",
    "bench_ticker_latency",
];

pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for (test, says) in [
        (
            "bubble_stuck_root",
            "deadlock: all goroutines in bubble are blocked",
        ),
        (
            "bubble_stuck_child",
            "deadlock: main bubble goroutine has exited but blocked goroutines remain",
        ),
        (
            "bubble_stuck_after_goexit",
            "deadlock: main bubble goroutine has exited but blocked goroutines remain",
        ),
        (
            "bubble_lonely_ticker",
            "deadlock: all goroutines in bubble are blocked",
        ),
        (
            "bubble_channel_outside",
            "a channel of a bubble is used from outside",
        ),
        ("bubble_nested", "a bubble inside a bubble"),
        (
            "bubble_timer_outside",
            "a timer of a bubble is used from outside",
        ),
        (
            "bubble_func_outside",
            "a timer of a bubble is used from outside",
        ),
        (
            "bubble_group_mixed",
            "counted from inside and outside of a bubble",
        ),
        (
            "bubble_cond_outside",
            "a goroutine of a bubble is woken from outside by a condition",
        ),
        (
            "bubble_cond_outside_all",
            "a goroutine of a bubble is woken from outside by a condition",
        ),
        (
            "bubble_semaphore_outside",
            "a goroutine of a bubble is woken from outside by a semaphore",
        ),
    ] {
        for smp in [1, 2] {
            let case = Case::new("clock", test).smp(smp).exit(2).says(says);
            all.push(case.clone().host());
            // What is a panic is one on any number of CPUs.
            if smp == 2 || says.starts_with("deadlock") {
                all.push(case);
            }
        }
    }
    for (test, says) in [
        (
            "bubble_sender_outside",
            "its last sender was dropped outside",
        ),
        (
            "bubble_receiver_outside",
            "its last receiver was dropped outside",
        ),
        (
            "bubble_group_done_outside",
            "counted from inside and outside of a bubble",
        ),
        (
            "bubble_group_done_inside",
            "counted from inside and outside of a bubble",
        ),
    ] {
        let case = Case::new("clock", test).smp(2).exit(2).says(says);
        all.extend([case.clone(), case.host()]);
    }
    for smp in [1, 2, 4] {
        all.push(Case::several("clock", "stress", STRESS).smp(smp).host());
        let shared = |title, tests: &[&str]| {
            let case = Case::several("clock", title, tests).smp(smp);
            [case.clone(), case.clone().mode(NO_NET), case.host()]
        };
        all.extend(shared("contexts", &["context_*"]));
        all.extend(shared("bubbles", &["synctest_*"]));
        // Some of these sleep for longer than others and see what has become of them: no business of a loaded host's.
        let timers = |tests: &[&str]| {
            let case = Case::several("clock", "timers", tests).smp(smp);
            case.word("clock=virtual")
        };
        all.push(timers(&["timer_*"]).host());
        for mode in [DEFAULT, NO_NET] {
            all.push(Case::several("clock", "stress", STRESS).smp(smp).mode(mode));
            for test in ["clock_stopped_is_dead", "clock_unheard_is_dead"] {
                all.push(
                    Case::new("clock", test)
                        .smp(smp)
                        .mode(mode)
                        .exit(2)
                        .says("all goroutines are asleep - deadlock!"),
                );
            }
            all.push(timers(&["timer_*", "clock_virtual"]).mode(mode));
            all.push(
                Case::new("clock", "clock_virtual_deadlock")
                    .smp(smp)
                    .mode(mode)
                    .word("clock=virtual")
                    .exit(2)
                    .says("all goroutines are asleep - deadlock!"),
            );
        }
    }
    all.push(
        Case::new("clock", "clock_virtual_deadlock")
            .smp(2)
            .host()
            .word("clock=virtual")
            .exit(2)
            .says("all goroutines are asleep - deadlock!"),
    );
    let costs = || Case::several("clock", "costs", COSTS);
    all.extend([costs(), costs().host()]);
    all
}
