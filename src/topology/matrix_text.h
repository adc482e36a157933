// The matrix inside pasted `nvidia-smi topo` output, still as words. For
// nvidia_smi_matrix.cc. Thread safety: pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "topology/pasted_text.h"

namespace nccl_slab::topology {

struct Matrix {
  Words devices{};  // GPUs and NICs, in the order of the columns
  bool has_numa = false;
  std::map<std::string, Words> rows{};  // the words after the device's name
  std::map<std::string, std::string> nic_names{};

  // Whether a row names a path, as those of a P2P matrix do not.
  bool shows_paths() const;
};

// The first matrix that shows paths; without devices if there is none.
Matrix read_matrix(std::string_view text);

// The number of GPU12, nothing for other words.
std::optional<int> gpu_number(std::string_view word);

// A decimal number without sign, nothing for other words.
std::optional<int> whole_number(std::string_view text);

}  // namespace nccl_slab::topology
