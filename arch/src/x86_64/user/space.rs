//! Address spaces: page tables whose lower half is a process's own, and who holds them.
//!
//! A CPU keeps the space that it last ran ring 3 in for as long as it runs kernel goroutines only: their half is the same in all.
//! So `cr3` is written where ring 3 is entered with another space, and nowhere else.
//!
//! **I-HOLD** A CPU that has a space in CR3 has its bit in the space's `holders`. The bit is set before CR3 is written, and cleared
//! after another one is.
//!
//! ```text
//!   shoot_down: entries were cleared ── look at `holders` ── wanted[cpu] += 1, interrupt ──► the CPU: reads `wanted`, forgets
//!               done[cpu] >= that number ◄────────────────────────────────────────────────  everything, writes it to `done`
//! ```
//!
//! The interrupt's handler takes no lock and runs no Rust, so a CPU answers whatever it does, unless it has interrupts off. Nobody
//! waits for the answer with a lock held.

use super::super::bare::{DIRECT_BASE, FrameSource};
use super::super::paging::{self, A, ADDRESS, D, KERNEL_CR3, NX, NoFrames, P, U, W, direct};
use super::super::percpu::{self, Cpu, this};
use super::super::trap::VECTOR_SHOOT_DOWN;
use super::super::{apic, smp};
use core::arch::global_asm;
use core::mem::offset_of;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*, fence};

/// The lowest address that ring 3 may have: null pointers and their neighbours point nowhere.
pub const USER_BASE: u64 = 0x1_0000;
/// The end of the addresses that ring 3 may have: 64 KiB below the end of the lower half (I-CANONICAL).
pub const USER_END: u64 = 0x7fff_ffff_0000;

/// What ring 3 may do with a page, apart from reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Write to it.
    pub write: bool,
    /// Execute it. Not both.
    pub execute: bool,
}

impl Access {
    fn bits(self) -> u64 {
        let mut bits = P | U | A | D;
        if self.write {
            bits |= W
        }
        if !self.execute {
            bits |= NX
        }
        bits
    }
}

/// A bug that a test may plant, and must find: `shoot_down` does nothing.
#[cfg(feature = "injection")]
const BUG_NOBODY_FORGETS: u32 = 30;

/// The page tables of an address space. It must not move while a CPU holds it, so keep it behind a pointer.
pub struct Space {
    root: u64,
    /// CPUs that hold it, a bit each (I-HOLD).
    holders: AtomicU64,
    /// 1: nobody runs in it any more, and who holds it lets go when it is interrupted.
    retired: AtomicU32,
}

impl Space {
    /// An empty one.
    ///
    /// # Errors
    /// There is no frame for its level 4 table.
    pub fn new(frames: FrameSource) -> Result<Space, NoFrames> {
        let root = paging::zeroed(frames)?;
        let kernel = KERNEL_CR3.load(Acquire);
        // SAFETY: two level 4 tables; the upper half of the kernel's never changes.
        unsafe {
            direct(kernel)
                .cast::<u64>()
                .add(256)
                .copy_to_nonoverlapping(direct(root).cast::<u64>().add(256), 256)
        };
        Ok(Space {
            root,
            holders: AtomicU64::new(0),
            retired: AtomicU32::new(0),
        })
    }

    /// Maps a page. It was not mapped since the last [`Self::shoot_down`], so that nobody remembers anything about it.
    ///
    /// # Errors
    /// A table is missing and no frame is left for it.
    ///
    /// # Safety
    /// The frame is the caller's to show to ring 3. `map`, `lookup` and `unmap` of one space do not run side by side.
    ///
    /// # Panics
    /// Outside `USER_BASE..USER_END`, if the page is mapped already, or if it were both written and executed.
    pub unsafe fn map(
        &self,
        virt: u64,
        phys: u64,
        access: Access,
        frames: FrameSource,
    ) -> Result<(), NoFrames> {
        assert!(
            (USER_BASE..USER_END).contains(&virt) && virt.is_multiple_of(4096),
            "{virt:#x} is no page of ring 3"
        );
        assert!(
            !(access.write && access.execute),
            "a page of ring 3 that is written and executed"
        );
        // SAFETY: a level 4 table, and the caller is alone.
        unsafe {
            let entry = paging::user_entry(self.root, virt, frames)?;
            assert!(
                entry.read_volatile() & P == 0,
                "{virt:#x} is mapped already"
            );
            entry.write_volatile(phys | access.bits());
        }
        Ok(())
    }

    /// The level 1 entry of a page, if there is one.
    fn entry(&self, virt: u64) -> Option<*mut u64> {
        if !(USER_BASE..USER_END).contains(&virt) {
            return None;
        }
        let mut table = self.root;
        for level in [4, 3, 2] {
            let index = (virt >> (3 + 9 * level)) as usize & 511;
            // SAFETY: a live table of this space.
            let entry = unsafe { direct(table).cast::<u64>().add(index).read_volatile() };
            if entry & P == 0 {
                return None;
            }
            table = entry & ADDRESS
        }
        let index = (virt >> 12) as usize & 511;
        // SAFETY: as above.
        Some(unsafe { direct(table).cast::<u64>().add(index) })
    }

    /// The frame of the page that `virt` lies in, and what ring 3 may do with it.
    pub fn lookup(&self, virt: u64) -> Option<(u64, Access)> {
        // SAFETY: a live entry.
        let entry = unsafe { self.entry(virt)?.read_volatile() };
        (entry & P != 0).then_some((
            entry & ADDRESS,
            Access {
                write: entry & W != 0,
                execute: entry & NX == 0,
            },
        ))
    }

    /// Takes a page out; its frame. It may not be used again before [`Self::shoot_down`] has returned.
    ///
    /// # Safety
    /// As [`Self::map`].
    pub unsafe fn unmap(&self, virt: u64) -> Option<u64> {
        let at = self.entry(virt & !4095)?;
        // SAFETY: a live entry, which the caller alone changes.
        let entry = unsafe { at.read_volatile() };
        if entry & P == 0 {
            return None;
        }
        // SAFETY: likewise.
        unsafe { at.write_volatile(0) };
        Some(entry & ADDRESS)
    }

    /// Makes every CPU forget what it remembers of this space. Waits until all have; so no lock may be held.
    pub fn shoot_down(&self) {
        #[cfg(feature = "injection")]
        if super::super::preempt::planted_bug() == BUG_NOBODY_FORGETS {
            return;
        }
        self.ask_all()
    }

    /// Every CPU that holds it forgets, or lets go if it is retired: this one, and the others, of one and the same instant. In between
    /// the caller could be moved to a CPU that was not asked, since it was the caller's own.
    fn ask_all(&self) {
        fence(SeqCst); // pairs with the `fetch_or` in `switch_space`: we see its bit, or that CPU sees our entries
        crate::preempt_disable();
        let me = this();
        if me.space.load(Relaxed) == core::ptr::from_ref(self) as usize {
            if self.retired.load(Relaxed) == 0 {
                super::super::stacks::flush_tlb();
            } else {
                // SAFETY: the kernel's half is the same.
                unsafe { write_cr3(KERNEL_CR3.load(Relaxed)) };
                me.space.store(0, Relaxed);
                self.holders.fetch_and(!(1 << me.id.load(Relaxed)), SeqCst);
            }
        }
        let others = self.holders.load(SeqCst) & !(1 << me.id.load(Relaxed));
        let mut wanted = [0; crate::MAX_CPUS];
        for cpu in (0..smp::num_cpus()).filter(|cpu| others & 1 << cpu != 0) {
            let block = percpu::cpu(cpu);
            wanted[cpu] = block.flush_wanted.fetch_add(1, SeqCst) + 1;
            apic::send_vector(block.apic_id.load(Relaxed), VECTOR_SHOOT_DOWN);
        }
        crate::preempt_enable();
        for (cpu, wanted) in wanted
            .iter()
            .enumerate()
            .filter(|(_, wanted)| **wanted != 0)
        {
            // Acquire: pairs with the store of the handler, behind its `mov cr3`.
            while percpu::cpu(cpu).flush_done.load(Acquire) < *wanted {
                core::hint::spin_loop()
            }
        }
    }

    /// No thread will run in it any more: every CPU that still holds it lets go. Waits as [`Self::shoot_down`] does.
    pub fn retire(&self) {
        self.retired.store(1, SeqCst);
        self.ask_all();
        debug_assert_eq!(
            self.holders.load(SeqCst),
            0,
            "I-HOLD: a retired space is held"
        );
    }

    /// Ends it: calls `page` for each page that it maps, with its frame, and then `table` for each frame that its tables were.
    ///
    /// # Safety
    /// After [`Self::retire`], once; it is not used afterwards.
    pub unsafe fn take_all(&mut self, page: &mut dyn FnMut(u64, u64), table: &mut dyn FnMut(u64)) {
        // SAFETY: nobody uses the tables any more.
        unsafe { take_table(self.root, 4, 0, page, table) }
    }
}

/// The lower half of a level 4 table, or all of a table below, from its leaves up.
///
/// # Safety
/// Nobody uses the table.
unsafe fn take_table(
    at: u64,
    level: u32,
    base: u64,
    page: &mut dyn FnMut(u64, u64),
    table: &mut dyn FnMut(u64),
) {
    let entries = if level == 4 { 256 } else { 512 };
    for index in 0..entries {
        // SAFETY: a table.
        let entry = unsafe { direct(at).cast::<u64>().add(index).read_volatile() };
        if entry & P == 0 {
            continue;
        }
        let virt = base | (index as u64) << (3 + 9 * level);
        if level == 1 {
            page(virt, entry & ADDRESS)
        } else {
            // SAFETY: likewise.
            unsafe { take_table(entry & ADDRESS, level - 1, virt, page, table) }
        }
    }
    table(at)
}

/// # Safety
/// `root` is a level 4 table with the kernel's half.
unsafe fn write_cr3(root: u64) {
    // SAFETY: the caller's.
    unsafe {
        x86_64::registers::control::Cr3::write_raw(
            x86_64::structures::paging::PhysFrame::containing_address(x86_64::PhysAddr::new(root)),
            0,
        )
    }
}

/// This CPU is about to enter ring 3 in `new`. Interrupts are off.
pub(super) extern "C" fn switch_space(new: *const Space) {
    let cpu = this();
    let bit = 1 << cpu.id.load(Relaxed);
    let old = cpu.space.load(Relaxed) as *const Space;
    // SAFETY: `run`'s caller keeps the new one; the old one stays while this CPU holds it, and whoever retires it waits for this
    // CPU, which has interrupts off.
    unsafe {
        (*new).holders.fetch_or(bit, SeqCst); // pairs with the fence in `shoot_down`
        write_cr3((*new).root);
        cpu.space.store(new as usize, Relaxed);
        if let Some(old) = old.as_ref() {
            old.holders.fetch_and(!bit, SeqCst);
        }
    }
}

// The handler of the interrupt. RCX, RAX saved, the interrupt acknowledged, GS the kernel's.
global_asm!(r#"
.section .text.ringo_shoot_down,"ax",@progbits
.global shoot_down_here
shoot_down_here:
  push rdx
  mov rdx, gs:[{WANTED}]                 // before it forgets
  mov rax, gs:[{CPU_SPACE}]
  test rax, rax
  jz 1f
  cmp dword ptr [rax + {RETIRED}], 0
  jne 2f
1: mov rax, cr3
  mov cr3, rax
  jmp 3f
2: mov rcx, [rip + {KERNEL_CR3}]
  mov cr3, rcx
  mov qword ptr gs:[{CPU_SPACE}], 0
  mov ecx, gs:[{ID}]
  lock btr [rax + {HOLDERS}], rcx
3: mov gs:[{DONE}], rdx
  pop rdx
  jmp irq_leave
.text
"#,
    WANTED = const offset_of!(Cpu, flush_wanted), DONE = const offset_of!(Cpu, flush_done),
    CPU_SPACE = const offset_of!(Cpu, space), ID = const offset_of!(Cpu, id),
    RETIRED = const offset_of!(Space, retired), HOLDERS = const offset_of!(Space, holders),
    KERNEL_CR3 = sym KERNEL_CR3,
);

const _: () = assert!(USER_END <= DIRECT_BASE);
