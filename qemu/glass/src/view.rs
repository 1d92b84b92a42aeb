//! What each M and P does at an instant. The machine runs meanwhile, so what belongs together may be of slightly different
//! moments: good for looking and for conclusions that hold over many looks.

use crate::ram::{Ram, Space, Table, u32_of, u64_of};
use trace::glass::{Copied, WORDS};

/// A note in the page table entry of a slot's lowest page: its G may be looked at (`mem`, `slots.rs`).
const LISTED: u64 = 0;
/// `pending` bit of the timer (`arch`).
const PENDING_TIMER: u32 = 1;
/// Longest queue that is followed.
const QUEUE_LIMIT: usize = 1 << 22;

/// State of a G, by Go's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the kernel's `GStatus` says it
pub enum GState {
    Idle,
    Runnable,
    Running,
    Syscall,
    Waiting,
    Dead,
}

impl GState {
    /// All, in the order of reports.
    pub const ALIVE: [GState; 4] = [
        GState::Running,
        GState::Runnable,
        GState::Waiting,
        GState::Syscall,
    ];

    fn from_number(n: u32) -> Option<GState> {
        Some(match n {
            0 => GState::Idle,
            1 => GState::Runnable,
            2 => GState::Running,
            3 => GState::Syscall,
            4 => GState::Waiting,
            6 => GState::Dead,
            _ => return None,
        })
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            GState::Idle => "idle",
            GState::Runnable => "runnable",
            GState::Running => "running",
            GState::Syscall => "in calls",
            GState::Waiting => "waiting",
            GState::Dead => "dead",
        }
    }
}

/// A G.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GView {
    /// Its address in the machine.
    pub at: u64,
    /// Its number.
    pub id: u64,
    /// Its state.
    pub state: GState,
    /// Number of the last event about it, as far as events hold it.
    pub seq: u16,
}

/// A CPU and its M.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuView {
    /// Number of the P that it holds.
    pub p: Option<usize>,
    /// Number of the G that it runs.
    pub g: Option<u64>,
    /// That G is in a blocking call.
    pub in_call: bool,
    /// Halted, or about to.
    pub parked: bool,
    /// Looks for work.
    pub spinning: bool,
    /// A timer interrupt came and was not served yet.
    pub timer_pending: bool,
    /// Preemption count.
    pub count: u32,
    /// Interrupts taken.
    pub interrupts: u64,
    /// Deadline for which its timer is armed.
    pub armed_ns: Option<u64>,
    /// When it last served its timer.
    pub served_ns: u64,
    /// Gs that are locked to it and wait for it.
    pub tray: u32,
    /// First G of its tray, an address, 0 for none.
    pub tray_head: u64,
    /// Counts since the start: switches, steals, slices ended by force, wake-ups of others, Gs made and ended.
    pub switches: u64,
    /// See [`Self::switches`].
    pub steals: u64,
    /// See [`Self::switches`].
    pub preemptions: u64,
    /// See [`Self::switches`].
    pub wakes: u64,
    /// See [`Self::switches`].
    pub created: u64,
    /// See [`Self::switches`].
    pub ended: u64,
}

/// A queue of a P.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueView {
    /// Head of the ring, which runs on for ever, and how many Gs the ring holds.
    pub head: u32,
    /// See [`Self::head`].
    pub queued: u32,
    /// First G of the ring, an address, 0 for none.
    pub first: u64,
    /// The G in `runnext`, an address, 0 for none.
    pub runnext: u64,
}

/// A P.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PView {
    /// The CPU that holds it.
    pub cpu: Option<usize>,
    /// On the idle list.
    pub idle: bool,
    /// With nobody to run it.
    pub stranded: bool,
    /// Its G is in a blocking call.
    pub in_call: bool,
    /// Its queue.
    pub queue: QueueView,
    /// The queue of those that the clock woke; its `runnext` is the G that gave way.
    pub woken: QueueView,
    /// Slices begun.
    pub schedtick: u32,
    /// Its earliest timer.
    pub timer_ns: Option<u64>,
    /// How many timers it has.
    pub timers: u32,
}

/// All that is not a G.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// CPUs by number.
    pub cpus: Vec<CpuView>,
    /// Ps in use.
    pub ps: Vec<PView>,
    /// The world is stopped, or being stopped.
    pub stopped: bool,
    /// Length of the global queue, and its first G, an address, 0 for none.
    pub global: u32,
    /// See [`Self::global`].
    pub global_first: u64,
    /// CPUs without a P that are listed as idle, a bit each.
    pub idle_cpus: u64,
    /// CPUs that look for work.
    pub spinning: u32,
}

/// A machine whose kernel has filled in its header.
#[derive(Debug)]
pub struct Glass {
    space: Space,
    header: Copied,
}

impl Glass {
    /// Looks for the header at the physical address `header`. Gives the RAM back while it is not filled in.
    ///
    /// # Errors
    /// The RAM, to try again later.
    pub fn open(ram: Ram, header: u64) -> Result<Glass, Ram> {
        let mut bytes = vec![0; WORDS * 8];
        let there = ram.read(header, &mut bytes);
        let words: Vec<u64> = bytes.chunks_exact(8).map(|w| u64_of(w, 0)).collect();
        match Copied::parse(&words) {
            Some(header) if there && header.cpus != 0 && header.cpus <= 64 => Ok(Glass {
                space: Space::new(ram, header.cr3),
                header,
            }),
            _ => Err(ram),
        }
    }

    /// Its header.
    pub fn header(&self) -> &Copied {
        &self.header
    }

    /// Its memory.
    pub fn space(&self) -> &Space {
        &self.space
    }

    fn object(&self, at: u64, bytes: u64) -> Option<Vec<u8>> {
        let mut copy = vec![0; bytes as usize];
        self.space.read(at, &mut copy).then_some(copy)
    }

    /// The machine at this instant; `None` if its memory makes no sense.
    pub fn snapshot(&self) -> Option<Snapshot> {
        let h = &self.header;
        let procs = self.space.half(h.nprocs)?.min(h.cpus as u32);
        let (idle, stranded) = (self.space.word(h.pidle)?, self.space.word(h.stranded)?);
        let cpus: Option<Vec<_>> = (0..h.cpus).map(|cpu| self.cpu(cpu)).collect();
        let p = |n: u64| {
            let mut p = self.p(n)?;
            p.idle = idle >> n & 1 == 1;
            p.stranded = stranded >> n & 1 == 1;
            Some(p)
        };
        let ps: Option<Vec<_>> = (0..u64::from(procs)).map(p).collect();
        let mut stopped = [0];
        self.space.read(h.stopped, &mut stopped).then_some(())?;
        Some(Snapshot {
            cpus: cpus?,
            ps: ps?,
            stopped: stopped != [0],
            global: self.space.half(h.runqsize)?,
            global_first: self.space.word(h.runq_head)?,
            idle_cpus: self.space.word(h.midle)?,
            spinning: self.space.half(h.nmspinning)?,
        })
    }

    fn cpu(&self, cpu: u64) -> Option<CpuView> {
        let h = &self.header;
        let m = self.object(h.allm + cpu * h.m_stride, h.m_stride)?;
        let block = h.cpu_blocks + cpu * h.cpu_stride;
        let (p, curg) = (u64_of(&m, h.m_p), u64_of(&m, h.m_curg));
        let g = (curg != 0).then(|| self.g(curg)).flatten();
        Some(CpuView {
            p: self.index_of_p(p),
            g: g.map(|g| g.id),
            in_call: g.is_some_and(|g| g.state == GState::Syscall),
            parked: u32_of(&m, h.m_park) == 1,
            spinning: m[h.m_spinning as usize] != 0,
            timer_pending: self.space.half(block + h.cpu_pending)? & PENDING_TIMER != 0,
            count: self.space.half(block + h.cpu_count)?,
            interrupts: self.space.word(block + h.cpu_interrupts)?,
            armed_ns: some_time(u64_of(&m, h.m_armed_ns)),
            served_ns: u64_of(&m, h.m_served_ns),
            tray: u32_of(&m, h.m_tray_len),
            tray_head: self.space.word(h.trays + cpu * h.tray_stride)?,
            switches: u64_of(&m, h.m_switches),
            steals: u64_of(&m, h.m_steals),
            preemptions: u64_of(&m, h.m_preemptions),
            wakes: u64_of(&m, h.m_wakes),
            created: u64_of(&m, h.m_created),
            ended: u64_of(&m, h.m_ended),
        })
    }

    fn index_of_p(&self, at: u64) -> Option<usize> {
        let h = &self.header;
        (at >= h.allp).then(|| ((at - h.allp) / h.p_stride) as usize)
    }

    fn p(&self, n: u64) -> Option<PView> {
        let h = &self.header;
        let p = self.object(h.allp + n * h.p_stride, h.p_stride)?;
        let queue = |from: u64| {
            let at = |offset: u64| offset.wrapping_add(from);
            let (head, tail) = (u32_of(&p, at(h.p_head)), u32_of(&p, at(h.p_tail)));
            let queued = tail.wrapping_sub(head).min(h.ring_slots as u32);
            let slot = at(h.p_slots) + u64::from(head) % h.ring_slots * 8;
            QueueView {
                head,
                queued,
                first: if queued == 0 { 0 } else { u64_of(&p, slot) },
                runnext: u64_of(&p, at(h.p_runnext)),
            }
        };
        let m = u64_of(&p, h.p_m);
        Some(PView {
            cpu: (m >= h.allm).then(|| ((m - h.allm) / h.m_stride) as usize),
            in_call: u32_of(&p, h.p_call) != 0,
            queue: queue(0),
            woken: queue(h.p_woken),
            schedtick: u32_of(&p, h.p_schedtick),
            timer_ns: some_time(u64_of(&p, h.p_timer_ns)),
            timers: u32_of(&p, h.p_timers),
            ..PView::default()
        })
    }

    /// The G at an address.
    pub fn g(&self, at: u64) -> Option<GView> {
        self.g_of(at, &self.object(at, self.header.g_below_top)?)
    }

    /// The same from the bytes of a G.
    fn g_of(&self, at: u64, bytes: &[u8]) -> Option<GView> {
        let h = &self.header;
        Some(GView {
            at,
            id: u64_of(bytes, h.g_id),
            state: GState::from_number(u32_of(bytes, h.g_status))?,
            seq: (u32_of(bytes, h.g_seq) % trace::SEQS) as u16,
        })
    }

    /// All Gs that are not dead, in no order.
    pub fn gs(&self) -> Vec<GView> {
        let h = &self.header;
        let slots = self.space.word(h.stack_count).unwrap_or(0);
        let mut all = Vec::new();
        let mut table: Option<Table> = None;
        let mut bytes = vec![0; h.g_below_top as usize];
        for slot in 0..slots {
            let base = h.stacks + slot * h.stack_bytes;
            if !table.as_ref().is_some_and(|table| table.covers(base)) {
                table = self.space.table(base);
            }
            // Slots are no larger than what a table covers, and aligned; the G lies on the topmost page.
            let at = base + h.stack_bytes - h.g_below_top;
            let Some(table) = table.as_ref().filter(|t| t.entry(base) == LISTED) else {
                continue;
            };
            let there = table.physical(at);
            if there.is_some_and(|phys| self.space.ram().read(phys, &mut bytes)) {
                let g = self.g_of(at, &bytes);
                all.extend(g.filter(|g| !matches!(g.state, GState::Dead | GState::Idle)));
            }
        }
        all
    }

    /// Addresses of all Gs that lie on a queue.
    pub fn queued(&self, at: &Snapshot) -> Vec<u64> {
        let h = &self.header;
        let mut all = Vec::new();
        for (n, p) in at.ps.iter().enumerate() {
            for (queue, from) in [(p.queue, 0), (p.woken, h.p_woken)] {
                all.extend((queue.runnext != 0).then_some(queue.runnext));
                let slots = (h.allp + n as u64 * h.p_stride + h.p_slots).wrapping_add(from);
                let slot =
                    |i: u32| slots + u64::from(queue.head.wrapping_add(i)) % h.ring_slots * 8;
                all.extend((0..queue.queued).filter_map(|i| self.space.word(slot(i))));
            }
        }
        let heads = at.cpus.iter().map(|cpu| cpu.tray_head);
        for head in heads.chain([at.global_first]) {
            let mut g = head;
            while g != 0 && all.len() < QUEUE_LIMIT {
                all.push(g);
                g = self.space.word(g + h.g_link).unwrap_or(0);
            }
        }
        all
    }

    /// The last words of a machine that failed.
    pub fn last_words(&self) -> String {
        let bytes = self.space.word(self.header.last_words_len).unwrap_or(0);
        let text = self.object(self.header.last_words, bytes.min(4096));
        String::from_utf8_lossy(&text.unwrap_or_default()).into_owned()
    }
}

fn some_time(ns: u64) -> Option<u64> {
    (ns != u64::MAX).then_some(ns)
}
