//! The machine and the scheduler, as a program sees them.

use crate::syscall;
use abi::Call;

/// A call without arguments that does not fail.
fn ask(call: Call) -> u64 {
    // SAFETY: these calls touch nothing of ours.
    unsafe { syscall::call(call, []) }.unwrap_or(0)
}

/// Number of the CPU that runs this. It may be another one by the time that the caller looks at it.
pub fn cpu() -> usize {
    ask(Call::Cpu) as usize
}

/// CPUs of the machine.
pub fn num_cpu() -> usize {
    ask(Call::NumCpu) as usize
}

/// Number of the calling thread: its goroutine's.
pub fn thread_id() -> u64 {
    ask(Call::ThreadId)
}

/// Number of the calling process.
pub fn process_id() -> u64 {
    ask(Call::ProcessId)
}

/// Sets the number of Ps of the machine, cut to its CPUs; the number before. 0 only asks (Go: `GOMAXPROCS`).
pub fn gomaxprocs(n: usize) -> usize {
    // SAFETY: touches nothing of ours.
    unsafe { syscall::call(Call::Gomaxprocs, [n as u64]) }.unwrap_or(0) as usize
}
