//! Schedulers on the host machine for tests: as many in a process as one likes.

use crate::sched::{Hooks, Sched};
use base::config::Config;
use base::shim::Ordering::*;
use std::sync::{Arc, Mutex, Once};

/// Without it a bit that is pending when the last guard is dropped would stay so for ever.
static SAFE_POINT: Once = Once::new();

/// Run `f` as the main goroutine of a new scheduler with `cpus` threads and `procs` Ps; its result. Goroutines that
/// still exist then are left behind, without their destructors.
///
/// # Panics
/// If the program ends by a fatal error, with its text.
pub fn run<T: Send + 'static>(
    cpus: usize,
    procs: usize,
    f: impl FnOnce() -> T + Send + 'static,
) -> T {
    let cfg = Config {
        procs: Some(procs as u32),
        ..Config::DEFAULT
    };
    run_with(cfg, cpus, f)
}

/// The same with a configuration; `cfg.procs` is the number of Ps.
pub fn run_with<T: Send + 'static>(
    cfg: Config,
    cpus: usize,
    f: impl FnOnce() -> T + Send + 'static,
) -> T {
    SAFE_POINT.call_once(|| {
        let mut upcalls = *arch::upcalls::upcalls();
        upcalls.safe_point = crate::safe_point;
        // SAFETY: the first scheduler of the process is about to be made: no M runs yet.
        unsafe { arch::upcalls::set_upcalls(upcalls) }
    });
    let out = Arc::new(Mutex::new(None));
    let result = out.clone();
    let thread = std::thread::spawn(move || {
        let s = Sched::new(
            cfg,
            cpus,
            Hooks {
                fatal,
                late: |_, _, _| (),
            },
        );
        // SAFETY: this thread is CPU 0 of its group; the order is that of a start-up.
        unsafe {
            s.init_m0();
            s.newproc_main(
                move || {
                    *out.lock().unwrap() = Some(f());
                    s.stop()
                },
                core::panic::Location::caller(),
            );
            s.set_mcount(cpus);
            if let Err(came) = arch::hosted::start_cpus_with(cpus, move |cpu| s.mstart(cpu)) {
                panic!("this process could start {came} of {cpus} threads")
            }
            s.mstart(0);
            arch::hosted::join_cpus();
        }
    });
    match thread.join() {
        Ok(()) => result
            .lock()
            .unwrap()
            .take()
            .expect("the main goroutine did not return"),
        Err(e) => std::panic::resume_unwind(e),
    }
}

fn fatal(_: &'static Sched, _: &'static str, text: core::fmt::Arguments) -> ! {
    eprintln!("fatal error: {text}");
    std::process::exit(2)
}

impl Sched {
    /// End the run: each M leaves when it next looks for work.
    pub fn stop(&self) {
        self.stopping.store(true, Release);
        drop(self.lock.lock());
        for m in &self.allm {
            self.notewakeup(m)
        }
    }
}
