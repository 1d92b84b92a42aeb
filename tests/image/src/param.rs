//! Numbers that the harness passes to tests: `key=number` words after their names, for all of a boot's; or behind one of the
//! names, `name:key=number`, for that one.

use alloc::string::String;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use ringo::prelude::*;

/// A number, and the place among the boot's names of the one that it is for; `None`: for all.
type Given = (Option<usize>, String, u64);

static GIVEN: OnceLock<Vec<Given>> = OnceLock::new();
/// The place of the name whose test runs.
static RUNS: AtomicUsize = AtomicUsize::new(0);

/// Takes the words, and those behind the names.
///
/// # Panics
/// If one is not of that form: the harness is wrong then.
pub fn set(names: &str, words: impl Iterator<Item = String>) {
    let parse = |of: Option<usize>, word: &str| {
        let (key, value) = word.split_once('=').expect("a parameter is key=number");
        let value = value.parse().expect("a parameter is key=number");
        (of, key.to_owned(), value)
    };
    let names = names.split(',').enumerate();
    let own = names.flat_map(|(i, name)| name.split(':').skip(1).map(move |word| (i, word)));
    let mut given: Vec<Given> = own.map(|(i, word)| parse(Some(i), word)).collect();
    given.extend(words.map(|word| parse(None, &word)));
    let _ = GIVEN.set(given);
}

/// The test of the name at this place runs from now on.
pub fn runs(place: usize) {
    RUNS.store(place, Relaxed)
}

/// The number that was given for `key`, or `default`. A test's own comes before one for all.
pub fn param(key: &str, default: u64) -> u64 {
    let of = |wanted| {
        let all = GIVEN.get().into_iter().flatten();
        all.filter(|(of, k, _)| *of == wanted && k == key)
            .map(|(_, _, n)| *n)
            .next()
    };
    of(Some(RUNS.load(Relaxed))).or(of(None)).unwrap_or(default)
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
