// Creators that make a communicator from unique ids. The meeting is entered before the real creator runs, so
// that every rank has entered when it succeeds on any (doc/protocol.md).
#include <sys/random.h>

#include <array>
#include <cstdlib>
#include <span>

#include "abi/birth.h"
#include "abi/export.h"

namespace nccl_slab::abi {
namespace {

// With NCCL_COMM_ID the ids that the ranks pass need not agree.
bool ids_name_the_communicator() {
  const char* variable = std::getenv("NCCL_COMM_ID");
  return variable == nullptr || *variable == '\0';
}

bool is_sound(const void* result, int nranks, int rank, std::span<const std::byte> ids) {
  return result != nullptr && nranks > 0 && rank >= 0 && rank < nranks && !ids.empty() &&
         ids.data() != nullptr;
}

std::span<const std::byte> bytes_of(const ncclUniqueId* ids, int count) {
  if (ids == nullptr || count <= 0) return {};
  return std::as_bytes(std::span(ids, static_cast<std::size_t>(count)));
}

// One birth if the arguments look sound and a name can be derived, else none: the communicator is NCCL's
// alone.
std::vector<Birth> enter(const Library* library, ncclComm_t* result, int nranks, int rank,
                         std::span<const std::byte> ids) {
  std::vector<Birth> births;
  if (!is_sound(result, nranks, rank, ids)) return births;
  do_our_part([&] {
    Birth birth;
    birth.library = library;
    birth.result = result;
    birth.before = *result;
    if (ids_name_the_communicator())
      birth.creation = comm::Creation::enter(comm::MeetingName::from_unique_ids(ids, nranks, rank));
    births.push_back(std::move(birth));
  });
  return births;
}

// ncclCommInitAll makes its id itself; all its ranks are in this process, so that any id of ours will do.
std::vector<Birth> enter_all(const Library* library, ncclComm_t* results, int nranks) {
  std::array<std::byte, sizeof(ncclUniqueId)> id{};
  std::vector<Birth> births;
  if (nranks <= 0 || ::getrandom(id.data(), id.size(), 0) != static_cast<ssize_t>(id.size())) return births;
  for (int rank = 0; rank < nranks && results != nullptr; ++rank)
    for (Birth& birth : enter(library, results + rank, nranks, rank, id)) births.push_back(std::move(birth));
  return births;
}

}  // namespace
}  // namespace nccl_slab::abi

NCCL_SLAB_EXPORT(ncclCommInitRank)
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId id, int rank) {
  using namespace nccl_slab::abi;
  const Origin origin = NCCL_SLAB_ORIGIN();
  if (origin.straight) return origin.real().ncclCommInitRank(comm, nranks, id, rank);
  auto births = enter(origin.library, comm, nranks, rank, bytes_of(&id, 1));
  return finish_creator(std::move(births), nullptr,
                        call_real(origin.real().ncclCommInitRank, comm, nranks, id, rank));
}

NCCL_SLAB_EXPORT(ncclCommInitRankConfig)
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  using namespace nccl_slab::abi;
  const Origin origin = NCCL_SLAB_ORIGIN();
  if (origin.straight) return origin.real().ncclCommInitRankConfig(comm, nranks, id, rank, config);
  auto births = enter(origin.library, comm, nranks, rank, bytes_of(&id, 1));
  return finish_creator(std::move(births), config,
                        call_real(origin.real().ncclCommInitRankConfig, comm, nranks, id, rank, config));
}

NCCL_SLAB_EXPORT(ncclCommInitRankScalable)
ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm, int nranks, int rank, int id_count, ncclUniqueId* ids,
                                      ncclConfig_t* config) {
  using namespace nccl_slab::abi;
  const Origin origin = NCCL_SLAB_ORIGIN();
  if (origin.straight)
    return origin.real().ncclCommInitRankScalable(comm, nranks, rank, id_count, ids, config);
  auto births = enter(origin.library, comm, nranks, rank, bytes_of(ids, id_count));
  return finish_creator(
      std::move(births), config,
      call_real(origin.real().ncclCommInitRankScalable, comm, nranks, rank, id_count, ids, config));
}

NCCL_SLAB_EXPORT(ncclCommInitAll)
ncclResult_t ncclCommInitAll(ncclComm_t* comms, int ndev, const int* devices) {
  using namespace nccl_slab::abi;
  const Origin origin = NCCL_SLAB_ORIGIN();
  if (origin.straight) return origin.real().ncclCommInitAll(comms, ndev, devices);
  std::vector<Birth> births;
  do_our_part([&] { births = enter_all(origin.library, comms, ndev); });
  return finish_creator(std::move(births), nullptr,
                        call_real(origin.real().ncclCommInitAll, comms, ndev, devices));
}
