//! The invariants that the events of every run keep.
//!
//! ```text
//!                  GoCreate                GoStart
//!   (not there) ─────────────► runnable ────────────► running ──► GoEnd
//!                                ▲  ▲  ▲               │  │ │
//!                        GoReady │  │  └ GoYield ──────┘  │ └─ GoSyscall ─► in a call
//!                              waiting   GoPreempt        │                  │      │
//!                                 ▲                GoPark │   running ◄──────┘      └─► runnable
//!                                 └───────────────────────┘          GoSyscallExit
//! ```
//!
//! Events of one G are taken in the order of their numbers (I-SEQ of `trace`), whatever their stamps say. Where events were
//! lost nothing is guessed: what was known until then is forgotten, and each G counts again from its next event on.

use crate::idle_rule::IdleRule;
use crate::merge::Merged;
use std::collections::HashMap;
use std::fmt;
use trace::{Event, Kind, SEQS};

/// What a violation breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// An event that the G's state does not allow.
    Transition,
    /// A G on two CPUs, two Gs on one CPU, or a P on two.
    OneOnOne,
    /// Events of a G are missing that nobody overwrote, or a G is gone.
    Lost,
    /// Created is not ended and alive.
    Count,
    /// A G waited for a CPU although one had nothing to do.
    IdleP,
}

/// What was wrong, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// Stamp of the event that showed it.
    pub ns: u64,
    /// What happened.
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (s, ns) = (self.ns / 1_000_000_000, self.ns % 1_000_000_000);
        write!(f, "{:?} at {s}.{ns:09} s: {}", self.rule, self.text)
    }
}

/// What a run has to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The machine's time is its own (`--seed`): the host takes none of it away.
    pub virtual_time: bool,
    /// Each CPU that runs a G records a tick now and then (`preempt=async`).
    pub ticks: bool,
    /// Longest time that a G waits beside an idle P; `None` where idle Ps do not take from others (`steal=off`).
    pub idle_limit_ns: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Runnable,
    Running { cpu: u8 },
    Call { cpu: u8 },
    Waiting,
}

#[derive(Debug)]
pub(crate) struct Known {
    /// `None`: after a loss, until its next event.
    pub state: Option<State>,
    pub seq: u16,
    pub since_ns: u64,
    /// Events that came before one that belongs before them: stamps of two CPUs differ.
    early: Vec<Event>,
}

/// So many events of a G may come too early.
const EARLY_MAX: usize = 8;
/// More violations are only counted.
const SHOWN: usize = 20;

/// Follows a run.
#[derive(Debug)]
pub struct Checker {
    cpus: usize,
    /// Of each CPU's last event.
    last_ns: [u64; 64],
    pub(crate) gs: HashMap<u32, Known>,
    /// What each CPU runs.
    running: [Option<u32>; 64],
    /// P of the G that each CPU runs, but for a G in a call, whose P may be elsewhere.
    p_of: [Option<u32>; 64],
    idle: IdleRule,
    blind_until_ns: u64,
    /// Events that were overwritten unread.
    pub lost: u64,
    /// Events that were looked at.
    pub events: u64,
    /// Gs that were created and that ended.
    pub created: u64,
    /// See [`Self::created`].
    pub ended: u64,
    pub(crate) now_ns: u64,
    violations: Vec<Violation>,
    more: u64,
}

impl Checker {
    /// For a machine of so many CPUs, from its start on.
    pub fn new(cpus: usize, rules: Rules) -> Checker {
        let mut idle = IdleRule::new(cpus, rules.idle_limit_ns, rules.ticks);
        if rules.virtual_time {
            idle.count_all()
        }
        Checker {
            cpus,
            last_ns: [0; 64],
            gs: HashMap::new(),
            running: [None; 64],
            p_of: [None; 64],
            idle,
            blind_until_ns: 0,
            lost: 0,
            events: 0,
            created: 0,
            ended: 0,
            now_ns: 0,
            violations: Vec::new(),
            more: 0,
        }
    }

    /// The next event of the run, or that some are missing.
    pub fn take(&mut self, item: Merged) {
        match item {
            Merged::Event(event) => self.event(event),
            Merged::Lost {
                count, until_ns, ..
            } => self.forget(count, until_ns),
        }
    }

    /// What was wrong so far, and how much more than that.
    pub fn violations(&self) -> (&[Violation], u64) {
        (&self.violations, self.more)
    }

    /// Longest time that a G waited beside an idle P.
    pub fn longest_beside_idle_ns(&self) -> u64 {
        self.idle.longest_ns
    }

    /// Whether no CPU can have a G in its hands, on the way from one queue to another: each is halted, or runs a G and has
    /// recorded something a moment ago.
    pub(crate) fn all_hands_are_empty(&self, moment_ns: u64) -> bool {
        (0..self.cpus.min(64)).all(|cpu| {
            let fresh = self.last_ns[cpu] + moment_ns >= self.now_ns;
            self.idle.is_halted(cpu) || self.running[cpu].is_some() && fresh
        })
    }

    pub(crate) fn wrong(&mut self, rule: Rule, text: String) {
        if self.violations.len() < SHOWN {
            let ns = self.now_ns;
            self.violations.push(Violation { rule, ns, text });
        } else {
            self.more += 1;
        }
    }

    fn forget(&mut self, count: u64, until_ns: u64) {
        self.lost += count;
        self.blind_until_ns = self.blind_until_ns.max(until_ns);
        self.gs.clear();
        self.running = [None; 64];
        self.p_of = [None; 64];
        self.idle.forget();
    }

    fn event(&mut self, event: Event) {
        if event.ns < self.blind_until_ns {
            return;
        }
        self.events += 1;
        self.last_ns[event.cpu as usize % 64] = event.ns;
        self.now_ns = self.now_ns.max(event.ns);
        match event.kind {
            Kind::GoCreate | Kind::GoStart | Kind::GoYield | Kind::GoPreempt | Kind::GoPark => {
                self.in_order(event)
            }
            Kind::GoReady | Kind::GoEnd | Kind::GoSyscall | Kind::GoSyscallExit => {
                self.in_order(event)
            }
            Kind::GoLock | Kind::GoUnlock | Kind::GoMove => self.in_order(event),
            _ => {}
        }
        if let Some((goid, ns)) = self.idle.event(&event, &self.gs) {
            self.waited_beside_idle(goid, ns)
        }
    }

    fn waited_beside_idle(&mut self, goid: u32, ns: u64) {
        let text = format!(
            "G {goid} was runnable for {} µs while a P and a CPU were idle and nobody looked for work",
            ns / 1000
        );
        self.wrong(Rule::IdleP, text)
    }

    /// The run is over: what is still waiting.
    pub fn finish(&mut self) {
        if let Some((goid, ns)) = self.idle.finish(self.now_ns) {
            self.waited_beside_idle(goid, ns)
        }
        let gap = |(goid, g): (&u32, &Known)| {
            let early = g.early.first()?;
            Some(format!(
                "G {goid}: its event {} is missing, {} is there",
                next_seq(g.seq),
                early.seq
            ))
        };
        let gaps: Vec<String> = self.gs.iter().filter_map(gap).collect();
        gaps.into_iter()
            .for_each(|text| self.wrong(Rule::Lost, text));
    }

    /// Takes the G's events in the order of their numbers.
    fn in_order(&mut self, event: Event) {
        let goid = event.goid;
        if !self.gs.contains_key(&goid) && !self.appears(&event) {
            return;
        }
        let Some(g) = self.gs.get_mut(&goid) else {
            return;
        };
        let known = g.state.is_some() || event.kind == Kind::GoCreate;
        if known && event.seq != next_seq(g.seq) {
            g.early.push(event);
            if g.early.len() > EARLY_MAX {
                let text = format!(
                    "G {goid}: its event {} is missing, {} is there",
                    next_seq(g.seq),
                    event.seq
                );
                g.early.clear();
                g.state = None;
                self.wrong(Rule::Lost, text);
            }
            return;
        }
        g.seq = event.seq;
        self.apply(&event);
        let Some(g) = self.gs.get_mut(&goid) else {
            return;
        };
        let next = g.early.iter().position(|e| e.seq == next_seq(g.seq));
        if let Some(at) = next {
            let early = g.early.swap_remove(at);
            self.in_order(early)
        }
    }

    /// The first event of a G that is not known. False: there is none such.
    fn appears(&mut self, event: &Event) -> bool {
        let is_new = event.kind == Kind::GoCreate;
        let new = Known {
            state: None,
            seq: 0,
            since_ns: event.ns,
            early: Vec::new(),
        };
        // Before the first loss everything is known from its creation on. A creation may come late, though.
        if is_new || self.lost != 0 {
            self.gs.insert(event.goid, new);
            return true;
        }
        if event.seq == 1 {
            let text = format!("G {} does {:?} before it exists", event.goid, event.kind);
            self.wrong(Rule::Transition, text);
            return false;
        }
        let early = Known {
            // Not a state that anything follows from: only so that its creation is waited for.
            state: Some(State::Waiting),
            ..new
        };
        self.gs.insert(event.goid, early);
        true
    }

    fn apply(&mut self, event: &Event) {
        let Some(g) = self.gs.get(&event.goid) else {
            return;
        };
        let before = g.state;
        let cpu = event.cpu;
        let (ok, after) = match event.kind {
            Kind::GoCreate => (true, State::Runnable),
            Kind::GoStart => (before == Some(State::Runnable), State::Running { cpu }),
            Kind::GoYield | Kind::GoPreempt => (self.runs_here(event), State::Runnable),
            Kind::GoPark => (self.runs_here(event), State::Waiting),
            Kind::GoReady => (before == Some(State::Waiting), State::Runnable),
            Kind::GoSyscall => (self.runs_here(event), State::Call { cpu }),
            Kind::GoSyscallExit if event.arg & 1 == 1 => {
                (self.in_call_here(event), State::Running { cpu })
            }
            Kind::GoSyscallExit => (self.in_call_here(event), State::Runnable),
            Kind::GoEnd => (self.runs_here(event), State::Waiting),
            Kind::GoMove => (self.runs_here(event), State::Running { cpu }),
            Kind::GoLock | Kind::GoUnlock => {
                let there = self.runs_here(event) || self.in_call_here(event);
                (there, before.unwrap_or(State::Running { cpu }))
            }
            _ => return,
        };
        if !ok && before.is_some() {
            let was = before.map_or("unknown".into(), |s| format!("{s:?}").to_lowercase());
            let text = format!(
                "G {} does {:?} on CPU {cpu}, but is {was}",
                event.goid, event.kind
            );
            self.wrong(Rule::Transition, text);
        }
        self.occupy(event, after);
        if event.kind == Kind::GoCreate {
            self.created += 1;
        }
        if event.kind == Kind::GoEnd {
            self.ended += 1;
            self.gs.remove(&event.goid);
        } else if let Some(g) = self.gs.get_mut(&event.goid) {
            g.state = Some(after);
            g.since_ns = event.ns;
        }
    }

    fn state(&self, goid: u32) -> Option<State> {
        self.gs.get(&goid)?.state
    }

    fn runs_here(&self, event: &Event) -> bool {
        self.state(event.goid) == Some(State::Running { cpu: event.cpu })
    }

    fn in_call_here(&self, event: &Event) -> bool {
        self.state(event.goid) == Some(State::Call { cpu: event.cpu })
    }

    /// One G on one CPU, one P under one G.
    fn occupy(&mut self, event: &Event, after: State) {
        let (goid, here) = (event.goid, event.cpu as usize % 64);
        match after {
            State::Running { .. } if matches!(event.kind, Kind::GoLock | Kind::GoUnlock) => {}
            State::Running { .. } => {
                let p = match event.kind {
                    Kind::GoSyscallExit => event.arg >> 1,
                    _ => event.arg,
                };
                if let Some(other) = self.running[here].filter(|g| *g != goid) {
                    self.wrong(
                        Rule::OneOnOne,
                        format!("CPU {here} begins to run G {goid} while it runs G {other}"),
                    );
                }
                let elsewhere = (0..64).find(|&c| c != here && self.p_of[c] == Some(p));
                if let Some(other) = elsewhere {
                    self.wrong(
                        Rule::OneOnOne,
                        format!("P {p} is under G {goid} on CPU {here} and in use on CPU {other}"),
                    );
                }
                self.running[here] = Some(goid);
                self.p_of[here] = Some(p);
            }
            State::Call { .. } => self.p_of[here] = None,
            State::Runnable | State::Waiting => {
                if self.running[here] == Some(goid) {
                    self.running[here] = None;
                    self.p_of[here] = None;
                }
            }
        }
    }
}

fn next_seq(seq: u16) -> u16 {
    ((u32::from(seq) + 1) % SEQS) as u16
}

#[cfg(test)]
#[path = "check_tests.rs"]
pub(crate) mod tests;
