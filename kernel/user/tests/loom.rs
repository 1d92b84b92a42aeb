//! Models of how threads of ring 3 wait, from the kernel's own source. As those of `csp`: built with
//! `RUSTFLAGS="--cfg ringo_loom"`, run by `cargo test -p tests --test models`, with and without planted bugs.
#![cfg(ringo_loom)]

#[path = "loom/asleep.rs"]
mod asleep;
#[path = "loom/futex.rs"]
mod futex;
#[path = "loom/wait.rs"]
mod wait;
#[allow(dead_code)] // letters
#[path = "../../csp/tests/loom/world.rs"]
mod world;
