#include "abi/modules.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>

namespace nccl_slab::abi {
namespace {

TEST(Modules, FindTheSymbolsThatTheLoaderFinds) {
  for (const char* name : {"malloc", "dl_iterate_phdr", "environ", "getenv"}) {
    void* const wanted = ::dlsym(RTLD_DEFAULT, name);
    void* found = nullptr;
    visit_modules([&](const Module& module) { return (found = module.symbol(name)) != nullptr; });
    // A data symbol is none that could be called.
    EXPECT_EQ(found, std::string(name) == "environ" ? nullptr : wanted) << name;
  }
}

TEST(Modules, AnImportIsNoDefinition) {
  visit_module_of(reinterpret_cast<const void*>(&visit_modules), [](const Module& module) {
    EXPECT_STREQ(module.path(), "") << "the program itself";
    EXPECT_EQ(module.symbol("malloc"), nullptr);
  });
}

TEST(Modules, KnowTheirNameAndTheirAddresses) {
  bool visited = false;
  const auto* address = reinterpret_cast<const void*>(::dlsym(RTLD_DEFAULT, "dl_iterate_phdr"));
  EXPECT_TRUE(visit_module_of(address, [&](const Module& module) {
    visited = true;
    EXPECT_EQ(std::string(module.soname()).rfind("libc.so", 0), 0u);
    EXPECT_TRUE(module.contains(address));
    EXPECT_FALSE(module.contains(reinterpret_cast<const void*>(module.end())));
    EXPECT_FALSE(is_nccl(module));
    EXPECT_FALSE(is_nccl_slab(module));
  }));
  EXPECT_TRUE(visited);
  int on_the_stack = 0;
  EXPECT_FALSE(visit_module_of(&on_the_stack, [](const Module&) {}));
}

TEST(Modules, AnExceptionPassesTheLoader) {
  const auto fail = [](const Module&) -> bool { throw std::runtime_error("passed"); };
  EXPECT_THROW(visit_modules(fail), std::runtime_error);
  EXPECT_FALSE(visit_modules([](const Module&) { return false; })) << "its lock is free again";
}

}  // namespace
}  // namespace nccl_slab::abi
