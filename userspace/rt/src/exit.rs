//! The process's end.

/// Exit code of a panic: Rust's.
pub const PANICKED: i32 = 101;

/// Ends the process, all its threads, with that code; 0 is success. No destructors run.
pub fn exit(code: i32) -> ! {
    #[cfg(ringo_user)]
    // SAFETY: nothing of this process runs any more. Were the kernel to come back, the next instruction is a fault.
    unsafe {
        core::arch::asm!(
            "syscall",
            "ud2",
            in("rax") abi::Call::Exit as u64,
            in("rdi") i64::from(code),
            options(noreturn),
        )
    }
    #[cfg(not(ringo_user))]
    std::process::exit(code)
}

/// What `main` may return (`std::process::Termination`).
pub trait Termination {
    /// The exit code; 0 is success. May print the reason of a failure.
    fn report(self) -> i32;
}

impl Termination for () {
    fn report(self) -> i32 {
        0
    }
}

impl<T: Termination, E: core::fmt::Display> Termination for Result<T, E> {
    fn report(self) -> i32 {
        match self {
            Ok(value) => value.report(),
            Err(e) => {
                crate::eprintln!("Error: {e}");
                1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_main() {
        assert_eq!(().report(), 0);
        assert_eq!(Ok::<(), abi::Error>(()).report(), 0);
        assert_eq!(Err::<(), _>(abi::Error::NotFound).report(), 1);
    }
}
