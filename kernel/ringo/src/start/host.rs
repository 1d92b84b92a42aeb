//! The host machine: the same program on threads.

use super::prepare;
use alloc::string::ToString;
use base::config::Config;

extern crate std;

/// What C's `main` calls: the program's exit status, if it ever comes back.
pub fn host_main() -> i32 {
    std::panic::set_hook(std::boxed::Box::new(crate::fatal::host_panic));
    // SAFETY: no M runs yet.
    unsafe { arch::upcalls::set_upcalls(crate::fatal::upcalls()) };
    let cfg = match Config::parse(&arch::hosted::cmdline()) {
        Ok(cfg) => cfg,
        Err(why) => refuse(&why.to_string()),
    };
    let cpus = cfg
        .smp
        .map_or(arch::hosted::host_cpus().max(2), |n| n as usize)
        .min(arch::MAX_CPUS);
    if let Some(procs) = cfg.procs
        && procs as usize > cpus
    {
        refuse(&std::format!(
            "procs={procs} is more than the {cpus} threads of this machine; give at most {cpus}"
        ))
    }
    if let Err(why) = super::arm_points(&cfg) {
        refuse(&why)
    }
    mem::gstack::init(cfg.stack_kib as usize * 1024);
    // SAFETY: once, and this thread is CPU 0.
    unsafe {
        let s = prepare(cfg, arch::hosted::args(), cpus);
        s.set_mcount(cpus);
        if let Err(came) = arch::hosted::start_cpus_with(cpus, move |cpu| s.mstart(cpu)) {
            refuse(&std::format!(
                "this process could start {came} of {cpus} threads; raise its limits, or give --smp {came}"
            ))
        }
        s.mstart(0);
    }
    arch::hosted::join_cpus();
    0
}

fn refuse(why: &str) -> ! {
    std::eprintln!("ringo: {why}");
    std::process::exit(1)
}
