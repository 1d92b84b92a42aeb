//! Waits for a machine's end: what it tells, what QEMU tells, and the time limit.

use std::io;
use std::sync::PoisonError;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::exit::Death;
use crate::forward::Followed;
use crate::launch::Running;
use crate::observe::Place;
use crate::qmp::{Monitor, MonitorEvent};
use crate::say::say;
use crate::streams::Told;
use crate::{Forward, Machine, Net, postmortem};

/// What waiting for it has found out.
#[derive(Default)]
pub struct Seen {
    /// QEMU has started.
    pub up: bool,
    /// The control channel's events.
    pub events: Vec<Value>,
    /// From the start of QEMU to the program's `main`.
    pub boot_to_main: Option<Duration>,
    /// What ended it, if it did not end itself.
    pub death: Option<Death>,
    /// What it could still tell then.
    pub post_mortem: Option<String>,
    /// Nobody reads the program's output any more.
    pub output_gone: bool,
    /// How often a CPU was found with interrupts or preemption off for long.
    pub slow: u32,
}

impl Seen {
    /// Takes down an event of the control channel.
    pub fn note(&mut self, started: Instant, when: Instant, event: Value) {
        if event["event"] == "main" && self.boot_to_main.is_none() {
            self.boot_to_main = Some(when.saturating_duration_since(started));
        }
        self.events.push(event);
    }

    /// Takes down that the output cannot be written. Whoever reads has had enough, and knows; anything else has to be said.
    pub fn output_gone(&mut self, error: &io::Error) {
        if !self.output_gone && error.kind() != io::ErrorKind::BrokenPipe {
            say(format_args!("cannot write the output: {error}"));
        }
        self.output_gone = true;
    }
}

/// More lines about slow CPUs would only repeat them.
const SLOW_SHOWN: u32 = 5;

/// Waits for the machine's end.
pub fn watch(machine: &Machine, running: &mut Running) -> Seen {
    let mut seen = Seen {
        events: machine.forwards.iter().map(Forward::event).collect(),
        ..Seen::default()
    };
    let limit = machine
        .timeout
        .filter(|_| !machine.gdb)
        .and_then(|limit| running.started.checked_add(limit));
    let mut pauses = Pauses::new(machine);
    loop {
        // Once it is dead, only its last words are waited for.
        let limit = limit.filter(|_| seen.death.is_none());
        let next = pauses.next.filter(|_| seen.up && seen.death.is_none());
        let until = limit.into_iter().chain(next).min();
        let wait = until.map(|when| when.saturating_duration_since(Instant::now()));
        let told = running
            .told
            .recv_timeout(wait.unwrap_or(Duration::from_secs(3600)));
        match told {
            Ok(Told::Event(when, event)) => {
                if machine.forward_listeners {
                    follow_listener(running, &mut seen, &event)
                }
                seen.note(running.started, when, event)
            }
            Ok(Told::OutputGone(error)) => {
                seen.output_gone(&error);
                running.monitor.execute("quit", json!({}));
            }
            Ok(Told::Monitor(MonitorEvent::Greeting)) => {
                seen.up = true;
                running.monitor.execute("qmp_capabilities", json!({}));
                name_threads(running);
            }
            Ok(Told::Slow(cpu, time)) if seen.death.is_none() => {
                seen.slow += 1;
                if seen.slow <= SLOW_SHOWN {
                    name_slow(running, cpu, time);
                }
            }
            Ok(Told::Hung(how)) if seen.death.is_none() => {
                running.monitor.execute("stop", json!({}));
                bury(running, &mut seen, Death::Hung(how));
            }
            Ok(Told::Slow(..) | Told::Hung(_)) => {}
            Ok(Told::Monitor(MonitorEvent::Event(event))) => {
                if seen.death.is_none()
                    && let Some(death) = death(&event, || is_internal_error(&mut running.monitor))
                {
                    bury(running, &mut seen, death);
                }
            }
            Ok(Told::Monitor(MonitorEvent::Closed)) | Err(RecvTimeoutError::Disconnected) => {
                return seen;
            }
            Err(RecvTimeoutError::Timeout) if limit.is_none_or(|limit| Instant::now() < limit) => {
                pauses.pause(&mut running.monitor)
            }
            Err(RecvTimeoutError::Timeout) => {
                running.monitor.execute("stop", json!({}));
                bury(running, &mut seen, Death::TimeLimit);
            }
        }
    }
}

/// Forwards a port that the program listens on.
fn follow_listener(running: &mut Running, seen: &mut Seen, event: &Value) {
    if running.net != Net::User {
        return;
    }
    let known = &running.forwards;
    let followed = Forward::follow(event, known, &mut running.monitor);
    if let Followed::Forwarded(forward) = followed {
        running.forwards.push(forward);
        seen.events.push(forward.event());
        running.tell(&forward);
    } else if let Some(line) = followed.line() {
        running.say(&line)
    }
}

/// Times at which all CPUs stand still.
struct Pauses {
    next: Option<Instant>,
    times: Option<(Duration, Duration)>,
}

impl Pauses {
    fn new(machine: &Machine) -> Pauses {
        let times = machine.pauses;
        Pauses {
            next: times.and_then(|(runs, _)| Instant::now().checked_add(runs)),
            times,
        }
    }

    /// One of them, if it is time.
    fn pause(&mut self, monitor: &mut Monitor) {
        let Some((runs, stands)) = self.times else {
            return;
        };
        if self.next.is_some_and(|next| Instant::now() >= next) {
            monitor.execute("stop", json!({}));
            std::thread::sleep(stands);
            monitor.execute("cont", json!({}));
            self.next = Instant::now().checked_add(runs)
        }
    }
}

/// What an event of QEMU says about the machine's end.
fn death(event: &Value, internal_error: impl FnOnce() -> bool) -> Option<Death> {
    match (event["event"].as_str()?, event["data"]["reason"].as_str()) {
        ("SHUTDOWN", Some("guest-reset")) => Some(Death::TripleFault),
        ("SHUTDOWN", Some("guest-shutdown" | "guest-panic")) => Some(Death::PowerOff),
        // A debugger stops the machine too.
        ("STOP", _) => internal_error().then_some(Death::InternalError),
        _ => None,
    }
}

/// KVM stops a machine that it cannot go on with, and says so only when asked.
fn is_internal_error(monitor: &mut Monitor) -> bool {
    monitor
        .execute("query-status", json!({}))
        .is_some_and(|answer| answer["status"] == "internal-error")
}

/// Which of QEMU's threads runs which CPU.
fn name_threads(running: &mut Running) {
    let Some(cpus) = running.monitor.execute("query-cpus-fast", json!({})) else {
        return;
    };
    let of = |cpu: &Value| {
        Some((
            cpu["cpu-index"].as_u64()?,
            cpu["thread-id"].as_u64()? as u32,
        ))
    };
    let mut all: Vec<_> = cpus
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(of)
        .collect();
    all.sort_unstable();
    let threads = running.shared.threads.lock();
    *threads.unwrap_or_else(PoisonError::into_inner) = all.into_iter().map(|(_, t)| t).collect();
}

/// Where a CPU may stand for long: in its output, which the host takes when it likes, and at the end of the machine, where a
/// report stops the others and takes its time.
const EXCUSED: &[&str] = &["serial", "imp::control::", "imp::nmi::", "imp::exit::"];

/// Says where a CPU stands that has left its timer alone for long. The machine goes on, after a moment.
fn name_slow(running: &mut Running, cpu: usize, time: Duration) {
    running.monitor.execute("stop", json!({}));
    let glass = running.place.as_ref().and_then(Place::open);
    let place = postmortem::where_is(&mut running.monitor, &running.symbols, glass.as_ref(), cpu);
    running.monitor.execute("cont", json!({}));
    let is_excused = |place: &String| EXCUSED.iter().any(|part| place.contains(part));
    if let Some(place) = place.filter(|place| !is_excused(place)) {
        let line = format!(
            "watchdog: CPU {cpu} has kept interrupts or preemption off for {} ms{place}\n",
            time.as_millis()
        );
        running.say(&line);
    }
}

/// Asks the stopped machine what can be asked, then ends QEMU.
fn bury(running: &mut Running, seen: &mut Seen, death: Death) {
    let glass = running.place.as_ref().and_then(Place::open);
    let brief = death == Death::TimeLimit;
    seen.post_mortem = postmortem::examine(
        &mut running.monitor,
        &running.symbols,
        glass.as_ref(),
        brief,
    );
    seen.death = Some(death);
    if running.monitor.execute("quit", json!({})).is_none() {
        // It does not answer; the status is not asked for.
        drop(running.child.kill());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deaths() {
        let shutdown = |reason: &str| {
            death(
                &json!({"event": "SHUTDOWN", "data": {"guest": true, "reason": reason}}),
                || false,
            )
        };
        assert_eq!(shutdown("guest-reset"), Some(Death::TripleFault));
        assert_eq!(shutdown("guest-shutdown"), Some(Death::PowerOff));
        assert_eq!(shutdown("host-qmp-quit"), None);
        assert_eq!(death(&json!({"event": "STOP"}), || false), None);
        assert_eq!(
            death(&json!({"event": "STOP"}), || true),
            Some(Death::InternalError)
        );
    }
}
