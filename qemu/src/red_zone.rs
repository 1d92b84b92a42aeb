//! Stores below the stack pointer. An interrupt's frame would overwrite them, were it pushed on the same stack; the
//! kernel's own code is compiled without them, precompiled crates of the toolchain are known to have a few, for which
//! each vector has a stack of its own.

use iced_x86::{
    Decoder, DecoderOptions, Instruction, InstructionInfoFactory, OpAccess, OpKind, Register,
};

/// Crates of the toolchain, compiled with the red zone long before anybody set our flags.
const PRECOMPILED: &[&str] = &["core", "alloc", "compiler_builtins"];

/// Functions of ours that use the red zone on purpose: the test that it survives interrupts.
const ON_PURPOSE: &[&str] = &["test_image::regs::hold"];

/// Whether a function may store below the stack pointer, by its demangled name.
pub fn may_use_red_zone(name: &str) -> bool {
    ON_PURPOSE.contains(&name) || is_precompiled(name)
}

/// The addresses of stores to `[rsp - n]` in a function's bytes.
pub fn stores_below_rsp(code: &[u8], address: u64) -> Vec<u64> {
    let mut factory = InstructionInfoFactory::new();
    let decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    decoder
        .into_iter()
        .filter(|instruction| is_store_below(instruction, &mut factory))
        .map(|i| i.ip())
        .collect()
}

fn is_store_below(instruction: &Instruction, factory: &mut InstructionInfoFactory) -> bool {
    // Explicit operands only: a push writes below too, but moves the pointer with it.
    let below = instruction.memory_base() == Register::RSP
        && instruction.memory_displacement64().cast_signed() < 0;
    let memory = (0..instruction.op_count()).find(|i| instruction.op_kind(*i) == OpKind::Memory);
    let Some(operand) = memory.filter(|_| below) else {
        return false;
    };
    let writes = [
        OpAccess::Write,
        OpAccess::CondWrite,
        OpAccess::ReadWrite,
        OpAccess::ReadCondWrite,
    ];
    writes.contains(&factory.info(instruction).op_access(operand))
}

/// Whether a function is precompiled code of the toolchain, by its demangled name. A generic function is compiled
/// where it is used, with our flags; its name begins with its own crate all the same, so this errs on the side of
/// allowing.
fn is_precompiled(name: &str) -> bool {
    // The helpers that the compiler calls are not mangled: `__divti3`, `__multf3`.
    if name.starts_with("__") && !name.contains("::") {
        return true;
    }
    let path = name.trim_start_matches(['<', '&', '*', '[', '(']);
    let path = ["mut ", "const ", "dyn "]
        .iter()
        .fold(path, |path, word| path.strip_prefix(word).unwrap_or(path));
    let own = path.split_once("::").map(|(first, _)| first);
    // `<u8 as core::fmt::LowerHex>::fmt` and the like: of a primitive type, so the trait's crate decides.
    let of_trait = primitive_with_trait(name);
    own.into_iter()
        .chain(of_trait)
        .any(|krate| PRECOMPILED.contains(&krate))
}

/// The crate of the trait in `<primitive as krate::Trait>::method`.
fn primitive_with_trait(name: &str) -> Option<&str> {
    let (kind, rest) = name.strip_prefix('<')?.split_once(" as ")?;
    let primitive = kind
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"&[]()* ".contains(&b));
    primitive.then(|| rest.split_once("::").map(|(krate, _)| krate))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_stores_below_and_nothing_else() {
        let code: &[u8] = &[
            0x48, 0x89, 0x44, 0x24, 0xf8, // 0x00 mov [rsp-8], rax: found
            0x48, 0x8b, 0x44, 0x24, 0xf8, // 0x05 mov rax, [rsp-8]: only a load
            0x50, // 0x0a push rax
            0x48, 0x89, 0x44, 0x24, 0x08, // 0x0b mov [rsp+8], rax
            0x0f, 0x29, 0x44, 0x24, 0xe0, // 0x10 movaps [rsp-32], xmm0: found
            0x83, 0x44, 0x24, 0xfc, 0x01, // 0x15 add dword [rsp-4], 1: found
            0x48, 0x8d, 0x44, 0x24, 0x80, // 0x1a lea rax, [rsp-128]: no store
            0x48, 0x89, 0x45, 0xf8, // 0x1f mov [rbp-8], rax
            0xe8, 0x00, 0x00, 0x00, 0x00, // 0x23 call
            0xc3,
        ];
        assert_eq!(stores_below_rsp(code, 0), [0x00, 0x10, 0x15]);
    }

    #[test]
    fn whose_function_it_is() {
        for theirs in [
            "core::unicode::conversions::to_lower",
            "alloc::raw_vec::finish_grow",
            "<core::char::ToUppercase as core::iter::traits::iterator::Iterator>::next",
            "compiler_builtins::int::udiv::__udivti3",
            "<u64 as core::fmt::LowerHex>::fmt",
            "<&mut core::x::Y as core::fmt::Write>::write_str",
            "__multf3",
        ] {
            assert!(is_precompiled(theirs), "{theirs}");
        }
        for ours in [
            "sched::steal::runqsteal",
            "<hello::X as core::fmt::Display>::fmt",
            "main",
            "irq_entry",
            "arch::x86_64::trap::__handler",
            "corex::f",
        ] {
            assert!(!is_precompiled(ours), "{ours}");
        }
    }
}
