// One symbol per version node of libcudart.map, so that the linker keeps the nodes.
extern "C" {
__attribute__((visibility("default"))) extern const int nccl_slab_emulated_cuda_12;
__attribute__((visibility("default"))) extern const int nccl_slab_emulated_cuda_13;
const int nccl_slab_emulated_cuda_12 = 12;
const int nccl_slab_emulated_cuda_13 = 13;
}
