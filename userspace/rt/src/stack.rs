//! The stacks of threads, and how a thread starts and ends on one.
//!
//! A thread cannot give its stack away while it runs on it. So its last steps are a few instructions that use none: either they take
//! the stack out of the address space, or they free the lock of the cache that it lies in already.

use crate::sync::{CONTENDED, FREE, Mutex};
use crate::thread::Body;
use crate::{Result, syscall};
use abi::{Call, PAGE_BYTES};
use alloc::boxed::Box;
use core::mem::ManuallyDrop;

/// Stacks of the usual size that are kept for the next threads.
const KEPT: usize = 32;

/// Memory for a stack, an unmapped page below and above.
struct Stack {
    low: usize,
    bytes: usize,
}

/// What a new thread is given.
struct Start {
    body: Body,
    stack: Stack,
}

/// Stacks that nobody runs on.
struct Cache {
    stacks: [usize; KEPT],
    len: usize,
}

static CACHE: Mutex<Cache> = Mutex::new(Cache {
    stacks: [0; KEPT],
    len: 0,
});

/// Starts a thread that runs `body`.
pub(crate) fn start(body: Body, bytes: usize) -> Result<()> {
    let stack = Stack::new(bytes)?;
    // A multiple of 16, less 8, as after a call.
    let top = stack.low + stack.bytes - 8;
    let argument = Box::into_raw(Box::new(Start { body, stack }));
    // SAFETY: `begin` takes the argument, and the stack is nobody else's.
    let started = unsafe {
        syscall::call(
            Call::SpawnThread,
            [begin as *const () as u64, argument as u64, top as u64],
        )
    };
    if let Err(e) = started {
        // SAFETY: there is no thread that could have taken it.
        let Start { stack, .. } = *unsafe { Box::from_raw(argument) };
        stack.unmap();
        return Err(e);
    }
    Ok(())
}

/// A thread's first function.
extern "C" fn begin(argument: *mut Start) -> ! {
    // SAFETY: `start` has left it for this thread.
    let Start { body, stack } = *unsafe { Box::from_raw(argument) };
    body();
    stack.leave()
}

impl Stack {
    fn new(bytes: usize) -> Result<Stack> {
        let bytes = bytes.max(1).next_multiple_of(PAGE_BYTES as usize);
        if bytes == crate::thread::STACK_BYTES
            && let Some(low) = CACHE.lock().pop()
        {
            return Ok(Stack { low, bytes });
        }
        // SAFETY: fresh memory.
        let low = unsafe { syscall::call(Call::Map, [bytes as u64, 0]) }? as usize;
        Ok(Stack { low, bytes })
    }

    /// Ends the calling thread, which runs on it.
    fn leave(self) -> ! {
        let cache = CACHE.lock();
        if self.bytes == crate::thread::STACK_BYTES && cache.len < KEPT {
            let mut cache = ManuallyDrop::new(cache);
            let at = cache.len;
            cache.stacks[at] = self.low;
            cache.len += 1;
            // SAFETY: the lock is held, and its guard does not free it.
            unsafe { unlock_and_end() }
        }
        drop(cache);
        // SAFETY: the thread's own stack, which nobody else uses.
        unsafe { unmap_and_end(self.low, self.bytes) }
    }

    fn unmap(self) {
        // SAFETY: nobody runs on it.
        let _ = unsafe { syscall::call(Call::Unmap, [self.low as u64, self.bytes as u64]) };
    }
}

impl Cache {
    fn pop(&mut self) -> Option<usize> {
        self.len = self.len.checked_sub(1)?;
        Some(self.stacks[self.len])
    }
}

/// Frees the lock of the cache, as [`Mutex`] does, and ends the thread. From the exchange on its stack is another's, so nothing here
/// uses it; ring 3 has no signals, and what interrupts it has a stack of the kernel's.
///
/// # Safety
///
/// The caller holds the lock, and its stack lies in the cache.
unsafe fn unlock_and_end() -> ! {
    // SAFETY: registers only. RDI is kept up to the first call; what calls lose is not used after them. A release of the lock: the
    // exchange is a full barrier.
    unsafe {
        core::arch::asm!(
            "mov eax, {free}",
            "xchg dword ptr [rdi], eax",
            "cmp eax, {contended}",
            "jne 2f",
            "mov esi, 1",
            "mov eax, {wake}",
            "syscall",
            "2:",
            "mov eax, {end}",
            "syscall",
            "ud2",
            free = const FREE,
            contended = const CONTENDED,
            wake = const Call::FutexWake as u32,
            end = const Call::ThreadExit as u32,
            in("rdi") CACHE.word(),
            options(noreturn),
        )
    }
}

/// Takes the stack out and ends the thread.
///
/// # Safety
///
/// It is the calling thread's stack, of `bytes` bytes from `low` on, and nobody else's.
unsafe fn unmap_and_end(low: usize, bytes: usize) -> ! {
    // SAFETY: registers only, as above.
    unsafe {
        core::arch::asm!(
            "syscall",
            "mov eax, {end}",
            "syscall",
            "ud2",
            end = const Call::ThreadExit as u32,
            in("rax") Call::Unmap as u64,
            in("rdi") low,
            in("rsi") bytes,
            options(noreturn),
        )
    }
}
