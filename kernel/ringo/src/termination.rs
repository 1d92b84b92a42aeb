//! What `main` may return (`std::process::Termination`).

use core::fmt::Debug;

/// A result of a program's `main`, as an exit status.
///
/// ```
/// use ringo::Termination;
/// assert_eq!(().report(), 0);
/// assert_eq!(Ok::<(), &str>(()).report(), 0);
/// ```
pub trait Termination {
    /// The exit status; 0 is success. May print the reason of a failure.
    fn report(self) -> i32;
}

impl Termination for () {
    fn report(self) -> i32 {
        0
    }
}

impl<T: Termination, E: Debug> Termination for Result<T, E> {
    fn report(self) -> i32 {
        match self {
            Ok(value) => value.report(),
            Err(e) => {
                crate::eprintln!("Error: {e:?}");
                1
            }
        }
    }
}
