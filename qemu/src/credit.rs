//! How long each of a machine's CPUs could have run, so that a machine that its host does not let run is not taken for one
//! that hangs: QEMU stopped by a signal, a host with more to do than it can, a laptop that slept.
//!
//! ```text
//!   thread of the CPU      counts as time that it could have used
//!   sleeps                 all of it: it would have been woken
//!   runs, or wants to      the processor time that it was given
//!   stopped, traced        likewise, which is none
//! ```

use std::fs;
use std::time::{Duration, Instant};

/// Longest time between two looks that is believed; a longer one was spent by this process not running.
const LONGEST: Duration = Duration::from_millis(200);

/// Of one machine.
#[derive(Debug)]
pub struct Credits {
    qemu: u32,
    threads: Vec<u32>,
    used: Vec<Option<Duration>>,
    last: Instant,
}

impl Credits {
    /// For the process `qemu`, whose thread for each CPU is given.
    pub fn new(qemu: u32, threads: Vec<u32>) -> Credits {
        let used = vec![None; threads.len()];
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
        let of = |(thread, used): (&u32, &mut Option<Duration>)| {
            let Some((state, time)) = thread_time(self.qemu, *thread) else {
                return Duration::ZERO;
            };
            let ran = used.map_or(Duration::ZERO, |before| time.saturating_sub(before));
            *used = Some(time);
            let credit = if state == b'S' {
                passed
            } else {
                ran.min(passed)
            };
            if paused {
                Duration::ZERO
            } else {
                credit / shared
            }
        };
        self.threads.iter().zip(&mut self.used).map(of).collect()
    }
}

/// State and processor time of a thread (proc(5), `/proc/pid/task/tid/stat` and `schedstat`).
fn thread_time(process: u32, thread: u32) -> Option<(u8, Duration)> {
    let folder = format!("/proc/{process}/task/{thread}");
    let stat = fs::read_to_string(format!("{folder}/stat")).ok()?;
    // The name before it may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let exact = fs::read_to_string(format!("{folder}/schedstat")).ok();
    let exact = exact.and_then(|text| text.split_whitespace().next()?.parse().ok());
    let time = match exact {
        Some(ns) => Duration::from_nanos(ns),
        // Fields 14 and 15 of the file, in hundredths of a second.
        None => {
            let ticks = |n: Option<&str>| n?.parse::<u64>().ok();
            let user = ticks(fields.nth(10))?;
            Duration::from_millis((user + ticks(fields.next())?) * 10)
        }
    };
    Some((state, time))
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
