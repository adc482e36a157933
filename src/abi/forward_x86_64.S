// Forwarders for x86-64 (System V). A forwarder is one indirect jump: no register and no byte of the stack changes, so that
// arguments in registers and on the stack (ncclUniqueId travels there), the hidden pointer of a structure returned by value
// and the count of vector registers of a variadic call all arrive as the caller left them.
//
// First use: the table's entry leads to code that saves every register that may carry an argument, asks the resolver, and
// jumps to its answer. Of vector registers the low 16 bytes are saved: no function of NCCL takes wider values.

  .text

  .macro forward_without_alias name
  .globl \name
  .type \name, @function
  .p2align 4
\name:
  endbr64
  jmp *.Lslot_\name(%rip)
  .size \name, . - \name
.Lfirst_\name:
  leaq .Lslot_\name(%rip), %r11
  jmp .Lfirst_use
  .pushsection .data.forward_slots, "aw"
.Lslot_\name:
  .quad .Lfirst_\name
  .popsection
  .endm

  .macro forward name
  forward_without_alias \name
  .globl p\name
  .type p\name, @function
  .set p\name, \name
  .endm

  .pushsection .data.forward_slots, "aw"
  .p2align 3
  .globl nccl_slab_forward_slots
  .hidden nccl_slab_forward_slots
nccl_slab_forward_slots:
  .popsection

  .type .Lfirst_use, @function
.Lfirst_use:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  pushq %rax
  pushq %r10
  subq $128, %rsp
  movups %xmm0, (%rsp)
  movups %xmm1, 16(%rsp)
  movups %xmm2, 32(%rsp)
  movups %xmm3, 48(%rsp)
  movups %xmm4, 64(%rsp)
  movups %xmm5, 80(%rsp)
  movups %xmm6, 96(%rsp)
  movups %xmm7, 112(%rsp)
  movq %r11, %rdi
  call nccl_slab_resolve_forward
  movq %rax, %r11
  movups (%rsp), %xmm0
  movups 16(%rsp), %xmm1
  movups 32(%rsp), %xmm2
  movups 48(%rsp), %xmm3
  movups 64(%rsp), %xmm4
  movups 80(%rsp), %xmm5
  movups 96(%rsp), %xmm6
  movups 112(%rsp), %xmm7
  addq $128, %rsp
  popq %r10
  popq %rax
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  popq %rbp
  .cfi_def_cfa %rsp, 8
  jmp *%r11
  .cfi_endproc
  .size .Lfirst_use, . - .Lfirst_use

#define ROW_forward(macro, name) macro name
#define ROW_handled(macro, name)
#define NCCL_SYMBOL(name, since, answer, role) ROW_##role(forward, name)
#define NCCL_SYMBOL_WITHOUT_ALIAS(name, since, answer, role) ROW_##role(forward_without_alias, name)
#include "abi/nccl_symbols.def"

  .section .note.GNU-stack, "", @progbits
