//! Models of the scheduler's protocols, checked by loom from the kernel's own source. Built with
//! `RUSTFLAGS="--cfg ringo_loom"` only; `cargo test -p tests --test models` builds and runs all of them, with and
//! without planted bugs.
//!
//! Each model ends in a line `RINGO-MODEL interleavings N preemptions K`. `RINGO_MUTANT=name` plants a bug.
#![cfg(ringo_loom)]

#[path = "loom/bubble.rs"]
mod bubble;
#[path = "loom/handoff.rs"]
mod handoff;
#[path = "loom/idle.rs"]
mod idle;
#[path = "loom/locked.rs"]
mod locked;
#[path = "loom/netpoll.rs"]
mod netpoll;
#[path = "loom/park.rs"]
mod park;
#[path = "loom/ring.rs"]
mod ring;
#[path = "loom/world.rs"]
mod world;
