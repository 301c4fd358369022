/* SPDX-License-Identifier: MIT */
/* Softmax of each row, by its largest element so that no exponential overflows. */
#include <math.h>

#include "kernels.h"

static float largest_of(const float* x, int count) {
  float largest = x[0];
  for (int i = 1; i < count; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

void softmax(const float* x, float* y, int rows, int columns) {
  for (int row = 0; row < rows; ++row, x += columns, y += columns) {
    const float largest = largest_of(x, columns);
    float sum = 0.0f;
    for (int i = 0; i < columns; ++i) {
      y[i] = expf(x[i] - largest);
      sum += y[i];
    }
    for (int i = 0; i < columns; ++i) y[i] /= sum;
  }
}
