#include "topology/nvidia_smi_matrix.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "topology/pasted_text.h"

namespace nccl_slab::topology {
namespace {

constexpr std::size_t kMostDevices = 1024;  // bounds the matrix that a hostile text can ask for

struct Matrix {
  Words devices{};  // GPUs and NICs, in the order of the columns
  bool has_numa = false;
  std::map<std::string, Words> rows{};  // the words after the device's name
  std::map<std::string, std::string> nic_names{};

  bool shows_paths() const {
    return std::any_of(rows.begin(), rows.end(), [](const auto& row) {
      return std::any_of(row.second.begin(), row.second.end(), [](const std::string& word) {
        return parse_path(word).value_or(PathClass::kSelf) != PathClass::kSelf;
      });
    });
  }
};

std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < 0) return std::nullopt;
  return value;
}

// The number of GPU12, nothing for other words.
std::optional<int> gpu_number(std::string_view word) {
  if (word.size() < 4) return std::nullopt;
  std::string upper(word.substr(0, 3));
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  return upper == "GPU" ? whole_number(word.substr(3)) : std::nullopt;
}

// Words that fill a cell: path classes, and those of the P2P matrices, which are printed in the same form.
bool is_cell(const std::string& word) {
  static const Words others{"OK", "NS", "CNS", "GNS", "TNS", "DR", "U", "N/A", "-", "?"};
  return parse_path(word) || std::find(others.begin(), others.end(), word) != others.end();
}

bool has_digit(const std::string& word) {
  return std::any_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c); });
}

// The columns of a header line from its first GPU on; empty if this is prose that mentions a GPU.
Words header_devices(const Words& line, std::size_t first) {
  const auto begin = line.begin() + static_cast<std::ptrdiff_t>(first);
  const auto affinity = std::find(begin, line.end(), "Affinity");
  const auto end = affinity == line.end() ? line.end() : affinity - 1;  // CPU Affinity, NUMA Affinity
  if (begin >= end || static_cast<std::size_t>(end - begin) > kMostDevices) return {};
  const bool named = affinity != line.end() || std::all_of(begin, end, has_digit);
  return named ? Words(begin, end) : Words();
}

// Takes the lines one by one; the first matrix that shows paths wins, so that a P2P matrix in the same paste
// is no matter.
class Reader {
 public:
  // False when the matrix is complete.
  bool take(const Words& line) {
    const auto name =
        std::find_if(line.begin(), line.end(), [&](const std::string& word) { return is_device(word); });
    if (name != line.end() && name + 1 != line.end() && is_cell(name[1])) {
      matrix_.rows.try_emplace(*name, name + 1, line.end());
    } else if (name != line.end() && gpu_number(*name)) {
      return take_header(line, static_cast<std::size_t>(name - line.begin()));
    } else if (line.size() == 2 && line[0].starts_with("NIC") && line[0].ends_with(':')) {
      matrix_.nic_names.try_emplace(line[0].substr(0, line[0].size() - 1), line[1]);
    }
    return true;
  }

  Matrix finish() {
    if (matrix_.devices.empty()) name_devices_by_rows();
    return std::move(matrix_);
  }

 private:
  bool is_device(const std::string& word) const {
    return gpu_number(word) ||
           std::find(matrix_.devices.begin(), matrix_.devices.end(), word) != matrix_.devices.end();
  }

  bool take_header(const Words& line, std::size_t first) {
    Words devices = header_devices(line, first);
    if (devices.empty()) return true;
    if (matrix_.shows_paths()) return false;
    matrix_ = Matrix{std::move(devices), std::find(line.begin(), line.end(), "NUMA") != line.end()};
    return true;
  }

  // Only rows were pasted: their GPUs, in the order of their numbers, are the first columns.
  void name_devices_by_rows() {
    for (const auto& row : matrix_.rows)
      if (matrix_.devices.size() < kMostDevices) matrix_.devices.push_back(row.first);
    std::sort(matrix_.devices.begin(), matrix_.devices.end(),
              [](const std::string& a, const std::string& b) { return gpu_number(a) < gpu_number(b); });
  }

  Matrix matrix_;
};

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
  Reader reader;
  bool more = true;
  for (const Words& line : pasted_lines(text)) more = more && reader.take(line);
  const Matrix matrix = reader.finish();
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
