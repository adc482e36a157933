// The functions of NCCL that fake_nccl.cc does not write out: each notes its name. They are weak, so that
// those win at link time.
void fake_nccl_note(const char* name);

namespace {
struct Team {
  int nranks, rank, stride;
};
using result = int;
using text = const char*;
using team = Team;
using number = int;
using nothing = void;
}  // namespace

#define FAKE_EXPORT extern "C" __attribute__((visibility("default"), weak))
#define FAKE_forward(name, answer) \
  FAKE_EXPORT answer name() {      \
    fake_nccl_note(#name);         \
    return answer();               \
  }
#define FAKE_handled(name, answer)
#define NCCL_SYMBOL(name, since, answer, role) FAKE_##role(name, answer)
#ifdef FAKE_NCCL_OLD
#define NCCL_SYMBOL_WITHOUT_ALIAS(name, since, answer, role)
#else
#define NCCL_SYMBOL_WITHOUT_ALIAS NCCL_SYMBOL
#endif
#include "abi/nccl_symbols.def"
