//! An interrupt at each instruction. One CPU: a G takes the trap flag along.

use tests::{Case, DEFAULT};

/// A test, and how many instructions lie between two interrupts in the ordinary run; `RINGO_STRIDE=1` leaves none out.
const TESTS: &[(&str, u64)] = &[
    ("step_yield", 2),
    ("step_park", 4),
    ("step_blocking", 1),
    ("step_spawn", 6),
    ("step_lock", 1),
    ("step_sleep", 4),
];

pub fn cases() -> Vec<Case> {
    TESTS
        .iter()
        .map(|(test, stride)| {
            Case::new("step", test)
                .smp(1)
                .mode(DEFAULT)
                .arg("stride", crate::env("RINGO_STRIDE", *stride))
        })
        .collect()
}
