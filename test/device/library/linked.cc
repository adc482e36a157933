// A program as NVIDIA's users build it: its references carry a version. It must load our library without a
// complaint and reach the functions of its CUDA's arguments. No CUDA header is included: their prototypes
// differ between versions.
#include <cstddef>
#include <cstdio>
#include <cstring>

extern "C" {
int cudaGetDeviceCount(int* count);
int cudaMalloc(void** memory, size_t bytes);
int cudaStreamCreate(void** stream);
int cudaStreamBeginCapture(void* stream, int mode);
int cudaMemsetAsync(void* memory, int value, size_t bytes, void* stream);
int cudaDeviceReset();
#if MAJOR == 12
int cudaStreamGetCaptureInfo(void* stream, int* status, unsigned long long* id);
int cudaStreamGetCaptureInfo_v2(void* stream, int* status, unsigned long long* id, void** graph,
                                void* const** front, size_t* count);
int cudaStreamUpdateCaptureDependencies(void* stream, void** nodes, size_t count, unsigned flags);
#else
int cudaStreamGetCaptureInfo(void* stream, int* status, unsigned long long* id, void** graph,
                             void* const** front, const void** edges, size_t* count);
int cudaStreamUpdateCaptureDependencies(void* stream, void** nodes, const void* edges, size_t count,
                                        unsigned flags);
#endif
}

namespace {

bool failed = false;
void expect(bool holds, const char* what) {
  if (holds) return;
  failed = true;
  std::fprintf(stderr, "not so: %s\n", what);
}

struct Info {
  int status = -1;
  void* const* front = nullptr;
  size_t count = 0;
};

Info info_of(void* stream) {
  Info info;
  unsigned long long id = 0;
#if MAJOR == 12
  int status = -1;
  expect(cudaStreamGetCaptureInfo(stream, &status, &id) == 0, "CUDA 10's information");
  expect(status == 1, "CUDA 10's information says active");
  expect(cudaStreamGetCaptureInfo_v2(stream, &info.status, &id, nullptr, &info.front, &info.count) == 0,
         "information");
#else
  const void* edges = &info;
  expect(cudaStreamGetCaptureInfo(stream, &info.status, &id, nullptr, &info.front, &edges, &info.count) == 0,
         "information");
  expect(edges == nullptr, "no edge data");
#endif
  return info;
}

int set_front(void* stream, void** nodes, size_t count) {
#if MAJOR == 12
  return cudaStreamUpdateCaptureDependencies(stream, nodes, count, 1);
#else
  return cudaStreamUpdateCaptureDependencies(stream, nodes, nullptr, count, 1);
#endif
}

}  // namespace

int main() {
  int devices = 0;
  void *memory = nullptr, *stream = nullptr;
  expect(cudaGetDeviceCount(&devices) == 0 && devices == 8, "eight devices");
  expect(cudaMalloc(&memory, 64) == 0, "memory");
  expect(cudaStreamCreate(&stream) == 0, "a stream");
  expect(cudaStreamBeginCapture(stream, 0) == 0, "a capture");
  expect(cudaMemsetAsync(memory, 0, 64, stream) == 0, "a node");
  const Info info = info_of(stream);
  expect(info.status == 1, "active");
  expect(info.count == 1, "one node in front");
  void* first = info.front[0];
  expect(cudaMemsetAsync(memory, 0, 64, stream) == 0, "another node");
  expect(set_front(stream, &first, 1) == 0, "set the front");
  const Info then = info_of(stream);
  expect(then.count == 1 && then.front[0] == first, "the front as set");
  expect(cudaDeviceReset() == 801, "an unsupported call says so");
  return failed ? 1 : 0;
}
