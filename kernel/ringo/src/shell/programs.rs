//! The shell's commands for programs of ring 3.

use super::commands::Next;
use crate::user::{self, Process, Stdio};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use sched::GStatus;

/// `exec NAME ARGS`: waits for it, and it has the console's input; with `&` at the end it does not.
pub(super) fn exec(text: &str) -> Result<Next, String> {
    let (text, background) = match text.strip_suffix('&') {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let mut words = text.split_whitespace();
    let Some(name) = words.next() else {
        return Err(alloc::format!("exec takes a program: {}", names()));
    };
    let args: Vec<&str> = words.collect();
    let stdio = if background {
        Stdio::without_input()
    } else {
        Stdio::console()
    };
    let process = user::spawn(name, &args, stdio).map_err(|why| why.to_string())?;
    if background {
        crate::println!("process {}", process.id());
        let name = String::from(name);
        csp::join::go(move || say_end(&process, &name, process.wait()));
        return Ok(Next::GoOn);
    }
    let ended = process.wait_in_foreground();
    if ended.code() != 0 {
        say_end(&process, name, ended)
    }
    Ok(Next::GoOn)
}

fn say_end(process: &Process, name: &str, ended: user::Ended) {
    crate::println!("process {} ({name}): {ended}", process.id())
}

fn names() -> String {
    match user::programs() {
        names if names.is_empty() => "there is none".into(),
        names => names.join(", "),
    }
}

/// `kill N`.
pub(super) fn kill(text: &str) -> Result<Next, String> {
    let id = text
        .parse()
        .map_err(|_| "kill takes the number of a process; ps shows them".to_string())?;
    if user::kill(id) {
        Ok(Next::GoOn)
    } else {
        Err(alloc::format!("there is no process {id}"))
    }
}

/// What `ps` says of processes.
pub(super) fn list() {
    for process in user::processes() {
        crate::println!(
            "process {} ({}): {}, {} KiB, {}",
            process.id,
            process.name,
            counted(process.threads.len(), "thread"),
            process.memory_bytes >> 10,
            counted(process.handles, "handle")
        );
        for thread in &process.threads {
            // Go's words, without what a goroutine's report has around them.
            let state = match thread.g.status {
                GStatus::Waiting => thread.g.wait.to_string(),
                GStatus::Runnable => "runnable".into(),
                GStatus::Syscall => "syscall".into(),
                _ => "running".into(),
            };
            match thread.cpu {
                Some(cpu) => crate::println!("  thread {} [{state}] CPU {cpu}", thread.g.id),
                None => crate::println!("  thread {} [{state}]", thread.g.id),
            }
        }
    }
}

fn counted(n: usize, what: &str) -> String {
    alloc::format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
