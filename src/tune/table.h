// Table: plans that `nccl-slab tune` has measured, as text, one entry a line:
//
//   placement ranks mailboxes settings version dtype bytes plan microseconds
//
// An entry holds for communicators of exactly these circumstances. Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tune/plan_text.h"

namespace nccl_slab::tune {

// The circumstances of a communicator.
struct TableKey {
  std::uint64_t placement = 0;  // topology::placement_fingerprint()
  int ranks = 0;
  bool host_memory = false;         // some mailboxes are in host memory
  std::uint64_t settings = 0;       // topology::settings_digest()
  std::string version = "unknown";  // of nccl-slab; one word

  bool operator==(const TableKey&) const = default;
};

struct TableEntry {
  TableKey key;
  std::string dtype;  // bf16, fp16, fp32
  std::uint64_t bytes = 0;
  PlanText plan;
  double us = 0;  // what was measured, for people
};

// The key as the first five words of a line.
std::string to_text(const TableKey& key);
bool parse_key(std::string_view text, TableKey* key);

// An empty text is an empty table. An error: the text is no table, with the number of the first wrong line.
Status parse_table(std::string_view text, std::vector<TableEntry>* entries);
std::string to_text(const std::vector<TableEntry>& entries);

// `fresh` replaces what `entries` hold for the same circumstances and type.
void replace(std::vector<TableEntry>* entries, const std::vector<TableEntry>& fresh);

}  // namespace nccl_slab::tune
