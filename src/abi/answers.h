// Answers: what a call gets whose function the real NCCL lacks, or for which no real NCCL was found.
// Thread-safe.
#pragma once

namespace nccl_slab::abi {

// What a function of NCCL returns; the column of nccl_symbols.def.
enum class Answer { result, text, number, team, nothing };

// Says once per function that the copy of NCCL which serves the call lacks it.
void warn_missing(const char* name);

// Functions to jump to in place of one that is missing (ncclInvalidUsage) or when there is no real NCCL at
// all (ncclSystemError). They take any arguments, ignoring the caller's registers, and return what does no
// harm.
void* missing_answer(Answer answer);
void* absent_answer(Answer answer);

}  // namespace nccl_slab::abi
