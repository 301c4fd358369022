// SPDX-License-Identifier: MIT
// __global__, __device__ and their like, and the functions of mathematics, come from clang's own header.
#include "hip/prelude.hpp"

namespace tlcb::hip {

const char* const kPrelude = R"(
#define __launch_bounds__(...) __tlc_bounds(__VA_ARGS__, 1)
#define __tlc_bounds(threads, ...) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define __tlc_index(name, X, Y, Z)                                                  \
  struct __tlc_##name {                                                             \
    __attribute__((device, always_inline)) static unsigned __x() { return X; }      \
    __attribute__((device, always_inline)) static unsigned __y() { return Y; }      \
    __attribute__((device, always_inline)) static unsigned __z() { return Z; }      \
    __declspec(property(get = __x)) unsigned x;                                     \
    __declspec(property(get = __y)) unsigned y;                                     \
    __declspec(property(get = __z)) unsigned z;                                     \
  };                                                                                \
  static constexpr __attribute__((device)) __tlc_##name name {}
__tlc_index(threadIdx, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
            __builtin_amdgcn_workitem_id_z());
__tlc_index(blockIdx, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
            __builtin_amdgcn_workgroup_id_z());
__tlc_index(blockDim, __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(),
            __builtin_amdgcn_workgroup_size_z());
// The grid's size is in threads.
__tlc_index(gridDim, (__builtin_amdgcn_grid_size_x() - 1) / __builtin_amdgcn_workgroup_size_x() + 1,
            (__builtin_amdgcn_grid_size_y() - 1) / __builtin_amdgcn_workgroup_size_y() + 1,
            (__builtin_amdgcn_grid_size_z() - 1) / __builtin_amdgcn_workgroup_size_z() + 1);
#undef __tlc_index
static constexpr __attribute__((device)) int warpSize = __AMDGCN_WAVEFRONT_SIZE__;
static inline __attribute__((device, always_inline)) void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
)";

}  // namespace tlcb::hip
