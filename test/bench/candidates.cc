// See candidates.h.
#include "candidates.h"

#include <algorithm>

#include "our_library.h"

namespace nccl_slab::bench {
namespace {

constexpr const char* kAlgorithms[] = {"flat_small",   "flat_push", "flat",  "islands_small",
                                       "islands_push", "islands",   "nested"};
constexpr int kChannels[] = {1, 2, 4, 8, 16, 32};
constexpr std::size_t kPieces[] = {1, 2, 4, 8, 16, 32, 64};
constexpr std::size_t kPackBytes = 16, kShortestChunk = 32;

bool begins_with_word(const std::string& plan, const std::string& algorithm) {
  return plan == algorithm || plan.rfind(algorithm + ":", 0) == 0;
}

class Finder {
 public:
  Finder(ncclComm_t communicator, std::size_t bytes, ncclDataType_t type)
      : communicator_(communicator), bytes_(bytes), type_(type) {}
  ~Finder() { force(communicator_, ""); }
  Finder(const Finder&) = delete;
  Finder& operator=(const Finder&) = delete;

  Family family(const std::string& algorithm) {
    found_.clear();
    const std::string usual = planned_as(algorithm);
    if (!begins_with_word(usual, algorithm)) return {};
    found_.push_back(usual);
    const bool has_chunks = usual.find("chunk=") != std::string::npos;
    for (const int channels : kChannels) add_channels(algorithm, channels, has_chunks);
    return found_;
  }

 private:
  std::string planned_as(const std::string& plan) {
    return force(communicator_, plan) ? planned(communicator_, bytes_, type_).plan : "";
  }

  void add_channels(const std::string& algorithm, int channels, bool has_chunks) {
    const std::string start = algorithm + ":channels=" + std::to_string(channels);
    if (!has_chunks) return add(start);
    const std::size_t packs = (bytes_ + kPackBytes - 1) / kPackBytes;
    const std::size_t share =
        (packs + static_cast<std::size_t>(channels) - 1) / static_cast<std::size_t>(channels);
    for (const std::size_t pieces : kPieces) {
      const std::size_t chunk = (share + pieces - 1) / pieces;
      if (pieces > 1 && chunk < kShortestChunk) break;
      add(start + ",chunk=" + std::to_string(chunk));
    }
  }

  void add(const std::string& plan) {
    if (planned_as(plan) == plan && std::find(found_.begin(), found_.end(), plan) == found_.end())
      found_.push_back(plan);
  }

  ncclComm_t communicator_;
  const std::size_t bytes_;
  const ncclDataType_t type_;
  Family found_;
};

}  // namespace

std::vector<Family> candidates(ncclComm_t communicator, std::size_t bytes, ncclDataType_t type) {
  Finder finder(communicator, bytes, type);
  std::vector<Family> families;
  for (const char* algorithm : kAlgorithms)
    if (Family family = finder.family(algorithm); !family.empty()) families.push_back(std::move(family));
  return families;
}

}  // namespace nccl_slab::bench
