#include "topology/matrix_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>
#include <vector>

#include "topology/path_class.h"

namespace nccl_slab::topology {
namespace {

constexpr std::size_t kMostDevices = 1024;  // bounds the matrix that a hostile text can ask for

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

// Takes the lines one by one; the first matrix that shows paths wins, so
// that a P2P matrix in the same paste is no matter.
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

}  // namespace

bool Matrix::shows_paths() const {
  return std::any_of(rows.begin(), rows.end(), [](const auto& row) {
    return std::any_of(row.second.begin(), row.second.end(), [](const std::string& word) {
      return parse_path(word).value_or(PathClass::kSelf) != PathClass::kSelf;
    });
  });
}

std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < 0) return std::nullopt;
  return value;
}

std::optional<int> gpu_number(std::string_view word) {
  if (word.size() < 4) return std::nullopt;
  std::string upper(word.substr(0, 3));
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  return upper == "GPU" ? whole_number(word.substr(3)) : std::nullopt;
}

Matrix read_matrix(std::string_view text) {
  Reader reader;
  for (const Words& line : pasted_lines(text))
    if (!reader.take(line)) break;
  return reader.finish();
}

}  // namespace nccl_slab::topology
