#include "abi/places.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

#include "abi/modules.h"

namespace nccl_slab::abi {
namespace {

constexpr char kSoname[] = "libnccl.so.2";
constexpr char kInPackages[] = "/nvidia/nccl/lib/libnccl.so.2";

std::string folder_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// The wheel of PyTorch lies beside that of NCCL: site-packages/torch/lib and site-packages/nvidia/nccl/lib.
Place beside_torch() {
  Place place{"beside PyTorch", {}};
  visit_modules([&](const Module& module) {
    if (std::strncmp(module.file_name(), "libtorch", 8) == 0)
      place.files.push_back(folder_of(folder_of(folder_of(module.path()))) + kInPackages);
    return false;
  });
  return place;
}

Place library_path() {
  Place place{"LD_LIBRARY_PATH", {}};
  for (const std::string& folder : split(variable("LD_LIBRARY_PATH"), ':'))
    place.files.push_back(folder + "/" + kSoname);
  return place;
}

// ".../lib/python3.11" of a path below it; empty when there is none.
std::string python_folder(const std::string& path) {
  const std::size_t begin = path.find("/lib/python");
  if (begin == std::string::npos) return "";
  const std::size_t end = path.find('/', begin + std::strlen("/lib/"));
  return end == std::string::npos ? "" : path.substr(0, end);
}

// The Python that runs here is known by its loaded extension modules; a virtual environment only by its
// variable.
std::set<std::string> python_folders() {
  std::set<std::string> folders;
  visit_modules([&](const Module& module) {
    const std::string folder = python_folder(module.path());
    if (!folder.empty()) folders.insert(folder);
    return false;
  });
  const std::string environment = variable("VIRTUAL_ENV");
  std::set<std::string> result;
  for (const std::string& folder : folders) {
    if (!environment.empty()) result.insert(environment + folder.substr(folder.rfind("/lib/python")));
    result.insert(folder);
  }
  return result;
}

Place python_packages() {
  Place place{"Python's packages", {}};
  for (const std::string& folder : python_folders())
    for (const char* packages : {"/site-packages", "/dist-packages"})
      place.files.push_back(folder + packages + kInPackages);
  for (const std::string& folder : split(variable("PYTHONPATH"), ':'))
    place.files.push_back(folder + kInPackages);
  return place;
}

Place loader_cache() {
  std::ifstream file("/etc/ld.so.cache", std::ios::binary);
  const std::string cache((std::istreambuf_iterator<char>(file)), {});
  return Place{"the loader's cache", paths_in_loader_cache(cache, kSoname)};
}

Place default_folders() {
  Place place{"the loader's default folders", {}};
#if defined(__x86_64__)
  place.files = {"/lib/x86_64-linux-gnu/libnccl.so.2", "/usr/lib/x86_64-linux-gnu/libnccl.so.2"};
#elif defined(__aarch64__)
  place.files = {"/lib/aarch64-linux-gnu/libnccl.so.2", "/usr/lib/aarch64-linux-gnu/libnccl.so.2"};
#endif
  for (const char* folder : {"/lib64/", "/usr/lib64/", "/lib/", "/usr/lib/"})
    place.files.push_back(std::string(folder) + kSoname);
  return place;
}

}  // namespace

std::vector<Place> places_of_nccl() {
  return {beside_torch(), library_path(), python_packages(), loader_cache(), default_folders()};
}

}  // namespace nccl_slab::abi
