//! How long each of a machine's CPUs could have run, so that a machine that its host does not let run is not taken for one
//! that hangs: QEMU stopped by a signal, a host with more to do than it can, a laptop that slept.
//!
//! ```text
//!   thread of the CPU      counts as time that it could have used
//!   sleeps                 all of it but for what it waited for a processor before: it would have been woken
//!   runs, or wants to      the processor time that it was given
//!   stopped, traced        likewise, which is none
//! ```
//!
//! And no CPU could use more than QEMU's own thread, which brings it its interrupts.

use std::fs;
use std::time::{Duration, Instant};

/// Longest time between two looks that is believed; a longer one was spent by this process not running.
const LONGEST: Duration = Duration::from_millis(200);

/// Of one machine.
#[derive(Debug)]
pub struct Credits {
    qemu: u32,
    threads: Vec<u32>,
    /// Of each, and of QEMU's own.
    used: Vec<Option<Used>>,
    last: Instant,
}

/// Processor time that a thread was given, and for how long it waited for a processor, since its start. What it waits at the
/// moment is not in it.
#[derive(Clone, Copy, Debug)]
struct Used {
    ran: Duration,
    waited: Duration,
}

impl Credits {
    /// For the process `qemu`, whose thread for each CPU is given.
    pub fn new(qemu: u32, threads: Vec<u32>) -> Credits {
        let used = vec![None; threads.len() + 1];
        Credits {
            qemu,
            threads,
            used,
            last: Instant::now(),
        }
    }

    /// For each CPU, how long it could have run since the last call. `paused`: it waits for this process.
    pub fn since_last(&mut self, paused: bool) -> Vec<Duration> {
        let now = Instant::now();
        let passed = now.duration_since(self.last).min(LONGEST);
        self.last = now;
        let shared = match self.threads.as_slice() {
            [first, rest @ ..] if !rest.is_empty() && rest.iter().all(|t| t == first) => {
                self.threads.len() as u32
            }
            _ => 1,
        };
        let qemu = self.qemu;
        let of = |(thread, used): (&u32, &mut Option<Used>)| could_use(qemu, *thread, used, passed);
        let all = self.threads.iter().chain([&qemu]).zip(&mut self.used);
        let mut credits: Vec<Duration> = all.map(of).collect();
        let most = match credits.pop() {
            Some(own) if !paused => own,
            _ => Duration::ZERO,
        };
        let shared = |credit: Duration| (credit / shared).min(most);
        credits.into_iter().map(shared).collect()
    }
}

/// How much of the time that has passed a thread could have used.
fn could_use(process: u32, thread: u32, used: &mut Option<Used>, passed: Duration) -> Duration {
    let Some((state, now)) = thread_times(process, thread) else {
        return Duration::ZERO;
    };
    let before = used.replace(now).unwrap_or(now);
    usable(state, before, now, passed)
}

fn usable(state: u8, before: Used, now: Used, passed: Duration) -> Duration {
    match state {
        b'S' => passed.saturating_sub(now.waited.saturating_sub(before.waited)),
        _ => now.ran.saturating_sub(before.ran).min(passed),
    }
}

/// State of a thread, and its times (proc(5), `/proc/pid/task/tid/stat` and `schedstat`).
fn thread_times(process: u32, thread: u32) -> Option<(u8, Used)> {
    let folder = format!("/proc/{process}/task/{thread}");
    let stat = fs::read_to_string(format!("{folder}/stat")).ok()?;
    // The name before it may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let exact = fs::read_to_string(format!("{folder}/schedstat")).unwrap_or_default();
    let mut exact = exact.split_whitespace().map_while(|n| n.parse().ok());
    let used = match (exact.next(), exact.next()) {
        (Some(ran), Some(waited)) => Used {
            ran: Duration::from_nanos(ran),
            waited: Duration::from_nanos(waited),
        },
        // Fields 14 and 15 of the other file, in hundredths of a second.
        _ => {
            let ticks = |n: Option<&str>| n?.parse::<u64>().ok();
            let user = ticks(fields.nth(10))?;
            Used {
                ran: Duration::from_millis((user + ticks(fields.next())?) * 10),
                waited: Duration::ZERO,
            }
        }
    };
    Some((state, used))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn credit(child: &std::process::Child) -> impl FnMut(bool) -> Duration + use<> {
        let mut credits = Credits::new(child.id(), vec![child.id()]);
        credits.since_last(false);
        move |paused| {
            std::thread::sleep(Duration::from_millis(60));
            credits.since_last(paused)[0]
        }
    }

    #[test]
    fn sleepers_could_run_and_the_stopped_could_not() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        std::thread::sleep(Duration::from_millis(50));
        let mut since_last = credit(&child);
        assert!(since_last(false) >= Duration::from_millis(60));
        assert_eq!(since_last(true), Duration::ZERO);
        let kill = |signal: &str| {
            let pid = child.id().to_string();
            Command::new("kill").args([signal, &pid]).status().unwrap();
        };
        kill("-STOP");
        std::thread::sleep(Duration::from_millis(50));
        since_last(false);
        assert_eq!(since_last(false), Duration::ZERO);
        kill("-CONT");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(since_last(false), Duration::ZERO);
    }

    #[test]
    fn who_waited_and_then_slept_had_less() {
        let ms = Duration::from_millis;
        let used = |ran, waited| Used {
            ran: ms(ran),
            waited: ms(waited),
        };
        let begin = used(100, 20);
        let look = |state, now| usable(state, begin, now, ms(50));
        assert_eq!(look(b'S', used(100, 20)), ms(50));
        assert_eq!(look(b'S', used(105, 60)), ms(10));
        // What it waited for began before the last look.
        assert_eq!(look(b'S', used(105, 90)), ms(0));
        assert_eq!(look(b'R', used(103, 20)), ms(3));
        assert_eq!(look(b'R', used(190, 20)), ms(50));
        assert_eq!(look(b'T', used(100, 20)), ms(0));
    }

    #[test]
    fn who_wants_to_run_has_what_it_got() {
        let mut child = Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .unwrap();
        let mut since_last = credit(&child);
        let credit = (0..20).map(|_| since_last(false)).max().unwrap();
        assert!(!credit.is_zero() && credit <= LONGEST, "{credit:?}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
