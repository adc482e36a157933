#include "topology/nvidia_smi_matrix.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "topology/matrix_text.h"

namespace nccl_slab::topology {
namespace {

// Column of a device among the GPUs or among the NICs.
std::vector<int> columns_of(const Matrix& matrix, bool gpus) {
  std::vector<int> columns;
  for (std::size_t i = 0; i < matrix.devices.size(); ++i)
    if (gpu_number(matrix.devices[i]).has_value() == gpus) columns.push_back(static_cast<int>(i));
  return columns;
}

GpuPair cell(const Matrix& matrix, int row, int column) {
  GpuPair pair;
  const auto found = matrix.rows.find(matrix.devices[static_cast<std::size_t>(row)]);
  if (found == matrix.rows.end() || static_cast<std::size_t>(column) >= found->second.size()) return pair;
  const auto path = parse_path(found->second[static_cast<std::size_t>(column)], &pair.nvlinks);
  if (path && pair.nvlinks == 0 && (*path != PathClass::kSelf || row == column)) pair.pcie = *path;
  return pair;
}

int numa_node(const Matrix& matrix, const std::string& device) {
  const auto row = matrix.rows.find(device);
  const std::size_t column = matrix.devices.size() + 1;  // after the CPU affinity
  if (!matrix.has_numa || row == matrix.rows.end() || column >= row->second.size()) return -1;
  return whole_number(row->second[column]).value_or(-1);
}

void take_gpus(const Matrix& matrix, const std::vector<int>& columns, Machine* machine) {
  for (int a = 0; a < machine->gpu_count(); ++a) {
    Gpu& gpu = machine->gpus[static_cast<std::size_t>(a)];
    const std::string& name = matrix.devices[static_cast<std::size_t>(columns[static_cast<std::size_t>(a)])];
    gpu.number = *gpu_number(name);
    gpu.numa_node = numa_node(matrix, name);
    for (int b = 0; b < machine->gpu_count(); ++b) {
      if (a == b) continue;
      const int row = columns[static_cast<std::size_t>(a)], column = columns[static_cast<std::size_t>(b)];
      machine->pair(a, b) = cell(matrix, row, column);
      gpu.nvlinks = std::max(gpu.nvlinks, machine->pair(a, b).nvlinks);
    }
  }
}

PathClass nic_path(const Matrix& matrix, int nic, int gpu) {
  const PathClass there = cell(matrix, nic, gpu).pcie;
  return there == PathClass::kUnknown ? cell(matrix, gpu, nic).pcie : there;
}

void take_nics(const Matrix& matrix, const std::vector<int>& gpus, Machine* machine) {
  for (const int column : columns_of(matrix, false)) {
    Nic nic;
    nic.name = matrix.devices[static_cast<std::size_t>(column)];
    const auto legend = matrix.nic_names.find(nic.name);
    if (legend != matrix.nic_names.end()) nic.name = legend->second;
    for (const int gpu : gpus) nic.to_gpu.push_back(nic_path(matrix, column, gpu));
    machine->nics.push_back(std::move(nic));
  }
}

}  // namespace

Status parse_nvidia_smi_matrix(std::string_view text, Machine* machine) {
  const Matrix matrix = read_matrix(text);
  const std::vector<int> gpus = columns_of(matrix, true);
  if (gpus.empty())
    return Status::error(
        "no topology matrix found; expected a header line that names GPU0, GPU1, ... and a row of path "
        "classes for each, "
        "as nvidia-smi topo -m prints them");
  Machine result(static_cast<int>(gpus.size()));
  result.source = "nvidia-smi topo text";
  take_gpus(matrix, gpus, &result);
  take_nics(matrix, gpus, &result);
  *machine = std::move(result);
  return Status::ok();
}

}  // namespace nccl_slab::topology
