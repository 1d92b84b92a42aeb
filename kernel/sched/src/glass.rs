//! Where the runner, which sees this machine's memory from outside, finds Ms, Ps, Gs and queues: the scheduler's part of
//! [`trace::glass::Header`]. Filled in once; after that nothing here runs.

use crate::g::G;
use crate::gqueue::GQueue;
use crate::m::{M, MStats};
use crate::newproc::g_address;
use crate::p::P;
use crate::runq::{RING, RunQueue};
use crate::sched::Sched;
use crate::timers::Timers;
use crate::wakeup::Wakeup;
use base::config::{Preempt, Steal};
use core::mem::offset_of;
use trace::glass::{Copied, RINGO_GLASS};

fn address<T>(of: &T) -> u64 {
    core::ptr::from_ref(of).addr() as u64
}

impl Sched {
    /// Let the runner look in. Once, before other Ms run.
    pub fn make_visible(&self) {
        let mut header = Copied::default();
        self.describe_machine(&mut header);
        self.describe_objects(&mut header);
        self.describe_globals(&mut header);
        RINGO_GLASS.fill(&header)
    }

    fn describe_machine(&self, h: &mut Copied) {
        let machine = arch::bare::glass();
        h.cr3 = machine.cr3;
        h.cpus = self.mcount().into();
        h.cpu_blocks = machine.blocks;
        h.cpu_stride = machine.stride;
        h.cpu_pending = machine.pending;
        h.cpu_count = machine.count;
        h.cpu_interrupts = machine.interrupts;
        let stacks = mem::gstack::glass();
        (h.stacks, h.stack_bytes, h.stack_count) = (stacks.first, stacks.bytes, stacks.count_at);
        let top = (stacks.first + stacks.bytes) as usize;
        h.g_below_top = (top - g_address(top)) as u64;
        h.rings = trace::table_address();
        (h.last_words, h.last_words_len) = trace::glass::last_words_addresses();
    }

    fn describe_objects(&self, h: &mut Copied) {
        h.allm = address(&self.allm[0]);
        h.m_stride = size_of::<M>() as u64;
        let stats = offset_of!(M, stats);
        h.m_p = offset_of!(M, p) as u64;
        h.m_curg = offset_of!(M, curg) as u64;
        h.m_park = offset_of!(M, park) as u64;
        h.m_spinning = offset_of!(M, spinning) as u64;
        h.m_armed_ns = offset_of!(M, armed_ns) as u64;
        h.m_served_ns = offset_of!(M, served_ns) as u64;
        h.m_tray_len = offset_of!(M, tray_len) as u64;
        h.m_created = offset_of!(M, created) as u64;
        h.m_ended = offset_of!(M, ended) as u64;
        h.m_switches = (stats + offset_of!(MStats, switches)) as u64;
        h.m_steals = (stats + offset_of!(MStats, steals)) as u64;
        h.m_preemptions = (stats + offset_of!(MStats, preemptions)) as u64;
        h.m_wakes = (stats + offset_of!(MStats, wakes)) as u64;
        let (runq, timers) = (offset_of!(P, runq), offset_of!(P, timers));
        h.allp = address(&self.allp[0]);
        h.p_stride = size_of::<P>() as u64;
        h.p_m = offset_of!(P, m) as u64;
        h.p_head = (runq + RunQueue::HEAD) as u64;
        h.p_tail = (runq + RunQueue::TAIL) as u64;
        h.p_runnext = (runq + RunQueue::RUNNEXT) as u64;
        h.p_slots = (runq + RunQueue::SLOTS) as u64;
        let woken = offset_of!(P, wakeup) + offset_of!(Wakeup, queue);
        h.p_woken = (woken as u64).wrapping_sub(runq as u64);
        h.ring_slots = RING as u64;
        h.p_call = offset_of!(P, call) as u64;
        h.p_schedtick = offset_of!(P, schedtick) as u64;
        h.p_timer_ns = (timers + Timers::MIN_WHEN) as u64;
        h.p_timers = (timers + Timers::LEN) as u64;
        h.g_id = offset_of!(G, id) as u64;
        h.g_status = offset_of!(G, status) as u64;
        h.g_wait = offset_of!(G, wait_reason) as u64;
        h.g_link = offset_of!(G, schedlink) as u64;
        h.g_seq = offset_of!(G, trace_seq) as u64;
    }

    fn describe_globals(&self, h: &mut Copied) {
        h.nprocs = address(&self.nprocs);
        h.stopped = address(&self.gcwaiting);
        h.pidle = address(&self.pidle);
        h.nmspinning = address(&self.nmspinning);
        h.runqsize = address(&self.runqsize);
        let gl = self.lock.lock();
        h.midle = address(&gl.midle);
        h.stranded = address(&gl.stranded);
        h.runq_head = address(&gl.runq) + GQueue::HEAD as u64;
        h.trays = address(&gl.trays[0]) + GQueue::HEAD as u64;
        h.tray_stride = size_of::<GQueue>() as u64;
        drop(gl);
        h.preempt = match self.cfg.preempt {
            Preempt::Async => 0,
            Preempt::Coop => 1,
            Preempt::Off => 2,
        };
        h.slice_ns = self.slice_ns();
        h.steals = u64::from(self.cfg.steal != Steal::Off);
        h.handoff = u64::from(self.cfg.handoff);
        h.virtual_clock = u64::from(self.clock_is_virtual());
    }
}
