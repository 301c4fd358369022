/* SPDX-License-Identifier: MIT */
/* matmul.c for a GPU: c = a b. One block of TILE x TILE threads makes one block of the product. */
#ifndef TILE
#define TILE 16
#endif

extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float from_a[TILE][TILE], from_b[TILE][TILE];
  const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.0f;
  for (int start = 0; start < k; start += TILE) {
    const int across = start + threadIdx.x, down = start + threadIdx.y;
    from_a[threadIdx.y][threadIdx.x] = row < m && across < k ? a[row * k + across] : 0.0f;
    from_b[threadIdx.y][threadIdx.x] = down < k && column < n ? b[down * n + column] : 0.0f;
    __syncthreads();
    for (int p = 0; p < TILE; ++p) sum += from_a[threadIdx.y][p] * from_b[p][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}
