#include "abi/modules.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <exception>

namespace nccl_slab::abi {
namespace {

// What a module's dynamic section says about its symbols.
struct SymbolTables {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
  const std::uint32_t* hash = nullptr;
  std::uintptr_t soname = 0;  // offset into names
};

// glibc relocates these entries in place, except in the vdso, whose dynamic section is read-only.
template <typename T>
const T* table_at(std::uintptr_t value, std::uintptr_t base) {
  return reinterpret_cast<const T*>(value < base ? value + base : value);
}

SymbolTables tables_of(const dl_phdr_info& info) {
  SymbolTables tables;
  for (int index = 0; index < info.dlpi_phnum; ++index) {
    if (info.dlpi_phdr[index].p_type != PT_DYNAMIC) continue;
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[index].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      const std::uintptr_t value = entry->d_un.d_ptr;
      if (entry->d_tag == DT_SYMTAB) tables.symbols = table_at<ElfW(Sym)>(value, info.dlpi_addr);
      if (entry->d_tag == DT_STRTAB) tables.names = table_at<char>(value, info.dlpi_addr);
      if (entry->d_tag == DT_GNU_HASH) tables.gnu_hash = table_at<std::uint32_t>(value, info.dlpi_addr);
      if (entry->d_tag == DT_SONAME) tables.soname = value;
      if (entry->d_tag == DT_HASH) tables.hash = table_at<std::uint32_t>(value, info.dlpi_addr);
    }
  }
  return tables;
}

bool is_definition_of(const SymbolTables& tables, std::uint32_t index, const char* name) {
  const ElfW(Sym)& symbol = tables.symbols[index];
  const unsigned binding = ELF64_ST_BIND(symbol.st_info);
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && (binding == STB_GLOBAL || binding == STB_WEAK) &&
         (type == STT_FUNC || type == STT_NOTYPE) && std::strcmp(tables.names + symbol.st_name, name) == 0;
}

std::uint32_t gnu_hash_of(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

// DT_GNU_HASH: header (buckets, first hashed symbol, bloom words, shift), bloom filter, buckets, then one
// hash per symbol whose lowest bit ends a chain.
std::uint32_t find_gnu(const SymbolTables& tables, const char* name) {
  const std::uint32_t* header = tables.gnu_hash;
  const std::uint32_t bucket_count = header[0], first = header[1], bloom_words = header[2];
  if (bucket_count == 0) return 0;
  const std::uint32_t* buckets = header + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
  const std::uint32_t* hashes = buckets + bucket_count;
  const std::uint32_t wanted = gnu_hash_of(name);
  std::uint32_t index = buckets[wanted % bucket_count];
  if (index < first) return 0;
  for (;; ++index) {
    const std::uint32_t hash = hashes[index - first];
    if ((hash | 1) == (wanted | 1) && is_definition_of(tables, index, name)) return index;
    if (hash & 1) return 0;
  }
}

// DT_HASH, only of files that have no DT_GNU_HASH: its second word is the number of symbols.
std::uint32_t find_linear(const SymbolTables& tables, const char* name) {
  for (std::uint32_t index = 1; index < tables.hash[1]; ++index)
    if (is_definition_of(tables, index, name)) return index;
  return 0;
}

struct Visit {
  const std::function<bool(const Module&)>& visit;
  std::exception_ptr error;
};

// The loader is C: an exception must not pass through it.
int visit_one(dl_phdr_info* info, size_t, void* context) {
  auto* visit = static_cast<Visit*>(context);
  try {
    return visit->visit(Module(*info)) ? 1 : 0;
  } catch (...) {
    visit->error = std::current_exception();
    return 1;
  }
}

}  // namespace

Module::Module(const dl_phdr_info& info) : info_(info) {
  for (int index = 0; index < info.dlpi_phnum; ++index) {
    const ElfW(Phdr)& header = info.dlpi_phdr[index];
    if (header.p_type != PT_LOAD) continue;
    begin_ = std::min<std::uintptr_t>(begin_, info.dlpi_addr + header.p_vaddr);
    end_ = std::max<std::uintptr_t>(end_, info.dlpi_addr + header.p_vaddr + header.p_memsz);
  }
}

const char* Module::file_name() const {
  const char* slash = std::strrchr(path(), '/');
  return slash == nullptr ? path() : slash + 1;
}

const char* Module::soname() const {
  const SymbolTables tables = tables_of(info_);
  return tables.soname == 0 || tables.names == nullptr ? "" : tables.names + tables.soname;
}

bool Module::contains(const void* address) const {
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  return value >= begin_ && value < end_;
}

void* Module::symbol(const char* name) const {
  const SymbolTables tables = tables_of(info_);
  if (tables.symbols == nullptr || tables.names == nullptr) return nullptr;
  std::uint32_t index = 0;
  if (tables.gnu_hash != nullptr) {
    index = find_gnu(tables, name);
  } else if (tables.hash != nullptr) {
    index = find_linear(tables, name);
  }
  if (index == 0) return nullptr;
  return reinterpret_cast<void*>(info_.dlpi_addr + tables.symbols[index].st_value);
}

bool visit_modules(const std::function<bool(const Module&)>& visit) {
  Visit context{visit, nullptr};
  const bool stopped = ::dl_iterate_phdr(&visit_one, &context) != 0;
  if (context.error) std::rethrow_exception(context.error);
  return stopped;
}

bool visit_module_of(const void* address, const std::function<void(const Module&)>& visit) {
  return visit_modules([&](const Module& module) {
    if (!module.contains(address)) return false;
    visit(module);
    return true;
  });
}

bool is_nccl_slab(const Module& module) {
  return module.symbol("nccl_slab_version") != nullptr;
}

bool offers_nccl(const Module& module) {
  return module.symbol("ncclReduceScatter") != nullptr && module.symbol("ncclGroupEnd") != nullptr;
}

bool is_nccl(const Module& module) {
  return std::strncmp(module.soname(), "libnccl", 7) == 0 && offers_nccl(module) && !is_nccl_slab(module);
}

}  // namespace nccl_slab::abi
