//! `schedtrace=MS` and `scheddetail=1`: the scheduler's state on a line every so many milliseconds, or on one for each P,
//! M and G, in Go's format to the letter, since tools parse it (Go: proc.go, `schedtrace`).
//!
//! CPU 0 prints, when its timer says so: as part of sysmon's duties, and without sysmon all the same. It prints on g0, with
//! preemption off; others go on meanwhile, so the figures of a line need not agree with each other. Where it reports a
//! field of Go's that this machine has no such thing for, that has the value that it has in Go when nothing happens:
//! `mallocing=0`, `preemptoff=`.

use crate::g::GRef;
use crate::m::M;
use crate::p::P;
use crate::sched::Sched;
use crate::timers::NEVER;
use base::config::Config;
use base::shim::Ordering::*;
use core::fmt::{self, Write};
use core::sync::atomic::AtomicU64;

/// Lines about Gs at most: preemption is off while they are printed.
const GS_SHOWN: usize = 1000;

/// When the next line is due.
pub(crate) struct SchedTrace {
    next_ns: AtomicU64,
    period_ns: u64,
    /// How often it was printed. CPU 0 alone writes it.
    printed: AtomicU64,
}

impl SchedTrace {
    pub fn new(cfg: &Config) -> Self {
        let period_ns = u64::from(cfg.schedtrace) * 1_000_000;
        // Go prints the first line as soon as it can.
        let next_ns = if period_ns == 0 { NEVER } else { 0 };
        Self {
            next_ns: AtomicU64::new(next_ns),
            period_ns,
            printed: AtomicU64::new(0),
        }
    }

    /// [`NEVER`] without `schedtrace`.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        self.next_ns.load(Relaxed)
    }
}

impl Sched {
    /// How often `schedtrace` has printed the scheduler's state.
    pub fn schedtraces(&self) -> u64 {
        self.schedtrace.printed.load(Relaxed)
    }

    /// CPU 0 looks at the clock.
    pub(crate) fn schedtrace_if_due(&self, _m0: &M, now_ns: u64) {
        let t = &self.schedtrace;
        if now_ns < t.next_ns() {
            return;
        }
        t.next_ns.store(now_ns + t.period_ns, Relaxed);
        self.print_schedtrace(now_ns, self.cfg.scheddetail);
        t.printed.store(t.printed.load(Relaxed) + 1, Relaxed)
    }

    #[cold]
    fn print_schedtrace(&self, now_ns: u64, detailed: bool) {
        let mut out = Control::new();
        let _ = if detailed {
            self.write_detail(&mut out, now_ns)
        } else {
            self.write_line(&mut out, now_ns)
        };
    }

    /// Go's line for `schedtrace` alone.
    pub(crate) fn write_line(&self, out: &mut impl Write, now_ns: u64) -> fmt::Result {
        self.write_head(out, now_ns)?;
        out.write_str(" [ ")?;
        for p in self.ps() {
            write!(out, "{} ", queued(p))?
        }
        out.write_str("] schedticks=[ ")?;
        for p in self.ps() {
            write!(out, "{} ", p.schedtick())?
        }
        out.write_str("]\n")
    }

    fn ps(&self) -> impl Iterator<Item = &P> {
        self.allp.iter().take(self.procs() as usize)
    }
    fn ms(&self) -> impl Iterator<Item = &M> {
        self.allm.iter().take(self.mcount() as usize)
    }

    fn write_head(&self, out: &mut impl Write, now_ns: u64) -> fmt::Result {
        write!(
            out,
            "SCHED {}ms: gomaxprocs={} idleprocs={} threads={} spinningthreads={} needspinning={} idlethreads={} runqueue={}",
            now_ns / 1_000_000,
            self.procs(),
            self.npidle(),
            self.mcount(),
            self.nmspinning(),
            self.needspinning.load(Relaxed),
            self.idle_ms().count_ones(),
            self.runqsize()
        )
    }

    /// Ms that run nothing and hold no P, a bit each. Without the lock, which a stopped CPU may hold for ever when a fatal
    /// report asks.
    fn idle_ms(&self) -> u64 {
        self.ms()
            .filter(|m| m.p().is_none() && m.curg().is_none())
            .fold(0, |bits, m| bits | 1 << m.id())
    }

    /// Go's lines for `scheddetail`.
    pub fn write_detail(&self, out: &mut impl Write, now_ns: u64) -> fmt::Result {
        self.write_ps_and_ms(out, now_ns)?;
        let mut gs = 0;
        let mut result = Ok(());
        self.for_each_g(|g| {
            gs += 1;
            if gs <= GS_SHOWN && result.is_ok() {
                result = write_g(out, g)
            }
        });
        if gs > GS_SHOWN {
            writeln!(out, "  … and {} more Gs", gs - GS_SHOWN)?
        }
        result
    }

    /// The same without the Gs.
    pub fn write_ps_and_ms(&self, out: &mut impl Write, now_ns: u64) -> fmt::Result {
        let mut lockedg = [0u64; arch::MAX_CPUS];
        self.for_each_g(|g| {
            if let Some(m) = g.locked_to() {
                lockedg[m.id()] = g.id()
            }
        });
        let idle = self.idle_ms();
        let idle_locked = self
            .ms()
            .filter(|m| idle & (1 << m.id()) != 0 && lockedg[m.id()] != 0);
        self.write_head(out, now_ns)?;
        writeln!(
            out,
            " gcwaiting={} nmidlelocked={} stopwait={} sysmonwait={} netpollwaiters={}",
            self.gcwaiting.load(Relaxed),
            idle_locked.count(),
            self.stopwait.load(Relaxed),
            self.sysmon.wait.load(Relaxed),
            self.netpoll_waiters()
        )?;
        self.ps().try_for_each(|p| self.write_p(out, p))?;
        self.ms().try_for_each(|m| write_m(out, m, lockedg[m.id()]))
    }

    fn write_p(&self, out: &mut impl Write, p: &P) -> fmt::Result {
        let idle = self.pidle.load(Relaxed) & (1 << p.id()) != 0;
        // Go's numbers: idle 0, running 1, stopped 3. A P that waits for an M with work in it is none of them in Go.
        let status = match (idle, p.is_running()) {
            (true, _) => 0,
            (_, true) => 1,
            _ if self.gcwaiting.load(Relaxed) => 3,
            _ => 0,
        };
        writeln!(
            out,
            "  P{}: status={status} schedtick={} syscalltick={} m={} runqsize={} gfreecnt={} timerslen={}",
            p.id(),
            p.schedtick(),
            p.syscalltick.load(Relaxed),
            OrNil(p.holder().map(|m| m.id() as u64)),
            queued(p),
            p.gfreecnt.load(Relaxed),
            p.timers.len()
        )
    }
}

/// Gs that wait on a P, but for `runnext`: Go's `runqsize`. Those that were woken wait in a queue of their own.
fn queued(p: &P) -> u32 {
    p.runq.len() + p.wakeup.queue.len()
}

fn write_m(out: &mut impl Write, m: &M, lockedg: u64) -> fmt::Result {
    writeln!(
        out,
        "  M{}: p={} curg={} mallocing=0 throwing=0 preemptoff= locks={} dying=0 spinning={} blocked={} lockedg={}",
        m.id(),
        OrNil(m.p().map(|p| p.id() as u64)),
        OrNil(m.curg().map(|g| g.id())),
        locks_of(m),
        m.spinning.load(Relaxed),
        m.is_parked(),
        OrNil((lockedg != 0).then_some(lockedg))
    )
}

/// How many guards keep preemption off on the CPU of `m` (Go: `m.locks`). Known to the CPU alone on the host machine.
#[cfg(ringo_kernel)]
fn locks_of(m: &M) -> u32 {
    arch::bare::preempt_count_of(m.id())
}
#[cfg(not(ringo_kernel))]
fn locks_of(m: &M) -> u32 {
    let here = core::ptr::eq(m, arch::m_ptr() as *const M);
    if here { arch::preempt_count() } else { 0 }
}

fn write_g(out: &mut impl Write, g: GRef) -> fmt::Result {
    // SAFETY: null or an M, which lives for ever.
    let m = unsafe { g.m.load(Relaxed).as_ref() };
    writeln!(
        out,
        "  G{}: status={}({}) m={} lockedm={}",
        g.id(),
        g.status() as u32,
        g.wait(),
        OrNil(m.map(|m| m.id() as u64)),
        OrNil(g.locked_to().map(|m| m.id() as u64))
    )
}

/// A number, or `nil`.
struct OrNil(Option<u64>);

impl fmt::Display for OrNil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(n) => n.fmt(f),
            None => f.write_str("nil"),
        }
    }
}

/// The control channel by whole lines, without the heap.
struct Control {
    text: [u8; 2048],
    used: usize,
}

impl Control {
    fn new() -> Self {
        Self {
            text: [0; 2048],
            used: 0,
        }
    }
    fn flush(&mut self) {
        arch::control_write(&self.text[..self.used]);
        self.used = 0
    }
}

impl Write for Control {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        for &b in s.as_bytes() {
            self.text[self.used] = b;
            self.used += 1;
            if self.used == self.text.len() {
                self.flush()
            }
        }
        // As many whole lines as fit go out at once; a line stays in one piece if it fits at all.
        if s.ends_with('\n') && self.used > self.text.len() - 256 {
            self.flush()
        }
        Ok(())
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.flush()
    }
}
