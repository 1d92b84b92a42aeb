//! Tests of an area one after the other in a boot, at each number of CPUs and in both modes.

use tests::{Case, DEFAULT, NO_NET, sized};

/// A test, the argument that says how much it does, and its values at 1, 2 and 4 CPUs.
pub type Sizes = (&'static str, &'static str, [u64; 3]);

/// `tests`, and another one that the number of CPUs gives.
pub fn in_turn(area: &'static str, tests: &[Sizes], last: impl Fn(u32) -> String) -> Vec<Case> {
    let mut all = Vec::new();
    for (i, smp) in [1, 2, 4].into_iter().enumerate() {
        let sizes = tests.iter();
        let sizes = sizes.map(|(test, key, sizes)| sized(test, key, sizes[i]));
        let tests: Vec<String> = sizes.chain([last(smp)]).collect();
        for mode in [DEFAULT, NO_NET] {
            let case = Case::several(area, "in turn", &tests)
                .smp(smp)
                .limit(600)
                .mode(mode);
            // Turns of those that keep their P last two slices.
            all.push(match mode == DEFAULT {
                true => case.word("slice_us=500"),
                false => case,
            })
        }
    }
    all
}
