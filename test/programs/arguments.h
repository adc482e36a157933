// Command lines of the programs: --name VALUE and --flag, in any order.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace programs {

class Arguments {
 public:
  // Throws std::invalid_argument for a name that is in neither list, or a missing value.
  Arguments(int argc, char** argv, std::set<std::string> valued, std::set<std::string> flags);

  bool has(const std::string& name) const { return values_.count(name) > 0; }
  std::string text(const std::string& name, const std::string& otherwise) const;
  long number(const std::string& name, long otherwise) const;
  // A comma-separated list; `otherwise` in the same form.
  std::vector<std::string> list(const std::string& name, const std::string& otherwise) const;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace programs
