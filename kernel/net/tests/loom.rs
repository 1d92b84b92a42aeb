//! Models of the network's protocols, from the kernel's own source. As those of the scheduler: built with
//! `RUSTFLAGS="--cfg ringo_loom"`, run by `cargo test -p tests --test models`.
#![cfg(ringo_loom)]

#[path = "loom/virtqueue.rs"]
mod virtqueue;
