//! From the first instruction to `main`, and what a panic does.

/// Makes a function the program's `main`. It runs on the first thread; when it returns the process ends, whatever its other threads do.
/// It may return `()`, or a `Result` whose error is printed as `Error: …` and makes the exit code 1.
///
/// ```no_run
/// # #![no_main]
/// rt::main!(run);
/// fn run() -> Result<(), &'static str> {
///     Err("no such file")
/// }
/// ```
#[cfg(ringo_user)]
#[macro_export]
macro_rules! main {
    ($main:path) => {
        /// What the start-up code calls.
        // SAFETY: one program is linked with `rt`, so the symbol is defined once.
        #[unsafe(no_mangle)]
        extern "Rust" fn ringo_user_main() -> i32 {
            $crate::exit::Termination::report($main())
        }
    };
}

/// Makes a function the program's `main`. It runs on the first thread; when it returns the process ends, whatever its other threads do.
/// It may return `()`, or a `Result` whose error is printed as `Error: …` and makes the exit code 1.
///
/// ```no_run
/// # #![no_main]
/// rt::main!(run);
/// fn run() -> Result<(), &'static str> {
///     Err("no such file")
/// }
/// ```
#[cfg(not(ringo_user))]
#[macro_export]
macro_rules! main {
    ($main:path) => {
        /// Where the C library starts the process: the host machine is not the program's.
        // SAFETY: no other item of the program has this symbol: `#![no_main]` leaves it to us.
        #[unsafe(export_name = "main")]
        extern "C" fn ringo_user_main() -> i32 {
            let _ = || $crate::exit::Termination::report($main());
            $crate::start::not_here(::core::option_env!("CARGO_BIN_NAME").unwrap_or("NAME"))
        }
    };
}

/// What a ring-3 program says on the host machine; its exit status there.
#[cfg(not(ringo_user))]
pub fn not_here(name: &str) -> i32 {
    std::eprintln!(
        "{name} is a program for Ringo's ring 3: `cargo run -- exec {name}` runs it there"
    );
    1
}

#[cfg(ringo_user)]
mod bare {
    core::arch::global_asm!(include_str!("../../../arch/src/x86_64/mem.S"));

    // RDI and RSI are the arguments, RSP is a multiple of 16: the call leaves it as a function expects it.
    core::arch::global_asm!(
        ".section .text._start,\"ax\",@progbits",
        ".global _start",
        ".type _start,@function",
        "_start:",
        "xor ebp, ebp",
        "call {start}",
        "ud2",
        ".text",
        start = sym start,
    );

    unsafe extern "Rust" {
        /// Defined by `main!`.
        safe fn ringo_user_main() -> i32;
    }

    extern "C" fn start(block: *mut u8, bytes: usize) -> ! {
        // SAFETY: the kernel's block is ours, and nobody writes to it.
        unsafe { crate::args::set(block, bytes) };
        crate::exit(ringo_user_main())
    }

    /// Says what and where, past the lock of the print macros: its holder may be the one that panics.
    #[panic_handler]
    fn panicked(info: &core::panic::PanicInfo) -> ! {
        let (process, thread) = (crate::machine::process_id(), crate::machine::thread_id());
        match info.location() {
            Some(at) => crate::print::unlocked(
                abi::STDERR,
                format_args!(
                    "process {process}, thread {thread} panicked at {at}:\n{}\n",
                    info.message()
                ),
            ),
            None => crate::print::unlocked(
                abi::STDERR,
                format_args!(
                    "process {process}, thread {thread} panicked:\n{}\n",
                    info.message()
                ),
            ),
        }
        crate::exit(crate::exit::PANICKED)
    }
}
