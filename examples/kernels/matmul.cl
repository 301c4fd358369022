/* SPDX-License-Identifier: MIT */
/* matmul.c for OpenCL: c = a b. One group of TILE x TILE work-items makes one block of the product. */
#ifndef TILE
#define TILE 16
#endif

__kernel void matmul(__global const float* a, __global const float* b, __global float* c, int m, int n, int k) {
  __local float from_a[TILE][TILE], from_b[TILE][TILE];
  const int x = get_local_id(0), y = get_local_id(1);
  const int row = get_group_id(1) * TILE + y, column = get_group_id(0) * TILE + x;
  float sum = 0.0f;
  for (int start = 0; start < k; start += TILE) {
    const int across = start + x, down = start + y;
    from_a[y][x] = row < m && across < k ? a[row * k + across] : 0.0f;
    from_b[y][x] = down < k && column < n ? b[down * n + column] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int p = 0; p < TILE; ++p) sum += from_a[y][p] * from_b[p][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (row < m && column < n) c[row * n + column] = sum;
}
