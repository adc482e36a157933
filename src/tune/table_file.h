// The file of the tuning table: NCCL_SLAB_TUNE_FILE, else nccl-slab/tuning in the user's cache folder
// ($XDG_CACHE_HOME or ~/.cache). Thread safety: any thread; files are replaced as a whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "tune/table.h"

namespace nccl_slab::tune {

// Empty: there is no setting and no home.
std::string table_path();

// The table as this process has found it when it first asked; later changes of the file do not count.
struct ProcessTable {
  std::vector<TableEntry> entries;
  std::uint64_t hash = 0;  // of the file's bytes; 0: no table
};
// A file that cannot be read or is no table counts as none, with one line in the log; so does, without a
// word, a default file that does not exist.
const ProcessTable& process_table();

// A file that does not exist is an empty table.
Status read_table(const std::string& path, std::vector<TableEntry>* entries);
// Atomically: a reader finds the old or the new table. Makes the folder.
Status write_table(const std::string& path, const std::vector<TableEntry>& entries);

}  // namespace nccl_slab::tune
