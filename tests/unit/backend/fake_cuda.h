/* SPDX-License-Identifier: MIT */
/* What a test sets and reads in the fake driver (fake_cuda.c). */
#ifndef TLC_TEST_FAKE_CUDA_H
#define TLC_TEST_FAKE_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

struct fake_cuda_state {
  int capability; /* of every device: 90 for 9.0 */
  int device_count;
  int version;
  int fail_all;  /* what every call answers, 0: it works */
  int fail_load; /* what a load answers */
  const char* jit_message;
  const char* kernel; /* the kernel every image has, by its lowered name */
  const char* variable;
  void* dead_context; /* cannot be made current */

  int calls_init;
  int calls_export_table;
  int loads;
  int unloads;
  int jit_options;
  int primary_retained;
  int primary_released;
  int attribute;
  int attribute_value;
  void* current_at_load;
  void* current_at_symbol;
  char image_start[4];
};

#ifdef __cplusplus
}
#endif

#endif
