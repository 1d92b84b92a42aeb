//! No usable P idles while a G waits for a CPU.
//!
//! A short while between the two is as it must be: somebody is just looking. Under a busy host that somebody may be stopped
//! for any time. So the rule counts only time in which nobody is about to look:
//!
//! ```text
//!   some P is on the idle list,  and  every CPU runs a G, is in a call, or is halted,  and  one is halted and nobody has woken it
//! ```
//!
//! Of a time in which a CPU that runs a G records nothing only [`STILL_NS`] count, but for machines whose time is their own: the
//! host may have stopped it, with Gs in its hands on their way from one queue to another, and that another CPU wakes up each 10 ms
//! in the meantime and finds nothing says nothing about it. (Where no tick ends a slice it may just as well run for long, and only a
//! time in which nobody records anything is cut so.) And it counts only for Gs whose waker has got past its duty to wake a
//! CPU, which is certain when it records its next event. With a correct scheduler this time is nearly nothing, whatever the host
//! does. It adds up over a G's wait: a busy CPU that looks into its own queue in between is no excuse.

use crate::check::{Known, State};
use std::collections::{BTreeSet, HashMap};
use trace::{Event, Kind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cpu {
    /// Nothing seen of it yet.
    Unknown,
    /// About to find something, as far as is known.
    Looks,
    Runs,
    /// In a blocking call, where it has nothing to record.
    Calls,
    Halted,
}

/// See above: as much as a busy CPU runs at most without a look at its clock.
pub const STILL_NS: u64 = 10_000_000;

#[derive(Debug)]
pub(crate) struct IdleRule {
    limit_ns: Option<u64>,
    still_ns: u64,
    /// Each CPU that runs a G records something within that time, while the host lets it run.
    ticks: bool,
    /// Woken before they had recorded that they halt: they will not halt for long.
    woken: u64,
    cpus: Vec<Cpu>,
    /// Of each CPU's last event.
    last_ns: Vec<u64>,
    idle_ps: u64,
    /// The last event, if nobody looks since then although somebody could.
    nobody_looks_since_ns: Option<u64>,
    /// All such time so far.
    total_ns: u64,
    /// Gs that wait: `total_ns` when they were offered, and number.
    offered: BTreeSet<(u64, u32)>,
    offered_at: HashMap<u32, u64>,
    /// Gs whose waker, this CPU, has not shown that it is past its duty.
    fresh: Vec<Vec<u32>>,
    locked: std::collections::HashSet<u32>,
    pub longest_ns: u64,
}

impl IdleRule {
    pub fn new(cpus: usize, limit_ns: Option<u64>, ticks: bool) -> IdleRule {
        IdleRule {
            limit_ns,
            still_ns: STILL_NS,
            ticks,
            woken: 0,
            cpus: vec![Cpu::Unknown; cpus],
            last_ns: vec![0; cpus],
            idle_ps: 0,
            nobody_looks_since_ns: None,
            total_ns: 0,
            offered: BTreeSet::new(),
            offered_at: HashMap::new(),
            fresh: vec![Vec::new(); cpus],
            locked: std::collections::HashSet::new(),
            longest_ns: 0,
        }
    }

    /// The machine's time is its own: all of it counts.
    pub fn count_all(&mut self) {
        self.still_ns = u64::MAX
    }

    /// Whether the CPU is halted, and nobody has woken it.
    pub fn is_halted(&self, cpu: usize) -> bool {
        self.cpus.get(cpu) == Some(&Cpu::Halted)
    }

    /// Events are missing.
    pub fn forget(&mut self) {
        *self = IdleRule {
            longest_ns: self.longest_ns,
            still_ns: self.still_ns,
            ..IdleRule::new(self.cpus.len(), self.limit_ns, self.ticks)
        }
    }

    /// The next event, after the checker has applied it. A G that has waited for too long.
    pub fn event(&mut self, event: &Event, gs: &HashMap<u32, Known>) -> Option<(u32, u64)> {
        let cpu = event.cpu as usize;
        if cpu >= self.cpus.len() {
            return None;
        }
        let counts = self.nobody_looks_since_ns.is_some();
        self.total_ns = self.total_at(event.ns);
        self.offer(cpu, gs);
        match event.kind {
            Kind::Idle if self.woken >> cpu & 1 == 1 => {}
            Kind::Idle => self.cpus[cpu] = Cpu::Halted,
            Kind::Unidle => {
                self.woken &= !(1 << cpu);
                self.cpus[cpu] = Cpu::Looks
            }
            Kind::Wake => match self.cpus.get_mut(event.arg as usize) {
                Some(woken) if *woken == Cpu::Halted => *woken = Cpu::Looks,
                Some(_) => self.woken |= 1 << (event.arg & 63),
                None => {}
            },
            Kind::ProcIdle => self.idle_ps |= 1 << (event.arg & 63),
            Kind::ProcTake => self.idle_ps &= !(1 << (event.arg & 63)),
            Kind::GoStart => {
                self.woken &= !(1 << cpu);
                self.withdraw(event.goid);
                self.cpus[cpu] = Cpu::Runs
            }
            Kind::GoSyscall => self.cpus[cpu] = Cpu::Calls,
            Kind::GoMove => self.cpus[cpu] = Cpu::Runs,
            Kind::GoSyscallExit if event.arg & 1 == 1 => self.cpus[cpu] = Cpu::Runs,
            Kind::GoYield | Kind::GoPreempt | Kind::GoSyscallExit => {
                self.cpus[cpu] = Cpu::Looks;
                self.fresh[cpu].push(event.goid)
            }
            Kind::GoCreate | Kind::GoReady => self.fresh[cpu].push(event.goid),
            Kind::GoPark => self.cpus[cpu] = Cpu::Looks,
            Kind::GoEnd => {
                self.locked.remove(&event.goid);
                self.cpus[cpu] = Cpu::Looks
            }
            Kind::GoLock => {
                self.locked.insert(event.goid);
            }
            Kind::GoUnlock => {
                self.locked.remove(&event.goid);
            }
            _ => {}
        }
        self.last_ns[cpu] = event.ns;
        self.nobody_looks_since_ns = self.nobody_looks().then_some(event.ns);
        counts.then(|| self.judge(self.total_ns)).flatten()
    }

    /// At the end of the run.
    pub fn finish(&mut self, now_ns: u64) -> Option<(u32, u64)> {
        let total_ns = self.total_at(now_ns);
        self.judge(total_ns)
    }

    fn total_at(&self, now_ns: u64) -> u64 {
        let Some(since_ns) = self.nobody_looks_since_ns else {
            return self.total_ns;
        };
        let runs = |cpu: &usize| self.ticks && self.cpus[*cpu] == Cpu::Runs;
        let seen_ns = (0..self.cpus.len())
            .filter(runs)
            .map(|cpu| self.last_ns[cpu]);
        let counts_to_ns = seen_ns
            .min()
            .unwrap_or(since_ns)
            .saturating_add(self.still_ns);
        self.total_ns + now_ns.min(counts_to_ns).saturating_sub(since_ns)
    }

    /// The CPU goes on: whom it has readied is offered to all.
    fn offer(&mut self, cpu: usize, gs: &HashMap<u32, Known>) {
        let total_ns = self.total_ns;
        for goid in std::mem::take(&mut self.fresh[cpu]) {
            let waits = gs
                .get(&goid)
                .is_some_and(|g| g.state == Some(State::Runnable));
            if waits && !self.locked.contains(&goid) && !self.offered_at.contains_key(&goid) {
                self.offered_at.insert(goid, total_ns);
                self.offered.insert((total_ns, goid));
            }
        }
    }

    fn withdraw(&mut self, goid: u32) {
        if let Some(at) = self.offered_at.remove(&goid) {
            self.offered.remove(&(at, goid));
        }
    }

    /// Although somebody could.
    fn nobody_looks(&self) -> bool {
        let settled = |cpu: &Cpu| matches!(cpu, Cpu::Runs | Cpu::Calls | Cpu::Halted);
        self.idle_ps != 0 && self.cpus.contains(&Cpu::Halted) && self.cpus.iter().all(settled)
    }

    fn judge(&mut self, total_ns: u64) -> Option<(u32, u64)> {
        let &(at, goid) = self.offered.first()?;
        let waited_ns = total_ns - at;
        self.longest_ns = self.longest_ns.max(waited_ns);
        (waited_ns > self.limit_ns?).then(|| {
            self.withdraw(goid); // it is named once
            (goid, waited_ns)
        })
    }
}
