//! The program's own code that runs while a panic's message is put together, or at a place that it must not leave: it leaves, waits
//! for ever, ends the program. The panic is reported, and the end comes. What is printed and the status are judged by the
//! harness.

use crate::wait::{bump, until};
use crate::{Outcome, Test};
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering::*};
use ringo::prelude::*;

pub const TESTS: &[Test] = &[
    ("message_goexits", || {
        go(|| panic!("the message is {}", Does(|| goexit())));
        ends_when_it_began()
    }),
    ("message_goexits_in_main", || {
        panic!("the message is {}", Does(|| goexit()))
    }),
    ("message_exits", || {
        panic!("the message is {}", Does(|| exit(5)))
    }),
    ("message_never_comes", message_never_comes),
    ("message_panics_thrice", message_panics_thrice),
    ("message_of_one_in_256", message_of_one_in_256),
    ("goexit_in_blocking", || {
        spawn(|| blocking(|| goexit())).join()
    }),
    ("return_in_blocking", || {
        spawn(sched::entersyscall).join();
        Ok(())
    }),
    ("gomaxprocs_in_blocking", || {
        spawn(|| blocking(|| _ = gomaxprocs(1))).join();
        Ok(())
    }),
];

/// A value whose `Display` does something else.
struct Does(fn());
static BEGAN: AtomicU64 = AtomicU64::new(0);

impl fmt::Display for Does {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        bump(&BEGAN);
        (self.0)();
        f.write_str("text after all")
    }
}

fn ends_when_it_began() -> Outcome {
    until(|| BEGAN.load(Relaxed) != 0);
    Ok(())
}

/// Others work on for ever meanwhile, so this is no deadlock, and the end of `main` waits for the message no longer than for a while.
fn message_never_comes() -> Outcome {
    go(|| panic!("the message is {}", Does(|| _ = never::<u32>().recv())));
    go(|| {
        loop {
            yield_now()
        }
    });
    ends_when_it_began()
}

/// Each of the two inner ones is put together while another is.
fn message_panics_thrice() -> Outcome {
    panic!(
        "the first {}",
        Does(|| panic!("the second {}", Does(|| panic!("the third"))))
    )
}

/// Goroutines whose numbers have the same low bits panic: each has its own message.
fn message_of_one_in_256() -> Outcome {
    static FIRST: AtomicU64 = AtomicU64::new(0);
    go(|| {
        FIRST.store(current().id(), Relaxed);
        panic!("the message is {}", Does(|| _ = never::<u32>().recv()))
    });
    until(|| BEGAN.load(Relaxed) != 0);
    loop {
        spawn(|| {
            if current().id() % 256 == FIRST.load(Relaxed) % 256 {
                panic!("with a message of its own")
            }
        })
        .join()
    }
}
