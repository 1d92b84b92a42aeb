//! Exceptions, each on purpose: what the report says of them is judged by the harness.

use crate::wait::until;
use crate::{Outcome, Test};
use base::PreemptGuard;
use core::arch::asm;
use core::hint::black_box;
use ringo::prelude::*;

pub const TESTS: &[Test] = &[
    ("null_read", null_read),
    ("null_write", null_write),
    ("null_call", null_call),
    ("write_to_code", write_to_code),
    ("execute_data", execute_data),
    ("divide", divide),
    ("ud2", ud2),
    ("not_canonical", not_canonical),
    ("triple_fault_bsp", || triple_fault_on(true)),
    ("triple_fault_ap", || triple_fault_on(false)),
];

fn null() -> *mut u64 {
    black_box(0x10) as *mut u64
}

#[inline(never)]
fn reads() -> u64 {
    // SAFETY: it is to fail.
    unsafe { null().read_volatile() }
}

fn null_read() -> Outcome {
    Err(format!("read {}", spawn(reads).join()))
}

fn null_write() -> Outcome {
    // SAFETY: it is to fail.
    unsafe { null().write_volatile(1) };
    Err("written".into())
}

fn null_call() -> Outcome {
    // SAFETY: it is to fail.
    unsafe { asm!("call {}", in(reg) black_box(0u64), clobber_abi("C")) };
    Err("called".into())
}

fn write_to_code() -> Outcome {
    // SAFETY: it is to fail.
    unsafe { (reads as *const () as *mut u64).write_volatile(1) };
    Err("written".into())
}

fn execute_data() -> Outcome {
    let code = Box::new([0xc3u8; 16]);
    // SAFETY: it is to fail.
    unsafe { asm!("call {}", in(reg) code.as_ptr(), clobber_abi("C")) };
    Err("called".into())
}

fn divide() -> Outcome {
    // SAFETY: it is to fail.
    unsafe { asm!("div {0:e}", in(reg) black_box(0), inout("eax") 1 => _, inout("edx") 0 => _) };
    Err("divided".into())
}

fn ud2() -> Outcome {
    // SAFETY: it is to fail.
    unsafe { asm!("ud2") };
    Err("executed".into())
}

fn not_canonical() -> Outcome {
    // SAFETY: it is to fail.
    unsafe { (black_box(0x1234_5678_9abc_def0u64) as *mut u64).write_volatile(1) };
    Err("written".into())
}

/// On the first CPU or on another one.
fn triple_fault_on(first: bool) -> Outcome {
    println!("before the end");
    let cpus = num_cpu();
    for _ in 0..cpus {
        go(move || {
            loop {
                let here = PreemptGuard::new();
                if (arch::cpu_id() == 0) == first {
                    arch::bare::triple_fault()
                }
                drop(here);
                yield_now()
            }
        });
    }
    until(|| false);
    Ok(())
}
