//! Ends: exit codes, panics, deadlocks, exceptions, the machine's death.

use tests::{Case, DEFAULT, NO_NET, Outcome};

pub fn end(test: &str, exit: u8) -> Case {
    Case::new("ends", test).exit(exit)
}

/// The text that people see, with line ends of one kind.
pub fn text(outcome: &Outcome) -> String {
    format!("{}\n{}", outcome.stdout, outcome.stderr).replace('\r', "")
}

/// Exactly one report.
fn one_report(outcome: &Outcome) -> Result<(), String> {
    let text = text(outcome);
    let begins = text
        .lines()
        .filter(|l| l.starts_with("panic: ") || l.starts_with("fatal error: "))
        .count();
    let ends = outcome
        .events
        .iter()
        .filter(|e| e["event"] == "fatal")
        .count();
    if (begins, ends) == (1, 1) {
        Ok(())
    } else {
        Err(format!("{begins} reports begun, {ends} ended"))
    }
}

/// Lines of the report do not run into each other: each backtrace line is whole.
fn whole_lines(outcome: &Outcome) -> Result<(), String> {
    let text = text(outcome);
    let is_broken = |l: &&str| l.matches("0xffffffff8").count() > 1 && l.starts_with('#');
    match text.lines().find(is_broken) {
        None => Ok(()),
        Some(line) => Err(format!("lines are run together: {line}")),
    }
}

pub fn fatal(test: &str) -> Case {
    end(test, 2).judge(one_report).judge(whole_lines)
}

fn ok_exits() -> Vec<Case> {
    let order = |o: &Outcome| {
        let (first, last) = (o.stdout.find("first run"), o.stdout.find("last run"));
        if first < last {
            Ok(())
        } else {
            Err("at_exit ran in the wrong order".into())
        }
    };
    let once = |o: &Outcome| match o.stdout.matches("at exit").count() {
        1 => Ok(()),
        n => Err(format!("at_exit ran {n} times")),
    };
    vec![
        end("exit_0", 0),
        end("exit_7", 1).says("exit status 7"),
        end("err", 1)
            .says("Error: \"the reason\"")
            .says("exit status 1"),
        end("main_returns", 0).smp(1),
        end("main_returns", 0).smp(4),
        end("exit_from_goroutine", 1)
            .says("exit status 3")
            .judge(order),
        end("exit_twice", 1)
            .smp(4)
            .says("exit status 5")
            .judge(once),
        end("display_yields", 0).smp(4).judge(|o| {
            let whole = |i| {
                o.stdout
                    .replace('\r', "")
                    .contains(&format!("line {i}: slow text, slow text.\n"))
            };
            if (0..20).all(whole) {
                Ok(())
            } else {
                Err("lines were torn".into())
            }
        }),
        end("exit_while_printing", 1)
            .smp(4)
            .boots(5)
            .says("exit status 9"),
        end("exit_beside_lines", 1)
            .smp(4)
            .boots(5)
            .says("exit status 9")
            .judge(|o| {
                let cut = |line: &&str| line.starts_with('y') && line.len() != 200;
                match o.stderr.lines().map(str::trim_end).find(cut) {
                    None => Ok(()),
                    Some(line) => Err(format!("a line was cut: {line}")),
                }
            }),
        end("print_storm", 0).smp(4).judge(all_lines_are_whole),
        end("no_such_test", 1).says("there is no test no_such_test"),
    ]
}

/// The report is about the goroutine that said before that it would fail.
fn names_the_goroutine(o: &Outcome) -> Result<(), String> {
    let text = text(o);
    let said = text
        .lines()
        .find_map(|l| l.strip_prefix("fails in goroutine "));
    let line = format!(
        "goroutine {} [running]:",
        said.ok_or("nobody said so before")?
    );
    if text.contains(&line) {
        Ok(())
    } else {
        Err(format!("the report does not say \"{line}\""))
    }
}

/// Every line of the storm, once and in one piece.
fn all_lines_are_whole(o: &Outcome) -> Result<(), String> {
    for (text, name, letter) in [(&o.stdout, "out", "x"), (&o.stderr, "err", "y")] {
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        for (w, n) in (0..8).flat_map(|w| (0..100).map(move |n| (w, n))) {
            let line = format!("{name} {w} {n} {}", letter.repeat(n));
            let found = lines.iter().filter(|l| **l == line.trim_end()).count();
            if found != 1 {
                return Err(format!("\"{line}\" is there {found} times"));
            }
        }
    }
    Ok(())
}

fn deadlocks() -> Vec<Case> {
    let asleep = "fatal error: all goroutines are asleep - deadlock!";
    let nobody = "fatal error: no goroutines (main called runtime.Goexit) - deadlock!";
    let mut all = Vec::new();
    for smp in [1, 2, 4] {
        for mode in [DEFAULT, NO_NET] {
            let of = |test| fatal(test).smp(smp).mode(mode);
            all.push(
                of("deadlock_main")
                    .says(asleep)
                    .says("goroutine 1 [chan receive]:")
                    .never_says(nobody),
            );
            all.push(of("goexit_main").says(nobody).never_says(asleep));
        }
    }
    all.push(
        fatal("deadlock_many")
            .smp(2)
            .says(asleep)
            .says("goroutine 1 [sync.WaitGroup.Wait]:")
            .says("[chan send]:")
            .says("[chan receive]:")
            .says("[sync.Mutex.Lock]:")
            .says("[semacquire]:")
            .says("created by tests/image/src/bad_ends.rs:")
            .says(" in goroutine 1"),
    );
    all.push(fatal("deadlock_after_sleep").says("slept").says(asleep));
    all.push(
        fatal("deadlock_self_lock")
            .says(asleep)
            .says("goroutine 1 [sync.Mutex.Lock]:"),
    );
    all.push(
        end("goexit_main_others_work", 0)
            .says("still here")
            .never_says("deadlock"),
    );
    all
}

fn panics() -> Vec<Case> {
    let mut all = vec![
        fatal("panic_main")
            .says("panic: index out of bounds: the len is 3 but the index is 7")
            .says("at tests/image/src/bad_ends.rs:")
            .says("goroutine 1 [running]:")
            .says("fails_here"),
        fatal("panic_goroutine")
            .says("index is 11")
            .judge(names_the_goroutine)
            .says("fails_here")
            .says("created by tests/image/src/bad_ends.rs:")
            .says(" in goroutine 1"),
        fatal("panic_after_goexit")
            .says("panic: after main was gone")
            .never_says("deadlock"),
        end("panic_in_display", 2)
            .says("inside a Display")
            .says("goroutine 1 [running]:")
            .judge(one_report),
        end("panic_message_panics", 2).says("panic while a panic's message was being put together"),
        fatal("panic_with_preemption_off")
            .smp(4)
            .says("panic: with a lock held that is "),
    ];
    for smp in [1, 2, 4] {
        all.push(
            fatal("panic_message_yields")
                .smp(smp)
                .says("panic: the message is slow text"),
        );
        all.push(
            fatal("panic_everywhere")
                .smp(smp)
                .says("panic: panic number ")
                .says("bad_ends.rs:"),
        );
    }
    all.push(
        fatal("panic_while_printing")
            .smp(4)
            .boots(5)
            .says("panic: while others print"),
    );
    let small = |m: &mut ringo_runner::Machine| m.mem_bytes = 64 << 20;
    all.push(
        end("too_many_goroutines", 2)
            .judge(one_report)
            .machine(small)
            .says("out of memory: no stack for one more goroutine"),
    );
    // The race is for who is first: several times.
    all.push(
        fatal("panic_everywhere")
            .named("again")
            .smp(4)
            .boots(8)
            .says("panic: panic number "),
    );
    all
}

fn exceptions() -> Vec<Case> {
    let words = [
        ("null_read", "a read through a null pointer"),
        ("null_write", "a write through a null pointer"),
        ("null_call", "a call or jump through a null pointer"),
        ("write_to_code", "a write to a page that is read-only"),
        ("execute_data", "an attempt to execute data"),
        ("divide", "divide error (#DE)"),
        ("ud2", "invalid opcode (#UD)"),
        ("not_canonical", "general protection (#GP)"),
    ];
    let case = |(test, says): (&str, &str)| {
        fatal(test)
            .says(says)
            .says("fatal error: exception ")
            .says("  P0: status=")
            .says("  M1: p=")
            .says("rip 0x")
    };
    words.into_iter().map(case).collect()
}

fn deaths() -> Vec<Case> {
    let died = |test: &str, smp| {
        end(test, 3)
            .smp(smp)
            .says("before the end")
            .says("triple fault")
            .says("triple_fault")
            .says("last vectors")
    };
    let limit = |m: &mut ringo_runner::Machine| m.timeout = Some(std::time::Duration::from_secs(2));
    vec![
        died("triple_fault_bsp", 1),
        died("triple_fault_bsp", 2),
        died("triple_fault_ap", 2),
        died("triple_fault_ap", 4),
        // With few interrupts, or the report may find the CPU in one.
        end("hang", 3)
            .word("sysmon=off")
            .word("slice_us=1000000")
            .says("time limit reached")
            .says("bad_ends")
            .machine(limit),
    ]
}

pub fn cases() -> Vec<Case> {
    [ok_exits(), deadlocks(), panics(), exceptions(), deaths()].concat()
}
