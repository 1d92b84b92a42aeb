//! Starting the other CPUs: directed INIT and SIPI to all at once, one wait for all, bounded; the machine goes on with those
//! that came. SDM vol. 3, 9.4.
//!
//! The state of an invited CPU's place; a late one finds it abandoned and halts, so it can never take a number twice:
//!
//! ```text
//!            start_cpus              the CPU itself (CAS)          start_cpus gave it a number      CPU: ready
//!   EMPTY --------------> INVITED -----------------------> ARRIVED ------------------------> (go) ------------> READY
//!                            |  start_cpus, time is up (CAS)
//!                            +----------------------------> ABANDONED   arrives later: halts for good
//! ```
//!
//! Numbers are given in the order of the MADT to those that arrived, so they have no gaps.
//!
//! While a CPU starts it needs one identity-mapped page, the trampoline's. Tables of their own give it that; no CPU uses
//! them once it is in the kernel, and the kernel's tables never have it.

use super::bare::{FrameSource, KERNEL_BASE, Platform};
use super::paging::{self, KERNEL_CR3, NoFrames, direct};
use super::percpu::{self, Cpu};
use super::{acpi, apic, calibrate, features, gdt, kstack, timer, trap, tsc};
use crate::MAX_CPUS;
use core::arch::global_asm;
use core::mem::offset_of;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};

/// Physical page of the trampoline: the boot crate keeps all below 1 MiB out of what is usable.
const TRAMPOLINE: u64 = 0x8000;

/// INIT needs 10 ms before SIPI on old hardware; virtual CPUs and those of this century need none.
const INIT_WAIT_NS: u64 = 10_000_000;
const INIT_WAIT_VIRTUAL_NS: u64 = 100_000;
/// After so long without an answer a second SIPI is sent (the first may be lost).
const SECOND_SIPI_NS: u64 = 20_000_000;
/// The whole wait for all CPUs to arrive.
const ARRIVAL_NS: u64 = 1_000_000_000;
/// An arrived CPU runs code of ours; it needs so long only if the host does not run it.
const READY_NS: u64 = 10_000_000_000;

const EMPTY: u32 = 0;
const INVITED: u32 = 1;
const ARRIVED: u32 = 2;
const ABANDONED: u32 = 3;
const READY: u32 = 4;

/// Place of a CPU by its APIC id, 0xff = not invited.
static PLACE_OF: [AtomicU8; 256] = [const { AtomicU8::new(0xff) }; 256];
static STATE: [AtomicU32; MAX_CPUS] = [const { AtomicU32::new(EMPTY) }; MAX_CPUS];
/// The number of the CPU in this place, 0 = wait.
static GO: [AtomicU32; MAX_CPUS] = [const { AtomicU32::new(0) }; MAX_CPUS];
/// APIC id by place.
static APIC_ID: [AtomicU32; MAX_CPUS] = [const { AtomicU32::new(0) }; MAX_CPUS];
static FOUND: AtomicUsize = AtomicUsize::new(1);
static RUNNING: AtomicUsize = AtomicUsize::new(1);
/// `fn(usize)` of `start_cpus`.
static ENTRY: AtomicUsize = AtomicUsize::new(0);
/// The first CPU's counter a moment ago; a CPU whose own is behind it has another clock.
static TSC_SEEN: AtomicU64 = AtomicU64::new(0);
/// The counter of the CPU in this place when it became ready, for the check the other way.
static TSC_READY: [AtomicU64; MAX_CPUS] = [const { AtomicU64::new(0) }; MAX_CPUS];

#[repr(align(4096))]
struct Table(#[allow(dead_code)] [u64; 512]);
/// Levels 4 to 1 of the tables that starting CPUs use: the trampoline's page, and the kernel's upper half.
static mut START_TABLES: [Table; 4] = [const { Table([0; 512]) }; 4];

unsafe extern "C" {
    static ap_trampoline: u8;
    static ap_trampoline_end: u8;
    static ap_trampoline_cr3: u8;
    static ap_trampoline_entry: u8;
    fn ap_entry();
}

// From the trampoline, in 64-bit mode on START_TABLES, without a stack.
global_asm!(r#"
.section .text.ringo_smp,"ax",@progbits
.global ap_entry
ap_entry:
  mov rax, [rip + {KERNEL_CR3}]
  mov cr3, rax                           // from here on the trampoline is not mapped
  mov eax, 1
  cpuid
  shr ebx, 24                            // APIC id
  lea rsi, [rip + {PLACE_OF}]
  movzx ecx, byte ptr [rsi + rbx]
  cmp ecx, 0xff
  je 9f
  lea rsi, [rip + {STATE}]
  mov eax, {INVITED}
  mov edx, {ARRIVED}
  lock cmpxchg [rsi + rcx*4], edx
  jne 9f
  lea rsi, [rip + {GO}]
1: pause
  mov eax, [rsi + rcx*4]
  test eax, eax
  jz 1b
  imul rdx, rax, {STRIDE}
  lea rsi, [rip + RINGO_CPUS]
  mov rsp, [rsi + rdx + {G0_TOP}]
  fninit
  ldmxcsr [rip + mxcsr_default]
  mov edi, eax
  mov esi, ecx
  call {ap_main}
  ud2
9: cli
  hlt
  jmp 9b
.text
"#,
    KERNEL_CR3 = sym KERNEL_CR3, PLACE_OF = sym PLACE_OF, STATE = sym STATE, GO = sym GO,
    INVITED = const INVITED, ARRIVED = const ARRIVED, STRIDE = const size_of::<Cpu>(),
    G0_TOP = const offset_of!(Cpu, g0_top), ap_main = sym ap_main);

/// CPUs that run, this one included.
pub fn num_cpus() -> usize {
    RUNNING.load(Relaxed)
}

fn read_physical(at: u64, into: &mut [u8]) -> bool {
    let end = at.saturating_add(into.len() as u64);
    if !paging::readable(direct(at) as u64) || !paging::readable(direct(end) as u64 - 1) {
        return false;
    }
    // SAFETY: both ends are mapped, and what lies between is shorter than a page.
    unsafe { core::ptr::copy_nonoverlapping(direct(at), into.as_mut_ptr(), into.len()) };
    true
}

/// Finds the CPUs, switches this one's local APIC on, measures the clocks, and backs the stacks of all CPUs found.
///
/// # Errors
/// A sentence for the person at the console: no clock can be trusted, or there is not enough memory for the stacks.
///
/// # Safety
/// Once, on the first CPU, after `init_paging`. `rsdp` is what the loader said.
pub unsafe fn init_platform(
    rsdp: Option<u64>,
    frames: FrameSource,
) -> Result<Platform, &'static str> {
    let me = apic::id();
    let (mut found, mut too_many) = (1, 0);
    let mut first_left_out = 0;
    let add = |id: u32| {
        let place = FOUND.load(Relaxed);
        if id == me {
        } else if place == MAX_CPUS || id > 254 {
            first_left_out = if too_many == 0 { id } else { first_left_out };
            too_many += 1;
        } else if PLACE_OF[id as usize].swap(place as u8, Relaxed) == 0xff {
            APIC_ID[place].store(id, Relaxed);
            found = place + 1;
            FOUND.store(found, Relaxed);
        }
    };
    let madt = rsdp.is_some_and(|rsdp| acpi::cpus(&read_physical, rsdp, add));
    if !madt {
        say(format_args!(
            "no ACPI table names the CPUs of this machine; going on with one"
        ));
    }
    if too_many > 0 {
        say(format_args!(
            "{} CPUs found, {MAX_CPUS} is the most that run here; {too_many} stay parked (the first has APIC id {first_left_out})",
            found + too_many
        ));
    }
    // SAFETY: interrupts are off, the registers are mapped uncached by the direct map.
    unsafe { apic::enable() };
    let clocks = calibrate::calibrate(rsdp.and_then(|rsdp| acpi::hpet(&read_physical, rsdp)))?;
    timer::set_hz(clocks.apic_hz);
    // SAFETY: nobody else runs.
    unsafe { tsc::set_hz(clocks.tsc_hz, clocks.source) };
    let root = KERNEL_CR3.load(Acquire);
    for cpu in 1..found {
        // SAFETY: the CPU does not run yet.
        unsafe { kstack::map(root, cpu, frames) }
            .map_err(|NoFrames| "not enough memory for the stacks of all CPUs: give the machine more memory or fewer CPUs")?;
        kstack::use_stacks(cpu);
    }
    Ok(Platform {
        cpus: found,
        too_many,
        tsc_hz: clocks.tsc_hz,
        apic_timer_hz: clocks.apic_hz,
    })
}

fn say(words: core::fmt::Arguments) {
    use core::fmt::Write;
    struct Line([u8; 200], usize);
    impl Write for Line {
        fn write_str(&mut self, s: &str) -> core::fmt::Result {
            let n = s.len().min(self.0.len() - self.1);
            self.0[self.1..self.1 + n].copy_from_slice(&s.as_bytes()[..n]);
            self.1 += n;
            Ok(())
        }
    }
    let mut line = Line([0; 200], 0);
    let _ = write!(line, "ringo: {words}\n");
    super::console_write(&line.0[..line.1]);
}

/// Starts CPUs until `want` run, this one included. Each calls `entry(number)` on its g0 stack: `preempt_count` 1, IF=0,
/// `m_ptr` and `curg` null, its timer stopped. Returns how many run; numbers are dense from 0. Those that did not come
/// within a second are named on the console.
///
/// # Safety
/// Once, on CPU 0, after `init_platform`. `entry` does not return (if it does, that CPU halts for good).
pub unsafe fn start_cpus(want: usize, entry: fn(usize)) -> usize {
    let places = want.clamp(1, FOUND.load(Relaxed));
    ENTRY.store(entry as usize, Relaxed);
    if places == 1 {
        return 1;
    }
    // SAFETY: no CPU starts yet.
    unsafe { prepare_trampoline() };
    for state in &STATE[1..places] {
        state.store(INVITED, Release); // pairs with the locked compare of `ap_entry`
    }
    invite(places);
    let arrived = wait_for_arrivals(places);
    let mut n = 1;
    for place in (1..places).filter(|&p| arrived & 1 << p != 0) {
        percpu::cpu(n)
            .apic_id
            .store(APIC_ID[place].load(Relaxed), Relaxed);
        n += 1;
    }
    RUNNING.store(n, Relaxed);
    TSC_SEEN.store(tsc::ticks(), Relaxed);
    for (number, place) in (1..).zip((1..places).filter(|&p| arrived & 1 << p != 0)) {
        GO[place].store(number, Release); // pairs with the plain load of `ap_entry` (x86: acquire)
    }
    wait_until_ready(places, arrived);
    n
}

unsafe fn prepare_trampoline() {
    let code = &raw const ap_trampoline;
    let offset = |symbol: *const u8| symbol as usize - code as usize;
    let physical = |table: *const Table| table as u64 - KERNEL_BASE;
    let upper = direct(KERNEL_CR3.load(Acquire)).cast::<u64>();
    // SAFETY: the page is nobody's (see TRAMPOLINE), the tables are static and not in use; entries are words.
    unsafe {
        let to = direct(TRAMPOLINE);
        core::ptr::copy_nonoverlapping(code, to, offset(&raw const ap_trampoline_end));
        let tables = (&raw mut START_TABLES).cast::<Table>();
        to.add(offset(&raw const ap_trampoline_cr3))
            .cast::<u32>()
            .write(physical(tables) as u32);
        to.add(offset(&raw const ap_trampoline_entry))
            .cast::<u64>()
            .write(ap_entry as *const () as u64);
        let entry = |level: usize, index: u64| tables.add(level).cast::<u64>().add(index as usize);
        for index in 256..512 {
            entry(0, index).write(upper.add(index as usize).read());
        }
        for level in 0..3 {
            entry(level, 0).write(physical(tables.add(level + 1)) | paging::P | paging::W);
        }
        entry(3, TRAMPOLINE >> 12).write(TRAMPOLINE | paging::P); // executable, not writable
    }
}

fn invite(places: usize) {
    let each =
        |send: &dyn Fn(u32)| (1..places).for_each(|place| send(APIC_ID[place].load(Relaxed)));
    each(&apic::send_init);
    tsc::spin_wait_ns(if features::is_virtual() {
        INIT_WAIT_VIRTUAL_NS
    } else {
        INIT_WAIT_NS
    });
    each(&|id| apic::send_sipi(id, TRAMPOLINE));
}

/// Waits, then closes the door. The set of places whose CPU came.
fn wait_for_arrivals(places: usize) -> u64 {
    let all: u64 = (1..places).fold(0, |set, place| set | 1 << place);
    let begin = tsc::now_ns();
    let mut again = true;
    let mut arrived = 0;
    while arrived != all {
        for (place, state) in STATE.iter().enumerate().take(places).skip(1) {
            arrived |= u64::from(state.load(Acquire) == ARRIVED) << place;
        }
        let waited = tsc::now_ns() - begin;
        if waited > ARRIVAL_NS {
            break;
        }
        if again && waited > SECOND_SIPI_NS {
            again = false;
            for place in (1..places).filter(|&p| arrived & 1 << p == 0) {
                apic::send_sipi(APIC_ID[place].load(Relaxed), TRAMPOLINE);
            }
        }
        core::hint::spin_loop();
    }
    let missing = all & !arrived;
    for place in (1..places).filter(|&p| missing & 1 << p != 0) {
        match STATE[place].compare_exchange(INVITED, ABANDONED, AcqRel, Acquire) {
            Ok(_) => say(format_args!(
                "the CPU with APIC id {} did not start within {} ms; going on without it",
                APIC_ID[place].load(Relaxed),
                ARRIVAL_NS / 1_000_000
            )),
            Err(_) => arrived |= 1 << place, // in the last moment
        }
    }
    arrived
}

fn wait_until_ready(places: usize, arrived: u64) {
    let begin = tsc::now_ns();
    for place in (1..places).filter(|&p| arrived & 1 << p != 0) {
        while STATE[place].load(Acquire) != READY {
            TSC_SEEN.store(tsc::ticks(), Relaxed);
            if tsc::now_ns() - begin > READY_NS {
                say(format_args!(
                    "CPU {} arrived but is not ready after 10 s",
                    GO[place].load(Relaxed)
                ));
                super::exit(crate::ExitCode::Watchdog);
            }
            core::hint::spin_loop();
        }
        // The Acquire above pairs with the CPU's Release, so its counter is older than this look at ours.
        if tsc::ticks() < TSC_READY[place].load(Relaxed) {
            tsc::set_skewed();
        }
    }
}

/// The first Rust code of CPU number `cpu`, on its g0 stack.
extern "C" fn ap_main(cpu: usize, place: usize) -> ! {
    // SAFETY: this CPU's own tables and block, interrupts are off, once.
    unsafe {
        gdt::load(cpu);
        percpu::attach(cpu, apic::id());
        trap::load_idt();
        features::enable();
        apic::attach();
        apic::enable();
    }
    let seen = TSC_SEEN.load(Acquire);
    let mine = tsc::ticks();
    if mine < seen {
        tsc::set_skewed();
    }
    TSC_READY[place].store(mine, Relaxed);
    STATE[place].store(READY, Release); // pairs with the Acquire in `wait_until_ready`
    // SAFETY: stored from a `fn(usize)` before this CPU was invited.
    let entry: fn(usize) = unsafe { core::mem::transmute(ENTRY.load(Acquire)) };
    entry(cpu);
    loop {
        super::irq::irq_disable();
        x86_64::instructions::hlt();
    }
}
