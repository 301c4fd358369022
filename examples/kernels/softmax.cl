/* SPDX-License-Identifier: MIT */
/* softmax.c for OpenCL: each row of y is the softmax of that row of x. One work-item a row. */
__kernel void softmax(__global const float* x, __global float* y, int columns) {
  __global const float* in = x + get_global_id(0) * columns;
  __global float* out = y + get_global_id(0) * columns;
  float top = in[0], sum = 0.0f;
  for (int i = 1; i < columns; ++i) top = fmax(top, in[i]);
  for (int i = 0; i < columns; ++i) sum += exp(in[i] - top);
  for (int i = 0; i < columns; ++i) out[i] = exp(in[i] - top) / sum;
}
