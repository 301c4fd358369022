// SPDX-License-Identifier: MIT
// A separable Gaussian blur: run it once with DIRECTION ivec2(1, 0), once with ivec2(0, 1).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "gauss.glsl"

#ifndef DIRECTION
#define DIRECTION ivec2(1, 0)
#endif

layout(local_size_x = 16, local_size_y = 16) in;
layout(binding = 0, rgba8) uniform readonly image2D from;
layout(binding = 1, rgba8) uniform writeonly image2D to;

void main() {
  const ivec2 size = imageSize(from);
  const ivec2 here = ivec2(gl_GlobalInvocationID.xy);
  if (here.x >= size.x || here.y >= size.y) return;
  vec4 sum = vec4(0.0);
  for (int i = -RADIUS; i <= RADIUS; ++i) {
    sum += gauss(i) * imageLoad(from, clamp(here + i * DIRECTION, ivec2(0), size - 1));
  }
  imageStore(to, here, sum);
}
