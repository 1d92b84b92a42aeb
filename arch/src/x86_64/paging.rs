//! The kernel's page tables: built once, shared by all CPUs and, in their upper half, by all address spaces.
//!
//! ```text
//! 0xffff_8000_0000_0000  DIRECT_BASE  all RAM and the first 4 GiB; RW, NX; kernel text and constants read-only
//! 0xffff_c000_0000_0000  HEAP_BASE    512 GiB for large heap objects (map_pages, heap_window.rs)
//! 0xffff_d000_0000_0000  STACK_BASE   512 GiB of stack slots of Gs
//! 0xffff_e000_0000_0000  KSTACK_BASE  g0, interrupt stacks, with guard pages (kstack.rs)
//! 0xffff_ffff_8000_0000  KERNEL_BASE  the image: text R-X, constants R--, data RW-, the boot stack's guard missing
//! lower half             nothing
//! ```
//!
//! Level 4 never changes after `init_paging`: all windows have their level 3 from the start, so address spaces made later
//! share them by copying 256 entries.

use super::bare::{DIRECT_BASE, FrameSource, HEAP_BASE, KERNEL_BASE, KSTACK_BASE, STACK_BASE};
use super::lock::Lock;
use core::sync::atomic::{AtomicU64, Ordering::*};

pub const P: u64 = 1;
pub const W: u64 = 2;
/// Ring 3 may use it (SDM vol. 3, 4.6).
pub const U: u64 = 4;
const PWT_PCD: u64 = 0x18;
pub const A: u64 = 0x20;
pub const D: u64 = 0x40;
const LARGE: u64 = 0x80;
pub const NX: u64 = 1 << 63;
pub const ADDRESS: u64 = 0x000f_ffff_ffff_f000;
const MIB2: u64 = 2 << 20;
const GIB: u64 = 1 << 30;
const GIB4: u64 = 4 * GIB;

/// Flags of a page with plain data: accessed and dirty already, so that the CPU need not write the entry again.
pub const DATA: u64 = P | W | A | D | NX;

/// A page table had to be allocated and the source of frames was empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoFrames;

/// How [`map_pages`] maps. Never executable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageFlags {
    /// Writes are allowed.
    pub write: bool,
    /// Device registers: every access goes to the device.
    pub uncached: bool,
}

/// Physical address of the level 4 table; 0 before `init_paging`. `smp.rs` reads it in assembly.
pub static KERNEL_CR3: AtomicU64 = AtomicU64::new(0);
/// Serialises changes of the tables (except the fault path's, which touches only its own entries).
pub(super) static TABLES: Lock<()> = Lock::new(());

unsafe extern "C" {
    static kernel_phys_start: u8;
    static kernel_phys_end: u8;
    static kernel_text_start: u8;
    static kernel_text_end: u8;
    static kernel_rodata_end: u8;
    static kernel_end: u8;
    static boot_stack_guard: u8;
}

/// Virtual address of a physical one.
#[inline(always)]
pub fn direct(phys: u64) -> *mut u8 {
    (DIRECT_BASE + phys) as *mut u8
}

/// Physical range of the kernel image, its zeroed data included.
pub fn kernel_image_phys() -> (u64, u64) {
    (
        &raw const kernel_phys_start as u64,
        &raw const kernel_phys_end as u64,
    )
}

/// Virtual address of the unmapped page below the boot stack.
pub fn boot_stack_guard_address() -> u64 {
    &raw const boot_stack_guard as u64
}

/// A frame full of zeroes.
pub fn zeroed(frames: FrameSource) -> Result<u64, NoFrames> {
    let frame = frames().ok_or(NoFrames)?;
    // SAFETY: the source hands over a frame that nobody else uses, inside the direct map.
    unsafe { direct(frame).write_bytes(0, 4096) };
    Ok(frame)
}

/// The entry for `virt` in the table of `level` (1 = 4 KiB pages, 2 = 2 MiB), tables above it created.
///
/// # Safety
/// `root` is a level 4 table; nobody else changes the tables on this path.
pub(super) unsafe fn entry(
    root: u64,
    virt: u64,
    level: u32,
    frames: FrameSource,
) -> Result<*mut u64, NoFrames> {
    // SAFETY: the caller's.
    unsafe { entry_under(root, virt, level, P | W, frames) }
}

/// The level 1 entry for an address of ring 3, tables created that let ring 3 through.
///
/// # Safety
/// As for [`entry`].
pub unsafe fn user_entry(root: u64, virt: u64, frames: FrameSource) -> Result<*mut u64, NoFrames> {
    // SAFETY: the caller's.
    unsafe { entry_under(root, virt, 1, P | W | U, frames) }
}

/// # Safety
/// As for [`entry`].
unsafe fn entry_under(
    root: u64,
    virt: u64,
    level: u32,
    table_bits: u64,
    frames: FrameSource,
) -> Result<*mut u64, NoFrames> {
    let (mut table, mut at) = (root, 4);
    loop {
        let index = (virt >> (3 + 9 * at)) & 511;
        // SAFETY: `table` is a page table, `index` below 512.
        let slot = unsafe { direct(table).cast::<u64>().add(index as usize) };
        if at == level {
            return Ok(slot);
        }
        // SAFETY: as above.
        let mut e = unsafe { slot.read_volatile() };
        debug_assert!(
            e & LARGE == 0 || e & P == 0,
            "a 2 MiB page lies where a table is needed"
        );
        if e & P == 0 {
            e = zeroed(frames)? | table_bits;
            // SAFETY: as above; the new table is complete before it is linked.
            unsafe { slot.write_volatile(e) };
        }
        table = e & ADDRESS;
        at -= 1;
    }
}

/// Maps 4 KiB pages `[virt, virt + bytes)` to `phys` upwards, all with `bits`.
///
/// # Safety
/// As for [`entry`]; the mapping must not alias memory in a way that its users do not expect.
pub unsafe fn map_small(
    root: u64,
    virt: u64,
    phys: u64,
    bytes: u64,
    bits: u64,
    frames: FrameSource,
) -> Result<(), NoFrames> {
    for at in (0..bytes).step_by(4096) {
        // SAFETY: the caller's.
        unsafe { entry(root, virt + at, 1, frames)?.write_volatile((phys + at) | bits) };
    }
    Ok(())
}

/// Maps `[start, end)` (multiples of 2 MiB) into the direct map. Where no `ram` is: uncached, for device registers.
///
/// # Safety
/// As for [`entry`].
unsafe fn map_direct(
    root: u64,
    start: u64,
    end: u64,
    ram: &[(u64, u64)],
    frames: FrameSource,
) -> Result<(), NoFrames> {
    let frozen = (
        &raw const kernel_text_start as u64 - KERNEL_BASE,
        &raw const kernel_rodata_end as u64 - KERNEL_BASE,
    );
    let (mut directory, mut phys) = (core::ptr::null_mut::<u64>(), start);
    while phys < end {
        let overlaps = |(start, end): (u64, u64)| start < phys + MIB2 && phys < end;
        if directory.is_null() || phys & (GIB - 1) == 0 {
            // SAFETY: the caller's. The entry for the first 2 MiB of this GiB: the directory's start.
            directory = unsafe { entry(root, DIRECT_BASE + (phys & !(GIB - 1)), 2, frames)? };
        }
        if overlaps(frozen) {
            for page in (phys..phys + MIB2).step_by(4096) {
                let write = if frozen.0 <= page && page < frozen.1 {
                    0
                } else {
                    W
                };
                // SAFETY: the caller's.
                unsafe {
                    map_small(
                        root,
                        DIRECT_BASE + page,
                        page,
                        4096,
                        P | A | D | NX | write,
                        frames,
                    )?
                };
            }
        } else {
            let cached = phys == 0 || ram.iter().any(|&r| overlaps(r));
            let bits = P | W | A | D | NX | LARGE | if cached { 0 } else { PWT_PCD };
            // SAFETY: one of the 512 entries of the directory.
            unsafe {
                directory
                    .add((phys >> 21) as usize & 511)
                    .write_volatile(phys | bits)
            };
        }
        phys += MIB2;
    }
    Ok(())
}

/// Maps the image as linked.
///
/// # Safety
/// As for [`entry`].
unsafe fn map_image(root: u64, frames: FrameSource) -> Result<(), NoFrames> {
    let text = &raw const kernel_text_start as u64;
    let rodata = &raw const kernel_text_end as u64;
    let data = &raw const kernel_rodata_end as u64;
    let end = &raw const kernel_end as u64;
    let guard = boot_stack_guard_address();
    let parts = [
        (text, rodata, P | A),
        (rodata, data, P | A | NX),
        (data, guard, DATA),
        (guard + 4096, end, DATA),
    ];
    for (start, end, bits) in parts {
        // SAFETY: the image maps to where it was loaded, as it is mapped now.
        unsafe { map_small(root, start, start - KERNEL_BASE, end - start, bits, frames)? };
    }
    Ok(())
}

/// Builds the final page tables and switches to them; see the picture above. `ram`: all RAM, in any order. From here on no
/// page is both writable and executable, the lower half is empty, and this CPU's stacks have guard pages.
///
/// # Errors
/// [`NoFrames`]: not enough memory for the tables (about 20 frames, 2 more for each GiB of RAM).
///
/// # Safety
/// Once, on the first CPU, on the boot stack, after `init_bsp`. Frames lie below 4 GiB: only that much is mapped so far.
///
/// # Panics
/// If a frame lies above 4 GiB.
pub unsafe fn init_paging(ram: &[(u64, u64)], frames: FrameSource) -> Result<(), NoFrames> {
    let low = &mut || {
        let frame = frames();
        assert!(
            frame.is_none_or(|f| f < GIB4),
            "init_paging: frame {frame:#x?} lies above 4 GiB, where nothing is mapped yet"
        );
        frame
    };
    let root = zeroed(low)?;
    // SAFETY: fresh tables that no CPU uses yet; the image and the direct map alias as they did before.
    unsafe {
        map_direct(root, 0, GIB4, ram, low)?;
        for &(start, end) in ram.iter().filter(|r| r.1 > GIB4) {
            map_direct(root, start.max(GIB4) & !(MIB2 - 1), end, ram, low)?;
        }
        map_image(root, low)?;
        for window in [HEAP_BASE, STACK_BASE, KSTACK_BASE] {
            entry(root, window, 3, low)?;
        }
        super::kstack::map(root, 0, low)?;
        super::stackfault::STACK_PDPT.store(table_of(root, STACK_BASE), Relaxed);
    }
    KERNEL_CR3.store(root, Release);
    // SAFETY: the new tables map the code that runs, its stack and its data where they are.
    unsafe {
        x86_64::registers::control::Cr3::write_raw(
            x86_64::structures::paging::PhysFrame::containing_address(x86_64::PhysAddr::new(root)),
            0,
        )
    };
    super::kstack::use_stacks(0);
    Ok(())
}

/// Virtual address of the level 3 table for `virt`.
unsafe fn table_of(root: u64, virt: u64) -> u64 {
    // SAFETY: `root` is a level 4 table.
    let e = unsafe {
        direct(root)
            .cast::<u64>()
            .add((virt >> 39) as usize & 511)
            .read_volatile()
    };
    direct(e & ADDRESS) as u64
}

/// Maps `pages` pages of 4 KiB at `virt` to physical `phys` upwards, in the heap window. New mappings only, so no TLB needs
/// a flush.
///
/// # Errors
/// [`NoFrames`]: a table was missing and no frame was left; what is mapped so far stays.
///
/// # Safety
/// The physical pages are the caller's to map so.
///
/// # Panics
/// If the range leaves the heap window or touches what is mapped already.
pub unsafe fn map_pages(
    virt: u64,
    phys: u64,
    pages: usize,
    flags: PageFlags,
    frames: FrameSource,
) -> Result<(), NoFrames> {
    let end = virt + pages as u64 * 4096;
    assert!(
        virt >= HEAP_BASE && end <= HEAP_BASE + (512 << 30),
        "map_pages: {virt:#x}..{end:#x} is outside the heap window"
    );
    let bits =
        P | A | D | NX | if flags.write { W } else { 0 } | if flags.uncached { PWT_PCD } else { 0 };
    TABLES.with(|()| {
        for i in 0..pages as u64 {
            // SAFETY: under the lock; the window is ours.
            let slot = unsafe { entry(KERNEL_CR3.load(Acquire), virt + i * 4096, 1, frames)? };
            // SAFETY: a live entry of a page table.
            let old = unsafe { slot.read_volatile() };
            assert!(
                old == 0,
                "map_pages: {:#x} is mapped already",
                virt + i * 4096
            );
            // SAFETY: as above.
            unsafe { slot.write_volatile((phys + i * 4096) | bits) };
        }
        Ok(())
    })
}

/// The level 1 entry for an address of the stack window, tables created. For `stacks.rs` and `kstack.rs`.
///
/// # Safety
/// `virt` lies in the stack window.
pub unsafe fn stack_entry(virt: u64, frames: FrameSource) -> Result<*mut u64, NoFrames> {
    // SAFETY: under the lock.
    TABLES.with(|()| unsafe { entry(KERNEL_CR3.load(Acquire), virt, 1, frames) })
}

/// Whether a byte at `virt` can be read without a page fault: for backtraces of a machine that is already in trouble.
pub fn readable(virt: u64) -> bool {
    let canonical = (virt as i64) << 16 >> 16 == virt as i64;
    let root = KERNEL_CR3.load(Acquire);
    if !canonical || root == 0 {
        return root == 0 && virt.wrapping_sub(KERNEL_BASE) < 1 << 30; // the boot tables
    }
    let mut table = root;
    for at in [4u32, 3, 2, 1] {
        let index = (virt >> (3 + 9 * at)) & 511;
        // SAFETY: a live page table; entries are read as words.
        let e = unsafe {
            direct(table)
                .cast::<u64>()
                .add(index as usize)
                .read_volatile()
        };
        if e & P == 0 {
            return false;
        }
        if e & LARGE != 0 && at < 4 && at > 1 {
            return true;
        }
        table = e & ADDRESS;
    }
    true
}
