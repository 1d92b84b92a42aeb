//! Start-up, as a list: what happens between the machine's first instruction of Rust and the program's `main`.
//!
//! The two machines differ in how CPUs and memory come about (`bare.rs`, `host.rs`); what follows is the same: a
//! scheduler, M0 with P0, the main goroutine, the other Ms.

use alloc::string::String;
use alloc::vec::Vec;
use base::config::{Config, LogLevel};
use sched::{Hooks, Sched};

#[cfg(ringo_kernel)]
mod bare;
#[cfg(ringo_kernel)]
mod module;
#[cfg(ringo_kernel)]
pub(crate) use module::files as module_files;
#[cfg(any(ringo_kernel, test))]
mod ram;

#[cfg(not(ringo_kernel))]
mod host;
#[cfg(not(ringo_kernel))]
pub use host::host_main;

unsafe extern "Rust" {
    /// The program: what `ringo::main!` defines. Its exit status.
    safe fn ringo_program_main() -> i32;
}

/// What start-up hands to the running program.
struct Started {
    cfg: Config,
    args: Vec<String>,
}

static STARTED: spin::Once<Started> = spin::Once::new();

/// The program's arguments.
pub(crate) fn program_args() -> &'static [String] {
    STARTED.get().map_or(&[], |s| &s.args)
}

/// The configuration of this run.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// let config = ringo::start::config();
/// assert_eq!((config.slice_us, config.stack_kib), (10_000, 256));
/// # });
/// ```
pub fn config() -> &'static Config {
    STARTED.get().map_or(&Config::DEFAULT, |s| &s.cfg)
}

/// Arm the fault points that the command line names. The error is a line for the user.
fn arm_points(cfg: &Config) -> Result<(), String> {
    trace::points::set_yield(sched::yield_now);
    match &cfg.point {
        Some(word) => trace::points::arm_text(word.as_str())
            .map_err(|e| alloc::format!("point={}: {e}", word.as_str())),
        None => Ok(()),
    }
}

/// Events that each CPU keeps where they are kept.
const EVENTS: usize = 4096;

/// `--log trace` keeps the scheduler's events, and so does a runner that wants to read them (`events=`); a report then shows
/// the last ones of each CPU.
fn record_events(cfg: &Config, cpus: usize) {
    let events = match cfg.events as usize {
        0 if cfg.log == LogLevel::Trace => EVENTS,
        asked => asked,
    };
    if events != 0 && trace::init(cpus, events).is_ok() {
        trace::set_on(true)
    }
}

/// A scheduler whose P0 holds the main goroutine. `cpus`: how many may come.
///
/// # Safety
/// Once in a program, on CPU 0, preemption off.
unsafe fn prepare(cfg: Config, args: Vec<String>, cpus: usize) -> &'static Sched {
    STARTED.call_once(|| Started { cfg, args });
    crate::log::init(cfg.log);
    record_events(&cfg, cpus);
    let s = Sched::new(
        cfg,
        cpus,
        Hooks {
            fatal: crate::fatal::fatal,
            late: crate::fatal::late,
        },
    );
    // SAFETY: in this order, once, as the caller promises.
    unsafe {
        s.init_m0();
        s.newproc_main(runtime_main, core::panic::Location::caller());
    }
    s
}

/// The main goroutine (Go: proc.go, `main`): when the program's `main` returns, the machine stops, whatever else runs.
fn runtime_main() {
    let event = alloc::format!(
        "\u{1}{{\"event\":\"main\",\"since_start_ns\":{}}}\n",
        sched::machine_now_ns()
    );
    arch::control_write(event.as_bytes());
    log::info!(
        "{} CPUs, {} Ps, clock {}",
        sched::num_cpu(),
        sched::gomaxprocs(),
        arch::clock_source()
    );
    let status = ringo_program_main();
    crate::exit::exit(status)
}
