// The reader of machine files: one statement per line, `keyword name key=value ...`; see
// doc/emulated-machine.md.
#include <cstdlib>
#include <functional>
#include <map>
#include <sstream>

#include "device/emulated/machine_file.h"

namespace nccl_slab::emulated {
namespace {

struct Complaint {
  std::string what;
};

double number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= 0))
    throw Complaint{"'" + text + "' is not a number of zero or more"};
  return value;
}

int count(const std::string& text) {
  const double value = number(text);
  if (value > 1e6 || value != static_cast<int>(value)) throw Complaint{"'" + text + "' is not a count"};
  return static_cast<int>(value);
}

// "24GiB", "512MiB", "4096".
std::uint64_t bytes(const std::string& text) {
  char* unit = nullptr;
  const double value = std::strtod(text.c_str(), &unit);
  const std::string name = unit;
  const int shift = name.empty() ? 0 : name == "KiB" ? 10 : name == "MiB" ? 20 : name == "GiB" ? 30 : -1;
  if (unit == text.c_str() || shift < 0 || !(value >= 0)) throw Complaint{"'" + text + "' is not a size"};
  return static_cast<std::uint64_t>(value * static_cast<double>(1ull << shift));
}

bool yes(const std::string& text) {
  if (text != "yes" && text != "no") throw Complaint{"'" + text + "' is neither yes nor no"};
  return text == "yes";
}

// The words of one line: keyword, then arguments; `key=value` arguments apart. Values may be quoted.
struct Statement {
  std::vector<std::string> words;
  std::map<std::string, std::string> values;

  std::string take(const std::string& key, const std::string& fallback) {
    const auto found = values.find(key);
    if (found == values.end()) return fallback;
    std::string value = found->second;
    values.erase(found);
    return value;
  }
  const std::string& word(std::size_t index) const {
    if (index >= words.size()) throw Complaint{"'" + words[0] + "' needs more words"};
    return words[index];
  }
};

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  for (const char c : line + " ") {
    if (c == '"') quoted = !quoted;
    if (c == '#' && !quoted) break;
    const bool gap = !quoted && (c == ' ' || c == '\t' || c == '\r');
    if (!gap && c != '"') word += c;
    if (gap && !word.empty()) words.push_back(std::exchange(word, {}));
  }
  if (quoted) throw Complaint{"a quote is not closed"};
  if (!word.empty()) words.push_back(word);
  return words;
}

Statement parse_statement(const std::string& line) {
  Statement statement;
  for (const std::string& word : split(line)) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      statement.words.push_back(word);
    } else {
      statement.values[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
  return statement;
}

class Reader {
 public:
  explicit Reader(Machine* machine) : machine_(*machine) {}

  void read(Statement statement) {
    if (statement.words.empty() && statement.values.empty()) return;
    if (statement.words.empty()) throw Complaint{"a line starts with a keyword"};
    const auto found = keywords().find(statement.words[0]);
    if (found == keywords().end()) throw Complaint{"unknown keyword '" + statement.words[0] + "'"};
    found->second(*this, statement);
    if (!statement.values.empty())
      throw Complaint{"unknown setting '" + statement.values.begin()->first + "'"};
  }

  void finish() const {
    if (machine_.devices.empty()) throw Complaint{"the machine has no gpu"};
  }

 private:
  using Keyword = std::function<void(Reader&, Statement&)>;
  static const std::map<std::string, Keyword>& keywords() {
    static const std::map<std::string, Keyword> table = {
        {"machine", [](Reader& r, Statement& s) { r.machine_.name = s.word(1); }},
        {"defaults", [](Reader& r, Statement& s) { properties(s, &r.defaults_); }},
        {"socket", [](Reader& r, Statement& s) { r.add_node(TreeKind::kSocket, s); }},
        {"bridge", [](Reader& r, Statement& s) { r.add_node(TreeKind::kBridge, s); }},
        {"switch", [](Reader& r, Statement& s) { r.add_node(TreeKind::kSwitch, s); }},
        {"nic", [](Reader& r, Statement& s) { r.add_nic(s); }},
        {"gpu", [](Reader& r, Statement& s) { r.add_gpu(s); }},
        {"peer", [](Reader& r, Statement& s) { r.set_peer(s); }},
        {"fault", [](Reader& r, Statement& s) { r.add_fault(s); }},
        {"host", [](Reader& r, Statement& s) { r.set_host(s); }},
    };
    return table;
  }

  static void properties(Statement& statement, DeviceDescription* device) {
    device->model = statement.take("model", device->model);
    if (const std::string text = statement.take("memory", ""); !text.empty()) device->memory = bytes(text);
    if (const std::string text = statement.take("slots", ""); !text.empty()) device->slots = count(text);
    if (const std::string text = statement.take("multiprocessors", ""); !text.empty()) {
      device->multiprocessors = count(text);
    }
    if (const std::string text = statement.take("compute", ""); !text.empty()) {
      const std::size_t dot = text.find('.');
      if (dot == std::string::npos) throw Complaint{"compute is MAJOR.MINOR"};
      device->compute_major = count(text.substr(0, dot));
      device->compute_minor = count(text.substr(dot + 1));
    }
    if (device->slots < 1 || device->multiprocessors < 1)
      throw Complaint{"slots and multiprocessors start at 1"};
  }

  int node(const std::string& name) const {
    for (std::size_t i = 0; i < machine_.tree.size(); ++i) {
      if (machine_.tree[i].name == name) return static_cast<int>(i);
    }
    return -1;
  }

  int add_node(TreeKind kind, Statement& statement) {
    TreeNode made{kind, statement.word(1), -1, number(statement.take("capacity", "0")), -1};
    if (node(made.name) >= 0) throw Complaint{"'" + made.name + "' exists already"};
    if (kind == TreeKind::kSocket) {
      if (const std::string numa = statement.take("numa", ""); !numa.empty()) made.numa = count(numa);
    } else {
      const std::string under = statement.take("under", "");
      made.parent = node(under);
      if (made.parent < 0) throw Complaint{"under=" + under + " names nothing above this line"};
      const TreeKind parent = machine_.tree[made.parent].kind;
      if (parent >= TreeKind::kGpu || (kind == TreeKind::kBridge) != (parent == TreeKind::kSocket)) {
        throw Complaint{"a bridge hangs under a socket, a switch, gpu or nic under a bridge or switch"};
      }
    }
    machine_.tree.push_back(made);
    return static_cast<int>(machine_.tree.size()) - 1;
  }

  void add_nic(Statement& statement) {
    statement.take("pci", "");
    add_node(TreeKind::kNic, statement);
  }

  void add_gpu(Statement& statement) {
    if (machine_.size() == kMaxDevices) throw Complaint{"too many gpus"};
    if (count(statement.word(1)) != machine_.size())
      throw Complaint{"gpus are numbered 0, 1, 2, ... in order"};
    DeviceDescription device = defaults_;
    device.pci = statement.take("pci", device.pci);
    device.mig = yes(statement.take("mig", "no"));
    properties(statement, &device);
    device.node = add_node(TreeKind::kGpu, statement);
    machine_.devices.push_back(device);
    for (auto& row : machine_.peer) row.push_back(true);
    machine_.peer.emplace_back(machine_.devices.size(), true);
  }

  // "0->1", "0-1" (both directions) or "*".
  struct Pair {
    int from = -1, to = -1;
    bool both = false;
  };
  Pair pair(const std::string& text) const {
    if (text == "*") return {};
    const std::size_t dash = text.find('-');
    if (dash == std::string::npos) return {device(text), -1, false};
    const bool arrow = text.compare(dash, 2, "->") == 0;
    return {device(text.substr(0, dash)), device(text.substr(dash + (arrow ? 2 : 1))), !arrow};
  }
  int device(const std::string& text) const {
    if (text == "*") return -1;
    const int found = count(text);
    if (!machine_.has(found)) throw Complaint{"there is no gpu " + text + " above this line"};
    return found;
  }

  void set_peer(Statement& statement) {
    const Pair which = pair(statement.word(1));
    const bool answer = yes(statement.word(2));
    for (int a = 0; a < machine_.size(); ++a) {
      for (int b = 0; b < machine_.size(); ++b) {
        const auto matches = [&](int from, int to) {
          return (which.from < 0 || which.from == from) && (which.to < 0 || which.to == to);
        };
        if (a != b && (matches(a, b) || (which.both && matches(b, a)))) machine_.peer[a][b] = answer;
      }
    }
  }

  void set_host(Statement& statement) {
    const int which = device(statement.word(1));
    for (int each = 0; each < machine_.size(); ++each)
      if (which < 0 || which == each) machine_.devices[each].host = statement.word(2);
  }

  void add_fault(Statement& statement) {
    static const std::map<std::string, FaultKind> kinds = {
        {"drop", FaultKind::kDrop},
        {"mirror", FaultKind::kMirror},
        {"corrupt", FaultKind::kCorrupt},
        {"slow", FaultKind::kSlow},
        {"ipc-open", FaultKind::kIpcOpen},
        {"peer-enable", FaultKind::kPeerEnable},
        {"host-register", FaultKind::kHostRegister},
        {"host-allocate", FaultKind::kHostAllocate},
        {"allocate", FaultKind::kAllocate},
        {"stream-create", FaultKind::kStreamCreate},
        {"properties", FaultKind::kProperties},
        {"no-kernel", FaultKind::kNoKernel},
        {"freeze", FaultKind::kFreeze},
        {"hide", FaultKind::kHide},
    };
    const auto kind = kinds.find(statement.word(1));
    if (kind == kinds.end()) throw Complaint{"unknown fault '" + statement.word(1) + "'"};
    const Pair which = pair(statement.word(2));
    Fault fault{kind->second, which.from, which.to};
    fault.code = static_cast<cudaError_t>(count(statement.take("code", "999")));
    fault.bytes = bytes(statement.take("from", "0"));
    fault.rate = number(statement.take("rate", "0"));
    fault.bit = count(statement.take("bit", "0")) % 8;
    fault.offset = bytes(statement.take("offset", "0"));
    fault.after = static_cast<unsigned long>(count(statement.take("after", "0")));
    machine_.faults.push_back(fault);
    if (which.both) {
      std::swap(fault.from, fault.to);
      machine_.faults.push_back(fault);
    }
  }

  Machine& machine_;
  DeviceDescription defaults_;
};

}  // namespace

Status parse_machine(const std::string& text, const std::string& origin, Machine* machine) {
  *machine = Machine{};
  Reader reader(machine);
  std::istringstream lines(text);
  std::string line;
  int at = 0;
  try {
    while (std::getline(lines, line)) {
      ++at;
      reader.read(parse_statement(line));
    }
    reader.finish();
  } catch (const Complaint& complaint) {
    return Status::error(origin + ":" + std::to_string(at) + ": " + complaint.what);
  }
  return Status::ok();
}

}  // namespace nccl_slab::emulated
