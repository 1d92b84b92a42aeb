//! Looks into a running machine: a thread beside those that read its streams. It takes the events out of the rings, has them
//! checked and written down, and lets the watchdog look.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use glass::{Checker, Drain, Event, Glass, Merged, Merger, Ram, Rules, closing_check};

use crate::credit::Credits;
use crate::failure::Doing;
use crate::streams::Told;
use crate::symbols::Symbols;
use crate::watchdog::{Terms, Verdict, Watchdog};
use crate::{Board, Machine, Result};

/// Between two looks at the rings.
const DRAIN_EVERY: Duration = Duration::from_millis(4);
/// Between two looks of the watchdog.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Events of each CPU that reports show.
const EVENTS_SHOWN: usize = 12;

/// What a run's events came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traced {
    /// Events that were checked.
    pub events: u64,
    /// Events that were overwritten before they could be read. Around them nothing is known.
    pub lost: u64,
    /// Goroutines that were created and that ended.
    pub created: u64,
    /// See [`Self::created`].
    pub ended: u64,
    /// Longest time that a goroutine waited beside an idle P.
    pub longest_beside_idle_ns: u64,
    /// What was wrong, a line each.
    pub violations: Vec<String>,
}

/// What the thread and the rest of the runner share.
#[derive(Clone, Default)]
pub struct Shared {
    over: Arc<AtomicBool>,
    /// The machine waits for whoever reads its output.
    pub blocked: Arc<AtomicBool>,
    /// QEMU's threads, one for each CPU, once they are known.
    pub threads: Arc<Mutex<Vec<u32>>>,
}

/// The thread.
pub struct Observer {
    thread: JoinHandle<Option<Traced>>,
    shared: Shared,
}

/// Where the machine's memory is found, and its header in it.
#[derive(Debug)]
pub struct Place {
    /// The memory.
    pub file: File,
    /// How much of it lies below 4 GiB.
    pub low_bytes: u64,
    /// Physical address of the header.
    pub header: u64,
}

impl Place {
    /// `None` if the kernel has no header: an older one.
    pub fn new(machine: &Machine, symbols: &Symbols, file: File) -> Option<Place> {
        Some(Place {
            file,
            low_bytes: low_bytes(machine.board, machine.mem_bytes),
            header: symbols.address_of("RINGO_GLASS")? & 0x7fff_ffff,
        })
    }

    /// A second one.
    pub fn try_clone(&self) -> io::Result<Place> {
        Ok(Place {
            file: self.file.try_clone()?,
            ..*self
        })
    }

    /// The machine, if its kernel has come so far.
    pub fn open(&self) -> Option<Glass> {
        let ram = Ram::new(self.file.try_clone().ok()?, self.low_bytes);
        Glass::open(ram, self.header).ok()
    }
}

/// How much memory a board has below 4 GiB (QEMU: `pc_q35_init`, `microvm_memory_init`).
fn low_bytes(board: Board, mem_bytes: u64) -> u64 {
    match board {
        Board::Q35 if mem_bytes >= 0xb000_0000 => 0x8000_0000,
        Board::Microvm => mem_bytes.min(0xc000_0000),
        Board::Q35 => mem_bytes,
    }
}

impl Observer {
    /// Begins to look. `tell` gets what the watchdog has to say.
    pub fn start(
        machine: &Machine,
        place: Place,
        qemu: u32,
        shared: Shared,
        tell: Sender<Told>,
    ) -> Result<Observer> {
        let log = machine.event_log.as_ref();
        let log = log.map(|path| {
            let file = File::create(path).doing(format_args!("write {}", path.display()))?;
            Ok(BufWriter::new(file))
        });
        let mut watch = Watch {
            place,
            glass: None,
            events: None,
            log: log.transpose()?,
            rules: rules(machine),
            wants_events: machine.wants_events(),
            dog: None,
            limit: machine.hang_limit.filter(|_| !machine.gdb),
            seeded: machine.seed.is_some(),
            qemu,
            shared: shared.clone(),
            tell,
        };
        let thread = thread::spawn(move || watch.run());
        Ok(Observer { thread, shared })
    }

    /// The machine is gone: what the events came to, if there were any.
    pub fn finish(self) -> Option<Traced> {
        self.shared.over.store(true, Relaxed);
        self.thread.thread().unpark();
        self.thread.join().ok().flatten()
    }
}

fn rules(machine: &Machine) -> Rules {
    let has = |words: &[&str]| {
        machine
            .words
            .iter()
            .any(|word| words.contains(&word.as_str()))
    };
    let steals = !has(&["steal=off"]);
    let limit_ns = match machine.seed {
        Some(_) => 1_000_000,
        None => 50_000_000,
    };
    Rules {
        virtual_time: machine.seed.is_some(),
        ticks: !has(&["preempt=off", "preempt=coop"]),
        idle_limit_ns: steals.then_some(limit_ns),
    }
}

struct Events {
    drain: Drain,
    merger: Merger,
    checker: Checker,
}

struct Watch {
    place: Place,
    glass: Option<Glass>,
    events: Option<Events>,
    log: Option<BufWriter<File>>,
    rules: Rules,
    wants_events: bool,
    dog: Option<(Watchdog, Credits)>,
    limit: Option<Duration>,
    seeded: bool,
    qemu: u32,
    shared: Shared,
    tell: Sender<Told>,
}

impl Watch {
    fn run(&mut self) -> Option<Traced> {
        let mut next_look = Instant::now();
        while !self.shared.over.load(Relaxed) {
            thread::park_timeout(if self.wants_events {
                DRAIN_EVERY
            } else {
                LOOK_EVERY
            });
            self.open();
            self.drain();
            if Instant::now() >= next_look {
                next_look = Instant::now() + LOOK_EVERY;
                self.look();
            }
        }
        self.open();
        self.drain();
        self.close()
    }

    fn open(&mut self) {
        if self.glass.is_none() {
            self.glass = self.place.open();
        }
        if self.events.is_none()
            && self.wants_events
            && let Some(glass) = &self.glass
        {
            self.events = Drain::new(glass).map(|drain| Events {
                drain,
                merger: Merger::default(),
                checker: Checker::new(glass.header().cpus as usize, self.rules),
            });
        }
    }

    fn drain(&mut self) {
        let (Some(events), Some(glass)) = (&mut self.events, &self.glass) else {
            return;
        };
        let batches = events.drain.read(glass.space().ram());
        let (checker, log) = (&mut events.checker, &mut self.log);
        events.merger.feed(batches, |item| {
            write_down(log, &item);
            checker.take(item)
        });
    }

    fn close(&mut self) -> Option<Traced> {
        let (mut events, glass) = (self.events.take()?, self.glass.as_ref()?);
        let (checker, log) = (&mut events.checker, &mut self.log);
        events.merger.finish(|item| {
            write_down(log, &item);
            checker.take(item)
        });
        checker.finish();
        closing_check(checker, glass);
        if let Some(log) = log {
            drop(log.flush());
        }
        let (shown, more) = checker.violations();
        let mut violations: Vec<String> = shown.iter().map(ToString::to_string).collect();
        if checker.lost != 0 && !violations.is_empty() {
            violations.push(format!("{} events were overwritten unread", checker.lost));
        }
        violations.extend((more != 0).then(|| format!("and {more} more")));
        Some(Traced {
            events: checker.events,
            lost: checker.lost,
            created: checker.created,
            ended: checker.ended,
            longest_beside_idle_ns: checker.longest_beside_idle_ns(),
            violations,
        })
    }

    fn look(&mut self) {
        let (Some(limit), Some(glass)) = (self.limit, &self.glass) else {
            return;
        };
        if self.dog.is_none() {
            let threads = self.shared.threads.lock();
            let threads = threads.unwrap_or_else(PoisonError::into_inner).clone();
            if threads.is_empty() {
                return;
            }
            let dog = Watchdog::new(terms(glass, limit, self.seeded));
            self.dog = Some((dog, Credits::new(self.qemu, threads)));
        }
        let (Some((dog, credits)), Some(now)) = (&mut self.dog, glass.snapshot()) else {
            return;
        };
        let credits = credits.since_last(self.shared.blocked.load(Relaxed));
        match dog.look(&now, &credits) {
            Verdict::Fine => {}
            Verdict::Slow { cpu, time } => drop(self.tell.send(Told::Slow(cpu, time))),
            Verdict::Hung(how) => {
                drop(self.tell.send(Told::Hung(how)));
                self.limit = None;
            }
        }
    }
}

fn terms(glass: &Glass, limit: Duration, seeded: bool) -> Terms {
    let header = glass.header();
    Terms {
        limit,
        // Under virtual time the kernel names it itself, by its own clock.
        named_after: if seeded {
            Duration::MAX
        } else {
            Duration::from_millis(100)
        },
        preempts: header.preempt == 0,
        slice: Duration::from_nanos(header.slice_ns),
        steals: header.steals == 1,
        handoff: header.handoff == 1,
        virtual_time: seeded,
        virtual_clock: header.virtual_clock == 1,
    }
}

fn write_down(log: &mut Option<BufWriter<File>>, item: &Merged) {
    let Some(log) = log else { return };
    // A full disk shows at the end, by what is missing.
    drop(match item {
        Merged::Event(event) => writeln!(log, "{}", line(event)),
        Merged::Lost { cpu, count, .. } => {
            writeln!(
                log,
                "{count} events of CPU {cpu} were lost: it was too fast"
            )
        }
    });
}

/// An event as a log shows it: with its number among those of its G.
fn line(event: &Event) -> String {
    match event.seq {
        0 => event.to_string(),
        seq => format!("{event}  #{seq}"),
    }
}

/// The last events of each CPU, where they are recorded.
pub fn last_events(glass: &Glass) -> String {
    let Some(mut drain) = Drain::new(glass) else {
        return String::new();
    };
    let mut text = String::new();
    for (cpu, batch) in drain.read(glass.space().ram()).into_iter().enumerate() {
        let from = batch.events.len().saturating_sub(EVENTS_SHOWN);
        if batch.events.is_empty() {
            continue;
        }
        text.push_str(&format!("  last events of CPU {cpu}:\n"));
        for event in &batch.events[from..] {
            text.push_str(&format!("    {event}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_below_4_gib() {
        let mib = |n: u64| n << 20;
        assert_eq!(low_bytes(Board::Q35, mib(512)), mib(512));
        assert_eq!(low_bytes(Board::Q35, mib(2816)), mib(2048));
        assert_eq!(low_bytes(Board::Q35, mib(8192)), mib(2048));
        assert_eq!(low_bytes(Board::Microvm, mib(2816)), mib(2816));
        assert_eq!(low_bytes(Board::Microvm, mib(4096)), mib(3072));
    }
}
