/* SPDX-License-Identifier: MIT */
/* What a test sets and reads in the fake OpenCL loader (fake_opencl.c). */
#ifndef TLC_TEST_FAKE_OPENCL_H
#define TLC_TEST_FAKE_OPENCL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fake_opencl_state {
  int platforms;      /* 0 to 2 */
  int fail_platforms; /* what listing platforms answers, 0: it works */
  int fail_devices;   /* what listing the first platform's devices answers */
  int nameless;       /* 1: the first platform's device does not tell its name */
  const char* driver; /* version of both platforms' drivers */
  int fail_binary;    /* what clCreateProgramWithBinary answers */
  int fail_status;    /* what it says of the binary, while it answers that all is well */
  int fail_build;     /* what building answers */

  int calls;
  int loads;
  int builds;
  int contexts;
  int programs_alive;
  int kernels_alive;
  int references; /* to contexts */
  unsigned devices_at_load;
  const void* context_at_load;
  const void* device_at_load;
  size_t size_at_load;
  char start_at_load[8];
};

#ifdef __cplusplus
}
#endif

#endif
