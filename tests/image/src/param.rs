//! Numbers that the harness passes to a test: `key=number` words after its name.

use alloc::string::String;
use alloc::vec::Vec;
use ringo::prelude::*;

static GIVEN: OnceLock<Vec<(String, u64)>> = OnceLock::new();

/// Takes the words.
///
/// # Panics
/// If one is not of that form: the harness is wrong then.
pub fn set(words: impl Iterator<Item = String>) {
    let parse = |word: String| {
        let (key, value) = word.split_once('=').expect("a parameter is key=number");
        (
            key.to_owned(),
            value.parse().expect("a parameter is key=number"),
        )
    };
    let _ = GIVEN.set(words.map(parse).collect());
}

/// The number that was given for `key`, or `default`.
pub fn param(key: &str, default: u64) -> u64 {
    let given = GIVEN
        .get()
        .and_then(|all| all.iter().find(|(k, _)| k == key));
    given.map_or(default, |(_, n)| *n)
}

/// Plants the bug of the injected call whose number is given as `bug`, in an image that was built for that.
#[cfg(ringo_kernel)]
pub fn plant_bug() {
    #[cfg(feature = "injection")]
    {
        unsafe extern "C" {
            /// See `arch`.
            static ringo_planted_bug: core::sync::atomic::AtomicU32;
        }
        // SAFETY: it is there in such builds, and of this type.
        unsafe {
            ringo_planted_bug.store(
                param("bug", 0) as u32,
                core::sync::atomic::Ordering::Relaxed,
            )
        }
    }
    #[cfg(not(feature = "injection"))]
    assert_eq!(param("bug", 0), 0, "this image has no bugs to plant");
}
