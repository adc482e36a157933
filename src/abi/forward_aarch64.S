// Forwarders for AArch64 (AAPCS64). As for x86-64, a forwarder is one indirect jump: it uses x16 and x17 alone, which
// belong to code between a call and its target, so that arguments in registers and on the stack, x8 (the place of a
// structure returned by value) and the return address arrive as the caller left them.
//
// First use: the table's entry leads to code that saves every register that may carry an argument, asks the resolver, and
// jumps to its answer.

  .text

  .macro forward_without_alias name
  .globl \name
  .type \name, %function
  .p2align 4
\name:
  hint #34  // bti c
  adrp x16, .Lslot_\name
  ldr x17, [x16, :lo12:.Lslot_\name]
  br x17
  .size \name, . - \name
.Lfirst_\name:
  hint #34  // bti c
  adrp x16, .Lslot_\name
  add x16, x16, :lo12:.Lslot_\name
  b .Lfirst_use
  .pushsection .data.forward_slots, "aw"
.Lslot_\name:
  .xword .Lfirst_\name
  .popsection
  .endm

  .macro forward name
  forward_without_alias \name
  .globl p\name
  .type p\name, %function
  .set p\name, \name
  .endm

  .pushsection .data.forward_slots, "aw"
  .p2align 3
  .globl nccl_slab_forward_slots
  .hidden nccl_slab_forward_slots
nccl_slab_forward_slots:
  .popsection

  .type .Lfirst_use, %function
.Lfirst_use:
  .cfi_startproc
  stp x29, x30, [sp, #-224]!
  .cfi_def_cfa_offset 224
  .cfi_offset x29, -224
  .cfi_offset x30, -216
  mov x29, sp
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  str x8, [sp, #80]
  stp q0, q1, [sp, #96]
  stp q2, q3, [sp, #128]
  stp q4, q5, [sp, #160]
  stp q6, q7, [sp, #192]
  mov x0, x16
  bl nccl_slab_resolve_forward
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldp x2, x3, [sp, #32]
  ldp x4, x5, [sp, #48]
  ldp x6, x7, [sp, #64]
  ldr x8, [sp, #80]
  ldp q0, q1, [sp, #96]
  ldp q2, q3, [sp, #128]
  ldp q4, q5, [sp, #160]
  ldp q6, q7, [sp, #192]
  ldp x29, x30, [sp], #224
  .cfi_restore x29
  .cfi_restore x30
  .cfi_def_cfa_offset 0
  br x16
  .cfi_endproc
  .size .Lfirst_use, . - .Lfirst_use

#define ROW_forward(macro, name) macro name
#define ROW_handled(macro, name)
#define NCCL_SYMBOL(name, since, answer, role) ROW_##role(forward, name)
#define NCCL_SYMBOL_WITHOUT_ALIAS(name, since, answer, role) ROW_##role(forward_without_alias, name)
#include "abi/nccl_symbols.def"

  .section .note.GNU-stack, "", %progbits
