//! The glass machine: the machine's memory is a file that the runner reads while the machine runs, hangs, or has died.
//! This header tells it where what lies. No interrupt, no serial line, no instruction of the guest: whoever looks changes
//! nothing.
//!
//! ```text
//!   RINGO_GLASS (symbol of the ELF) ── cr3 ──► page tables: any virtual address
//!        ├── allm, allp, sched words ──► what each M and P does, queues
//!        ├── slots of stacks ──► all Gs
//!        ├── rings ──► events of each CPU
//!        └── last_words ──► the fatal report, as far as it came
//! ```
//!
//! All words are 8 bytes, little endian. Addresses are virtual ones of the kernel, offsets are bytes from the start of the
//! object. The magic is stored last: a header without it is not filled in yet.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};

/// "RNGOGL" and the version of the layout, as the first word reads in memory.
pub const MAGIC: u64 = u64::from_le_bytes(*b"RNGOGL02");

macro_rules! header {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The header as it lies in the machine's memory.
        #[repr(C)]
        pub struct Header {
            $($(#[$doc])* pub $name: AtomicU64,)*
        }

        /// A copy of the header.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Copied {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Header {
            #[allow(clippy::new_without_default)] // the initial value of a static
            const fn new() -> Header {
                Header { $($name: AtomicU64::new(0),)* }
            }

            /// Fills the header in: everything, and then its magic.
            pub fn fill(&self, from: &Copied) {
                $(if stringify!($name) != "magic" { self.$name.store(from.$name, Relaxed) })*
                self.magic.store(MAGIC, Release); // pairs with the runner's read of it, which comes before the others
            }
        }

        impl Copied {
            /// From the words of the header; `None` if they are too few, or it is not filled in, or is another version's.
            pub fn parse(words: &[u64]) -> Option<Copied> {
                let mut words = words.iter().copied();
                let copied = Copied { $($name: words.next()?,)* };
                (copied.magic == MAGIC).then_some(copied)
            }
        }
    };
}

header! {
    /// [`MAGIC`].
    magic,
    /// Physical address of the page tables.
    cr3,
    /// CPUs that run, each an M.
    cpus,
    /// First of the arch layer's per-CPU blocks, and the distance from one to the next.
    cpu_blocks,
    /// See [`Self::cpu_blocks`].
    cpu_stride,
    /// In a block: pending bits, u32.
    cpu_pending,
    /// In a block: preemption count, u32.
    cpu_count,
    /// In a block: interrupts taken.
    cpu_interrupts,
    /// First M, and the distance from one to the next.
    allm,
    /// See [`Self::allm`].
    m_stride,
    /// In an M: its P, a pointer.
    m_p,
    /// In an M: the G that it runs, a pointer.
    m_curg,
    /// In an M: the wake word, u32; 1: halted or about to halt.
    m_park,
    /// In an M: whether it spins, a byte.
    m_spinning,
    /// In an M: deadline for which its CPU's timer is armed, all ones for none.
    m_armed_ns,
    /// In an M: when it last served its timer.
    m_served_ns,
    /// In an M: Gs in its tray, u32.
    m_tray_len,
    /// In an M: Gs made.
    m_created,
    /// In an M: Gs ended.
    m_ended,
    /// In an M: switches to a G.
    m_switches,
    /// In an M: steals that found something.
    m_steals,
    /// In an M: slices that ended by force.
    m_preemptions,
    /// In an M: wake-ups of others.
    m_wakes,
    /// First P, and the distance from one to the next.
    allp,
    /// See [`Self::allp`].
    p_stride,
    /// In a P: the M that holds it, a pointer.
    p_m,
    /// In a P: head of its ring, u32.
    p_head,
    /// In a P: tail of its ring, u32.
    p_tail,
    /// In a P: `runnext`, a pointer.
    p_runnext,
    /// In a P: slots of the ring, pointers.
    p_slots,
    /// In a P: from its queue to the one of those that the clock woke, which is alike. The place of `runnext` there holds
    /// the G that gave way.
    p_woken,
    /// Slots that the ring has.
    ring_slots,
    /// In a P: whether its G is in a blocking call, u32.
    p_call,
    /// In a P: slices begun, u32.
    p_schedtick,
    /// In a P: its earliest timer, all ones for none.
    p_timer_ns,
    /// In a P: its timers, u32.
    p_timers,
    /// Address of the number of Ps, u32.
    nprocs,
    /// Address of "the world is stopped", a byte.
    stopped,
    /// Address of the mask of idle Ps.
    pidle,
    /// Address of the mask of idle Ms.
    midle,
    /// Address of the mask of Ps without anybody to run them.
    stranded,
    /// Address of the number of Ms that spin, u32.
    nmspinning,
    /// Address of the length of the global queue, u32.
    runqsize,
    /// Address of the pointer to the first G of the global queue.
    runq_head,
    /// Address of the pointers to the first Gs of the trays, and the distance from one to the next.
    trays,
    /// See [`Self::trays`].
    tray_stride,
    /// Stack slots: address of the first, bytes of each.
    stacks,
    /// See [`Self::stacks`].
    stack_bytes,
    /// Address of the number of slots that exist.
    stack_count,
    /// A slot's G begins so many bytes below the slot's end.
    g_below_top,
    /// In a G: its number.
    g_id,
    /// In a G: its state, u32.
    g_status,
    /// In a G: why it waits, u32.
    g_wait,
    /// In a G: the next one of its queue, a pointer.
    g_link,
    /// In a G: number of its last event, u32.
    g_seq,
    /// Address of the table of rings.
    rings,
    /// Address of the last words, and of their length in bytes.
    last_words,
    /// See [`Self::last_words`].
    last_words_len,
    /// `preempt`: 0 async, 1 coop, 2 off.
    preempt,
    /// Length of a slice.
    slice_ns,
    /// 1: idle Ps take from others' queues.
    steals,
    /// 1: Ps of blocking calls are handed on.
    handoff,
    /// 1: timers follow a clock that stands while anything can run.
    virtual_clock,
}

/// Where the runner begins. The name is a contract.
#[unsafe(no_mangle)]
pub static RINGO_GLASS: Header = Header::new();

/// Words that the header has.
pub const WORDS: usize = size_of::<Header>() / 8;

const LAST_WORDS_BYTES: usize = 4096;
static LAST_WORDS: [AtomicU64; LAST_WORDS_BYTES / 8] =
    [const { AtomicU64::new(0) }; LAST_WORDS_BYTES / 8];
static LAST_WORDS_LEN: AtomicUsize = AtomicUsize::new(0);

/// Keeps text of a fatal report where the runner finds it even if the machine dies before the text is out. What does not
/// fit is left out. One CPU at a time reports.
pub fn last_words(text: &[u8]) {
    let mut at = LAST_WORDS_LEN.load(Relaxed);
    for &byte in text.iter().take(LAST_WORDS_BYTES - at) {
        let word = &LAST_WORDS[at / 8];
        word.store(
            word.load(Relaxed) | u64::from(byte) << (at % 8 * 8),
            Relaxed,
        );
        at += 1;
    }
    LAST_WORDS_LEN.store(at, Release); // the runner reads the length first
}

/// Addresses of the last words and of their length.
pub fn last_words_addresses() -> (u64, u64) {
    (
        (&raw const LAST_WORDS).addr() as u64,
        (&raw const LAST_WORDS_LEN).addr() as u64,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_filled_in() {
        let from = Copied {
            cr3: 5,
            handoff: 7,
            ..Copied::default()
        };
        let header = Header::new();
        let words = |header: &Header| {
            let first = (header as *const Header).cast::<AtomicU64>();
            // SAFETY: a header is so many atomic words.
            let words = unsafe { core::slice::from_raw_parts(first, WORDS) };
            words.iter().map(|w| w.load(Relaxed)).collect::<Vec<_>>()
        };
        assert_eq!(Copied::parse(&words(&header)), None);
        header.fill(&from);
        let words = words(&header);
        let copied = Copied {
            magic: MAGIC,
            ..from
        };
        assert_eq!(Copied::parse(&words), Some(copied));
        assert_eq!(Copied::parse(&words[1..]), None);
    }

    #[test]
    fn last_words_are_kept_up_to_the_end_of_their_room() {
        last_words(b"one, ");
        last_words(&[b'x'; 5000]);
        assert_eq!(LAST_WORDS_LEN.load(Relaxed), LAST_WORDS_BYTES);
        let first = LAST_WORDS[0].load(Relaxed).to_le_bytes();
        assert_eq!(&first, b"one, xxx");
    }
}
