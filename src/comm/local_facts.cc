#include "comm/local_facts.h"

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "base/log.h"
#include "base/settings.h"
#include "device/cuda_status.h"
#include "kernels/launch.h"
#include "topology/discover.h"
#include "topology/emulated_paths.h"
#include "topology/fingerprint.h"
#include "topology/nccl_settings.h"
#include "tune/table_file.h"

namespace nccl_slab::comm {
namespace {

using topology::Answer;
using topology::RankFacts;

std::string boot_id() {
  std::string text;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
  return text;
}

// Equal for the ranks of one process and for no others of the host: the process id, and the time that it
// started at, since ids come round and differ between process namespaces.
std::uint64_t process_identity() {
  std::uint64_t hash = 14695981039346656037ull;
  const auto add = [&hash](const std::string& text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  };
  add(std::to_string(::getpid()));
  std::ifstream stat("/proc/self/stat");
  std::string word;
  for (int field = 1; field <= 22 && stat >> word; ++field)
    if (field == 22) add(word);
  char link[64] = "";
  if (::readlink("/proc/self/ns/pid", link, sizeof(link) - 1) > 0) add(link);
  return hash;
}

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  char digits[3];
  for (const char byte : uuid.bytes) {
    std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned char>(byte));
    text += digits;
  }
  return text;
}

const char* process_environment(const char* variable) {
  return std::getenv(variable);
}

bool blocking_launches() {
  const char* text = std::getenv("CUDA_LAUNCH_BLOCKING");
  return text != nullptr && *text != '\0' && std::strcmp(text, "0") != 0;
}

std::vector<std::string> pci_of(const std::vector<RankFacts>& all) {
  std::vector<std::string> pci;
  pci.reserve(all.size());
  for (const RankFacts& facts : all) pci.emplace_back(topology::text_of(facts.pci));
  return pci;
}

topology::Machine machine_of(const std::vector<RankFacts>& all) {
  topology::Sources sources;
  sources.pci = pci_of(all);
  sources.topology_file = topology::user_topology_file();
  std::vector<std::string> notes;
  topology::Machine machine = topology::discover(sources, &notes);
  for (const std::string& note : notes) NCCL_SLAB_WARN_ONCE("%s", note.c_str());
  return machine;
}

Answer can_access(int device, const RankFacts& peer) {
  const std::string pci(topology::text_of(peer.pci));
  int other = -1, can = 0;
  // A GPU that is not visible to this process cannot be asked about; the driver may still import its memory.
  if (!device::cuda_status(cudaDeviceGetByPCIBusId(&other, pci.c_str()), "") ||
      !device::cuda_status(cudaDeviceCanAccessPeer(&can, device, other), ""))
    return Answer::kUnknown;
  return can != 0 ? Answer::kYes : Answer::kNo;
}

// NVML may be hidden, and then the name tells: CUDA calls an instance "... MIG 1g.10gb".
Answer mig_by_name(const char* name) {
  return std::strstr(name, " MIG ") != nullptr ? Answer::kYes : Answer::kUnknown;
}

Status add_gpu_facts(int device, RankFacts* facts) {
  cudaDeviceProp properties{};
  char pci[32] = "";
  if (const Status status =
          device::cuda_status(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
      !status)
    return status;
  if (const Status status =
          device::cuda_status(cudaDeviceGetPCIBusId(pci, sizeof(pci), device), "cudaDeviceGetPCIBusId");
      !status)
    return status;
  topology::set_text(facts->boot_id, topology::emulated_host(pci) + boot_id());
  topology::set_text(facts->uuid, uuid_text(properties.uuid));
  topology::set_text(facts->pci, pci);
  topology::set_text(facts->model, properties.name);
  facts->mig = mig_by_name(properties.name);
  facts->architecture = properties.major * 10 + properties.minor;
  facts->has_kernel = static_cast<bool>(kernels::load_kernels());
  return Status::ok();
}

}  // namespace

RankFacts own_facts(int device, int rank, int nranks) {
  RankFacts facts;
  topology::set_text(facts.version, NCCL_SLAB_VERSION);
  facts.rank = rank;
  facts.nranks = nranks;
  facts.settings = topology::settings_digest(settings());
  facts.table = tune::process_table().hash;
  facts.process = process_identity();
  facts.force = settings().force;
  facts.blocking_launches = blocking_launches();
  topology::set_nccl_settings(topology::parse_nccl_settings(&process_environment), &facts);
  if (const Status status = add_gpu_facts(device, &facts); !status)
    topology::set_text(facts.trouble, status.what());
  return facts;
}

void add_peer_facts(int device, int rank, const std::vector<RankFacts>& all, RankFacts* facts) {
  const topology::Machine machine = machine_of(all);
  topology::set_peers(machine, rank, facts);
  facts->link = machine.gpus[static_cast<std::size_t>(rank)].link;
  facts->placement = topology::placement_fingerprint(machine);
  if (facts->mig != Answer::kYes) facts->mig = machine.gpus[static_cast<std::size_t>(rank)].mig;
  facts->confidential = machine.gpus[static_cast<std::size_t>(rank)].confidential;
  facts->numa_node = machine.gpus[static_cast<std::size_t>(rank)].numa_node;
  for (std::size_t peer = 0; peer < all.size() && peer < topology::kMaxRanks; ++peer)
    if (static_cast<int>(peer) != rank) facts->peers[peer].peer_access = can_access(device, all[peer]);
}

}  // namespace nccl_slab::comm
