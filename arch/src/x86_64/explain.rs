//! Exceptions in words, for a person who sees one for the first time. SDM vol. 3, 6.15.

use crate::upcalls::FatalKind;

/// One or two sentences on what happened.
pub fn explain(kind: FatalKind, vector: u8, error_code: u64, cr2: u64, rsp: u64) -> &'static str {
    match kind {
        FatalKind::StackOverflow => {
            "a goroutine used up its stack and ran into the guard page below it; look for recursion without end or a large local array, or give it more (stack_kib)"
        }
        FatalKind::OutOfStackPages => {
            "a goroutine's stack needed one more page and this CPU's reserve of pages was empty; the kernel fills the reserve before it runs a goroutine, so this is a bug in the kernel or the machine is out of memory"
        }
        FatalKind::KernelStackOverflow => {
            "a kernel stack (g0 or an interrupt stack) ran into the unmapped page below it; kernel code on g0 recursed or used too much stack"
        }
        FatalKind::Exception => exception(vector, error_code, cr2, rsp),
    }
}

fn exception(vector: u8, error_code: u64, cr2: u64, rsp: u64) -> &'static str {
    match vector {
        0 => "divide error (#DE): an integer division by zero, or a quotient that does not fit",
        1 => {
            "debug exception (#DB): single step or a hardware breakpoint, and no debugger is attached"
        }
        2 => {
            "non-maskable interrupt (NMI) that no CPU of this machine asked for: a hardware error, or one sent from outside"
        }
        3 => "breakpoint (#BP): an int3 instruction, and no debugger is attached",
        4 => "overflow (#OF): an into instruction found the overflow flag set",
        5 => "bound range exceeded (#BR): an index was outside the limits of a bound instruction",
        6 => {
            "invalid opcode (#UD): these bytes are no instruction on this CPU model; a jump to the wrong place, a ud2 that the compiler placed where code cannot get, or an instruction set extension that is not there or not enabled (AVX is not)"
        }
        7 => {
            "device not available (#NM): a floating-point instruction while the unit is switched off"
        }
        8 => {
            "double fault (#DF): an exception while the CPU was delivering another one, mostly because its handler's stack is not mapped"
        }
        10 => "invalid TSS (#TS): the task state segment of this CPU is damaged",
        11 => {
            "segment not present (#NP): a segment register or gate names a descriptor that is marked absent"
        }
        12 => {
            "stack-segment fault (#SS): a stack access with an address that is not canonical (bits 63..47 differ)"
        }
        13 => general_protection(error_code),
        14 => page_fault(error_code, cr2, rsp),
        16 => {
            "x87 floating-point error (#MF): an x87 instruction met an exception that the control word does not mask"
        }
        17 => "alignment check (#AC): an unaligned access with alignment checking switched on",
        18 => "machine check (#MC): the hardware reports an error of its own",
        19 => {
            "SIMD floating-point exception (#XM): an SSE instruction met an exception that MXCSR does not mask"
        }
        20 => "virtualization exception (#VE): an EPT violation that the hypervisor passed on",
        21 => {
            "control protection exception (#CP): a return or jump that the shadow stack or branch tracking forbids"
        }
        _ => "a reserved exception vector: the CPU has a feature that this kernel does not know",
    }
}

fn general_protection(error_code: u64) -> &'static str {
    if error_code == 0 {
        "general protection (#GP): mostly a pointer that is not canonical (bits 63..47 differ), an SSE access that is not aligned to 16, or a privileged register written with a value it does not take"
    } else {
        "general protection (#GP): the error code names a segment selector or a gate of the interrupt table (bit 1 set) that is missing or forbidden"
    }
}

fn page_fault(error_code: u64, cr2: u64, rsp: u64) -> &'static str {
    let (present, write, fetch) = (
        error_code & 1 != 0,
        error_code & 2 != 0,
        error_code & 16 != 0,
    );
    if error_code & 8 != 0 {
        return "page fault (#PF): a page table entry has a reserved bit set; page tables are damaged";
    }
    if cr2 < 4096 {
        return match (fetch, write) {
            (true, _) => "page fault (#PF): a call or jump through a null pointer",
            (_, true) => {
                "page fault (#PF): a write through a null pointer (or a small offset from one)"
            }
            _ => "page fault (#PF): a read through a null pointer (or a small offset from one)",
        };
    }
    if fetch {
        return if present {
            "page fault (#PF): an attempt to execute data: this page is marked no-execute"
        } else {
            "page fault (#PF): a call or jump to an address where nothing is mapped"
        };
    }
    if present {
        return if write {
            "page fault (#PF): a write to a page that is read-only (code or constants)"
        } else {
            "page fault (#PF): a read that the page's protection forbids"
        };
    }
    if cr2.abs_diff(rsp) < 1 << 16 {
        return "page fault (#PF): nothing is mapped here, and the address is near the stack pointer: mostly a stack that has run over its end";
    }
    if write {
        "page fault (#PF): a write to an address where nothing is mapped"
    } else {
        "page fault (#PF): a read from an address where nothing is mapped"
    }
}

#[cfg(test)]
mod tests {
    use super::explain;
    use crate::upcalls::FatalKind::*;

    fn page_fault(error_code: u64, cr2: u64) -> &'static str {
        explain(Exception, 14, error_code, cr2, 0xffff_d000_0003_f000)
    }

    #[test]
    fn page_faults_by_error_code_and_address() {
        assert!(page_fault(0, 8).contains("read through a null pointer"));
        assert!(page_fault(2, 0).contains("write through a null pointer"));
        assert!(page_fault(0x10, 0).contains("jump through a null pointer"));
        assert!(page_fault(0x11, 1 << 40).contains("execute data"));
        assert!(page_fault(3, 1 << 40).contains("read-only"));
        assert!(page_fault(2, 1 << 40).contains("write to an address where nothing"));
        assert!(page_fault(9, 1 << 40).contains("reserved bit"));
        assert!(page_fault(2, 0xffff_d000_0003_e000).contains("near the stack pointer"));
    }

    #[test]
    fn every_vector_has_words_of_its_kind() {
        for vector in 0..32 {
            let text = explain(Exception, vector, 0, 1 << 40, 0);
            assert!(
                text.contains('(') || text.starts_with("a reserved"),
                "{vector}: {text}"
            );
        }
        assert!(explain(StackOverflow, 14, 2, 0, 0).contains("stack_kib"));
        assert_ne!(
            explain(Exception, 13, 0, 0, 0),
            explain(Exception, 13, 0x52, 0, 0)
        );
    }
}
