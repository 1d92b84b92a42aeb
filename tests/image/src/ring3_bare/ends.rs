//! The ways in and out: calls, exceptions, and what a program may try on the way.

use super::{DATA, World, code};
use crate::{Outcome, Test, ensure};
use arch::UserExit::{self, Exception, Syscall};
use arch::bare::{USER_END, direct};
use ringo::prelude::*;

pub const TESTS: &[Test] = &[
    ("ring3_end_calls", calls),
    ("ring3_end_exceptions", exceptions),
    ("ring3_end_flags", flags),
    ("ring3_end_of_memory", last_instruction),
    ("ring3_end_fpu", others_fpu),
];

/// What a program calls, its arguments, and what it keeps over calls.
fn calls() -> Outcome {
    let world = World::new(code::all());
    let (exit, mut thread) = world.once(code::calls());
    ensure!(exit == Syscall, "{exit:?} at {:#x}", thread.rip());
    ensure!(thread.number() == 100, "call {}", thread.number());
    ensure!(
        thread.args() == [1, 2, 3, 4, 5, 6],
        "arguments {:?}",
        thread.args()
    );
    thread.set_result(-77);
    yield_now(); // others use the registers meanwhile
    let exit = world.run(&mut thread);
    ensure!(
        (exit, thread.number()) == (Syscall, 101),
        "{exit:?} {} at {:#x}",
        thread.number(),
        thread.rip()
    );
    Ok(())
}

fn is_fault(exit: UserExit, at: u64, code: u64) -> bool {
    exit == Exception {
        vector: 14,
        error_code: code,
        address: at,
    }
}

/// Each way of dying comes out as what it is. Error codes: 1 present, 2 write, 4 ring 3, 16 fetch.
fn exceptions() -> Outcome {
    let world = World::new(code::all());
    let faults: &[(usize, u64, u64)] = &[
        (code::null_read(), 0, 4),
        (code::null_write(), 8, 6),
        (code::kernel_read(), 0xffff_8000_0010_0000, 5),
        (code::data_jump(), DATA, 21),
    ];
    for &(at, address, error_code) in faults {
        let (exit, _) = world.once(at);
        ensure!(
            is_fault(exit, address, error_code),
            "{exit:?}, not a fault {error_code} at {address:#x}"
        );
    }
    let (exit, thread) = world.once(code::code_write());
    ensure!(
        is_fault(exit, thread.rip(), 7),
        "{exit:?} for a write to code"
    );
    // The window of goroutines' stacks: no page is laid there for ring 3.
    let (exit, _) = world.once(code::stack_window());
    ensure!(
        matches!(
            exit,
            Exception {
                vector: 14,
                error_code: 6 | 7,
                ..
            }
        ),
        "{exit:?} for a goroutine's stack"
    );
    other_exceptions(&world)
}

/// Those that are no page faults.
fn other_exceptions(world: &World) -> Outcome {
    let others: &[(usize, u8)] = &[
        (code::halt(), 13),
        (code::clear_if(), 13),
        (code::input(), 13),
        (code::move_cr3(), 13),
        (code::write_msr(), 13),
        (code::software_interrupt(), 13),
        (code::divide(), 0),
        (code::breakpoint(), 3),
        (code::undefined(), 6),
        (code::trap(), 1),
        (code::not_canonical_read(), 13),
        (code::not_canonical_jump(), 13),
    ];
    for &(at, want) in others {
        let (exit, _) = world.once(at);
        ensure!(
            matches!(exit, Exception { vector, .. } if vector == want),
            "{exit:?}, not vector {want}, of the code at {at}"
        );
    }
    // TCG raises no SIMD exception; the program goes on there, into its end.
    let (exit, _) = world.once(code::simd());
    ensure!(
        matches!(exit, Exception { vector: 6 | 19, .. }),
        "{exit:?} for a division that MXCSR does not mask"
    );
    // #SS on a processor, #GP under TCG.
    let (exit, _) = world.once(code::not_canonical_stack());
    ensure!(
        matches!(
            exit,
            Exception {
                vector: 12 | 13,
                ..
            }
        ),
        "{exit:?} for a stack that is not canonical"
    );
    Ok(())
}

/// Flags, selectors and MXCSR of a program do the kernel no harm, and come back as they were.
fn flags() -> Outcome {
    let world = World::new(code::all());
    for at in [code::bad_flags(), code::selectors(), code::simd_then_call()] {
        let (exit, mut thread) = world.once(at);
        ensure!(exit == Syscall, "{exit:?} of the code at {at}");
        // The kernel computes with what would be unmasked.
        ensure!(
            core::hint::black_box(1.0f64) / core::hint::black_box(3.0) < 0.34,
            "the kernel cannot divide"
        );
        yield_now();
        let exit = world.run(&mut thread);
        ensure!(
            (exit, thread.number()) == (Syscall, 101),
            "{exit:?} after the call of the code at {at}"
        );
    }
    // SDM vol. 2, CPUID leaf 7: UMIP.
    let umip = core::arch::x86_64::__cpuid_count(7, 0).ecx & 1 << 2 != 0;
    let (exit, _) = world.once(code::descriptor_table());
    ensure!(
        matches!(exit, Exception { vector: 13, .. }) == umip,
        "{exit:?} for sidt, with UMIP {umip}"
    );
    Ok(())
}

/// A `syscall` whose return address is the end of what may be mapped: the way back must not fault in ring 0.
fn last_instruction() -> Outcome {
    let world = World::new(code::all());
    let text = super::frame();
    // SAFETY: a fresh frame.
    unsafe {
        direct(text).write_bytes(0x90, 4096);
        direct(text)
            .add(4094)
            .copy_from_nonoverlapping([0x0f, 0x05].as_ptr(), 2)
    }
    world.map(USER_END - 4096, text, super::EXECUTE);
    for (number, quick) in [(0, true), (100, false)] {
        let mut thread = arch::bare::UserContext::new(USER_END - 2, super::STACK_TOP, [0, 0]);
        thread.set_result(number);
        let mut exit = world.run(&mut thread);
        if !quick {
            ensure!(exit == Syscall, "{exit:?}");
            exit = world.run(&mut thread)
        }
        ensure!(
            is_fault(exit, USER_END, 20),
            "{exit:?} behind the last instruction"
        );
    }
    Ok(())
}

/// Nothing of another program's x87 and XMM registers, nor of the kernel's, is to be seen.
fn others_fpu() -> Outcome {
    let other = World::new(code::all());
    let world = World::new(code::all());
    let mut filler = other.thread(code::fill_fpu());
    ensure!(other.run(&mut filler) == Syscall, "the other program");
    let (exit, mut thread) = world.once(code::see_fpu());
    ensure!(exit == Syscall, "{exit:?}");
    ensure!(
        other.run(&mut filler) == Syscall,
        "the other program, between"
    );
    let exit = world.run(&mut thread);
    ensure!(exit == Syscall, "{exit:?}");
    for image in [0, 128] {
        // ST0 to ST7, XMM0 to XMM15 (SDM vol. 1, table 10-2).
        let words = (image + 4..image + 52)
            .map(|i| world.word(i).load(core::sync::atomic::Ordering::Relaxed));
        let seen = words.filter(|w| *w != 0).count();
        ensure!(seen == 0, "{seen} words of somebody else's registers");
    }
    Ok(())
}
