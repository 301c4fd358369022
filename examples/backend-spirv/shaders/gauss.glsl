// SPDX-License-Identifier: MIT
// Weights of a Gaussian: they add up to 1 over -RADIUS to RADIUS.
const int RADIUS = 3;
const float weights[RADIUS + 1] = float[](0.3125, 0.234375, 0.09375, 0.015625);

float gauss(int offset) {
  return weights[abs(offset)];
}
