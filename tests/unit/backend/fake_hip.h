/* SPDX-License-Identifier: MIT */
/* What a test sets and reads in the fake HIP runtime (fake_hip.c). */
#ifndef TLC_TEST_FAKE_HIP_H
#define TLC_TEST_FAKE_HIP_H

#ifdef __cplusplus
extern "C" {
#endif

struct fake_hip_state {
  const char* arch;     /* of device 0 */
  const char* arch_one; /* of device 1 */
  int device_count;
  int fail_all;  /* what every call answers, 0: it works */
  int fail_load; /* what a load answers */
  const char* kernel;
  const char* variable;

  int calls;
  int loads;
  int unloads;
  int device_at_load;
  int device_at_symbol;
  char image_start[4];
};

#ifdef __cplusplus
}
#endif

#endif
