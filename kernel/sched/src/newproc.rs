//! Life and death of a G (Go: proc.go, `newproc1`, `malg`, `gfget`, `gfput`, `goexit0`).
//!
//! A G's slot, from its top down: the G itself, the closure that it runs, its frames. So a spawn that reuses a dead G
//! allocates nothing.

use crate::g::{Entry, ExitHook, G, GRef, GStatus};
use crate::gqueue::GQueue;
use crate::m::M;
use crate::p::{GOID_BATCH, P};
use crate::park::current;
use crate::policy::Event;
use crate::sched::Sched;
use crate::schedule::m_on_g0;
use base::PreemptGuard;
use base::shim::Ordering::*;
use core::panic::Location;

extern crate alloc;
use alloc::boxed::Box;

/// Dead Gs that a P keeps at most; it then gives all but half of them away (Go: `gfput`).
const GFREE_MAX: u32 = 64;
/// Dead Gs that all Ps share at most; beyond, stacks are given back with the Gs on them (Go keeps both for ever).
const GFREE_SHARED_MAX: u32 = 4096;
/// Larger closures live in the heap, so that the one page that a new stack has is not used up at birth.
const INLINE_MAX_BYTES: usize = 1024;

/// Start a G that runs `f`. It goes to this P's `runnext`, from a blocking call to the global queue; an idle P is woken for it.
/// Returns its number.
pub fn newproc<F: FnOnce() + Send + 'static>(f: F, created_at: &'static Location<'static>) -> u64 {
    // SAFETY: `f` is 'static.
    unsafe { newproc_scoped(f, created_at, None) }
}

/// The same, and `hook` is called when the G has ended, however it ended.
pub fn newproc_hook<F: FnOnce() + Send + 'static>(
    f: F,
    created_at: &'static Location<'static>,
    hook: ExitHook,
) -> u64 {
    // SAFETY: `f` is 'static.
    unsafe { newproc_scoped(f, created_at, Some(hook)) }
}

/// The same for a closure that borrows.
///
/// # Safety
/// What `f` borrows outlives the G: the caller waits for `hook`.
pub unsafe fn newproc_scoped<F: FnOnce() + Send>(
    f: F,
    created_at: &'static Location<'static>,
    hook: Option<ExitHook>,
) -> u64 {
    #[cfg(ringo_loom)]
    // SAFETY: the caller's promise.
    return unsafe { crate::models::start_thread(f, created_at, hook) };
    #[cfg(not(ringo_loom))]
    if size_of::<F>() > INLINE_MAX_BYTES {
        let f: Box<dyn FnOnce() + Send + '_> = Box::new(f);
        // SAFETY: the caller's promise, handed on.
        unsafe { newproc_small(f, created_at, hook) }
    } else {
        // SAFETY: likewise.
        unsafe { newproc_small(f, created_at, hook) }
    }
}

/// # Safety
/// As [`newproc_scoped`]; `f` has at most `INLINE_MAX_BYTES`.
unsafe fn newproc_small<F: FnOnce() + Send>(
    f: F,
    created_at: &'static Location<'static>,
    hook: Option<ExitHook>,
) -> u64 {
    let guard = PreemptGuard::new();
    let m = M::current(&guard);
    let s = m.sched();
    // A timer starts it: the G that happens to run has nothing to do with it.
    let by_timer = m.serving.load(Relaxed);
    let parent = if by_timer {
        0
    } else {
        m.curg().map_or(0, |g| g.id())
    };
    // SAFETY: preemption is off and `f` outlives the G.
    let g = unsafe { s.make_g(m, f, created_at, hook, parent) };
    let id = g.id();
    s.runqput(m, g, if by_timer { Event::Woken } else { Event::New });
    if s.main_started.load(Relaxed) {
        s.wakep()
    }
    id
}

impl Sched {
    /// Make the main goroutine, number 1, on M0's P0.
    ///
    /// # Safety
    /// Called once, on CPU 0, after `init_m0`, before `mstart`.
    pub unsafe fn newproc_main<F: FnOnce() + Send + 'static>(
        &'static self,
        f: F,
        at: &'static Location<'static>,
    ) {
        let m = &self.allm[0];
        // SAFETY: preemption is off, `f` is 'static.
        let g = unsafe { self.make_g(m, f, at, None, 0) };
        self.runqput(m, g, Event::New);
        self.main_started.store(true, Release);
    }

    /// A runnable G that will run `f`, on no queue yet.
    ///
    /// # Safety
    /// Preemption is off and `m` is this CPU's M; `f` outlives the G and is at most `INLINE_MAX_BYTES`.
    unsafe fn make_g<F: FnOnce() + Send>(
        &'static self,
        m: &M,
        f: F,
        created_at: &'static Location<'static>,
        hook: Option<ExitHook>,
        parent: u64,
    ) -> GRef {
        let p = m.p(); // none in a blocking call
        let dead = match p {
            Some(p) => self.gfget(p),
            None => self.gfget_shared(),
        };
        let g = dead.unwrap_or_else(|| self.malg(p));
        let data =
            ((g.stack_top.load(Relaxed) - size_of::<F>()) & !(align_of::<F>() - 1)) as *mut F;
        // SAFETY: `g` is dead and ours, its top page is backed, and nothing else lies below its struct.
        unsafe {
            data.write(f);
            *g.entry.get() = Some(Entry {
                call: call_by_value::<F>,
                data: data as *mut u8,
            });
            *g.hook.get() = hook;
            g.ctx.set(arch::new_context(data as usize & !15, g_entry));
        }
        g.enter_bubble(crate::bubble::of_caller(m));
        g.set_id(p.map_or_else(|| self.goidgen.fetch_add(1, Relaxed), |p| self.goid(p)));
        g.parent.store(parent, Relaxed);
        g.created_at
            .store(created_at as *const _ as *mut _, Relaxed);
        m.created.store(m.created.load(Relaxed) + 1, Relaxed);
        g.trace_seq.store(0, Relaxed);
        g.traced(trace::Kind::GoCreate, parent as u32);
        g.becomes_runnable();
        g.set_status(GStatus::Dead, GStatus::Runnable);
        g
    }

    /// The next number; P takes them in batches, so that they need no shared counter each.
    fn goid(&self, p: &P) -> u64 {
        // SAFETY: I-OWNER: the caller's M holds `p`.
        let ids = unsafe { &mut p.owned().goid };
        if ids.0 == ids.1 {
            ids.0 = self.goidgen.fetch_add(GOID_BATCH, Relaxed);
            ids.1 = ids.0 + GOID_BATCH;
        }
        ids.0 += 1;
        ids.0 - 1
    }

    /// A new G with a stack (Go: `malg`).
    #[cold]
    #[inline(never)]
    fn malg(&'static self, p: Option<&P>) -> GRef {
        let stack = match mem::gstack::alloc() {
            Ok(stack) => stack,
            Err(_) => (self.hooks.fatal)(
                self,
                "out of memory",
                format_args!("out of memory: no stack for one more goroutine"),
            ),
        };
        let at = g_address(stack.top);
        // SAFETY: the top page of the slot is backed and nobody uses it yet. Whoever holds a reference to the G holds it
        // while the G is not dead, or finds it by looking around and lets go before a flush point; the slot is given back
        // after that (`Trim::release`).
        let g: &'static G = unsafe {
            (at as *mut G).write(G::new());
            &*(at as *const G)
        };
        g.window.0.store(stack.lo, Relaxed);
        g.window.1.store(at, Relaxed);
        g.stack_top.store(at, Relaxed);
        // SAFETY: I-OWNER: the caller's M holds `p`.
        let phase = p.map_or(0, |p| unsafe { p.owned() }.rng.next_u64() as u32);
        g.leaves.store(phase, Relaxed);
        self.list(&stack, g);
        GRef::new(g)
    }

    /// From here on `for_each_g` finds it.
    #[cfg(ringo_kernel)]
    fn list(&self, stack: &mem::gstack::GStack, _g: &'static G) {
        mem::gstack::list(stack)
    }

    /// From here on `for_each_g` finds it.
    #[cfg(not(ringo_kernel))]
    fn list(&self, _stack: &mem::gstack::GStack, g: &'static G) {
        let mut head = self.allgs.load(Relaxed);
        loop {
            g.alllink.store(head, Relaxed);
            // Release: pairs with the load (acquire) in `for_each_g`: who sees the G sees its link.
            match self
                .allgs
                .compare_exchange_weak(head, g as *const G as *mut G, Release, Relaxed)
            {
                Ok(_) => return,
                Err(h) => head = h,
            }
        }
    }

    /// A dead G to use again.
    #[inline]
    fn gfget(&self, p: &P) -> Option<GRef> {
        // SAFETY: I-OWNER: the caller's M holds `p`.
        let free = unsafe { &mut p.owned().gfree };
        if free.is_empty() && self.gfreesize.load(Relaxed) != 0 {
            let mut gl = self.lock.lock();
            while free.len() < GFREE_MAX / 2 {
                let Some(g) = gl.gfree.pop() else { break };
                free.push_front(g)
            }
            self.gfreesize.store(gl.gfree.len(), Relaxed);
        }
        let g = free.pop();
        p.gfreecnt.store(free.len(), Relaxed);
        g
    }

    /// The same without a P.
    fn gfget_shared(&self) -> Option<GRef> {
        if self.gfreesize.load(Relaxed) == 0 {
            return None;
        }
        let mut gl = self.lock.lock();
        let g = gl.gfree.pop();
        self.gfreesize.store(gl.gfree.len(), Relaxed);
        g
    }

    /// Keep a dead G; too many are trimmed and shared with the other Ps.
    #[inline]
    fn gfput(&self, p: &P, g: GRef) {
        // SAFETY: I-OWNER: the caller's M holds `p`.
        let free = unsafe { &mut p.owned().gfree };
        free.push_front(g);
        if free.len() >= GFREE_MAX {
            self.gfree_share(free)
        }
        p.gfreecnt.store(free.len(), Relaxed)
    }

    /// Half of a P's dead Gs, those that ended first, go to the shared list; what their stacks have grown by goes back to
    /// the page frames. The other half stays as it is, warm.
    #[cold]
    #[inline(never)]
    fn gfree_share(&self, free: &mut GQueue) {
        let mut warm = GQueue::new();
        while warm.len() < GFREE_MAX / 2 {
            let Some(g) = free.pop() else { break };
            warm.push_back(g);
        }
        let mut cold = core::mem::replace(free, warm);
        let (mut trimmed, mut trim) = (GQueue::new(), mem::gstack::Trim::new());
        let full = self.gfreesize.load(Relaxed) >= GFREE_SHARED_MAX;
        while let Some(g) = cold.pop() {
            let address = g.window.0.load(Relaxed);
            if full {
                // SAFETY: the G is dead and ours, and was popped from the last list that it was on.
                unsafe { trim.release(address) };
                continue;
            }
            // SAFETY: the G is dead and ours, and `execute` will name the stamp.
            unsafe { trim.stack(address) };
            trimmed.push_back(g);
        }
        let stamp = trim.finish();
        if full {
            mem::flush::flush_point(); // on g0, between two Gs; memory comes back as fast as Gs end
        }
        let mut gl = self.lock.lock();
        while let Some(g) = trimmed.pop() {
            if stamp != 0 {
                g.trimmed.store(stamp, Relaxed);
            }
            gl.gfree.push_front(g);
        }
        self.gfreesize.store(gl.gfree.len(), Relaxed);
    }

    /// Goroutines that exist: made and not ended. Exact when nobody makes or ends one meanwhile.
    pub fn num_goroutine(&self) -> u64 {
        // Ended first: a G that is made and ends between the two loops is then counted as alive, never as minus one.
        let ended: u64 = self.allm.iter().map(|m| m.ended.load(Acquire)).sum();
        let created: u64 = self.allm.iter().map(|m| m.created.load(Acquire)).sum();
        created - ended
    }

    /// Goroutines that were ever made.
    pub fn created(&self) -> u64 {
        self.allm.iter().map(|m| m.created.load(Acquire)).sum()
    }

    /// Call `f` for each G that there is, dead ones to be used again too. A dead one may be gone when `f` has returned.
    #[cfg(ringo_kernel)]
    pub fn for_each_g(&self, mut f: impl FnMut(GRef)) {
        mem::gstack::for_each_listed(|top| {
            // SAFETY: the G of a listed stack is there, at its top.
            if let Some(g) = unsafe { GRef::from_ptr(g_address(top) as *mut G) } {
                f(g)
            }
        })
    }

    /// Call `f` for each G that there is, dead ones to be used again too. A dead one may be gone when `f` has returned.
    #[cfg(not(ringo_kernel))]
    pub fn for_each_g(&self, mut f: impl FnMut(GRef)) {
        let mut p = self.allgs.load(Acquire);
        // SAFETY: null or a G, never freed here.
        while let Some(g) = unsafe { GRef::from_ptr(p) } {
            f(g);
            p = g.alllink.load(Relaxed);
        }
    }
}

/// Where the G of a stack lies.
pub(crate) fn g_address(top: usize) -> usize {
    (top - size_of::<G>()) & !63
}

/// Call the closure that lies at `data`.
unsafe fn call_by_value<F: FnOnce()>(data: *mut u8) {
    // SAFETY: `make_g` wrote it there, and this is the one time that it is taken.
    unsafe { (data as *mut F).read()() }
}

/// Where each G begins.
extern "C" fn g_entry() -> ! {
    // SAFETY: the scheduler's unit of the count is ours now.
    drop(unsafe { PreemptGuard::adopt() });
    let g = current();
    // SAFETY: the G itself reads what its creator wrote before it was queued.
    if let Some(e) = unsafe { (*g.entry.get()).take() } {
        // SAFETY: once, `take` saw to it.
        unsafe { (e.call)(e.data) }
    }
    goexit()
}

/// End the calling G. Destructors of its frames do not run; join handles, scopes and wait groups are settled. When the
/// main G ends so, the others go on.
///
/// # Panics
/// In a blocking call.
pub fn goexit() -> ! {
    let guard = PreemptGuard::new();
    let g = current();
    // Here, where the report still finds the G.
    assert!(
        g.status() != GStatus::Syscall,
        "a goroutine ends inside blocking()"
    );
    guard.leave_raised();
    // SAFETY: I-SWITCH; nobody resumes the context that is saved here.
    unsafe { arch::mcall(&g.ctx, goexit0, 0) };
    unreachable!("a dead goroutine was resumed")
}

unsafe extern "C" fn goexit0(_: usize) -> *const arch::Context {
    let m = m_on_g0();
    let s = m.sched();
    let g = m.curg().expect("goexit without a G");
    assert_eq!(
        arch::preempt_count(),
        1,
        "I-SWITCH: a goroutine ended with a guard alive"
    );
    s.dropg(m, g);
    g.traced(trace::Kind::GoEnd, 0);
    g.stops();
    g.clear_lock();
    g.set_status(GStatus::Running, GStatus::Dead);
    // Release: pairs with the loads in `num_goroutine`; before the hook, so that who is woken finds it counted out.
    m.ended.store(m.ended.load(Relaxed) + 1, Release);
    trace::point!("goexit.settle");
    // SAFETY: the G is dead and ours until `gfput`.
    if let Some(hook) = unsafe { (*g.hook.get()).take() } {
        // SAFETY: `newproc_scoped`'s caller says so; once, `take` saw to it.
        unsafe { (hook.f)(hook.arg) }
    }
    g.leave_bubble(m);
    s.gfput(m.p().expect("`goexit` has looked"), g);
    s.schedule(m)
}
