// See arguments.h.
#include "arguments.h"

#include <sstream>
#include <stdexcept>

namespace programs {

Arguments::Arguments(int argc, char** argv, std::set<std::string> valued, std::set<std::string> flags) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (flags.count(name) > 0) {
      values_[name] = "";
    } else if (valued.count(name) > 0 && i + 1 < argc) {
      values_[name] = argv[++i];
    } else {
      throw std::invalid_argument("unknown option or missing value: " + name);
    }
  }
}

std::string Arguments::text(const std::string& name, const std::string& otherwise) const {
  const auto found = values_.find(name);
  return found == values_.end() ? otherwise : found->second;
}

long Arguments::number(const std::string& name, long otherwise) const {
  const auto found = values_.find(name);
  return found == values_.end() ? otherwise : std::stol(found->second);
}

std::vector<std::string> Arguments::list(const std::string& name, const std::string& otherwise) const {
  std::vector<std::string> items;
  std::istringstream stream(text(name, otherwise));
  for (std::string item; std::getline(stream, item, ',');)
    if (!item.empty()) items.push_back(item);
  return items;
}

}  // namespace programs
