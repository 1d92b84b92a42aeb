//! Stacks that grow by page fault, on the machine that has them.

use crate::param::{param, plant_bug};
use crate::wait::{bump, chance, spin};
use crate::{Outcome, Test, ensure, figure};
use alloc::vec::Vec;
use arch::bare::{STACK_BASE, bare_stats};
use base::PreemptGuard;
use core::arch::naked_asm;
use core::hint::black_box;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use mem::PAGE_BYTES;
use ringo::prelude::*;

pub const TESTS: &[Test] = &[
    ("stack_growth", stack_growth),
    ("stack_nested", stack_nested),
    ("stack_page_1", stack_page_1),
    ("stack_overflow", stack_overflow),
    ("stack_overflow_main", || {
        println!("overflow in goroutine {}", current().id());
        black_box(recurse(1 << 40, 1));
        Ok(())
    }),
    ("stack_overflow_array", stack_overflow_array),
    ("stack_overflow_page_1", stack_overflow_page_1),
    ("hundred_thousand", hundred_thousand),
];

/// Calls itself `n` times with half a KiB of checked locals each; wrong if one was overwritten.
#[inline(never)]
pub fn recurse(n: u64, seed: u64) -> u64 {
    let mut room: [u64; 60] = core::array::from_fn(|i| seed ^ n.wrapping_mul(1 + i as u64));
    black_box(&mut room);
    let below = if n == 0 {
        seed
    } else {
        recurse(n - 1, seed).wrapping_mul(31).wrapping_add(n)
    };
    let intact = room
        .iter()
        .enumerate()
        .all(|(i, w)| *w == seed ^ n.wrapping_mul(1 + i as u64));
    if intact { below } else { 0 }
}

/// What [`recurse`] gives when all is well.
fn recursed(n: u64, seed: u64) -> u64 {
    (1..=n).fold(seed, |below, n| below.wrapping_mul(31).wrapping_add(n))
}

#[inline(never)]
fn big_local(seed: u64) -> bool {
    let mut room = [0u64; 8192];
    black_box(&mut room);
    for (i, w) in room.iter_mut().enumerate() {
        *w = seed.wrapping_mul(i as u64)
    }
    black_box(&mut room);
    room.iter()
        .enumerate()
        .all(|(i, w)| *w == seed.wrapping_mul(i as u64))
}

fn faults() -> u64 {
    (0..num_cpu()).map(|cpu| bare_stats(cpu).page_faults).sum()
}

/// Many goroutines on new stacks recurse and use 64 KiB arrays, moved about by yields and slices. `kib`: slot size.
fn stack_growth() -> Outcome {
    let n = param("gs", 300);
    let kib = mem::gstack::slot_bytes() as u64 / 1024;
    // Most of what a G may use, at somewhat less than 1.1 KiB a call.
    let depth = (kib * 1024 - 2 * PAGE_BYTES as u64 - 1200) / 1100 * 3 / 4;
    let array = kib >= 256;
    let before = faults();
    let gs: Vec<_> = (0..n)
        .map(|i| {
            spawn(move || {
                let seed = i | 1;
                let mut well = recurse(depth / 2, seed) == recursed(depth / 2, seed);
                yield_now();
                well &= !array || big_local(seed);
                well && recurse(depth, seed) == recursed(depth, seed)
            })
        })
        .collect();
    let bad = gs
        .into_iter()
        .map(|g| g.join())
        .filter(|well| !well)
        .count();
    let grown = faults() - before;
    figure!("gs", n);
    figure!("faults", grown);
    ensure!(bad == 0, "{bad} of {n} stacks lost what was on them");
    // Gs that ended early give their grown stacks to later ones, but somebody grew.
    ensure!(grown * 2048 > kib * 256, "only {grown} page faults");
    Ok(())
}

/// Moves RSP to `sp`, loops `n` times, moves it back: an interrupt meanwhile lays its frame where nothing is backed.
///
/// # Safety
/// The page below `sp` belongs to the calling G's stack and nothing lives there.
#[unsafe(naked)]
unsafe extern "C" fn spin_at(sp: usize, n: u64) {
    naked_asm!(
        "push rbx",
        "mov rbx, rsp",
        "mov rcx, rsi",
        "mov rsp, rdi",
        "2: loop 2b",
        "mov rsp, rbx",
        "pop rbx",
        "ret"
    )
}

/// Address of page 0 of the slot that the caller runs on.
fn slot_base() -> usize {
    let bytes = mem::gstack::slot_bytes();
    let top = sched::current().stack_top();
    STACK_BASE as usize + (top - STACK_BASE as usize) / bytes * bytes
}

static STOP: AtomicBool = AtomicBool::new(false);

/// Faults inside the handler, and those on page 1.
fn sum() -> (u64, u64) {
    (0..num_cpu()).fold((0, 0), |(nested, low), cpu| {
        let s = bare_stats(cpu);
        (nested + s.page_faults_nested, low + s.page_faults_low)
    })
}

/// Interrupts whose frame write itself faults, inside the handler; some of them at the very end of the stack, so that the
/// frame lies on page 1. On new stacks each time, since pages stay.
fn stack_nested() -> Outcome {
    let (want_nested, want_low) = (param("nested", 1000), param("low", 50));
    static BAD: AtomicU64 = AtomicU64::new(0);
    plant_bug();
    let poker = (num_cpu() > 1).then(|| spawn(poke));
    let mut gs = Vec::new();
    let hold = Arc::new(Semaphore::new(0));
    for i in 0..4000u64 {
        let (nested, low) = sum();
        if nested >= want_nested && low >= want_low {
            break;
        }
        let hold = hold.clone();
        gs.push(spawn(move || {
            let mut rng = chance(i);
            let base = slot_base();
            let seed = rng.next_u64();
            let here = [seed; 16];
            let pages = mem::gstack::slot_bytes() / PAGE_BYTES;
            // From the top down, each page once; the last place has its frame on page 1.
            for page in (3..pages - 4).rev() {
                // SAFETY: nothing lives there yet: this G uses its two topmost pages only.
                unsafe {
                    spin_at(
                        base + page * PAGE_BYTES + 16 * rng.below(256) as usize,
                        6000,
                    )
                }
            }
            let before = sum().1;
            for _ in 0..100 {
                // SAFETY: as above; what is laid below this goes to page 1.
                unsafe { spin_at(base + 2 * PAGE_BYTES + 64, 20_000) }
                if sum().1 != before {
                    break;
                }
            }
            if black_box(here) != [seed; 16] || recurse(60, seed) != recursed(60, seed) {
                bump(&BAD);
            }
            hold.acquire();
        }));
        if i % 4 == 3 {
            // A few at a time.
            while (sched::num_goroutine() as u64) > i && sched::this().runqsize() > 8 {
                yield_now()
            }
            sleep(Duration::from_millis(1));
        }
    }
    // All that were started have done their part before the counts are judged.
    gs.iter().for_each(|_| hold.release());
    let started = gs.len();
    gs.into_iter().for_each(|g| g.join());
    STOP.store(true, Relaxed);
    poker.into_iter().for_each(|p| p.join());
    let (nested, low) = sum();
    figure!("stacks", started);
    figure!("nested", nested);
    figure!("page_1", low);
    ensure!(
        BAD.load(Relaxed) == 0,
        "{} stacks lost what was on them",
        BAD.load(Relaxed)
    );
    ensure!(
        nested >= want_nested && low >= want_low,
        "too few: {nested} nested faults, {low} on page 1"
    );
    Ok(())
}

static CPUS: [OnceLock<arch::CpuRef>; arch::MAX_CPUS] = [const { OnceLock::new() }; arch::MAX_CPUS];

fn poke() {
    let mut rng = chance(9);
    let cpus = num_cpu() as u32;
    while !STOP.load(Relaxed) {
        {
            let _here = PreemptGuard::new();
            CPUS[arch::cpu_id()].get_or_init(arch::cpu_ref);
        }
        if let Some(cpu) = CPUS[rng.below(cpus) as usize].get() {
            arch::wake_cpu(*cpu)
        }
        spin(rng.below(1000));
        if rng.below(64) == 0 {
            yield_now()
        }
    }
}

/// Page 1 is backed while preemption is off, and only then.
fn stack_page_1() -> Outcome {
    let well = spawn(|| {
        let at = (slot_base() + PAGE_BYTES + 128) as *mut u64;
        let _guard = PreemptGuard::new();
        // SAFETY: page 1 of this G's own slot; with the count raised it is there.
        unsafe {
            at.write_volatile(77);
            at.read_volatile() == 77
        }
    })
    .join();
    ensure!(well, "page 1 did not keep what was written");
    Ok(())
}

fn stack_overflow() -> Outcome {
    spawn(|| {
        println!("overflow in goroutine {}", current().id());
        black_box(recurse(1 << 40, 3));
    })
    .join();
    Err("the stack had no end".into())
}

/// One array that is larger than the stack: the probes of its pages find the guard, nothing is jumped over.
fn stack_overflow_array() -> Outcome {
    #[inline(never)]
    fn huge(seed: u8) -> u8 {
        let mut room = [seed; 900 << 10];
        black_box(&mut room);
        room[usize::from(seed)]
    }
    let got = spawn(|| {
        println!("overflow in goroutine {}", current().id());
        huge(black_box(3))
    })
    .join();
    Err(format!("an array of 900 KiB fitted: {got}"))
}

fn stack_overflow_page_1() -> Outcome {
    spawn(|| {
        println!("overflow in goroutine {}", current().id());
        let at = (slot_base() + PAGE_BYTES + 128) as *mut u64;
        // SAFETY: this is to fail: nothing of ours may lie there while the count is 0.
        unsafe { at.write_volatile(77) };
    })
    .join();
    Err("page 1 was backed with preemption on".into())
}

/// `n` goroutines spawned, parked, woken, ended; and again, which must not need more memory.
fn hundred_thousand() -> Outcome {
    let n = param("gs", 100_000);
    let (mut used, mut peaks) = (0, [0u64; 3]);
    for (round, peak) in peaks.iter_mut().enumerate() {
        static PARKED: AtomicU64 = AtomicU64::new(0);
        static ENDED: AtomicU64 = AtomicU64::new(0);
        PARKED.store(0, SeqCst);
        ENDED.store(0, SeqCst);
        let free = mem::frames::free_frames();
        let (gate, at_gate) = chan::<()>(0);
        for _ in 0..n {
            let at_gate = at_gate.clone();
            go(move || {
                bump(&PARKED);
                // Closed, not sent to: all of them are woken at once.
                assert_eq!(at_gate.recv(), None);
                bump(&ENDED);
            });
            if PARKED.load(Relaxed).is_multiple_of(64) {
                yield_now() // so that they park while others are being made
            }
        }
        crate::wait::until(|| PARKED.load(SeqCst) == n);
        ensure!(
            num_goroutine() as u64 == n + 1,
            "{} goroutines",
            num_goroutine()
        );
        let now = mem::frames::free_frames();
        *peak = mem::frames::total_frames() - now;
        if round == 0 {
            used = (free - now) * PAGE_BYTES as u64
        }
        gate.close();
        crate::wait::until(|| num_goroutine() == 1);
        ensure!(
            ENDED.load(SeqCst) == n,
            "{} of {n} ended",
            ENDED.load(SeqCst)
        );
    }
    figure!("gs", n);
    figure!("bytes_each", used / n);
    figure!("peak_mib", (peaks[0] * PAGE_BYTES as u64) >> 20);
    ensure!(
        peaks[2] * 100 <= peaks[0] * 105,
        "frames in use at the peak of each round: {peaks:?}"
    );
    Ok(())
}
