//! The bare machine, from `kernel_main` to the first goroutine.

use super::module::Module;
use super::prepare;
use super::ram::{Ram, usable};
use arch::bare;
use base::config::Config;
use bootloader_api::BootInfo;
use bootloader_api::info::MemoryRegion;
use core::sync::atomic::{AtomicPtr, Ordering::*};
use sched::Sched;

/// For the entry of the other CPUs, which are given nothing but a number.
static SCHED: AtomicPtr<Sched> = AtomicPtr::new(core::ptr::null_mut());

/// The kernel's first function: called by `boot` on CPU 0 with interrupts off, and alone until `start_cpus`.
///
/// # Safety
/// Called once, by `boot`.
#[unsafe(no_mangle)]
unsafe extern "C" fn kernel_main(info: &'static mut BootInfo) -> ! {
    // SAFETY: the first call of all, on the boot CPU.
    unsafe {
        bare::init_bsp();
        arch::upcalls::set_upcalls(crate::fatal::upcalls());
    }
    let module = Module::find(info);
    let cfg = configure(&module);
    init_memory(info);
    mem::heap::set_caches(cfg.mcache);
    let rsdp = info.rsdp_addr.into_option();
    // SAFETY: once, after paging.
    let platform = match unsafe { bare::init_platform(rsdp, &mut mem::frames::alloc) } {
        Ok(p) => p,
        Err(why) => refuse(format_args!("this machine cannot be used: {why}")),
    };
    mem::gstack::init(cfg.stack_kib as usize * 1024);
    let cpus = platform.cpus;
    if let Some(procs) = cfg.procs
        && procs as usize > cpus
    {
        refuse(format_args!(
            "procs={procs} is more than the {cpus} CPUs of this machine; give at most {cpus}"
        ))
    }
    if let Err(why) = super::arm_points(&cfg) {
        refuse(format_args!("{why}"))
    }
    // SAFETY: once, on CPU 0, interrupts off.
    let came = unsafe { bare::bring_up_cpus(cpus) };
    if let Some(procs) = cfg.procs
        && procs as usize > came
    {
        refuse(format_args!(
            "only {came} of {cpus} CPUs started, too few for {procs} Ps; try --procs {came}"
        ))
    }
    if platform.too_many > 0 {
        crate::fatal::say(format_args!(
            "ringo: {} CPUs beyond the {} that this kernel can run are left parked\n",
            platform.too_many,
            arch::MAX_CPUS
        ))
    }
    // SAFETY: once, on CPU 0, preemption off since `init_bsp`.
    let s = unsafe { prepare(cfg, module.args(), came) };
    SCHED.store(s as *const Sched as *mut Sched, Release);
    s.set_mcount(came);
    s.make_visible();
    // SAFETY: once, on CPU 0; `enter` never returns.
    unsafe { arch::start_cpus(came, enter) };
    enter(0);
    unreachable!("an M of the bare machine ended")
}

/// Where each CPU becomes an M.
fn enter(cpu: usize) {
    // SAFETY: set before the CPUs were started; schedulers live for ever.
    let s = unsafe { &*SCHED.load(Acquire) };
    // SAFETY: once for each CPU, on its boot stack, preemption off.
    unsafe { s.mstart(cpu) }
}

fn configure(module: &Module) -> Config {
    match Config::parse(module.cmdline()) {
        Ok(cfg) => cfg,
        Err(why) => refuse(format_args!("{why}")),
    }
}

/// Page tables, then the frames that are left. Frames for the page tables themselves come first, from memory that the boot
/// tables reach.
fn init_memory(info: &BootInfo) {
    if info.memory_regions.is_empty() {
        refuse(format_args!(
            "the loader left no memory map; start the kernel by PVH, as QEMU's -kernel does"
        ))
    }
    let map = &info.memory_regions;
    let ram = Ram::of(map);
    let bytes = |r: &MemoryRegion| r.end - r.start;
    let (mapped, not_mapped) = (|r: &&_| ram.has(r), |r: &&_| !ram.has(r));
    let not_mapped: u64 = usable(map).filter(not_mapped).map(bytes).sum();
    let free = usable(map).filter(mapped).map(|r| (r.start, r.end));
    // SAFETY: once; `boot` leaves what is taken (kernel, module, low memory) out of the usable regions.
    let left_out = not_mapped + unsafe { mem::frames::init(free) };
    if left_out != 0 {
        let mib = left_out.div_ceil(1 << 20);
        crate::fatal::say(format_args!(
            "ringo: this machine's memory lies in too many pieces; {mib} MiB of it are left alone\n"
        ))
    }
    // SAFETY: once, before anybody holds a pointer that only the boot tables map; the frames are below 4 GiB.
    if unsafe { bare::init_paging(ram.pieces(), &mut mem::frames::boot_alloc) }.is_err() {
        refuse(format_args!(
            "too little memory for page tables; give the machine at least 64 MiB"
        ))
    }
}

/// The configuration or the machine will not do: say why and leave.
fn refuse(why: core::fmt::Arguments) -> ! {
    crate::fatal::say(format_args!("ringo: {why}\n"));
    arch::exit(arch::ExitCode::BadConfig)
}
