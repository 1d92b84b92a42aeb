//! Ring 3: processes whose threads are goroutines.
#![cfg_attr(ringo_kernel, no_std)]
