// See suite.h.
#include "suite.h"

#include <unistd.h>

#include "pattern.h"

namespace programs {

void Suite::skew(int call, unsigned limit_us) const {
  ::usleep(
      static_cast<useconds_t>(mixed(options.seed + 99, member.rank, static_cast<size_t>(call)) % limit_us));
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (auto part : {shape_cases, memory_cases, operation_cases, repetition_cases, graph_cases, stream_cases,
                    group_cases, batch_cases, creation_cases, communicator_cases, lifetime_cases})
    for (const Case& one : part()) cases.push_back(one);
  return cases;
}

std::vector<const NumberType*> float_types() {
  return {&type_named("bf16"), &type_named("fp16"), &type_named("fp32")};
}

}  // namespace programs
