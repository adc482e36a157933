#include "abi/search.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "abi/modules.h"
#include "abi/places.h"
#include "abi/self.h"
#include "base/log.h"
#include "base/settings.h"

namespace nccl_slab::abi {
namespace {

// Any function that every release has, to tell a copy by its address.
constexpr char kProbe[] = "ncclReduceScatter";

// What lies behind an address that a look-up gave: a copy of NCCL, nothing of use, or another library of
// nccl-slab, which then answers for the copy that it serves (a preload serves none of its own). A drop-in
// asks only the leader, so that two drop-ins never ask each other in turn.
const Library* real_behind(void* address) {
  using RealFunction = const void* (*)(const char*);
  bool usable = false, ours = false;
  RealFunction ask = nullptr;
  visit_module_of(address, [&](const Module& module) {
    usable = module.symbol(kProbe) != nullptr;
    ours = is_nccl_slab(module);
    if (ours && !module.contains(self_address()) && (!kDropIn || module.contains(other_leader())))
      ask = reinterpret_cast<RealFunction>(module.symbol("nccl_slab_real_function"));
  });
  if (usable && !ours) return library_at(address);
  const void* answer = ask == nullptr ? nullptr : ask(kProbe);
  return answer == nullptr ? nullptr : library_at(answer);
}

const Library* open_file(const std::string& path, std::string* complaint) {
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* error = ::dlerror();
    *complaint = error == nullptr ? path : error;
    return nullptr;
  }
  void* address = ::dlsym(handle, kProbe);
  const Library* library = address == nullptr ? nullptr : real_behind(address);
  if (library == nullptr) *complaint = path + " is not a real NCCL";
  (void)::dlclose(handle);  // library_at() keeps a reference of its own
  return library;
}

bool is_file_of_ours(const std::string& path) {
  struct stat candidate {};
  if (::stat(path.c_str(), &candidate) != 0) return false;
  std::vector<std::string> ours;
  visit_modules([&](const Module& module) {
    if (is_nccl_slab(module)) ours.emplace_back(module.path());
    return false;
  });
  for (const std::string& file : ours) {
    struct stat own {};
    if (::stat(file.c_str(), &own) == 0 && own.st_dev == candidate.st_dev && own.st_ino == candidate.st_ino)
      return true;
  }
  return false;
}

// The look-up of the program's global scope, from us on. It finds nothing when NCCL came with a library that
// was opened RTLD_LOCAL, as Python does.
const Library* in_global_scope() {
  void* address = ::dlsym(RTLD_NEXT, kProbe);
  return address == nullptr ? nullptr : real_behind(address);
}

const Library* in_scope_of(const void* caller) {
  std::string path;
  visit_module_of(caller, [&](const Module& module) { path = module.path(); });
  if (path.empty()) return nullptr;
  void* handle = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* address = ::dlsym(handle, kProbe);
  const Library* library = address == nullptr ? nullptr : real_behind(address);
  (void)::dlclose(handle);
  return library;
}

// Files called libnccl* before others: a program may carry stand-ins of NCCL's functions that only load the
// library.
const Library* loaded_already() {
  std::vector<void*> named, others;
  visit_modules([&](const Module& module) {
    if (!offers_nccl(module) || module.contains(self_address())) return false;
    const bool by_name = std::strncmp(module.file_name(), "libnccl", 7) == 0;
    (by_name ? named : others).push_back(module.symbol(kProbe));
    return false;
  });
  named.insert(named.end(), others.begin(), others.end());
  for (void* address : named)
    if (const Library* library = real_behind(address)) return library;
  return nullptr;
}

const Library* in_place(const Place& place, std::string* looked) {
  *looked += "; " + place.description + ":";
  for (const std::string& file : place.files) {
    std::string complaint = "no " + file;
    if (::access(file.c_str(), R_OK) == 0) {
      complaint = file + " is nccl-slab itself";
      if (!is_file_of_ours(file))
        if (const Library* library = open_file(file, &complaint)) return library;
    }
    *looked += " " + complaint;
  }
  if (place.files.empty()) *looked += " nothing";
  return nullptr;
}

const Library* in_files(std::string* looked) {
  for (const Place& place : places_of_nccl())
    if (const Library* library = in_place(place, looked)) return library;
  return nullptr;
}

// The setting is the user's word: when it does not hold, nothing else is tried.
const Library* from_setting(const std::string& path, std::string* looked) {
  std::string complaint = path + " is nccl-slab itself";
  const Library* library = is_file_of_ours(path) ? nullptr : open_file(path, &complaint);
  *looked = "NCCL_SLAB_NCCL_LIB: " + complaint;
  return library;
}

const Library* in_callers_reach(const void* caller) {
  const Library* library = in_global_scope();
  return library != nullptr ? library : in_scope_of(caller);
}

// Under a preload only some calls pass here: the others go on to the copy that the program reaches itself.
void warn_of_two(const Library* chosen, const void* caller) {
  const Library* reached = in_callers_reach(caller);
  if (reached != nullptr && reached != chosen)
    NCCL_SLAB_WARN(
        "NCCL_SLAB_NCCL_LIB=%s is not the NCCL of the program, %s: calls that nccl-slab does not handle go "
        "there",
        chosen->path.c_str(), reached->path.c_str());
}

const Library* search(const void* caller, std::string* looked) {
  if (const std::string path = real_nccl_setting(); !path.empty()) {
    const Library* library = from_setting(path, looked);
    if (library != nullptr && !kDropIn) warn_of_two(library, caller);
    return library;
  }
  *looked = "no libnccl is loaded";
  if (!kDropIn) {
    if (const Library* library = in_callers_reach(caller)) return library;
  } else if (other_leader() != nullptr) {
    if (const Library* library = real_behind(const_cast<void*>(other_leader()))) return library;
  }
  if (const Library* library = loaded_already()) return library;
  return in_files(looked);
}

}  // namespace

const Library* search_library(const void* caller) {
  std::string looked;
  if (const Library* library = search(caller, &looked)) return library;
  NCCL_SLAB_WARN_ONCE("the real NCCL was not found; looked at: %s", looked.c_str());
  return absent_library();
}

const Library* served_library() {
  static std::atomic<const Library*> served{nullptr};
  const Library* library = served.load(std::memory_order_acquire);
  if (library != nullptr) return library;
  library = search_library(self_address());
  if (library == absent_library()) return library;
  // Two threads may have found different copies (one was loaded meanwhile): the first answer stays.
  const Library* expected = nullptr;
  return served.compare_exchange_strong(expected, library, std::memory_order_acq_rel) ? library : expected;
}

}  // namespace nccl_slab::abi
