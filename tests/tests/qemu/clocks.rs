//! Timers, tickers, timeouts, contexts, bubbles.

use tests::{Case, DEFAULT, NO_NET};

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
            "bubble_lonely_ticker",
            "deadlock: all goroutines in bubble are blocked",
        ),
        (
            "bubble_channel_outside",
            "a channel of a bubble is used from outside",
        ),
        ("bubble_nested", "a bubble inside a bubble"),
        (
            "bubble_cond_outside",
            "a goroutine of a bubble is woken from outside by a condition",
        ),
    ] {
        for smp in [1, 2] {
            all.push(Case::new("clock", test).smp(smp).exit(2).says(says));
        }
    }
    for smp in [1, 2, 4] {
        for mode in [DEFAULT, NO_NET] {
            for test in [
                "clock_ticker_stress",
                "clock_many_on_one_ticker",
                "clock_stop_stress",
                "clock_timeouts_race",
                "clock_over_gomaxprocs",
                "clock_context_storm",
                "clock_func_at_once",
                "bubble_side_by_side",
                "bubble_waits",
            ] {
                all.push(Case::new("clock", test).smp(smp).mode(mode));
            }
            all.push(
                Case::new("clock", "clock_stopped_is_dead")
                    .smp(smp)
                    .mode(mode)
                    .exit(2)
                    .says("all goroutines are asleep - deadlock!"),
            );
            all.push(
                Case::new("clock", "clock_virtual")
                    .smp(smp)
                    .mode(mode)
                    .word("clock=virtual"),
            );
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
    all
}
