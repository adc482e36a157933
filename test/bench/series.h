// Series: what is measured over all sizes: an element type, eager calls or graph replay, and whether results
// are in place. Written bf16/graph/out. Plain values.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <string>
#include <vector>

namespace nccl_slab::bench {

struct ElementType {
  const char* name;
  ncclDataType_t type;
  std::size_t bytes;
};

struct Series {
  ElementType element = {"bf16", ncclBfloat16, 2};
  bool graph = true;
  bool in_place = false;
};

std::string name_of(const Series& series);

bool parse_element(const std::string& name, ElementType* element);
// A list: bf16/graph/out,bf16/eager/out
bool parse_series(const std::string& text, std::vector<Series>* list);

}  // namespace nccl_slab::bench
