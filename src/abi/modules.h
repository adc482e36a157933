// Modules: the ELF files that are loaded in this process, and their dynamic symbols. Read from the loader's
// own list (dl_iterate_phdr) instead of through dlsym: other tools hook dlsym, and a look-up there cannot be
// limited to one file. Thread-safe. Nothing is kept: a module that the program unloads afterwards is the
// caller's concern (Library pins its own).
#pragma once

#include <link.h>

#include <cstdint>
#include <functional>
#include <string>

namespace nccl_slab::abi {

class Module {
 public:
  // Only during a visit, while the loader's list cannot change.
  explicit Module(const dl_phdr_info& info);

  const char* path() const { return info_.dlpi_name; }  // empty for the program itself
  const char* file_name() const;
  // Whether an address lies in a loaded segment of the module.
  bool contains(const void* address) const;
  // [begin, end) around all loaded segments.
  std::uintptr_t begin() const { return begin_; }
  std::uintptr_t end() const { return end_; }
  // DT_SONAME; empty when there is none.
  const char* soname() const;
  // Address of a dynamic symbol that the module itself defines; null if it defines none of that name.
  void* symbol(const char* name) const;

 private:
  const dl_phdr_info& info_;
  std::uintptr_t begin_ = UINTPTR_MAX, end_ = 0;
};

// Calls `visit` for the modules in the order they were loaded until it returns true. True if it did. No
// allocation and no loading may happen in `visit` that waits for another thread: the loader's lock is held.
bool visit_modules(const std::function<bool(const Module&)>& visit);

// Visits the one module that holds `address`; false if none does (code made at run time).
bool visit_module_of(const void* address, const std::function<void(const Module&)>& visit);

// True for a library of this project (the preload, the drop-in, or a copy of either).
bool is_nccl_slab(const Module& module);
// True for a library that offers NCCL's functions: NCCL, ours, or another interposer.
bool offers_nccl(const Module& module);
// True for NCCL itself, told from other interposers by its SONAME: libnccl.so.2, or
// libnccl-1a2b3c4d.so.2.18.1 in a wheel that brings its own.
bool is_nccl(const Module& module);

}  // namespace nccl_slab::abi
