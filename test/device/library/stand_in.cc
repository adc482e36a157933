// A stand-in for NVIDIA's libcudart to link with: the names and versions, no function. Never run.
#define STAND_IN(name)                                           \
  extern "C" __attribute__((visibility("default"))) int name() { \
    return -1;                                                   \
  }
STAND_IN(cudaGetDeviceCount)
STAND_IN(cudaMalloc)
STAND_IN(cudaStreamCreate)
STAND_IN(cudaStreamBeginCapture)
STAND_IN(cudaStreamGetCaptureInfo)
STAND_IN(cudaStreamGetCaptureInfo_v2)
STAND_IN(cudaStreamUpdateCaptureDependencies)
STAND_IN(cudaMemsetAsync)
STAND_IN(cudaDeviceReset)
