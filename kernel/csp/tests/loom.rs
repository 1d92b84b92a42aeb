//! Models of what goroutines say to each other, checked by loom from the kernel's own source. Built with
//! `RUSTFLAGS="--cfg ringo_loom"` only; `cargo test -p tests --test models` builds and runs all of them, with and
//! without planted bugs.
//!
//! Each G is a thread of the model; parking and readying are the scheduler's, with a bell in place of its queues
//! (`sched::models`). Those have models of their own.
#![cfg(ringo_loom)]

#[path = "loom/chan.rs"]
mod chan;
#[path = "loom/context.rs"]
mod context;
#[path = "loom/join.rs"]
mod join;
#[path = "loom/mutex.rs"]
mod mutex;
#[path = "loom/select.rs"]
mod select;
#[path = "loom/sync.rs"]
mod sync;
#[path = "loom/timer.rs"]
mod timer;
#[path = "loom/world.rs"]
mod world;
