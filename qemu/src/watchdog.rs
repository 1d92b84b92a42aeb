//! Does the machine hang? Concluded from looks at its memory, a few each second, by what has not changed for too long.
//!
//! | what | hangs if |
//! |---|---|
//! | a CPU with a P, under `preempt=async` | it has served no timer for the limit, and a slice more |
//! | the first G of a queue, under `preempt=async` | it has stood there for the limit, while a CPU runs Gs |
//! | the same, whatever `preempt` says | so long, with an idle P and an idle CPU beside it |
//! | a P's earliest timer | it is overdue by the limit, with an idle CPU; not if a CPU holds the P that is to serve its own |
//!
//! Time is what the host has given ([`crate::credit`]). So an idle machine, a long computation, a G in a long call, a loop under
//! `preempt=off`, a machine that its host has stopped: none of them hangs.

use std::time::Duration;

use glass::{CpuView, PView, Snapshot};

/// Rules of one machine.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// So long must it last.
    pub limit: Duration,
    /// So long may interrupts or preemption be off before it is named.
    pub named_after: Duration,
    /// Gs are preempted at any instruction.
    pub preempts: bool,
    /// Length of a slice.
    pub slice: Duration,
    /// Idle Ps take from others' queues.
    pub steals: bool,
    /// Ps of blocking calls are handed on.
    pub handoff: bool,
    /// The machine's time is not the host's.
    pub virtual_time: bool,
    /// Timers follow a clock that stands while anything can run.
    pub virtual_clock: bool,
}

/// What a look came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing is wrong.
    Fine,
    /// Interrupts or preemption are off on this CPU for longer than they should be.
    Slow {
        /// The CPU.
        cpu: usize,
        /// For how long.
        time: Duration,
    },
    /// The machine hangs: a sentence that says how.
    Hung(String),
}

/// A thing that should change, and how long it has not.
#[derive(Clone, Debug, Default)]
struct Still<T> {
    what: Option<T>,
    time: Duration,
    named: bool,
}

impl<T: PartialEq> Still<T> {
    /// For how long has it been this? `None`: there is nothing.
    fn look(&mut self, now: Option<T>, more: Duration) -> Duration {
        if now.is_none() || now != self.what {
            *self = Still {
                what: now,
                time: Duration::ZERO,
                named: false,
            };
        } else {
            self.time += more;
        }
        self.time
    }
}

/// A CPU's P, for when its timer is armed, and when it last served it.
type Served = (Option<usize>, Option<u64>, u64);

/// Which G waits at the head of a queue, and how far the queue has come.
type Head = (u64, u32);

/// See above.
#[derive(Debug)]
pub struct Watchdog {
    terms: Terms,
    timers: Vec<Still<Served>>,
    /// Global queue, rings, `runnext`s, trays; each served or not, and each beside an idle P.
    waiting: Vec<Still<Head>>,
    beside_idle: Vec<Still<Head>>,
    overdue: Vec<Still<u64>>,
    /// The newest time of the machine's own that was seen, and how much has passed at least since.
    newest_ns: u64,
    since_newest: Duration,
}

impl Watchdog {
    /// For a machine that is looked at for the first time.
    pub fn new(terms: Terms) -> Watchdog {
        Watchdog {
            terms,
            timers: Vec::new(),
            waiting: Vec::new(),
            beside_idle: Vec::new(),
            overdue: Vec::new(),
            newest_ns: 0,
            since_newest: Duration::ZERO,
        }
    }

    /// The machine now, and how long each CPU could have run since the last look.
    pub fn look(&mut self, now: &Snapshot, credits: &[Duration]) -> Verdict {
        let least = credits.iter().copied().min().unwrap_or_default();
        let mut verdict = Verdict::Fine;
        if self.terms.preempts {
            match self.look_at_cpus(now, least) {
                Verdict::Fine => {}
                hung @ Verdict::Hung(_) => return hung,
                slow => verdict = slow,
            }
        }
        self.look_at_queues(now, least)
            .or_else(|| self.look_at_timers(now, least))
            .map_or(verdict, Verdict::Hung)
    }

    /// What counts is what the CPU with the least was given: another may wait for a lock that this one holds.
    fn look_at_cpus(&mut self, now: &Snapshot, least: Duration) -> Verdict {
        self.timers.resize_with(now.cpus.len(), Still::default);
        let mut verdict = Verdict::Fine;
        for (id, (cpu, still)) in now.cpus.iter().zip(&mut self.timers).enumerate() {
            // Without a P no timer need be armed; a call has none of its own.
            let owes = cpu.timer_pending || cpu.p.is_some();
            let state = owes.then_some((cpu.p, cpu.armed_ns, cpu.served_ns));
            let time = still.look(state, least).saturating_sub(self.terms.slice);
            if time >= self.terms.limit {
                return Verdict::Hung(unserved(id, cpu, time));
            }
            if time >= self.terms.named_after && !still.named {
                still.named = true;
                verdict = Verdict::Slow { cpu: id, time };
            }
        }
        verdict
    }

    fn look_at_queues(&mut self, now: &Snapshot, least: Duration) -> Option<String> {
        let queues = queues(now);
        self.waiting.resize_with(queues.len(), Still::default);
        self.beside_idle.resize_with(queues.len(), Still::default);
        let idle = now.idle_cpus != 0 && now.ps.iter().any(|p| p.idle) && !now.stopped;
        let somebody_serves = now.cpus.iter().any(|c| c.p.is_some() && !c.in_call);
        let serves = self.terms.preempts && somebody_serves && !now.stopped;
        let each = queues.into_iter().zip(&mut self.waiting);
        for ((queue, waiting), beside) in each.zip(&mut self.beside_idle) {
            let Queue { head, owner, name } = queue;
            let own = owner.map(|n| &now.ps[n]);
            // Whose call keeps its P keeps its queue.
            let kept = own.is_some_and(|p| p.in_call) && !self.terms.handoff;
            let free = self.terms.steals || own.is_none();
            let takeable = idle && (free || own.is_some_and(|p| p.cpu.is_none()));
            let time = waiting.look(head.filter(|_| serves && !kept), least);
            let beside = beside.look(head.filter(|_| takeable), least);
            if time.max(beside) >= self.terms.limit {
                let note = if beside >= self.terms.limit {
                    ", beside an idle P"
                } else {
                    ""
                };
                let time = seconds(time.max(beside));
                return Some(format!(
                    "a goroutine {name} was runnable for {time} and did not run{note}"
                ));
            }
        }
        None
    }

    fn look_at_timers(&mut self, now: &Snapshot, least: Duration) -> Option<String> {
        let served_ns = now.cpus.iter().map(|cpu| cpu.served_ns).max().unwrap_or(0);
        if served_ns > self.newest_ns {
            (self.newest_ns, self.since_newest) = (served_ns, Duration::ZERO);
        } else if !self.terms.virtual_time {
            self.since_newest += least;
        }
        let now_ns = self.newest_ns + self.since_newest.as_nanos() as u64;
        self.overdue.resize_with(now.ps.len(), Still::default);
        let watched = now.idle_cpus != 0 && !now.stopped && !self.terms.virtual_clock;
        // Under `preempt=async` idle CPUs leave the timers of busy Ps to these, which `look_at_cpus` looks at.
        let preempts = self.terms.preempts;
        // (One in a call has its M's name still, but that M owes nothing.)
        let is_own = |p: &PView| preempts && p.cpu.is_some() && !p.in_call;
        let is_late = |p: &PView| {
            p.timer_ns
                .filter(|&when_ns| watched && !is_own(p) && when_ns < now_ns)
        };
        for (id, (p, still)) in now.ps.iter().zip(&mut self.overdue).enumerate() {
            let time = still.look(is_late(p), least);
            if time >= self.terms.limit {
                return Some(format!(
                    "a timer of P {id} is overdue by {} and nobody fires it",
                    seconds(time)
                ));
            }
        }
        None
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

fn unserved(id: usize, cpu: &CpuView, time: Duration) -> String {
    let why = match (cpu.timer_pending, cpu.count) {
        (false, _) => "its interrupts are off",
        (true, 0) => "nothing looks at it",
        (true, _) => "preemption is off there",
    };
    let runs = cpu
        .g
        .map_or("its scheduler".to_string(), |g| format!("goroutine {g}"));
    format!(
        "CPU {id} has served no timer for {}: {why}, in {runs}",
        seconds(time)
    )
}

struct Queue {
    head: Option<Head>,
    /// P that it belongs to.
    owner: Option<usize>,
    name: String,
}

/// All queues, always in the same order while the number of Ps stays.
fn queues(now: &Snapshot) -> Vec<Queue> {
    let head = |g: u64, n: u32| (g != 0).then_some((g, n));
    let mut all = vec![Queue {
        head: head(now.global_first, 0),
        owner: None,
        name: "of the global queue".into(),
    }];
    for (id, cpu) in now.cpus.iter().enumerate() {
        all.push(Queue {
            head: head(cpu.tray_head, 0).filter(|_| !cpu.in_call),
            owner: None,
            name: format!("that is locked to CPU {id}"),
        });
    }
    for (id, p) in now.ps.iter().enumerate() {
        let of = |head, what| Queue {
            head,
            owner: Some(id),
            name: format!("in {what} of P {id}"),
        };
        all.push(of(head(p.queue.first, p.queue.head), "the queue"));
        all.push(of(
            head(p.woken.first, p.woken.head),
            "the queue of the woken",
        ));
        all.push(of(
            head(p.woken.runnext, p.schedtick),
            "the place of who gave way",
        ));
        // It may be the same G again and again: a slice begun is a change, too.
        all.push(of(head(p.queue.runnext, p.schedtick), "runnext"));
    }
    all
}

#[cfg(test)]
#[path = "watchdog_tests.rs"]
mod tests;
