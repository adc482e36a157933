#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "abi/places.h"

namespace nccl_slab::abi {
namespace {

#if defined(__x86_64__)
constexpr std::int32_t kHere = 0x0303, kElsewhere = 0x0803;  // x32
#else
constexpr std::int32_t kHere = 0x0a03, kElsewhere = 0x0303;
#endif

struct Library {
  std::int32_t flags;
  std::string soname, path;
};

template <typename T>
void append(std::string* text, T value) {
  std::array<char, sizeof(T)> bytes;
  std::memcpy(bytes.data(), &value, sizeof(T));
  text->append(bytes.data(), bytes.size());
}

// The format of glibc 2.32 and later: header, entries, strings; offsets count from the header.
std::string cache_of(const std::vector<Library>& libraries) {
  std::string text = "glibc-ld.so.cache1.1", strings;
  append(&text, static_cast<std::uint32_t>(libraries.size()));
  for (int word = 0; word < 6; ++word) append(&text, std::uint32_t{0});
  const std::size_t begin = text.size() + 24 * libraries.size();
  for (const Library& library : libraries) {
    append(&text, library.flags);
    append(&text, static_cast<std::uint32_t>(begin + strings.size()));
    strings += library.soname + '\0';
    append(&text, static_cast<std::uint32_t>(begin + strings.size()));
    strings += library.path + '\0';
    append(&text, std::uint32_t{0});
    append(&text, std::uint64_t{0});
  }
  return text + strings;
}

using Paths = std::vector<std::string>;

TEST(LoaderCache, GivesThePathsOfThisArchitecture) {
  const std::string cache = cache_of({{kHere, "libm.so.6", "/lib/libm.so.6"},
                                      {kElsewhere, "libnccl.so.2", "/libx32/libnccl.so.2"},
                                      {kHere, "libnccl.so.2", "/opt/libnccl.so.2"},
                                      {kHere, "libnccl.so", "/opt/libnccl.so"},
                                      {kHere, "libnccl.so.2", "/usr/lib/libnccl.so.2"}});
  EXPECT_EQ(paths_in_loader_cache(cache, "libnccl.so.2"),
            (Paths{"/opt/libnccl.so.2", "/usr/lib/libnccl.so.2"}));
  EXPECT_EQ(paths_in_loader_cache("an older part in front " + cache, "libm.so.6"), Paths{"/lib/libm.so.6"});
}

TEST(LoaderCache, ABrokenOneGivesNothingBad) {
  const std::string cache = cache_of({{kHere, "libnccl.so.2", "/opt/libnccl.so.2"}});
  EXPECT_EQ(paths_in_loader_cache("", "libnccl.so.2"), Paths{});
  EXPECT_EQ(paths_in_loader_cache("not a cache", "libnccl.so.2"), Paths{});
  for (std::size_t size = 0; size < cache.size(); ++size) {
    const Paths paths = paths_in_loader_cache(cache.substr(0, size), "libnccl.so.2");
    EXPECT_LE(paths.size(), 1u) << size;
  }
}

}  // namespace
}  // namespace nccl_slab::abi
