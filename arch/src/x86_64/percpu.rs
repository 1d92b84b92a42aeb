//! The per-CPU block, reached through GS in one instruction each.
//!
//! A G that may be preempted can move to another CPU between any two instructions, so an address computed from GS must not
//! outlive the instruction, unless `preempt_count` is above 0 (I-COUNT). Hence no `&'static Cpu` leaves this module except
//! through [`this`], whose callers hold the count.

use crate::MAX_CPUS;
use core::arch::asm;
use core::mem::offset_of;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Pages that the reserve of one CPU holds at most: the largest stack slot (1 MiB) less its top page.
pub const RESERVE_MAX: usize = 255;

/// IA32_GS_BASE (SDM vol. 4, 2.1).
pub const MSR_GS_BASE: u32 = 0xc000_0101;

/// One CPU's own data. Fields named in assembly are given by `offset_of!`; the atomics exist because interrupt handlers of
/// the same CPU change them, and because others read the counters. No field is written by another CPU once this one runs,
/// but for the words that begin periodic steps (`step.rs`) and `flush_wanted`.
#[repr(C, align(64))]
pub struct Cpu {
    /// Address of this block.
    pub this: AtomicUsize,
    m: AtomicPtr<()>,
    pub curg: AtomicPtr<()>,
    /// Top of the g0 stack.
    pub g0_top: AtomicUsize,
    /// Depth of preemption-off sections. One instruction each way.
    pub count: AtomicU32,
    /// Work bits `PENDING_*`, set by this CPU's own handlers only, so `or` needs no lock prefix.
    pub pending: AtomicU32,
    /// Window for RSP: an injected call goes below it only if RSP is in (lo, hi].
    pub window_lo: AtomicUsize,
    pub window_hi: AtomicUsize,
    /// Virtual address of the local APIC's registers.
    pub lapic: AtomicUsize,
    /// Last eight vectors, the newest in the low byte.
    pub last_vectors: AtomicU64,
    pub id: AtomicU32,
    pub apic_id: AtomicU32,
    /// Fatal reports begun on this CPU; the second one ends the machine at once.
    pub in_fatal: AtomicU32,
    /// Top of the stack on which fatal reports run.
    pub fatal_top: AtomicUsize,
    /// Where the kernel stack of the ring-3 thread that runs here begins again when it comes back; the word there is its context's
    /// address. And its own RSP, for a moment (user/enter.rs).
    pub entry_rsp: AtomicUsize,
    pub user_rsp: AtomicUsize,
    /// Address space in CR3, 0: the kernel's own (user/space.rs, I-HOLD).
    pub space: AtomicUsize,
    /// Context that ran here last, unless its x87 registers have been changed since (user/enter.rs, I-FPU).
    pub user_fpu: AtomicUsize,
    /// How often others want this CPU to forget what it remembers of page tables, which they count, and how often it has.
    pub flush_wanted: AtomicU64,
    pub flush_done: AtomicU64,
    /// Single steps: `step.rs`. RFLAGS of the trampoline of injected calls go with them.
    pub stepping: AtomicU32,
    pub tramp_rflags: AtomicU32,
    pub step_n: AtomicU64,
    pub step_at: AtomicU64,
    pub step_mask: AtomicU64,
    pub n_steps: AtomicU64,
    pub n_interrupts: AtomicU64,
    pub n_injected: AtomicU64,
    pub n_safe_points: AtomicU64,
    pub n_safe_points_by_guard: AtomicU64,
    pub n_unexpected: AtomicU64,
    pub n_page_faults: AtomicU64,
    pub n_page_faults_nested: AtomicU64,
    pub n_page_faults_low: AtomicU64,
    /// Entries of `reserve` in use. Changed by the page fault handler and, on g0 only, by `reserve_push`: on a lazily
    /// backed stack the push itself could fault between its store and its increment, and lose a page.
    pub reserve_n: AtomicUsize,
    /// Ready-made page table entries.
    pub reserve: [AtomicU64; RESERVE_MAX],
}

impl Cpu {
    #[allow(clippy::declare_interior_mutable_const)] // the initial value of an array of statics
    const NEW: Cpu = Cpu {
        this: AtomicUsize::new(0),
        m: AtomicPtr::new(core::ptr::null_mut()),
        curg: AtomicPtr::new(core::ptr::null_mut()),
        g0_top: AtomicUsize::new(0),
        count: AtomicU32::new(1),
        pending: AtomicU32::new(0),
        window_lo: AtomicUsize::new(0),
        window_hi: AtomicUsize::new(0),
        lapic: AtomicUsize::new(0),
        last_vectors: AtomicU64::new(0),
        id: AtomicU32::new(0),
        apic_id: AtomicU32::new(0),
        in_fatal: AtomicU32::new(0),
        fatal_top: AtomicUsize::new(0),
        entry_rsp: AtomicUsize::new(0),
        user_rsp: AtomicUsize::new(0),
        space: AtomicUsize::new(0),
        user_fpu: AtomicUsize::new(0),
        flush_wanted: AtomicU64::new(0),
        flush_done: AtomicU64::new(0),
        n_interrupts: AtomicU64::new(0),
        n_injected: AtomicU64::new(0),
        n_safe_points: AtomicU64::new(0),
        stepping: AtomicU32::new(0),
        tramp_rflags: AtomicU32::new(0x202),
        step_n: AtomicU64::new(0),
        step_at: AtomicU64::new(0),
        step_mask: AtomicU64::new(0),
        n_steps: AtomicU64::new(0),
        n_safe_points_by_guard: AtomicU64::new(0),
        n_unexpected: AtomicU64::new(0),
        n_page_faults: AtomicU64::new(0),
        n_page_faults_nested: AtomicU64::new(0),
        n_page_faults_low: AtomicU64::new(0),
        reserve_n: AtomicUsize::new(0),
        reserve: [const { AtomicU64::new(0) }; RESERVE_MAX],
    };
}

/// All per-CPU blocks. The name is a contract: the runner finds the last vectors of a dead machine through it.
#[unsafe(no_mangle)]
pub static RINGO_CPUS: [Cpu; MAX_CPUS] = [Cpu::NEW; MAX_CPUS];

/// Where the runner finds what in [`RINGO_CPUS`].
#[repr(C)]
pub struct PostMortem {
    magic: u64,
    cpu_stride: u32,
    max_cpus: u32,
    off_last_vectors: u32,
    off_curg: u32,
    off_preempt_count: u32,
    off_pending: u32,
}

/// See [`PostMortem`]; the magic reads "RNGOPM01" in memory.
#[unsafe(no_mangle)]
#[used]
pub static RINGO_POSTMORTEM: PostMortem = PostMortem {
    magic: 0x3130_4d50_4f47_4e52,
    cpu_stride: size_of::<Cpu>() as u32,
    max_cpus: MAX_CPUS as u32,
    off_last_vectors: offset_of!(Cpu, last_vectors) as u32,
    off_curg: offset_of!(Cpu, curg) as u32,
    off_preempt_count: offset_of!(Cpu, count) as u32,
    off_pending: offset_of!(Cpu, pending) as u32,
};

/// Offsets of the pending bits, the preemption count and the number of interrupts in a block.
pub fn glass_offsets() -> (u64, u64, u64) {
    (
        offset_of!(Cpu, pending) as u64,
        offset_of!(Cpu, count) as u64,
        offset_of!(Cpu, n_interrupts) as u64,
    )
}

/// Block of CPU `id`.
pub fn cpu(id: usize) -> &'static Cpu {
    &RINGO_CPUS[id]
}

/// The calling CPU's block; the caller keeps `preempt_count` above 0 (or IF=0) for as long as it means "mine".
#[inline(always)]
pub fn this() -> &'static Cpu {
    let p: *const Cpu;
    // SAFETY: GS base is the block's address from `attach` on, and the block holds it in its first word.
    unsafe {
        asm!("mov {}, gs:[{o}]", out(reg) p, o = const offset_of!(Cpu, this), options(nostack, preserves_flags, readonly));
        &*p
    }
}

/// Makes block `id` the calling CPU's own.
///
/// # Safety
/// Once per CPU, interrupts off, before anything else of this module; `id` is no other CPU's.
pub unsafe fn attach(id: usize, apic_id: u32) {
    let c = cpu(id);
    let address = c as *const Cpu as usize;
    c.this.store(address, Relaxed);
    c.id.store(id as u32, Relaxed);
    c.apic_id.store(apic_id, Relaxed);
    x86_64::registers::model_specific::GsBase::write(x86_64::VirtAddr::new(address as u64));
}

/// Number of the calling CPU, 0 being the one that booted. Stays right only while `preempt_count` is above 0.
#[inline(always)]
pub fn cpu_id() -> usize {
    let id: u32;
    // SAFETY: one load from this CPU's block.
    unsafe {
        asm!("mov {:e}, gs:[{o}]", out(reg) id, o = const offset_of!(Cpu, id), options(nostack, preserves_flags, readonly))
    };
    id as usize
}

/// The kernel's M of this CPU, null before [`set_m_ptr`].
#[inline(always)]
pub fn m_ptr() -> *mut () {
    let p;
    // SAFETY: one load from this CPU's block.
    unsafe {
        asm!("mov {}, gs:[{o}]", out(reg) p, o = const offset_of!(Cpu, m), options(nostack, preserves_flags, readonly))
    };
    p
}

/// Sets what [`m_ptr`] returns on this CPU.
///
/// # Safety
/// `preempt_count` is above 0; the kernel keeps `m` alive for good.
#[inline(always)]
pub unsafe fn set_m_ptr(m: *mut ()) {
    // SAFETY: one store to this CPU's block.
    unsafe {
        asm!("mov gs:[{o}], {}", in(reg) m, o = const offset_of!(Cpu, m), options(nostack, preserves_flags))
    };
}

/// The G that runs here, null on g0 and while idle. One instruction, so it is right for the G that asks, wherever it runs.
#[inline(always)]
pub fn curg() -> *mut () {
    let p;
    // SAFETY: one load from this CPU's block.
    unsafe {
        asm!("mov {}, gs:[{o}]", out(reg) p, o = const offset_of!(Cpu, curg), options(nostack, preserves_flags, readonly))
    };
    p
}

/// Sets what [`curg`] returns on this CPU.
///
/// # Safety
/// On g0 (or before the first G), with `preempt_count` above 0.
#[inline(always)]
pub unsafe fn set_curg(g: *mut ()) {
    // SAFETY: one store to this CPU's block.
    unsafe {
        asm!("mov gs:[{o}], {}", in(reg) g, o = const offset_of!(Cpu, curg), options(nostack, preserves_flags))
    };
}
