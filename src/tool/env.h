// `nccl-slab env [--json]`: the settings, with the values that the library would take from this environment.
#pragma once

namespace nccl_slab::tool {

inline constexpr const char* kEnvUsage = "env [--json]";
inline constexpr const char* kEnvSummary =
    "shows every setting, its value here, its default and what it does";

// argv[0] is "env". 0: every value is valid; 1: a value is not, and the default is used; 2: wrong arguments.
int env_command(int argc, char** argv);

}  // namespace nccl_slab::tool
