//! A thread of ring 3 is a goroutine. It goes in and out:
//!
//! ```text
//!   ring 0 ── run ──► ring 3 ── a system call, an exception, the stop word ──► ring 0: serve it ── again, unless it is to end
//! ```
//!
//! In ring 3 it is interrupted and preempted like any goroutine; in ring 0 it parks like any.

use crate::asleep::Asleep;
use crate::call::{self, Ctx};
use crate::futex::Waited;
use crate::machine::{self, USER_BASE, USER_END, UserContext};
use crate::memory::{UserMemory, WordKey};
use crate::process::Process;
use crate::reason::{Cause, Reason};
use crate::space::{Denied, Space, Touch};
use crate::table;
use crate::wait::Waits;
use abi::{Call, Ended, Ending, Error};
use alloc::boxed::Box;
use alloc::sync::Arc;
use arch::UserExit;
use core::panic::Location;
use core::sync::atomic::AtomicU32;

/// What a thread costs the kernel, about, in bytes: its stack here, and its registers.
const THREAD_BYTES: u64 = 32 << 10;

/// Vector of a page fault, and bits of its error code (SDM vol. 3, 4.7).
const PAGE_FAULT: u8 = 14;
const PRESENT: u64 = 1;
const BY_WRITE: u64 = 2;
const BY_USER: u64 = 4;
const BY_FETCH: u64 = 16;

/// Where a thread begins.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Its first instruction.
    pub entry: u64,
    /// Its stack pointer.
    pub stack_top: u64,
    /// RDI and RSI.
    pub args: [u64; 2],
}

/// A thread, to the calls that it makes.
pub struct Thread {
    /// Its process.
    pub process: Arc<Process>,
    /// The process's memory.
    pub space: Arc<Space>,
    /// How it waits.
    pub waits: Waits,
    /// It has asked for its end.
    pub asks_to_end: bool,
}

/// Starts a thread of a process, which from now on holds `space` for itself (I-LAST); its number.
///
/// # Errors
/// [`Error::Limit`], [`Error::OutOfMemory`]; [`Error::Killed`]: the process ends.
pub fn spawn(process: &Arc<Process>, space: Arc<Space>, start: Start) -> Result<u64, Error> {
    let charge = process.account.charge(THREAD_BYTES)?;
    process.take_thread()?;
    space.asleep().begins();
    let process = process.clone();
    let run = move || {
        live(&process, &space, start);
        if space.asleep().ends() {
            deadlock(&process)
        }
        process.give_thread();
        drop(charge);
        if let Some(space) = Arc::into_inner(space) {
            drop(space);
            process.finish()
        }
    };
    Ok(sched::newproc(run, Location::caller()))
}

/// All threads of the process sleep, and nobody can wake one: it ends.
fn deadlock(process: &Process) {
    let ended = Ended {
        how: Ending::Deadlock as u32,
        ..Ended::default()
    };
    if process.end(ended) {
        let (id, name) = (process.id(), process.name());
        let line = alloc::format!(
            "process {id} ({name}): deadlock: all its threads are asleep, and nobody else can wake them\n"
        );
        (process.system().services.console_write)(line.as_bytes(), true)
    }
}

/// Its life, on its own goroutine.
fn live(process: &Arc<Process>, space: &Arc<Space>, start: Start) {
    let id = sched::current().id();
    let mut ctx = Box::new(UserContext::new(start.entry, start.stack_top, start.args));
    for (call, answer) in [
        (Call::Null, 0),
        (Call::ThreadId, id),
        (Call::ProcessId, process.id()),
        (Call::NumCpu, machine::num_cpus() as u64),
    ] {
        ctx.set_answer(call as u64, answer) // always the same: without a way up here
    }
    let stop = AtomicU32::new(0);
    // SAFETY: it is there until after `leave`.
    if !unsafe { process.enter(id, &stop) } {
        return;
    }
    let mut thread = Thread {
        process: process.clone(),
        space: space.clone(),
        waits: Waits::new(&process.stop),
        asks_to_end: false,
    };
    while !thread.asks_to_end && !process.stop.is_stopped() {
        let exit = machine::run(&mut ctx, space.tables(), &stop);
        thread.serve(&mut ctx, exit, id);
        sched::checkpoint() // without preemption by force, calls are where others get their turn
    }
    process.leave(id)
}

impl Thread {
    /// One exit from ring 3.
    fn serve(&mut self, ctx: &mut UserContext, exit: UserExit, id: u64) {
        match exit {
            UserExit::Stopped => {}
            UserExit::Syscall => {
                let answer = table::call(self, ctx.number(), ctx.args());
                ctx.set_result(match answer {
                    Ok(n) => n as i64,
                    Err(why) => why as i64,
                })
            }
            UserExit::Exception {
                vector: PAGE_FAULT,
                error_code,
                address,
            } => {
                let touch = match error_code {
                    code if code & BY_FETCH != 0 => Touch::Execute,
                    code if code & BY_WRITE != 0 => Touch::Write,
                    _ => Touch::Read,
                };
                // QEMU pops what `iretq` and `lretq` find on ring 3's stack with the kernel's rights: again would be the same.
                let page = match self.space.fault(address, touch) {
                    Ok(()) if error_code & (PRESENT | BY_USER) == PRESENT => Err(Denied::AsKernel),
                    page => page,
                };
                if let Err(why) = page {
                    let cause = Cause::PageFault {
                        address,
                        touch,
                        why,
                    };
                    self.die(id, ctx.rip(), cause)
                }
            }
            UserExit::Exception {
                vector, error_code, ..
            } => self.die(id, ctx.rip(), Cause::Exception { vector, error_code }),
        }
    }

    /// The process ends by what this thread has done.
    fn die(&self, thread: u64, rip: u64, cause: Cause) {
        let (how, code, address) = match cause {
            Cause::PageFault {
                address,
                why: Denied::OutOfMemory,
                ..
            } => (Ending::OutOfMemory, PAGE_FAULT, address),
            Cause::PageFault { address, .. } => (Ending::Exception, PAGE_FAULT, address),
            Cause::Exception { vector, .. } => (Ending::Exception, vector, 0),
        };
        let ended = Ended {
            how: how as u32,
            code: i32::from(code),
            address,
            rip,
        };
        let reason = Reason {
            process: self.process.id(),
            name: self.process.name(),
            thread,
            rip,
            cause,
        };
        // Said once, and before anybody can see the end: this thread holds the space.
        if self.process.end(ended) {
            let line = alloc::format!("{reason}\n");
            (self.process.system().services.console_write)(line.as_bytes(), true)
        }
    }

    /// `FutexWait`. A process of which no thread can ever go on ends.
    pub(crate) fn futex_wait(&self, args: [u64; 6]) -> Result<u64, Error> {
        match call::futex_wait(&self.ctx(), args[0], args[1], args[2])? {
            Waited::Woken => Ok(0),
            Waited::NobodyWakes => {
                deadlock(&self.process);
                Err(Error::Killed)
            }
        }
    }

    /// For the calls on handles.
    pub(crate) fn ctx(&self) -> Ctx<'_> {
        Ctx {
            memory: &*self.space,
            handles: &self.process.handles,
            account: &self.process.account,
            waits: &self.waits,
            services: &self.process.system().services,
        }
    }

    /// `SpawnThread`.
    pub(crate) fn spawn_thread(&self, entry: u64, arg: u64, stack_top: u64) -> Result<u64, Error> {
        if !(USER_BASE..USER_END).contains(&entry) || !(USER_BASE..USER_END).contains(&stack_top) {
            return Err(Error::BadAddress);
        }
        if stack_top % 16 != 8 {
            return Err(Error::BadArgument);
        }
        let start = Start {
            entry,
            stack_top,
            args: [arg, 0],
        };
        spawn(&self.process, self.space.clone(), start)
    }
}

impl UserMemory for Space {
    fn copy_in(&self, from: u64, to: &mut [u8]) -> Result<(), Error> {
        Space::copy_in(self, from, to)
    }

    fn copy_out(&self, to: u64, from: &[u8]) -> Result<(), Error> {
        Space::copy_out(self, to, from)
    }

    fn check_out(&self, to: u64, bytes: u64) -> Result<(), Error> {
        Space::check_out(self, to, bytes)
    }

    fn word_key(&self, address: u64) -> Result<WordKey, Error> {
        Space::word_key(self, address)
    }

    fn load_u32(&self, address: u64) -> Result<u32, Error> {
        Space::load_u32(self, address)
    }

    fn sleepers(&self, word: WordKey) -> Option<&Asleep> {
        Space::sleepers(self, word)
    }
}

/// Answers a quick call whose answer is not always the same. Interrupts are off, and the thread's CPU stays.
pub fn answer_quick(number: u64) -> i64 {
    match Call::from_number(number) {
        Some(Call::Now) => sched::machine_now_ns() as i64,
        Some(Call::Cpu) => machine::cpu_id() as i64,
        _ => Error::NoSuchCall as i64,
    }
}
