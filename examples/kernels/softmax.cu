/* SPDX-License-Identifier: MIT */
/* softmax.c for a GPU: each row of y is the softmax of that row of x. One block of 32 threads a row. */
static __device__ float over_warp(float value, bool largest) {
  for (int apart = 16; apart > 0; apart /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, value, apart);
    value = largest ? fmaxf(value, other) : value + other;
  }
  return value;
}

extern "C" __global__ void softmax(const float* x, float* y, int columns) {
  const float* in = x + blockIdx.x * columns;
  float* out = y + blockIdx.x * columns;
  float top = -3.402823466e38f, sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += 32) top = fmaxf(top, in[i]);
  top = over_warp(top, true);
  for (int i = threadIdx.x; i < columns; i += 32) sum += expf(in[i] - top);
  sum = over_warp(sum, false);
  for (int i = threadIdx.x; i < columns; i += 32) out[i] = expf(in[i] - top) / sum;
}
