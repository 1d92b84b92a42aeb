//! The other CPUs: threads.

use super::cpu::this;
use std::sync::mpsc;
use std::thread;

/// Starts CPUs 1 to `want` - 1 as threads, each of which calls `entry` with its number, count 1, interrupt flag clear, no
/// M and no G. The caller is CPU 0. Returns the number of CPUs in all; fewer than `want` if the host refuses a thread.
/// They end when `entry` returns; [`hosted::join_cpus`](super::hosted::join_cpus) waits for that.
///
/// # Safety
/// On a thread's own stack. `entry` keeps the rules of the contract, count and stacks.
///
/// # Panics
/// If this thread's earlier machine was not joined, or `want` is 0 or above [`MAX_CPUS`](crate::MAX_CPUS).
pub unsafe fn start_cpus(want: usize, entry: fn(usize)) -> usize {
    let mut want = want;
    while let Err(fewer) = start_cpus_with(want, entry) {
        want = fewer
    }
    want
}

/// [`start_cpus`] with a closure, for all of them or none: several machines in one process each bring their own scheduler along,
/// which may have been made for so many.
///
/// # Errors
/// How many could be had, if those are fewer than `want`. None of them has called `entry` then.
///
/// # Panics
/// As [`start_cpus`].
pub fn start_cpus_with(
    want: usize,
    entry: impl Fn(usize) + Clone + Send + 'static,
) -> Result<(), usize> {
    assert!(
        (1..=crate::MAX_CPUS).contains(&want),
        "start_cpus({want}): a machine has 1 to {} CPUs",
        crate::MAX_CPUS
    );
    let mut started = this().started.borrow_mut();
    assert!(started.is_empty(), "start_cpus before join_cpus");
    let mut go_ahead = Vec::new();
    for id in 1..want {
        let (send, receive) = mpsc::channel::<usize>();
        let entry = entry.clone();
        let thread = thread::Builder::new()
            .name(format!("cpu{id}"))
            .spawn(move || {
                if let Ok(cpus) = receive.recv() {
                    run(id, cpus, entry);
                }
            });
        match thread {
            Ok(thread) => started.push(thread),
            Err(_) => break,
        }
        go_ahead.push(send);
    }
    let cpus = 1 + started.len();
    if cpus < want {
        drop(go_ahead); // they end
        started.drain(..).for_each(|thread| _ = thread.join());
        return Err(cpus);
    }
    this().num_cpus.set(cpus);
    for send in go_ahead {
        // A thread that waits for the number cannot be gone.
        let _ = send.send(cpus);
    }
    Ok(())
}

fn run(id: usize, cpus: usize, entry: impl Fn(usize)) {
    let cpu = this();
    cpu.id.set(id);
    cpu.num_cpus.set(cpus);
    cpu.count.set(1);
    cpu.irqs_on.set(false);
    entry(id);
}

/// Waits until the threads that this thread started as CPUs have ended. Their machine is then no more, and the
/// caller may start another.
///
/// # Panics
/// With the panic of such a thread.
pub fn join_cpus() {
    let started = this().started.take();
    for thread in started {
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
    }
    this().num_cpus.set(1);
}

/// On the bare machine this stops the other CPUs before a report. Here the process's end does.
pub fn stop_other_cpus() {}
