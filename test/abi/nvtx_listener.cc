// What a profiler is to NVTX: a library that NVTX_INJECTION64_PATH names. Writes down what it hears of the
// domain nccl-slab, one line each, into the file NVTX_LISTENER_FILE. Used by one thread at a time per
// process.
#include <nvtx3/nvToolsExtPayload.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct nvtxDomain {
  bool ours;
};

nvtxDomain domains[2] = {{false}, {true}};

// One write per line: processes share the file.
void write_down(const std::string& line) {
  std::FILE* file = std::fopen(std::getenv("NVTX_LISTENER_FILE"), "a");
  if (file == nullptr) return;
  std::fprintf(file, "%d %s\n", static_cast<int>(::getpid()), line.c_str());
  std::fclose(file);
}

bool is_ours(nvtxDomainHandle_t domain) {
  return reinterpret_cast<const nvtxDomain*>(domain) == &domains[1];
}

nvtxDomainHandle_t create_domain(const char* name) {
  const bool ours = std::strcmp(name, "nccl-slab") == 0;
  if (ours) write_down("domain");
  return reinterpret_cast<nvtxDomainHandle_t>(&domains[ours]);
}

nvtxStringHandle_t register_string(nvtxDomainHandle_t, const char* text) {
  return reinterpret_cast<nvtxStringHandle_t>(const_cast<char*>(text));  // a literal of the caller's
}

std::uint64_t register_enumeration(nvtxDomainHandle_t domain, const nvtxPayloadEnumAttr_t* attributes) {
  if (is_ours(domain)) write_down("enumeration " + std::to_string(attributes->numEntries));
  return attributes->schemaId;
}

std::uint64_t register_schema(nvtxDomainHandle_t domain, const nvtxPayloadSchemaAttr_t* attributes) {
  std::string line = "schema " + std::to_string(attributes->payloadStaticSize);
  for (size_t i = 0; i < attributes->numEntries; ++i)
    line += std::string("; ") + attributes->entries[i].name + " at " +
            std::to_string(attributes->entries[i].offset);
  if (is_ours(domain)) write_down(line);
  return attributes->schemaId;
}

int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  if (!is_ours(domain)) return 0;
  const auto* data = reinterpret_cast<const nvtxPayloadData_t*>(event->payload.ullValue);
  struct {
    std::uint64_t communicator;
    std::size_t bytes;
    std::uint32_t operation;
  } payload{};
  std::memcpy(&payload, data->payload, sizeof payload);
  write_down(std::string("push ") + reinterpret_cast<const char*>(event->message.registered) + " " +
             std::to_string(payload.communicator) + " " + std::to_string(payload.bytes) + " " +
             std::to_string(payload.operation));
  return 0;
}

int pop(nvtxDomainHandle_t domain) {
  if (is_ours(domain)) write_down("pop");
  return 0;
}

template <class Function>
void set(NvtxFunctionTable table, unsigned index, Function* function) {
  *table[index] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t export_table) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0)
    return 0;
  set(table, NVTX_CBID_CORE2_DomainCreateA, &create_domain);
  set(table, NVTX_CBID_CORE2_DomainRegisterStringA, &register_string);
  set(table, NVTX_CBID_CORE2_DomainRangePushEx, &push);
  set(table, NVTX_CBID_CORE2_DomainRangePop, &pop);
  return 1;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t* module) {
  if (module->moduleId != NVTX_EXT_PAYLOAD_MODULEID || module->segmentsCount < 1) return 0;
  std::intptr_t* slots = module->segments[0].functionSlots;
  slots[NVTX3EXT_CBID_nvtxPayloadSchemaRegister] = reinterpret_cast<std::intptr_t>(&register_schema);
  slots[NVTX3EXT_CBID_nvtxPayloadEnumRegister] = reinterpret_cast<std::intptr_t>(&register_enumeration);
  return 1;
}
}
