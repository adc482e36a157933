#include "abi/call_range.h"

#ifdef NCCL_SLAB_NVTX

#include <nvtx3/nvToolsExtPayload.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace nccl_slab::abi {
namespace {

// In the form of NCCL's own payload, so that a tool shows both alike.
struct Payload {
  std::uint64_t communicator;  // the same number on all ranks
  std::size_t bytes;           // of a shard
  std::uint32_t operation;
};

// Numbers that every release of NVTX shares, and names that they do not: where a program's own schemas begin,
// and which members are filled in (of an enumeration: entries, their number, size, id; of a payload: type,
// entries, their number, size, id).
constexpr std::uint64_t kPayloadSchema = 1 << 24;
constexpr std::uint64_t kOperationSchema = kPayloadSchema + 1;
constexpr std::uint64_t kOperationFields = 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5;
constexpr std::uint64_t kPayloadFields = 1 << 2 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 8;

constexpr nvtxPayloadEnum_t kOperations[] = {{"Sum", ncclSum, 0}, {"Avg", ncclAvg, 0}};

constexpr nvtxPayloadSchemaEntry_t entry(std::uint64_t type, const char* name, std::uint64_t offset) {
  nvtxPayloadSchemaEntry_t result{};
  result.type = type;
  result.name = name;
  result.offset = offset;
  return result;
}

constexpr nvtxPayloadSchemaEntry_t kEntries[] = {
    entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "NCCL communicator ID", offsetof(Payload, communicator)),
    entry(NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "Message size [bytes]", offsetof(Payload, bytes)),
    entry(kOperationSchema, "Reduction operation", offsetof(Payload, operation))};

void register_operations(nvtxDomainHandle_t domain) {
  nvtxPayloadEnumAttr_t attributes{};
  attributes.fieldMask = kOperationFields;
  attributes.entries = kOperations;
  attributes.numEntries = std::size(kOperations);
  attributes.sizeOfEnum = sizeof(Payload::operation);
  attributes.schemaId = kOperationSchema;
  (void)nvtxPayloadEnumRegister(domain, &attributes);
}

void register_payload(nvtxDomainHandle_t domain) {
  nvtxPayloadSchemaAttr_t attributes{};
  attributes.fieldMask = kPayloadFields;
  attributes.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  attributes.entries = kEntries;
  attributes.numEntries = std::size(kEntries);
  attributes.payloadStaticSize = sizeof(Payload);
  attributes.schemaId = kPayloadSchema;
  (void)nvtxPayloadSchemaRegister(domain, &attributes);
}

// What a tool has been told once; the domain is null where nobody listens.
struct Tool {
  nvtxDomainHandle_t domain = nullptr;
  nvtxStringHandle_t name = nullptr;

  Tool() {
    const char* disabled = std::getenv("NCCL_NVTX_DISABLE");
    if (disabled != nullptr && std::strcmp(disabled, "0") != 0) return;
    domain = nvtxDomainCreateA("nccl-slab");
    if (domain == nullptr) return;
    name = nvtxDomainRegisterStringA(domain, "ncclReduceScatter");
    register_operations(domain);
    register_payload(domain);
  }
};

const Tool& tool() {
  static const Tool instance;
  return instance;
}

}  // namespace

CallRange::CallRange(const comm::Communicator& communicator, const call::Request& request) {
  if (tool().domain == nullptr) return;
  const Payload payload{communicator.name().id[0], request.count * call::type_bytes(request.type),
                        static_cast<std::uint32_t>(request.operation)};
  const nvtxPayloadData_t data{kPayloadSchema, sizeof(payload), &payload};
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = tool().name;
  attributes.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  attributes.payload.ullValue = reinterpret_cast<std::uintptr_t>(&data);
  attributes.reserved0 = 1;  // payloads
  (void)nvtxDomainRangePushEx(tool().domain, &attributes);
  pushed_ = true;
}

CallRange::~CallRange() {
  if (pushed_) (void)nvtxDomainRangePop(tool().domain);
}

}  // namespace nccl_slab::abi

#else

namespace nccl_slab::abi {

CallRange::CallRange(const comm::Communicator&, const call::Request&) {}
CallRange::~CallRange() = default;

}  // namespace nccl_slab::abi

#endif
