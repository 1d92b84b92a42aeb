//! Loops of plain code, to measure the machine by: instruction by instruction what Go's compiler (1.27) makes of the same loops in
//! `bench/go/calib.go`. Other compilers make other code of them, so a comparison of two runs would be one of compilers.

use core::arch::asm;

/// Places of [`dependent_loads`]: 32 KiB.
pub const PLACES: usize = 4096;

/// `n` steps `x = x * A + C`, each of which waits for the one before.
pub fn lcg_steps(mut x: u64, n: u64) -> u64 {
    // SAFETY: it changes the registers that it names, and flags.
    unsafe {
        asm!(
            "jmp 3f",
            "2:",
            "movabs {word}, 6364136223846793005",
            "imul {x}, {word}",
            "movabs {word}, 1442695040888963407",
            "add {x}, {word}",
            "dec {n}",
            "3:",
            "test {n}, {n}",
            "jg 2b",
            x = inout(reg) x,
            n = inout(reg) n => _,
            word = out(reg) _,
            options(pure, nomem, nostack),
        );
    }
    x
}

/// `n` loads from `next`, each from the place that the one before has read, modulo their number; the last one's answer.
pub fn dependent_loads(next: &[usize; PLACES], n: u64) -> usize {
    let mut at = 0;
    // SAFETY: it reads `next` at places below `PLACES`, and changes the registers that it names, and flags.
    unsafe {
        asm!(
            "jmp 3f",
            "2:",
            "mov {at}, [{next} + 8*{at}]",
            "dec {n}",
            "3:",
            "test {n}, {n}",
            "jle 4f",
            "and {at:e}, 0xfff",
            "cmp {places}, {at}",
            "ja 2b",
            "4:",
            at = inout(reg) at,
            n = inout(reg) n => _,
            next = in(reg) next.as_ptr(),
            places = in(reg) PLACES,
            options(pure, readonly, nostack),
        );
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps() {
        let step = |x: u64, _| {
            x.wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407)
        };
        for n in [0, 1, 2, 1000] {
            assert_eq!(lcg_steps(7, n), (0..n).fold(7, step), "{n}");
        }
    }

    #[test]
    fn loads() {
        let next: [usize; PLACES] = core::array::from_fn(|i| (i * 1021 + 7) % PLACES + PLACES);
        for n in [0, 1, 2, 1000] {
            let wanted = (0..n).fold(0, |at, _| next[at & (PLACES - 1)]);
            assert_eq!(dependent_loads(&next, n), wanted, "{n}");
        }
    }
}
