// The loader's cache (/etc/ld.so.cache). dlopen("libnccl.so.2") cannot be asked instead: while our drop-in is
// loaded it answers with the drop-in, which has the same SONAME.
#include <cstdint>
#include <cstring>

#include "abi/places.h"

namespace nccl_slab::abi {
namespace {

// glibc's format since 2.32 (the older one carries this one behind it): a header, entries, then the strings.
// Offsets of strings count from the header.
constexpr char kMagic[] = "glibc-ld.so.cache1.1";
struct Header {
  char magic[20];
  std::uint32_t entry_count, string_bytes;
  std::uint32_t reserved[5];
};
struct Entry {
  std::int32_t flags;
  std::uint32_t key, value, os_version;
  std::uint64_t hwcap;
};

// Flags of a 64-bit ELF library of this architecture.
#if defined(__x86_64__)
constexpr std::int32_t kFlags = 0x0303;
#elif defined(__aarch64__)
constexpr std::int32_t kFlags = 0x0a03;
#else
#error "the flags of this architecture's libraries in ld.so.cache are not known"
#endif

std::string text_at(const std::string& cache, std::size_t offset) {
  if (offset >= cache.size()) return "";
  return std::string(cache.data() + offset, ::strnlen(cache.data() + offset, cache.size() - offset));
}

}  // namespace

std::vector<std::string> paths_in_loader_cache(const std::string& cache, const std::string& soname) {
  std::vector<std::string> paths;
  const std::size_t start = cache.find(kMagic);
  if (start == std::string::npos || cache.size() - start < sizeof(Header)) return paths;
  Header header{};
  std::memcpy(&header, cache.data() + start, sizeof(header));
  const std::size_t room = (cache.size() - start - sizeof(Header)) / sizeof(Entry);
  for (std::size_t index = 0; index < header.entry_count && index < room; ++index) {
    Entry entry{};
    std::memcpy(&entry, cache.data() + start + sizeof(Header) + index * sizeof(Entry), sizeof(entry));
    if (entry.flags == kFlags && text_at(cache, start + entry.key) == soname)
      paths.push_back(text_at(cache, start + entry.value));
  }
  return paths;
}

}  // namespace nccl_slab::abi
