// From the PVH loader to Rust. Intel syntax; assembled by `global_asm!` in lib.rs.
//
// The loader (QEMU -kernel, Firecracker, Cloud Hypervisor) finds `pvh_start` through the ELF note below and jumps there
// with: 32-bit protected mode, paging off, flat segments, interrupts off, EBX = physical address of `hvm_start_info`
// (Xen's docs/misc/pvh.pandoc). Loaders that leave the BIOS world alone (microvm) and those that ran one (q35) look the same.
//
//   boot page tables, gone once arch has built the final ones:
//     0 .. 4 GiB                        identity, for this file
//     0xffff_8000_0000_0000 + 4 GiB     direct map
//     0xffff_ffff_8000_0000 + 1 GiB     the kernel image

.section .note.Xen,"a",@note
.balign 4
.long 4, 4, 18                      // name size, descriptor size, XEN_ELFNOTE_PHYS32_ENTRY
.asciz "Xen"
.balign 4
.long pvh_start

.section .boot.text,"ax"
.code32
.global pvh_start
pvh_start:
  cli
  cld
  mov edi, ebx
  // Without 64-bit mode or NX (SDM volume 2, CPUID, leaf 0x8000_0001: EDX bits 29 and 20) the next steps would end in a
  // triple fault: a line on the debug console instead, and the exit device's value for wrong usage.
  mov eax, 0x80000000
  cpuid
  cmp eax, 0x80000001
  jb too_old
  mov eax, 0x80000001
  cpuid
  not edx
  test edx, 1 << 29 | 1 << 20
  jnz too_old
  mov eax, offset boot_pdpt_low + 3
  mov [boot_pml4], eax
  mov [boot_pml4 + 256*8], eax
  mov eax, offset boot_pdpt_high + 3
  mov [boot_pml4 + 511*8], eax
  mov eax, offset boot_pd + 3
  mov [boot_pdpt_high + 510*8], eax
  xor ecx, ecx
1: mov [boot_pdpt_low + ecx*8], eax // four page directories
  add eax, 4096
  inc ecx
  cmp ecx, 4
  jne 1b
  xor ecx, ecx
2: mov eax, ecx                     // 2048 pages of 2 MiB: present, writable, large
  shl eax, 21
  or eax, 0x83
  mov [boot_pd + ecx*8], eax
  inc ecx
  cmp ecx, 2048
  jne 2b
  // PAE, and OSFXSR | OSXMMEXCPT before the first Rust instruction: the precompiled `core` uses SSE.
  // OSXSAVE stays 0, so nobody can use AVX and FXSAVE is the whole floating-point state.
  mov eax, 0x620
  mov cr4, eax
  mov eax, offset boot_pml4
  mov cr3, eax
  mov ecx, 0xC0000080               // EFER: LME | NXE
  rdmsr
  or eax, 0x900
  wrmsr
  mov eax, 0x80010033               // CR0: PG WP NE ET MP PE; EM and TS clear
  mov cr0, eax
  lgdt [boot_gdtr]
  ljmp 8, offset boot64

too_old:
  mov esi, offset too_old_text
3: lodsb
  test al, al
  jz 4f
  out 0xe9, al
  jmp 3b
4: mov eax, 21                      // arch's `ExitCode`: a bad configuration
  out 0xf4, eax
5: hlt
  jmp 5b

.code64
boot64:
  mov eax, 16
  mov ss, eax
  mov ds, eax
  mov es, eax
  xor eax, eax
  mov fs, eax
  mov gs, eax
  movabs rsp, offset boot_stack_top
  fninit
  ldmxcsr [rip + boot_mxcsr]
  xor ebp, ebp                      // the end of every backtrace
  mov edi, edi                      // the upper half of RDI is undefined so far
  movabs rax, offset {boot_main}
  call rax
  ud2

.section .boot.data,"aw"
.balign 8
.global boot_gdt
boot_gdt: .quad 0, 0x00af9b000000ffff, 0x00cf93000000ffff // null, 64-bit code, data; "accessed" already set
boot_gdtr: .word 23
  .long boot_gdt
boot_mxcsr: .long 0x1f80
too_old_text: .asciz "ringo: this CPU model lacks 64-bit mode or the NX bit; --cpu max and --cpu qemu64 have both\n"

.section .boot.bss,"aw",@nobits
.balign 4096
boot_pml4: .skip 4096
boot_pdpt_low: .skip 4096
boot_pdpt_high: .skip 4096
boot_pd: .skip 4*4096

// CPU 0 runs on this stack until its first goroutine. The page below it is left unmapped by the final page tables.
.section .bss.boot_stack,"aw",@nobits
.balign 4096
.global boot_stack_guard
boot_stack_guard: .skip 4096
.global boot_stack
boot_stack: .skip {BOOT_STACK_BYTES}
.global boot_stack_top
boot_stack_top:
