// SPDX-License-Identifier: MIT
// CUDA sources of the tests, and what each has to compute.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "card.hpp"

namespace tlc::gpu {

/// C = A x B in tiles, for sizes that are no multiples of the tile.
inline constexpr const char* kMatmul = R"(
#ifndef TILE
#define TILE 16
#endif
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float left[TILE][TILE], right[TILE][TILE];
  const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0;
  for (int start = 0; start < k; start += TILE) {
    const int i = start + threadIdx.x, j = start + threadIdx.y;
    left[threadIdx.y][threadIdx.x] = row < m && i < k ? a[row * k + i] : 0;
    right[threadIdx.y][threadIdx.x] = j < k && column < n ? b[j * n + column] : 0;
    __syncthreads();
    for (int p = 0; p < TILE; ++p) sum += left[threadIdx.y][p] * right[p][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}
)";

/// Softmax of each row; a block of 128 threads a row.
inline constexpr const char* kSoftmax = R"(
extern "C" __global__ void softmax(const float* x, float* y, int columns) {
  __shared__ float part[128];
  const float* in = x + blockIdx.x * columns;
  float* out = y + blockIdx.x * columns;
  float top = -1e30f, sum = 0;
  for (int i = threadIdx.x; i < columns; i += 128) top = fmaxf(top, in[i]);
  part[threadIdx.x] = top;
  for (int half = 64; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + half]);
  }
  __syncthreads();
  top = part[0];
  __syncthreads();
  for (int i = threadIdx.x; i < columns; i += 128) sum += expf(in[i] - top);
  part[threadIdx.x] = sum;
  for (int half = 64; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < columns; i += 128) out[i] = expf(in[i] - top) / part[0];
}
)";

/// Sum of halves, in pairs, by the toolkit's header; one block.
inline constexpr const char* kHalfSum = R"(
#include <cuda_fp16.h>
extern "C" __global__ void half_sum(const unsigned short* bits, float* out, int count) {
  __shared__ float part[256];
  float sum = 0;
  for (int i = 2 * threadIdx.x; i + 1 < count; i += 512) {
    const __half2 pair = *reinterpret_cast<const __half2*>(bits + i);
    const __half2 doubled = __hadd2(pair, pair);
    sum += __low2float(doubled) + __high2float(doubled);
  }
  part[threadIdx.x] = sum;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0) *out = part[0] / 2;
}
)";

/// A kernel that has only a C++ name, and a variable.
inline constexpr const char* kTemplate = R"(
namespace ops {
__device__ int version = 7;
template <typename T, int Factor>
__global__ void scale(T* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= Factor;
}
}
)";

/// More shared memory than a kernel gets without asking.
inline constexpr const char* kLargeShared = R"(
extern "C" __global__ void reverse(int* values, int count) {
  extern __shared__ int copy[];
  for (int i = threadIdx.x; i < count; i += blockDim.x) copy[i] = values[i];
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += blockDim.x) values[i] = copy[count - 1 - i];
}
)";

/// A small kernel, different for each number: `add<number>` adds the number.
inline std::string add_source(int number) {
  const std::string n = std::to_string(number);
  return "extern \"C\" __global__ void add" + n + "(int* value) { *value += " + n + "; }\n";
}

inline std::vector<float> pattern(std::size_t count, int seed) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>((static_cast<int>(i % 1009) * 7 + seed) % 23 - 11) / 8.0F;
  return values;
}

inline bool near(double got, double wanted) {
  return std::fabs(got - wanted) <= 1e-4 * (1.0 + std::fabs(wanted));
}

// Each launches in the current context and says whether every value is right.

inline bool matmul_is_right(void* function, unsigned tile = 16) {
  int m = 67;
  int n = 45;
  int k = 83;
  const auto a = pattern(67 * 83, 1);
  const auto b = pattern(83 * 45, 5);
  DeviceBuffer<float> left(a);
  DeviceBuffer<float> right(b);
  DeviceBuffer<float> out(67 * 45);
  Card::get().launch(function, (45 + tile - 1) / tile, (67 + tile - 1) / tile, tile, tile, 0,
                     {left.argument(), right.argument(), out.argument(), &m, &n, &k});
  const std::vector<float> c = out.values();
  for (int row = 0; row < m; ++row) {
    for (int column = 0; column < n; ++column) {
      double sum = 0;
      for (int p = 0; p < k; ++p) sum += static_cast<double>(a[row * k + p]) * b[p * n + column];
      if (!near(c[row * n + column], sum)) return false;
    }
  }
  return true;
}

inline bool softmax_is_right(void* function) {
  constexpr int kRows = 37;
  int columns = 301;
  const auto x = pattern(kRows * 301, 3);
  DeviceBuffer<float> in(x);
  DeviceBuffer<float> out(kRows * 301);
  Card::get().launch(function, kRows, 1, 128, 1, 0, {in.argument(), out.argument(), &columns});
  const std::vector<float> y = out.values();
  for (int row = 0; row < kRows; ++row) {
    double sum = 0;
    for (int i = 0; i < columns; ++i) sum += std::exp(static_cast<double>(x[row * columns + i]));
    for (int i = 0; i < columns; ++i) {
      if (!near(y[row * columns + i], std::exp(static_cast<double>(x[row * columns + i])) / sum)) return false;
    }
  }
  return true;
}

/// The halves are 0, 1, ... 15 in turn: exact in fp16.
inline bool half_sum_is_right(void* function) {
  constexpr unsigned short kBits[16] = {0x0000, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700,
                                        0x4800, 0x4880, 0x4900, 0x4980, 0x4a00, 0x4a80, 0x4b00, 0x4b80};
  int count = 4096;
  std::vector<unsigned short> bits(4096);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = kBits[i % 16];
  DeviceBuffer<unsigned short> in(bits);
  DeviceBuffer<float> out(1);
  Card::get().launch(function, 1, 1, 256, 1, 0, {in.argument(), out.argument(), &count});
  return near(out.values()[0], 4096 / 16 * 120);
}

inline bool scale_is_right(void* function, int factor) {
  int count = 1000;
  const auto values = pattern(1000, 2);
  DeviceBuffer<float> in(values);
  Card::get().launch(function, 8, 1, 128, 1, 0, {in.argument(), &count});
  const auto scaled = in.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!near(scaled[i], static_cast<double>(values[i]) * factor)) return false;
  }
  return true;
}

inline bool reverse_is_right(void* function, unsigned shared) {
  int count = static_cast<int>(shared / sizeof(int));
  std::vector<int> values(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = i;
  DeviceBuffer<int> in(values);
  Card::get().launch(function, 1, 1, 256, 1, shared, {in.argument(), &count});
  const auto turned = in.values();
  for (int i = 0; i < count; ++i) {
    if (turned[static_cast<std::size_t>(i)] != count - 1 - i) return false;
  }
  return true;
}

inline bool add_is_right(void* function, int number) {
  DeviceBuffer<int> value(std::vector<int>{1000});
  Card::get().launch(function, 1, 1, 1, 1, 0, {value.argument()});
  return value.values()[0] == 1000 + number;
}

}  // namespace tlc::gpu
