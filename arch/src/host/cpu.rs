//! A thread's block: what the bare machine keeps behind GS.

use super::park::Parker;
use super::stacks;
use core::cell::{Cell, RefCell};
use core::ptr;
use std::sync::Mutex;
use std::thread::JoinHandle;

/// Bytes of a thread's g0 stack, its guard page among them; the OS backs only what is touched.
const G0_BYTES: usize = 1 << 20;
/// Bytes of the stack on which signals are handled: enough for a report with a backtrace.
const SIGNAL_STACK_BYTES: usize = 256 << 10;

/// What one thread of the host knows as a CPU. Only that thread touches it; what others touch is in its [`Parker`].
pub(super) struct Cpu {
    pub id: Cell<usize>,
    pub num_cpus: Cell<usize>,
    pub m_ptr: Cell<*mut ()>,
    pub curg: Cell<*mut ()>,
    /// `preempt_count` (I-COUNT).
    pub count: Cell<u32>,
    /// The flag that stands for RFLAGS.IF.
    pub irqs_on: Cell<bool>,
    /// Guard drops until the next look at the clock while a timer is armed, see `preempt`.
    pub drops_to_look: Cell<u32>,
    /// When the timer fires, ns; `u64::MAX`: not armed.
    pub deadline_ns: Cell<u64>,
    /// Top of the g0 stack.
    pub g0_top: usize,
    /// Range of the g0 stack's guard page.
    pub g0_guard: (usize, usize),
    /// Lowest address of the signal stack.
    pub signal_stack: usize,
    /// Stack pointer of the caller of `start_g0`, 0 outside of it.
    pub g0_caller: Cell<usize>,
    /// A fault of this thread is being reported.
    pub in_fault: Cell<bool>,
    /// What the other threads see of this one.
    pub parker: &'static Parker,
    /// Threads that this one started as CPUs.
    pub started: RefCell<Vec<JoinHandle<()>>>,
}

/// Blocks of threads that ended, for threads that come. They are never freed, since a [`CpuRef`](super::CpuRef) may
/// still name one: it then wakes a stranger, who looks, finds nothing, and sleeps again.
static RETIRED: Mutex<Vec<Retired>> = Mutex::new(Vec::new());
struct Retired(&'static Cpu);
// SAFETY: a block in the list has no thread that uses it; the next owner gets it through the lock.
unsafe impl Send for Retired {}

#[cfg(ringo_shuttle)]
use by_task::{CPU, RETIRE};

/// All tasks of a model share a thread; each has a block of its own, for as long as the thread lives.
#[cfg(ringo_shuttle)]
mod by_task {
    use super::{Cpu, ptr};
    use core::cell::RefCell;

    std::thread_local!(static CPUS: RefCell<Vec<*const Cpu>> = const { RefCell::new(Vec::new()) });

    pub struct OfTask;
    pub static CPU: OfTask = OfTask;
    pub static RETIRE: OfTask = OfTask;

    impl OfTask {
        pub fn get(&self) -> *const Cpu {
            super::super::model::count_look();
            let task = usize::from(shuttle::current::me());
            CPUS.with_borrow(|cpus| cpus.get(task).copied().unwrap_or(ptr::null()))
        }
        pub fn set(&self, cpu: *const Cpu) {
            let task = usize::from(shuttle::current::me());
            CPUS.with_borrow_mut(|cpus| {
                cpus.resize(cpus.len().max(task + 1), ptr::null());
                cpus[task] = cpu
            })
        }
        /// Blocks stay.
        pub fn try_with(&self, _: impl FnOnce(&())) -> Result<(), ()> {
            Ok(())
        }
    }
}

#[cfg(not(ringo_shuttle))]
thread_local! {
    /// No destructor, constant at birth: the access is one load, allowed at any time, a signal handler included.
    static CPU: Cell<*const Cpu> = const { Cell::new(ptr::null()) };
    /// Gives the block back when the thread ends.
    static RETIRE: Retire = const { Retire };
}
#[cfg(not(ringo_shuttle))]
struct Retire;
#[cfg(not(ringo_shuttle))]
impl Drop for Retire {
    fn drop(&mut self) {
        let cpu = CPU.replace(ptr::null());
        // SAFETY: set by `create` from a leaked box; this thread, the only user, takes its leave of it here.
        if let Some(cpu) = unsafe { cpu.as_ref() }
            && let Ok(mut list) = RETIRED.lock()
        {
            list.push(Retired(cpu));
        }
    }
}

/// The block of the thread that runs this, made at the first call. Not to be held over a switch of stacks.
#[inline(never)]
pub(super) fn this() -> &'static Cpu {
    let cpu = CPU.get();
    // SAFETY: empty. Without `pure` or `nomem` it counts as a write to memory, so that LLVM neither merges two calls
    // of this function nor finds it free of effects when it looks across functions and crates.
    unsafe { core::arch::asm!("", options(nostack, preserves_flags)) };
    // SAFETY: null or from a leaked box.
    match unsafe { cpu.as_ref() } {
        Some(cpu) => cpu,
        None => create(),
    }
}

/// The block of this thread if it has one. For signal handlers.
#[inline(never)]
pub(super) fn this_if_any() -> Option<&'static Cpu> {
    // SAFETY: null or from a leaked box.
    unsafe { CPU.get().as_ref() }
}

#[cold]
fn create() -> &'static Cpu {
    let retired = RETIRED.lock().ok().and_then(|mut list| list.pop());
    let cpu = match retired {
        Some(Retired(cpu)) => cpu,
        None => {
            let g0 = stacks::map_guarded(G0_BYTES).expect("no address space for a g0 stack");
            let signals = stacks::map_guarded(SIGNAL_STACK_BYTES)
                .expect("no address space for a signal stack");
            Box::leak(Box::new(Cpu {
                id: Cell::new(0),
                num_cpus: Cell::new(1),
                m_ptr: Cell::new(ptr::null_mut()),
                curg: Cell::new(ptr::null_mut()),
                count: Cell::new(0),
                irqs_on: Cell::new(true),
                drops_to_look: Cell::new(0),
                deadline_ns: Cell::new(u64::MAX),
                g0_top: g0.1,
                g0_guard: (g0.0 - stacks::PAGE_BYTES, g0.0),
                signal_stack: signals.0,
                g0_caller: Cell::new(0),
                in_fault: Cell::new(false),
                parker: Box::leak(Box::new(Parker::new())),
                started: RefCell::new(Vec::new()),
            }))
        }
    };
    if cfg!(not(ringo_shuttle)) {
        cpu.reset() // in models `start_cpu` does: a step here would be one that later runs have not
    }
    CPU.set(cpu);
    // While the thread's locals are being destroyed there is no second chance: the block then stays with the thread.
    let _ = RETIRE.try_with(|_| ());
    cpu
}

impl Cpu {
    /// The state of a plain thread: CPU 0 of a machine of one.
    pub(super) fn reset(&self) {
        self.id.set(0);
        self.num_cpus.set(1);
        self.m_ptr.set(ptr::null_mut());
        self.curg.set(ptr::null_mut());
        self.count.set(0);
        self.irqs_on.set(true);
        self.drops_to_look.set(0);
        self.deadline_ns.set(u64::MAX);
        self.g0_caller.set(0);
        self.in_fault.set(false);
        self.parker.clear();
        drop(self.started.take()); // whoever had this block has not joined them: they go on without
    }

    /// Usable bytes of the signal stack.
    pub fn signal_stack_bytes(&self) -> usize {
        SIGNAL_STACK_BYTES - stacks::PAGE_BYTES
    }
}

/// Number of the CPU on which the caller runs, 0 on a thread that no machine started.
#[inline]
pub fn cpu_id() -> usize {
    this().id.get()
}

/// CPUs of the machine to which the calling thread belongs.
#[inline]
pub fn num_cpus() -> usize {
    this().num_cpus.get()
}

/// The pointer that the scheduler left with this CPU: its M.
#[inline]
pub fn m_ptr() -> *mut () {
    this().m_ptr.get()
}

/// Leaves the scheduler's M with this CPU.
///
/// # Safety
/// The caller keeps the pointee alive until it stores another pointer. Count at least 1 (I-COUNT).
#[inline]
pub unsafe fn set_m_ptr(m: *mut ()) {
    this().m_ptr.set(m);
}

/// The G that runs on this CPU; null on g0, while idle, and on a thread that is no M.
#[inline]
pub fn curg() -> *mut () {
    this().curg.get()
}

/// Says which G runs on this CPU.
///
/// # Safety
/// `g` is null or the G that is about to be resumed here. On g0 only (I-G0).
#[inline]
pub unsafe fn set_curg(g: *mut ()) {
    this().curg.set(g);
}
