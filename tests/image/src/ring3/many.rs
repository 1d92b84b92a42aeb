//! Processes by the thousand: each gives back what it had, however it ends.

use super::{comes_back, start};
use crate::param::param;
use crate::{Outcome, Test, ensure, figure};
use alloc::string::String;
use ringo::prelude::*;
use ringo::user::Process;

/// The tests of this file.
pub const TESTS: &[Test] = &[("ring3_thousand", ring3_thousand)];

/// So many live at a time.
const AT_ONCE: usize = 8;

/// A way to live: the program and its arguments, how it ends, and whether it has to be ended.
struct Life {
    words: &'static [&'static str],
    ends: &'static str,
    killed: bool,
}

const fn life(words: &'static [&'static str], ends: &'static str) -> Life {
    Life {
        words,
        ends,
        killed: false,
    }
}

const fn killed(words: &'static [&'static str]) -> Life {
    Life {
        words,
        ends: "killed",
        killed: true,
    }
}

const LIVES: &[Life] = &[
    life(&["null"], "exit code 0"),
    life(&["lives", "exit"], "exit code 7"),
    life(&["lives", "fault"], "page fault"),
    life(&["lives", "leave"], "exit code 9"),
    killed(&["lives", "sleep"]),
    life(&["null"], "exit code 0"),
    killed(&["lives", "leave-and-stay"]),
];

/// A thousand, eight at a time. Memory, goroutines and the table of processes are after the second half as they were after the first.
fn ring3_thousand() -> Outcome {
    let half = param("processes", 1000) as usize / 2;
    let begin = Instant::now();
    // A leak of a frame for each of them would be found; magazines and stacks of each CPU hold some.
    comes_back(half as u64 * 3 / 4, || some(0..half))?;
    figure!("us_each", begin.elapsed().as_micros() / (2 * half) as u128);
    Ok(())
}

fn some(numbers: core::ops::Range<usize>) -> Outcome {
    let mut live = alloc::collections::VecDeque::new();
    for n in numbers {
        if live.len() == AT_ONCE {
            live.pop_front().map_or(Ok(()), end)?
        }
        let life = &LIVES[n % LIVES.len()];
        live.push_back((life, start(life.words[0], &life.words[1..])?))
    }
    live.into_iter().try_for_each(end)
}

fn end((life, process): (&Life, Process)) -> Result<(), String> {
    if life.killed {
        process.kill()
    }
    let ended = process.wait().to_string();
    ensure!(
        ended == life.ends,
        "{:?} ended with {ended}, not with {}",
        life.words,
        life.ends
    );
    Ok(())
}
