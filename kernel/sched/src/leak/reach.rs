//! Which Gs can be reached by those that run: pointers are followed from them through the heap, without knowing types.
//!
//! ```text
//!   roots: statics · large objects · timers' arguments · stacks of Gs that run
//!     │
//!     ▼ each word
//!   an object of the heap, not marked ──► mark it, look at its words
//!   a stack, not looked at            ──► look at its words: others may borrow what lies there
//!     └─ of a G that waits for somebody ──► it lives
//!   until nothing is left; then those live whose lock's owner does, and on
//! ```
//!
//! Left out are places with pointers to Gs that make nobody ready, or no longer: the Ps' rings, whose taken places keep what
//! they held; the CPUs' blocks, with the bounds of the stack that was run last; free objects of the heap; dead Gs.

use super::{Entries, Kind, address_range, wipe};
use crate::g::{GRef, GStatus};
use crate::p::P;
use crate::sched::Sched;
use core::ops::Range;
use mem::mark::{end_of_ram, for_each_free, for_each_large, object_at};
use mem::mark::{objects_at_most, own_statics};

extern crate alloc;
use alloc::vec::Vec;

/// Bytes of RAM for each bit: no two objects begin closer together.
const GRAIN_BYTES: usize = 16;
/// Objects that wait to be looked at, at most.
const STACK_MAX: usize = 1 << 20;
/// Places that are left out, at most.
const LEFT_OUT: usize = 10;

/// The stack of a G during the look.
pub(crate) struct Stack {
    /// Where the part begins that is in use; it ends at the G.
    sp: usize,
    slot: u32,
    /// Something that was looked at points into it.
    reached: bool,
    /// It was looked at.
    scanned: bool,
}

impl Stack {
    /// The world stands still.
    pub fn of(g: GRef) -> Self {
        Self {
            // SAFETY: nobody runs it, but for the caller, whose `sp` is set in `mark`.
            sp: unsafe { g.saved_context().get() },
            slot: mem::gstack::slot_of(g.as_ptr() as usize).unwrap_or(u32::MAX),
            reached: false,
            scanned: false,
        }
    }
}

/// Marks, and what has been marked but not looked at.
pub(crate) struct Reach {
    /// A bit for each grain of RAM; empty: there was no memory for them.
    marks: Vec<u64>,
    stack: Vec<usize>,
    full: bool,
    left_out: [Range<usize>; LEFT_OUT],
    n_left_out: usize,
}

impl Drop for Reach {
    fn drop(&mut self) {
        wipe(&mut self.stack)
    }
}

impl Reach {
    /// With all the memory that it will need.
    pub fn new() -> Self {
        let words = end_of_ram() as usize / GRAIN_BYTES / 64 + 1;
        let (mut marks, mut stack) = (Vec::new(), Vec::new());
        let room = objects_at_most().min(STACK_MAX);
        if marks.try_reserve_exact(words).is_ok() && stack.try_reserve_exact(room).is_ok() {
            marks.resize(words, 0)
        }
        Self {
            marks,
            stack,
            full: false,
            left_out: [const { 0..0 }; LEFT_OUT],
            n_left_out: 0,
        }
    }

    fn leave_out(&mut self, range: Range<usize>) {
        self.left_out[self.n_left_out] = range;
        self.n_left_out += 1
    }

    /// Find out who lives. The world stands still; `own` is memory that only the caller uses. The error says why it cannot
    /// be known.
    pub fn mark(
        &mut self,
        s: &Sched,
        entries: &mut Entries,
        own: &[Range<usize>],
    ) -> Option<&'static str> {
        if self.marks.is_empty() {
            return Some("there was no memory to follow pointers");
        }
        if (entries.all.iter()).any(|e| e.g.status() == GStatus::Syscall) {
            return Some("a goroutine in a blocking call may hold anything in its registers");
        }
        let ps: &[P] = &s.allp;
        let start = ps.as_ptr() as usize;
        self.leave_out(start..start + size_of_val(ps));
        self.leave_out(arch::bare::cpu_blocks());
        self.leave_out(own_statics());
        self.leave_out(address_range(&self.marks));
        self.leave_out(address_range(&self.stack));
        self.leave_out(address_range(&entries.all));
        self.leave_out(address_range(&entries.by_id));
        own.iter().for_each(|range| self.leave_out(range.clone()));

        // As if they had been looked at: a word that was left behind may lead to one, but it leads no further.
        for_each_free(|start| _ = self.is_new(start));

        let running = entries.all.iter_mut();
        for e in running.filter(|e| e.g.status() == GStatus::Running) {
            // The caller: all that it had in registers was saved on its stack before this call on g0.
            e.stack.sp = stack_of_caller(e.stack.slot)
        }
        let statics = arch::bare::statics();
        for page in statics.step_by(mem::PAGE_BYTES) {
            // Guard pages of kernel stacks are among them.
            if arch::bare::readable(page as u64) {
                self.scan(page..page + mem::PAGE_BYTES, entries)
            }
        }
        for_each_large(|object| self.scan(object, entries));
        s.allp
            .iter()
            .for_each(|p| p.timers.for_each_arg(|arg| self.word(arg, entries)));
        loop {
            self.drain(entries);
            let stacks = self.look_at_stacks(entries);
            if !stacks && !entries.owners() {
                break;
            }
        }
        self.full.then_some("there are too many objects to follow")
    }

    /// Look at the stacks of those that live, and at those into which something points. True: there were new ones.
    fn look_at_stacks(&mut self, entries: &mut Entries) -> bool {
        let mut new = false;
        for i in 0..entries.all.len() {
            let e = &entries.all[i];
            if (e.live || e.stack.reached) && !e.stack.scanned {
                self.look_at_stack(i, entries);
                new = true
            }
        }
        new
    }

    fn look_at_stack(&mut self, i: usize, entries: &mut Entries) {
        let e = &mut entries.all[i];
        e.stack.scanned = true;
        let (start, g) = (e.stack.sp, e.g);
        // The G itself, above, holds links of lists that it was on once; what it owns is its exit hook's.
        self.scan(start..g.as_ptr() as usize, entries);
        // SAFETY: it does not run, or is the caller.
        if let Some(hook) = unsafe { *g.hook.get() } {
            self.word(hook.arg, entries)
        }
        // Whose timers and whose end wake others.
        self.word(g.bubble.address(), entries)
    }

    fn drain(&mut self, entries: &mut Entries) {
        while let Some(start) = self.stack.pop() {
            if let Some(o) = object_at(start) {
                self.scan(o.start..o.start + o.bytes, entries)
            }
        }
    }

    /// Look at the words of a range, without what is left out.
    fn scan(&mut self, range: Range<usize>, entries: &mut Entries) {
        let mut at = range.start.next_multiple_of(8);
        while at + 8 <= range.end {
            let out = &self.left_out[..self.n_left_out];
            if let Some(o) = out.iter().find(|o| o.contains(&at)) {
                at = o.end.next_multiple_of(8);
                continue;
            }
            let next = out.iter().map(|o| o.start).filter(|&o| o > at).min();
            let end = next.map_or(range.end, |next| next.min(range.end));
            while at + 8 <= end {
                // SAFETY: statics, backed stacks, RAM: all mapped, and nobody else runs.
                let word = unsafe { (at as *const usize).read_volatile() };
                self.word(word, entries);
                at += 8
            }
            if at < end {
                at += 8
            }
        }
    }

    /// One word: mark what it points to.
    fn word(&mut self, word: usize, entries: &mut Entries) {
        if word < arch::bare::DIRECT_BASE as usize {
            return;
        }
        let offset = word - arch::bare::DIRECT_BASE as usize;
        if offset / GRAIN_BYTES / 64 < self.marks.len() {
            if let Some(o) = object_at(word) {
                self.mark_object(o.start)
            }
        } else if let Some(slot) = mem::gstack::slot_of(word)
            && let Ok(i) = entries.all.binary_search_by_key(&slot, |e| e.stack.slot)
        {
            entries.all[i].live |= entries.all[i].kind == Kind::Pointers;
            entries.all[i].stack.reached = true
        }
    }

    /// Marks an object. False: it was marked already, or lies in no RAM.
    fn is_new(&mut self, start: usize) -> bool {
        let grain = (start - arch::bare::DIRECT_BASE as usize) / GRAIN_BYTES;
        let bit = 1 << (grain % 64);
        self.marks.get_mut(grain / 64).is_some_and(|word| {
            let new = *word & bit == 0;
            *word |= bit;
            new
        })
    }

    fn mark_object(&mut self, start: usize) {
        if self.is_new(start) {
            if self.stack.len() < self.stack.capacity() {
                self.stack.push(start)
            } else {
                self.full = true
            }
        }
    }
}

/// Where the caller's stack was left for g0: the first frame of this chain that lies in it.
fn stack_of_caller(slot: u32) -> usize {
    let mut rbp: usize;
    // SAFETY: reads a register.
    unsafe {
        core::arch::asm!("mov {}, rbp", out(reg) rbp, options(nomem, nostack, preserves_flags))
    };
    while mem::gstack::slot_of(rbp) != Some(slot) {
        // SAFETY: frames of g0, each of which has the next one's address first; the last is in the caller's stack (`on_g0`).
        rbp = unsafe { *(rbp as *const usize) }
    }
    rbp
}
