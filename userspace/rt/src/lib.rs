//! The library that ring-3 programs are written with.
#![cfg_attr(ringo_user, no_std)]
