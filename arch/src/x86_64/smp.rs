//! Starting the other CPUs: directed INIT and SIPI to all at once, one wait for all, bounded; the machine goes on with those
//! that came. SDM vol. 3, 9.4.
//!
//! The state of an invited CPU's place. A late one finds it abandoned and halts, so it can never take a number twice:
//!
//! ```text
//!           invite             the CPU itself (CAS)           it is set up, halts     start_cpus: GO
//!   EMPTY ---------> INVITED ----------------------> ARRIVED ----------------> READY ---------------> RUNNING
//!      invite again    |  ^                                                      |
//!                      |  +------------------------------------------------------+  an earlier one is missing:
//!                      |  time is up (CAS)                                          it gets a lower number
//!                      +-----------------> ABANDONED   arrives later: halts for good
//! ```
//!
//! Numbers follow the order of the MADT and have no gaps. Normally a CPU's number is its place; if some do not come, those
//! behind them are sent back to INIT and invited again with lower numbers, which they have not used for anything yet.
//!
//! Nobody spins for long here: on a host with fewer cores than CPUs, who spins keeps the others from arriving. The first CPU
//! naps, those that are ready halt.
//!
//! While a CPU starts it needs one identity-mapped page, the trampoline's. Tables of their own give it that; no CPU uses
//! them once it is in the kernel, and the kernel's tables never have it.

use super::bare::KERNEL_BASE;
use super::paging::{self, KERNEL_CR3, direct};
use super::percpu::{self, Cpu};
use super::platform::say;
use super::{apic, features, gdt, irq, preempt, timer, trap, tsc};
use crate::MAX_CPUS;
use core::arch::global_asm;
use core::mem::offset_of;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};

/// Physical page of the trampoline: the boot crate keeps all below 1 MiB out of what is usable.
const TRAMPOLINE: u64 = 0x8000;

/// INIT needs 10 ms before SIPI on old hardware; virtual CPUs need none.
const INIT_WAIT_NS: u64 = 10_000_000;
const INIT_WAIT_VIRTUAL_NS: u64 = 50_000;
/// How often the first CPU looks who came.
const NAP_NS: u64 = 200_000;
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
const RUNNING: u32 = 5;

/// Place of a CPU by its APIC id, 0xff = none.
static PLACE_OF: [AtomicU8; 256] = [const { AtomicU8::new(0xff) }; 256];
static STATE: [AtomicU32; MAX_CPUS] = [const { AtomicU32::new(EMPTY) }; MAX_CPUS];
/// APIC id by place.
static APIC_ID: [AtomicU32; MAX_CPUS] = [const { AtomicU32::new(0) }; MAX_CPUS];
/// CPU number by place.
static NUMBER: [AtomicU32; MAX_CPUS] = [const { AtomicU32::new(0) }; MAX_CPUS];
/// Places in use, the first CPU's (0) included.
static FOUND: AtomicUsize = AtomicUsize::new(1);
/// CPUs that run, or wait for GO.
static CPUS: AtomicUsize = AtomicUsize::new(1);
/// `bring_up_cpus` was called.
static BROUGHT_UP: AtomicBool = AtomicBool::new(false);
/// Places of the CPUs that wait for GO.
static WAITING: AtomicU64 = AtomicU64::new(0);
/// `fn(usize)` of `start_cpus`.
static ENTRY: AtomicUsize = AtomicUsize::new(0);
/// All that will come are there.
static GO: AtomicBool = AtomicBool::new(false);
/// The first CPU's counter just before GO; a CPU whose own is behind it has another clock.
static TSC_AT_GO: AtomicU64 = AtomicU64::new(0);
/// The counter of the CPU in this place when it saw GO, for the check the other way.
static TSC_SEEN: [AtomicU64; MAX_CPUS] = [const { AtomicU64::new(0) }; MAX_CPUS];

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
  lea rsi, [rip + {NUMBER}]
  mov edi, [rsi + rcx*4]
  imul rdx, rdi, {STRIDE}
  lea rsi, [rip + RINGO_CPUS]
  mov rsp, [rsi + rdx + {G0_TOP}]
  fninit
  ldmxcsr [rip + mxcsr_default]
  mov esi, ecx
  call {ap_main}
  ud2
9: cli
  hlt
  jmp 9b
.text
"#,
    KERNEL_CR3 = sym KERNEL_CR3, PLACE_OF = sym PLACE_OF, STATE = sym STATE, NUMBER = sym NUMBER,
    INVITED = const INVITED, ARRIVED = const ARRIVED, STRIDE = const size_of::<Cpu>(),
    G0_TOP = const offset_of!(Cpu, g0_top), ap_main = sym ap_main);

/// CPUs that run (before `start_cpus`: that will), this one included.
pub fn num_cpus() -> usize {
    CPUS.load(Relaxed)
}

/// CPUs that could run, this one included.
pub fn found() -> usize {
    FOUND.load(Relaxed)
}

/// Takes note of another CPU. False if there is no place for it, or if its id is out of reach in xAPIC mode.
pub fn add(apic_id: u32) -> bool {
    let place = found();
    if apic_id > 254 {
        return false;
    }
    // A table that names a CPU twice means one.
    if PLACE_OF[apic_id as usize].load(Relaxed) != 0xff {
        return true;
    }
    if place == MAX_CPUS {
        return false;
    }
    PLACE_OF[apic_id as usize].store(place as u8, Relaxed);
    APIC_ID[place].store(apic_id, Relaxed);
    FOUND.store(place + 1, Relaxed);
    true
}

/// The places in a set, ascending.
fn each(set: u64) -> impl Iterator<Item = usize> {
    (0..MAX_CPUS).filter(move |&place| set & 1 << place != 0)
}

/// Wakes CPUs until `want` are there, this one included; each sets itself up and halts until `start_cpus`. Returns how many
/// there are; numbers are dense from 0. Those that did not come within a second are named on the console. This CPU's timer
/// is used meanwhile and is stopped afterwards.
///
/// # Safety
/// Once, on CPU 0 with interrupts off, after `init_platform`.
pub unsafe fn bring_up_cpus(want: usize) -> usize {
    let places = want.clamp(1, found());
    BROUGHT_UP.store(true, Relaxed);
    if places == 1 {
        return 1;
    }
    // SAFETY: no CPU starts yet.
    unsafe { prepare_trampoline() };
    let mut ready: u64 = (1..places).fold(0, |set, place| set | 1 << place);
    let mut invited = ready;
    while invited != 0 {
        number(ready);
        invite(invited);
        ready &= !wait(invited);
        // Those whose number is no longer right come again; the others stay as they are.
        invited = each(ready)
            .zip(1..)
            .filter(|&(place, n)| NUMBER[place].load(Relaxed) != n)
            .fold(0, |set, (place, _)| set | 1 << place);
    }
    let n = 1 + ready.count_ones() as usize;
    WAITING.store(ready, Relaxed);
    CPUS.store(n, Relaxed);
    n
}

/// Lets the CPUs run that [`bring_up_cpus`] has brought, which is called first if nobody has, for `want`. Each calls
/// `entry(number)` on its g0 stack: `preempt_count` 1, IF=0, `m_ptr` and `curg` null, its timer stopped. Returns how many
/// run, this one included. If the caller had armed this CPU's timer, it fires early.
///
/// # Safety
/// Once, on CPU 0, after `init_platform`. `entry` does not return (if it does, that CPU halts for good).
pub unsafe fn start_cpus(want: usize, entry: fn(usize)) -> usize {
    ENTRY.store(entry as usize, Relaxed);
    if !BROUGHT_UP.load(Relaxed) {
        // SAFETY: once, and as the caller promises.
        unsafe { bring_up_cpus(want) };
    }
    go(WAITING.load(Relaxed));
    preempt::raise_pending(crate::PENDING_TIMER); // what it was armed for may be lost: whoever armed it looks at the clock
    num_cpus()
}

fn number(places: u64) {
    for (place, n) in each(places).zip(1..) {
        NUMBER[place].store(n, Relaxed);
        let apic_id = APIC_ID[place].load(Relaxed);
        percpu::cpu(n as usize).apic_id.store(apic_id, Relaxed);
    }
}

/// Writes the trampoline and the tables it runs on.
///
/// # Safety
/// No CPU is starting.
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
        let cr3 = to.add(offset(&raw const ap_trampoline_cr3));
        cr3.cast::<u32>().write(physical(tables) as u32);
        let entry = to.add(offset(&raw const ap_trampoline_entry));
        entry.cast::<u64>().write(ap_entry as *const () as u64);
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

fn invite(places: u64) {
    let wait = if features::is_virtual() {
        INIT_WAIT_VIRTUAL_NS
    } else {
        INIT_WAIT_NS
    };
    each(places).for_each(|place| apic::send_init(APIC_ID[place].load(Relaxed)));
    tsc::spin_wait_ns(wait);
    for place in each(places) {
        STATE[place].store(INVITED, Release); // pairs with the locked compare of `ap_entry`
        apic::send_sipi(APIC_ID[place].load(Relaxed), TRAMPOLINE);
    }
}

/// Gives the host's core to others for `NAP_NS`. Interrupts are on meanwhile, `preempt_count` is not 0.
fn nap() {
    timer::arm_timer(tsc::now_ns() + NAP_NS);
    irq::irq_disable();
    if preempt::pending() & crate::PENDING_TIMER == 0 {
        irq::halt();
    }
    irq::irq_disable();
    let bits = preempt::take_pending();
    preempt::raise_pending(bits & !crate::PENDING_TIMER);
}

/// Waits until all of `places` are ready; closes the door after a second. The set of those that did not come.
fn wait(places: u64) -> u64 {
    let begin = tsc::now_ns();
    let (mut again, mut missing) = (true, 0);
    loop {
        let in_state = |s: u32| move |&place: &usize| STATE[place].load(Acquire) == s;
        let come = each(places & !missing);
        if come.into_iter().all(|place| in_state(READY)(&place)) {
            timer::disarm_timer();
            return missing;
        }
        nap();
        let waited = tsc::now_ns() - begin;
        if again && waited > SECOND_SIPI_NS {
            again = false;
            each(places)
                .filter(in_state(INVITED))
                .for_each(|place| apic::send_sipi(APIC_ID[place].load(Relaxed), TRAMPOLINE));
        }
        if waited > ARRIVAL_NS {
            each(places)
                .filter(|&place| abandon(place))
                .for_each(|place| missing |= 1 << place);
        }
        if waited > READY_NS {
            say(format_args!("a CPU arrived but is not ready after 10 s"));
            super::exit(crate::ExitCode::Watchdog);
        }
    }
}

/// Closes the door for a CPU that has not arrived. False if it has, in the last moment.
fn abandon(place: usize) -> bool {
    let late = STATE[place]
        .compare_exchange(INVITED, ABANDONED, AcqRel, Acquire)
        .is_ok();
    if late {
        say(format_args!(
            "the CPU with APIC id {} did not start within {} ms; going on without it",
            APIC_ID[place].load(Relaxed),
            ARRIVAL_NS / 1_000_000
        ));
    }
    late
}

/// Lets all that are ready run, and compares their clocks with this one.
fn go(ready: u64) {
    TSC_AT_GO.store(tsc::ticks(), Relaxed);
    GO.store(true, Release); // pairs with the Acquire in `ap_main`
    each(ready).for_each(|place| apic::send_resched(APIC_ID[place].load(Relaxed)));
    let begin = tsc::now_ns();
    let mut left = ready;
    while left != 0 && tsc::now_ns() - begin < READY_NS {
        for place in each(left).filter(|&place| STATE[place].load(Acquire) == RUNNING) {
            left &= !(1 << place);
            if tsc::ticks() < TSC_SEEN[place].load(Relaxed) {
                tsc::set_skewed();
            }
        }
        core::hint::spin_loop();
    }
}

/// The first Rust code of CPU number `cpu`, on its g0 stack.
extern "C" fn ap_main(cpu: usize, place: usize) -> ! {
    // SAFETY: this CPU's own tables and block, interrupts are off.
    unsafe {
        gdt::load(cpu);
        percpu::attach(cpu, apic::id());
        trap::load_idt();
        features::enable();
        super::user::init_cpu();
        apic::attach();
        apic::enable();
    }
    STATE[place].store(READY, Release); // pairs with the Acquire in `wait`
    // Halts until the first CPU has seen all: it sends a reschedule IPI after GO.
    while !GO.load(Acquire) {
        irq::irq_disable();
        if preempt::take_pending() == 0 {
            irq::halt();
        }
    }
    irq::irq_disable();
    let mine = tsc::ticks();
    if mine < TSC_AT_GO.load(Relaxed) {
        tsc::set_skewed();
    }
    preempt::take_pending();
    TSC_SEEN[place].store(mine, Relaxed);
    STATE[place].store(RUNNING, Release); // pairs with the Acquire in `go`
    // SAFETY: stored from a `fn(usize)` before GO.
    let entry: fn(usize) = unsafe { core::mem::transmute(ENTRY.load(Relaxed)) };
    entry(cpu);
    loop {
        irq::irq_disable();
        x86_64::instructions::hlt();
    }
}
