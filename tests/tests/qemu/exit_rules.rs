//! Who ends the program when several would.

use crate::fatal::{end, fatal, text};
use tests::{Case, DEFAULT, NO_NET, Outcome};

/// These texts, in this order.
fn in_order(texts: &'static [&'static str]) -> impl Fn(&Outcome) -> Result<(), String> {
    move |o| {
        let all = text(o);
        let mut at = 0;
        for t in texts {
            let found = all[at..].find(t);
            at += found.ok_or(format!("\"{t}\" does not come after those before it"))?;
        }
        Ok(())
    }
}

pub fn cases() -> Vec<Case> {
    let asleep = "fatal error: all goroutines are asleep - deadlock!";
    let nobody = "fatal error: no goroutines (main called runtime.Goexit) - deadlock!";
    let slow = "panic: the message is slow text";
    let mut all = vec![
        fatal("at_exit_panics")
            .says("panic: at the exit")
            .never_says("not reached"),
        end("at_exit_exits", 1)
            .says("the first to run")
            .says("exit status 8")
            .never_says("not reached"),
        end("at_exit_parks", 1)
            .says("received Some(7) at the exit")
            .says("exit status 3"),
        fatal("at_exit_deadlocks").says(asleep),
        end("at_exit_registers", 0).judge(in_order(&["first", "second", "third"])),
        fatal("at_exit_goexits")
            .says("fatal error: goexit in an at_exit function: the program ends when it returns, or by exit(n)")
            .never_says("not reached"),
        end("at_exit_others_goexit", 1)
            .says("received Some(5) at the exit")
            .says("exit status 3"),
        end("exit_in_blocking", 1)
            .says("received Some(6) at the exit")
            .says("exit status 4"),
        end("exits_in_blocking", 1).says("exit status 4"),
        fatal("panic_in_blocking")
            .says("panic: in a blocking call")
            .says("[syscall]:"),
        fatal("deadlock_in_panic").says(asleep),
        fatal("locks_in_wrong_order").smp(4).says(
            "panic: lock order: a lock of rank Timers is taken while one of rank Frames is held",
        ),
        fatal("lock_in_itself").says("panic: lock order: two locks of rank Join are taken at once"),
    ];
    for smp in [1, 2, 4] {
        for test in [
            "main_returns_while_one_panics",
            "exit_while_one_panics",
            "at_exit_while_one_panics",
        ] {
            all.push(fatal(test).smp(smp).says(slow).never_says("exit status"));
        }
        all.push(
            fatal("blocking_in_panic")
                .smp(smp)
                .says("panic: the message is text from a blocking call"),
        );
        for mode in [DEFAULT, NO_NET] {
            let of = |test| fatal(test).smp(smp).mode(mode);
            all.push(
                of("locked_deadlock")
                    .says(asleep)
                    .says("goroutine 1 [chan receive (nil chan), locked to thread]:"),
            );
            all.push(of("locked_deadlock_2").says(asleep));
            all.push(of("goexit_locked_main").says(nobody).never_says(asleep));
            all.push(
                end("goexit_exit", 0)
                    .smp(smp)
                    .mode(mode)
                    .never_says("deadlock"),
            );
        }
    }
    all
}
