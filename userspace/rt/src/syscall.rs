//! System calls: the instruction, and an answer as a `Result`.

use crate::Result;
use abi::{Call, Error};

/// Call `number` with `args`; the answer as it stands in RAX. What the numbers mean: [`Call`].
///
/// # Safety
///
/// What the call does to the caller's memory and threads must be what the program means: `Unmap` of memory in use, an `entry` that is
/// no function, a buffer that is shorter than its length says.
#[cfg(ringo_user)]
#[inline]
pub unsafe fn raw(number: u64, args: [u64; 6]) -> i64 {
    let answer;
    // SAFETY: the registers are those of `abi`: what it says is lost is an output here, the rest is kept. `clobber_abi("C")` adds what a
    // C function may change, XMM and x87 registers included. The stack is not touched. The kernel may read and write the caller's memory.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") number => answer,
            inlateout("rdi") args[0] => _,
            inlateout("rsi") args[1] => _,
            inlateout("rdx") args[2] => _,
            inlateout("r10") args[3] => _,
            inlateout("r8") args[4] => _,
            inlateout("r9") args[5] => _,
            lateout("rcx") _,
            lateout("r11") _,
            clobber_abi("C"),
            options(nostack),
        );
    }
    answer
}

/// Call `number` with `args`, of what the host machine has in the kernel's place.
///
/// # Safety
///
/// As on the bare machine.
#[cfg(not(ringo_user))]
pub unsafe fn raw(number: u64, args: [u64; 6]) -> i64 {
    // SAFETY: the caller's promise.
    unsafe { crate::kernel::call(number, args) }
}

/// `call` with up to six arguments.
///
/// # Errors
///
/// What the kernel says; an answer below 0 that has no name is [`Error::NoSuchCall`].
///
/// # Safety
///
/// As for [`raw`].
#[inline]
pub unsafe fn call<const N: usize>(call: Call, args: [u64; N]) -> Result<u64> {
    let mut all = [0; 6];
    all[..N].copy_from_slice(&args);
    // SAFETY: the caller's promise.
    let answer = unsafe { raw(call as u64, all) };
    match u64::try_from(answer) {
        Ok(value) => Ok(value),
        Err(_) => Err(Error::from_answer(answer).unwrap_or(Error::NoSuchCall)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_values_or_errors() {
        // SAFETY: neither touches memory of ours.
        let (null, unknown) = unsafe { (call(Call::Null, []), raw(9999, [0; 6])) };
        assert_eq!(null, Ok(0));
        assert_eq!(unknown, Error::NoSuchCall as i64);
    }
}
