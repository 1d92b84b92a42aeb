// What the precompiled core and alloc of the gnu target leave undefined. In assembly, so that LLVM cannot turn a loop in
// memcpy into a call of memcpy. Intel syntax; assembled by `global_asm!` in mod.rs.
//
// QEMU's TCG runs `rep movsb` byte by byte: 64 KiB take 365 k ticks so, 45 k by `rep movsq`. Hence words plus a tail.

.macro c_function name
.section .text.\name,"ax",@progbits
.global \name
.type \name,@function
.balign 16
\name:
.endm

c_function memcpy
  mov rax, rdi
  mov rcx, rdx
  shr rcx, 3
  rep movsq
  mov ecx, edx
  and ecx, 7
  rep movsb
  ret

c_function memmove
  mov rcx, rdi
  sub rcx, rsi
  cmp rcx, rdx
  jae memcpy                          // the target starts before the source or after its end
  mov rax, rdi
  mov rcx, rdx
  shr rcx, 3
  lea rdi, [rdi + rdx - 8]
  lea rsi, [rsi + rdx - 8]
  std                                 // an interrupt may come here with DF=1
  rep movsq
  add rdi, 7
  add rsi, 7
  mov ecx, edx
  and ecx, 7
  rep movsb
  cld
  ret

c_function memset
  mov r8, rdi
  movzx eax, sil
  movabs rcx, 0x0101010101010101
  imul rax, rcx
  mov rcx, rdx
  shr rcx, 3
  rep stosq
  mov ecx, edx
  and ecx, 7
  rep stosb
  mov rax, r8
  ret

c_function bcmp
  jmp memcmp

c_function memcmp
  xor ecx, ecx
1: lea r8, [rcx + 8]
  cmp r8, rdx
  ja 2f
  mov rax, [rdi + rcx]
  cmp rax, [rsi + rcx]
  jne 2f                              // the differing byte is found below
  mov rcx, r8
  jmp 1b
2: cmp rcx, rdx
  jae 4f
  movzx eax, byte ptr [rdi + rcx]
  movzx r8d, byte ptr [rsi + rcx]
  inc rcx
  sub eax, r8d
  jz 2b
  ret
4: xor eax, eax
  ret

c_function strlen                     // LLVM makes this call out of a hand-written search for NUL
  xor eax, eax
1: cmp byte ptr [rdi + rax], 0
  je 2f
  inc rax
  jmp 1b
2: ret

// Never reached: panics abort, and the linker script discards the unwind tables.
c_function _Unwind_Resume
  ud2
c_function rust_eh_personality
  ud2
.text
