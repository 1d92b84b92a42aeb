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
    all.extend(in_the_way());
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

/// The program's own code stands in the way of a panic, or of the end.
fn in_the_way() -> Vec<Case> {
    let goexit = "fatal error: goexit while a panic's message was being put together";
    let nested = "panic: panic while a panic's message was being put together";
    let mut all = vec![
        fatal("message_goexits_in_main").says(goexit).smp(1),
        fatal("message_exits")
            .says("fatal error: exit(5) while a panic's message was being put together")
            .never_says("exit status"),
        // The program's clock stands, since somebody runs all the time: the end waits by the machine's.
        fatal("message_never_comes")
            .smp(1)
            .word("clock=virtual")
            .says("panics, and its message has not come for 2 s")
            .says("goroutine 1 [running]:")
            .says("[chan receive (nil chan)]:"),
        end("message_panics_thrice", 2).says(nested),
        fatal("message_of_one_in_256")
            .smp(1)
            .says("panic: with a message of its own"),
        fatal("goexit_in_blocking")
            .says("panic: a goroutine ends inside blocking()")
            .says("[syscall]:")
            .says("created by tests/image/src/panic_rules.rs:"),
        fatal("return_in_blocking")
            .says("panic: a goroutine ends inside blocking()")
            .says("[syscall]:"),
        fatal("gomaxprocs_in_blocking")
            .says("inside blocking()")
            .says("[syscall]:"),
    ];
    for smp in [1, 2, 4] {
        all.push(fatal("message_goexits").smp(smp).says(goexit));
    }
    all
}
