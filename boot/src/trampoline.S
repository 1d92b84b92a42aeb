// Where an application processor wakes up: real mode, CS = page << 8, IP = 0, everything else undefined.
// Intel syntax; assembled by `global_asm!` in lib.rs.
//
// `arch` copies ap_trampoline..ap_trampoline_end to the page TRAMPOLINE below 1 MiB and fills in the two words at the end.
// All CPUs run it at the same time, so it writes nothing and uses no stack. It goes from real mode to long mode in one
// step (PE and PG together, SDM vol. 3, 10.8.5 allows it once CR4.PAE, CR3 and EFER.LME are set). The page tables that it
// loads map this page alone below the kernel half; `arch` leaves them at once.
//
//   real mode ──lgdt, CR4, CR3, EFER, CR0──> compatibility mode ──far jump──> 64-bit, still here ──jmp──> ap_entry (arch)

.section .rodata.ap_trampoline,"a"
.balign 16
.code16
.global ap_trampoline
ap_trampoline:
  cli
  cld
  mov ax, cs
  mov ds, ax
  .byte 0x66, 0x0f, 0x01, 0x16      // lgdt with a 32-bit base, [disp16]
  .word ap_gdtr - ap_trampoline
  mov eax, 0x620                    // as in pvh.S
  mov cr4, eax
  .byte 0x66, 0xa1                  // mov eax, [disp16]
  .word ap_trampoline_cr3 - ap_trampoline
  mov cr3, eax
  mov ecx, 0xC0000080
  rdmsr
  or eax, 0x900
  wrmsr
  mov eax, 0x80010033
  mov cr0, eax
  .byte 0x66, 0xea                  // far jump with a 32-bit offset
  .long {TRAMPOLINE} + (ap64 - ap_trampoline)
  .word 8
.code64
ap64:
  mov eax, 16
  mov ss, eax
  mov ds, eax
  mov es, eax
  xor eax, eax
  mov fs, eax
  mov gs, eax
  xor ebp, ebp
  jmp qword ptr [rip + ap_trampoline_entry]
.balign 8
ap_gdtr: .word 23
  .long {TRAMPOLINE} + (ap_gdt - ap_trampoline)
.balign 8
ap_gdt: .quad 0, 0x00af9b000000ffff, 0x00cf93000000ffff
// Filled in by arch in the copy: physical address of the page tables (below 4 GiB), virtual address of the entry.
.global ap_trampoline_cr3
ap_trampoline_cr3: .long 0
.balign 8
.global ap_trampoline_entry
ap_trampoline_entry: .quad 0
.global ap_trampoline_end
ap_trampoline_end:
