//! Places in sources, as reports name them.

/// This crate, whose manifest lies so far below the project's root.
const BELOW_ROOT: &str = "kernel/base";

/// A file's path from the project's root on, if it lies there: as the runner names the places of frames. The compiler has whole
/// paths for what a program in a file of its own is made of.
///
/// ```
/// let here = concat!(env!("CARGO_MANIFEST_DIR"), "/src/place.rs");
/// assert_eq!(base::place::from_root(here), "kernel/base/src/place.rs");
/// assert_eq!(base::place::from_root("/elsewhere/x.rs"), "/elsewhere/x.rs");
/// assert_eq!(base::place::from_root("demos/src/bin/hello.rs"), "demos/src/bin/hello.rs");
/// ```
pub fn from_root(file: &str) -> &str {
    let root = env!("CARGO_MANIFEST_DIR").strip_suffix(BELOW_ROOT);
    root.and_then(|root| file.strip_prefix(root))
        .unwrap_or(file)
}
