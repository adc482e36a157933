// Places: files where a libnccl.so.2 may lie that is not loaded yet, in the order in which they should be
// tried. Only names are made here; nothing is opened but the loader's cache. Thread-safe.
#pragma once

#include <string>
#include <vector>

namespace nccl_slab::abi {

// What the user is told when none of a kind is there, and the files of that kind.
struct Place {
  std::string description;
  std::vector<std::string> files;
};

// Beside a loaded PyTorch, LD_LIBRARY_PATH, the Python packages of this process, the loader's cache and its
// default folders.
std::vector<Place> places_of_nccl();

// The paths of `soname` in the contents of an ld.so.cache. Empty for other formats than glibc's of today.
std::vector<std::string> paths_in_loader_cache(const std::string& cache, const std::string& soname);

}  // namespace nccl_slab::abi
