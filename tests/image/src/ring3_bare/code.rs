//! The instructions that these tests run in ring 3: RDI points at the data page, RSI is 7.

use core::arch::global_asm;

macro_rules! code {
    ($($name:ident: $text:literal;)*) => {
        global_asm!(
            ".section .rodata.ring3,\"a\"",
            ".global ring3_start",
            "ring3_start:",
            $(concat!(".global ring3_", stringify!($name)), concat!("ring3_", stringify!($name), ":"), $text,)*
            ".global ring3_end",
            "ring3_end:",
            ".text",
        );
        #[allow(non_snake_case)]
        mod labels {
            unsafe extern "C" {
                $(#[link_name = concat!("ring3_", stringify!($name))] pub static $name: u8;)*
            }
        }
        $(
            /// Where this part begins, in bytes from the start of the code.
            pub fn $name() -> usize {
                (&raw const labels::$name).addr() - (&raw const ring3_start).addr()
            }
        )*
    };
}

unsafe extern "C" {
    static ring3_start: u8;
    static ring3_end: u8;
}

/// All of it.
pub fn all() -> &'static [u8] {
    let start = &raw const ring3_start;
    let len = (&raw const ring3_end).addr() - start.addr();
    // SAFETY: constants between the two labels.
    unsafe { core::slice::from_raw_parts(start, len) }
}

code! {
    // Registers that a call keeps, over a quick call and another one.
    calls: "
        mov rbx, 0x1111111111111111
        mov rbp, 0x2222222222222222
        mov r12, 0x3333333333333333
        mov r13, 0x4444444444444444
        mov r14, 0x5555555555555555
        mov r15, 0x6666666666666666
        pxor xmm7, xmm7
        pcmpeqd xmm7, xmm7
        xor eax, eax
        syscall
        mov [rsp - 8], rax
        movq rax, xmm7
        test rax, rax
        jnz 9f
        or rdx, rdi
        or rdx, rsi
        or rdx, r8
        or rdx, r9
        or rdx, r10
        jnz 9f
        mov eax, 100
        mov edi, 1
        mov esi, 2
        mov edx, 3
        mov r10d, 4
        mov r8d, 5
        mov r9d, 6
        syscall
        cmp rax, -77
        jne 9f
        mov rax, 0x1111111111111111
        cmp rax, rbx
        jne 9f
        mov rax, 0x2222222222222222
        cmp rax, rbp
        jne 9f
        mov rax, 0x3333333333333333
        cmp rax, r12
        jne 9f
        mov rax, 0x4444444444444444
        cmp rax, r13
        jne 9f
        mov rax, 0x5555555555555555
        cmp rax, r14
        jne 9f
        mov rax, 0x6666666666666666
        cmp rax, r15
        jne 9f
        mov eax, 101
        syscall
        9: ud2";
    // Quick calls, RSI of them (from the context), then a slow one.
    quick: "
        mov r12, rsi
        2: xor eax, eax
        syscall
        dec r12
        jnz 2b
        mov eax, 100
        syscall
        ud2";
    // Where `hold` returns to.
    done: "
        mov eax, 100
        syscall
        ud2";
    // Counts in the first word of the data, for ever.
    burn: "
        2: inc qword ptr [rdi]
        jmp 2b";
    // Slow calls for ever; RAX counts them.
    slow: "
        xor ebx, ebx
        2: inc rbx
        mov eax, 100
        syscall
        jmp 2b";
    // Reads the word at [rdi + 8] for ever and compares it with a value that it must never have.
    reader: "
        mov rbx, [rdi + 8]
        mov rcx, 0xdead00000000
        2: mov rax, [rbx]
        inc qword ptr [rdi]
        cmp rax, rcx
        jne 2b
        mov eax, 102
        syscall
        ud2";
    // Registers over a page fault that a goroutine serves, and over a call, again and again: RSI points at the page.
    fault_and_call: "
        xor ebx, ebx
        fninit
        2: inc rbx
        movq xmm0, rbx
        movq xmm3, rbx
        movq xmm15, rbx
        mov [rsp - 8], rbx
        fild qword ptr [rsp - 8]
        mov rax, [rsi]
        fistp qword ptr [rsp - 16]
        cmp [rsp - 16], rbx
        jne 9f
        movq rax, xmm0
        cmp rax, rbx
        jne 9f
        movq rax, xmm3
        cmp rax, rbx
        jne 9f
        movq rax, xmm15
        cmp rax, rbx
        jne 9f
        mov r12, rsi
        mov eax, 100
        syscall
        mov rsi, r12
        jmp 2b
        9: ud2";
    null_read: "mov rax, [0]\n ud2";
    null_write: "mov qword ptr [8], rax\n ud2";
    kernel_read: "mov rax, 0xffff800000100000\n mov rax, [rax]\n ud2";
    stack_window: "mov rax, 0xffffd00000002000\n mov [rax], rax\n ud2";
    code_write: "lea rax, [rip]\n mov [rax], rax\n ud2";
    data_jump: "jmp rdi";
    halt: "hlt";
    clear_if: "cli";
    input: "in al, dx";
    move_cr3: "mov rax, cr3";
    write_msr: "wrmsr";
    descriptor_table: "sidt [rsp - 16]\n mov eax, 100\n syscall\n ud2";
    divide: "xor ecx, ecx\n xor edx, edx\n mov eax, 1\n div ecx";
    breakpoint: "int3";
    software_interrupt: "int 0x40";
    undefined: "ud2";
    not_canonical_read: "mov rax, 0x1234567812345678\n mov rax, [rax]";
    not_canonical_jump: "mov rax, 0x0000900000000000\n jmp rax";
    not_canonical_stack: "mov rsp, 0x1234567812345678\n push rax";
    trap: "pushfq\n or qword ptr [rsp], 0x100\n popfq\n nop\n nop\n ud2";
    simd: "
        mov dword ptr [rsp - 8], 0
        ldmxcsr [rsp - 8]
        pxor xmm0, xmm0
        pcmpeqd xmm1, xmm1
        psrld xmm1, 25
        pslld xmm1, 23
        divss xmm1, xmm0
        ud2";
    // Unmasked exceptions are no harm to the kernel that the call goes to.
    simd_then_call: "
        mov dword ptr [rsp - 8], 0
        ldmxcsr [rsp - 8]
        mov eax, 100
        syscall
        stmxcsr [rsp - 8]
        mov eax, [rsp - 8]
        test eax, eax
        jnz 9f
        mov eax, 101
        syscall
        9: ud2";
    // Flags that a kernel must not run with.
    bad_flags: "
        pushfq
        or qword ptr [rsp], 0x44400
        popfq
        mov eax, 100
        syscall
        pushfq
        pop rax
        and eax, 0x44400
        cmp eax, 0x44400
        jne 9f
        mov eax, 101
        syscall
        9: ud2";
    selectors: "
        xor eax, eax
        mov gs, ax
        mov eax, 0x1b
        mov gs, ax
        mov fs, ax
        mov eax, 100
        syscall
        mov eax, 101
        syscall
        ud2";
    // The x87 registers of another program must not be seen: leaves what it finds in the data page.
    see_fpu: "
        fxsave64 [rdi]
        mov eax, 100
        syscall
        mov rdi, 0x500000
        fxsave64 [rdi + 1024]
        mov eax, 101
        syscall
        ud2";
    fill_fpu: "
        2: fldpi
        fldl2e
        fldlg2
        fldln2
        fldpi
        fldpi
        fldpi
        fldpi
        pcmpeqd xmm0, xmm0
        pcmpeqd xmm5, xmm5
        pcmpeqd xmm15, xmm15
        fninit
        mov eax, 100
        syscall
        jmp 2b";
}
