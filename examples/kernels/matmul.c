/* SPDX-License-Identifier: MIT */
/* Matrix multiply in square blocks of TILE, which the one who compiles it chooses. */
#include "kernels.h"

#ifndef TILE
#define TILE 32
#endif

static int least(int a, int b) {
  return a < b ? a : b;
}

/* A whole block: all loops have constant bounds, so the compiler unrolls and vectorises them. */
static void whole_block(const float* restrict a, const float* restrict b, float* restrict c, int n, int k) {
  for (int i = 0; i < TILE; ++i) {
    for (int p = 0; p < TILE; ++p) {
      const float factor = a[i * k + p];
      for (int j = 0; j < TILE; ++j) c[i * n + j] += factor * b[p * n + j];
    }
  }
}

/* A block that the matrix's edge cuts. */
static void edge_block(const float* restrict a, const float* restrict b, float* restrict c, int rows, int columns,
                       int depth, int n, int k) {
  for (int i = 0; i < rows; ++i) {
    for (int p = 0; p < depth; ++p) {
      const float factor = a[i * k + p];
      for (int j = 0; j < columns; ++j) c[i * n + j] += factor * b[p * n + j];
    }
  }
}

void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  for (int i = 0; i < m * n; ++i) c[i] = BIAS;
  for (int i = 0; i < m; i += TILE) {
    for (int p = 0; p < k; p += TILE) {
      for (int j = 0; j < n; j += TILE) {
        const int rows = least(TILE, m - i), depth = least(TILE, k - p), columns = least(TILE, n - j);
        const float *from_a = a + i * k + p, *from_b = b + p * n + j;
        float* to = c + i * n + j;
        if (rows == TILE && depth == TILE && columns == TILE) {
          whole_block(from_a, from_b, to, n, k);
        } else {
          edge_block(from_a, from_b, to, rows, columns, depth, n, k);
        }
      }
    }
  }
}
