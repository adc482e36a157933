// See config.h.
#include "loopback/config.h"

#include <climits>
#include <cstdlib>
#include <cstring>

#include "loopback/last_error.h"

namespace nccl_slab::loopback {
namespace {

constexpr unsigned kMagic = 0xcafebeef;
constexpr int kUndefined = INT_MIN;

// The structure was shorter in older releases: what lies behind its size is undefined.
ncclConfig_t known_part(const ncclConfig_t& config) {
  ncclConfig_t known;
  known.blocking = known.cgaClusterSize = known.minCTAs = known.maxCTAs = known.splitShare = kUndefined;
  known.netName = nullptr;
  std::memcpy(&known, &config, config.size < sizeof known ? config.size : sizeof known);
  return known;
}

bool is_within(int value, int low, int high) {
  return value == kUndefined || (value >= low && value <= high);
}

ncclResult_t check(const ncclConfig_t& config) {
  if (!is_within(config.blocking, 0, 1))
    return fail(ncclInvalidArgument, "config.blocking is %d", config.blocking);
  if (!is_within(config.cgaClusterSize, 0, 8))
    return fail(ncclInvalidArgument, "config.cgaClusterSize is %d", config.cgaClusterSize);
  if (!is_within(config.minCTAs, 1, INT_MAX) || !is_within(config.maxCTAs, 1, INT_MAX))
    return fail(ncclInvalidArgument, "config.minCTAs is %d, maxCTAs %d", config.minCTAs, config.maxCTAs);
  if (!is_within(config.splitShare, 0, 1))
    return fail(ncclInvalidArgument, "config.splitShare is %d", config.splitShare);
  return ncclSuccess;
}

bool environment_or(bool blocking) {
  const char* text = std::getenv("NCCL_COMM_BLOCKING");
  if (text == nullptr || (std::strcmp(text, "0") != 0 && std::strcmp(text, "1") != 0)) return blocking;
  return text[0] == '1';
}

}  // namespace

ncclResult_t read_config(const ncclConfig_t* config, bool inherited, bool* blocking) {
  *blocking = environment_or(inherited);
  if (config == nullptr) return ncclSuccess;
  if (config->magic != kMagic) return fail(ncclInvalidArgument, "ncclConfig_t was not initialized");
  const ncclConfig_t known = known_part(*config);
  const ncclResult_t result = check(known);
  if (result == ncclSuccess && known.blocking != kUndefined) *blocking = environment_or(known.blocking == 1);
  return result;
}

}  // namespace nccl_slab::loopback
