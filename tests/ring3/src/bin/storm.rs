//! Pages come and go while threads on all CPUs read them: none sees a page that is gone. `storm [ROUNDS]`.
//!
//! ```text
//!   one thread:  switch the readers to the other page ── wait until nobody reads this one ── unmap ── poison whatever page gets its
//!                frame ── map it again, at the same address, with the next generation in it ── the same for the other page
//!   the others:  announce the page ── is it still the one to read? ── read it: the generation, or the CPU has remembered too much
//! ```
#![no_std]
#![no_main]
use abi::{Call, PAGE_BYTES};
use core::hint::spin_loop;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use rt::prelude::*;
use rt::syscall;
rt::main!(main);

/// What is written to pages that get a frame which was just given back.
const POISON: u64 = 0xdead_dead_dead_dead;
/// Pages that are mapped only to be written, and are taken out all at once.
const JUNK: u64 = 64;
/// Reads between two moments in which a reader gives way: some tens of microseconds.
const READS_IN_A_ROW: u32 = 1000;
/// Most readers.
const READERS: usize = 16;

/// The page to read, and the low bits of its generation below its address.
static CURRENT: AtomicU64 = AtomicU64::new(0);
static OVER: AtomicBool = AtomicBool::new(false);
static READS: AtomicU64 = AtomicU64::new(0);
static STALE: AtomicU64 = AtomicU64::new(0);
/// Which page each reader reads; 0: none.
static READING: [AtomicU64; READERS] = [const { AtomicU64::new(0) }; READERS];

fn call<const N: usize>(number: Call, args: [u64; N]) -> u64 {
    // SAFETY: pages are taken out when nobody uses them.
    unsafe { syscall::call(number, args) }.unwrap_or_else(|e| panic!("{number:?}: {e}"))
}

fn word(page: u64, index: usize) -> &'static AtomicU64 {
    // SAFETY: of a mapped page, as far as the caller knows; if it is not, the process ends.
    unsafe { &*(page as *const AtomicU64).add(index) }
}

/// Reads what is to be read until it is over.
fn reader(me: usize) {
    let mut reads = 0;
    while !OVER.load(Relaxed) {
        for _ in 0..READS_IN_A_ROW {
            let current = CURRENT.load(Acquire);
            let page = current / PAGE_BYTES * PAGE_BYTES;
            READING[me].store(page, SeqCst); // pairs with the store of CURRENT: one of the two sees the other's
            if CURRENT.load(SeqCst) == current {
                let seen = word(page, 0).load(Relaxed);
                if seen % PAGE_BYTES != current % PAGE_BYTES
                    || word(page, 511).load(Relaxed) != seen
                {
                    STALE.fetch_add(1, Relaxed);
                }
                reads += 1;
            }
            READING[me].store(0, Release);
        }
        yield_now() // rather than be interrupted in the midst of a read, for which the other thread waits
    }
    READS.fetch_add(reads, Relaxed);
}

/// A page with this generation in it.
fn fresh(generation: u64) -> u64 {
    let page = call(Call::Map, [PAGE_BYTES, 0]);
    for index in [0, 511] {
        assert_eq!(word(page, index).load(Relaxed), 0, "a new page is not zero");
        word(page, index).store(generation, Relaxed);
    }
    page
}

/// Writes to one more page of those that are there for it.
fn take_a_frame(junk: &mut Option<(u64, u64)>) {
    let (base, used) = *junk.get_or_insert_with(|| (call(Call::Map, [JUNK * PAGE_BYTES, 0]), 0));
    let page = base + used * PAGE_BYTES;
    word(page, 0).store(POISON, Relaxed);
    word(page, 511).store(POISON, Relaxed);
    *junk = Some((base, used + 1));
    if used + 1 == JUNK {
        call(Call::Unmap, [base, JUNK * PAGE_BYTES]);
        *junk = None
    }
}

fn main() {
    let rounds = rt::args::number(0, "rounds", 2000, 1..=10_000_000);
    let mut junk = Some((call(Call::Map, [JUNK * PAGE_BYTES, 0]), 0));
    let mut pages = [fresh(1), fresh(2)];
    CURRENT.store(pages[0] + 1, SeqCst);
    let readers: Vec<_> = (0..num_cpu().min(READERS))
        .map(|me| spawn(move || reader(me)))
        .collect();
    for round in 0..rounds {
        let (old, generation) = (round as usize % 2, round + 3);
        let (gone, next) = (pages[old], pages[1 - old]);
        CURRENT.store(next + (generation - 1) % PAGE_BYTES, SeqCst);
        let mut looks = 0_u32;
        while READING.iter().any(|page| page.load(SeqCst) == gone) {
            looks += 1;
            if looks.is_multiple_of(256) {
                yield_now() // it was interrupted while it read
            }
            spin_loop()
        }
        call(Call::Unmap, [gone, PAGE_BYTES]);
        take_a_frame(&mut junk);
        pages[old] = fresh(generation);
        if round % 32 == 0 {
            yield_now()
        }
    }
    OVER.store(true, Relaxed);
    readers.into_iter().for_each(JoinHandle::join);
    let stale = STALE.load(Relaxed);
    println!("= storm_rounds {rounds}");
    println!("= storm_reads {}", READS.load(Relaxed));
    println!("= storm_stale {stale}");
    assert_eq!(stale, 0, "a page was reached that is gone");
    assert!(READS.load(Relaxed) > 0, "nobody has read anything");
}
