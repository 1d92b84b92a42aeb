//! Memory that comes back: with caches at each CPU's hand and without.

use crate::env;
use tests::Case;

pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    let new = |test, smp| Case::new("memory", test).smp(smp);
    // RINGO_PEAK_GS=100000 is the peak that the project promises to come back from.
    all.push(
        new("memory_peaks", 2)
            .named("small frames")
            .arg("gs", env("RINGO_PEAK_GS", 8_000))
            .arg("pages", 0)
            .limit(600)
            .machine(|m| m.mem_bytes = 2 << 30),
    );
    for smp in [1, 4] {
        for caches in ["mcache=on", "mcache=off"] {
            all.push(new("memory_heap", smp).word(caches).named(caches));
            all.push(new("memory_large", smp).word(caches).named(caches));
            all.push(
                new("memory_cross", smp)
                    .word(caches)
                    .named(caches)
                    .arg("objects", 20_000),
            );
        }
        all.push(
            new("memory_peaks", smp)
                .arg("gs", 10_000 / u64::from(smp.div_ceil(2)))
                .machine(|m| m.mem_bytes = 1 << 30),
        );
        all.push(new("memory_stale", smp).word("slice_us=500"));
    }
    all
}
