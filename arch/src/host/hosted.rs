//! What only the host has: stack mappings, the process's arguments, the end of a machine's threads.

#[cfg(ringo_shuttle)]
pub use super::model::{run_clock, start_cpu, stop_clock, tell, wait_until, when_late};
pub use super::smp::{join_cpus, start_cpus_with};
pub use super::stacks::{HostStack, OutOfMemory, map_stack, stack_slot_of};

/// Name of the environment variable that holds the kernel command line: space-separated `key=value` words.
pub const CMDLINE_VARIABLE: &str = "RINGO_CMDLINE";

/// The kernel command line, empty where the runner set none.
pub fn cmdline() -> String {
    std::env::var(CMDLINE_VARIABLE).unwrap_or_default()
}

/// The program's arguments, without its own name. Text that is no UTF-8 has its bad bytes replaced.
pub fn args() -> Vec<String> {
    std::env::args_os()
        .skip(1)
        .map(|arg| arg.to_string_lossy().into_owned())
        .collect()
}

/// CPUs that the host offers to this process.
pub fn host_cpus() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

/// Makes a panic on an M's stacks print straight to stderr. For tests: such a panic ends the process before the harness
/// shows what it captured. Panics of other threads go to the earlier hook.
pub fn show_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let earlier = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if super::switch::on_m() {
                super::control_write(format!("{info}\n").as_bytes());
            } else {
                earlier(info);
            }
        }));
    });
}
