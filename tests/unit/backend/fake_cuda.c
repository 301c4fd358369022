/* SPDX-License-Identifier: MIT */
/*
 * A libcuda.so.1 for tests: contexts, modules and kernels that are numbers, and a log of what was asked. A test opens
 * it before the backend does and finds it by name; fake_cuda_state lets it say what goes wrong.
 */
#include "fake_cuda.h"

#include <stdio.h>
#include <string.h>

/* The functions are found by name; nobody declares them. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define EXPORT __attribute__((visibility("default")))

EXPORT struct fake_cuda_state fake_cuda_state = {.capability = 90, .device_count = 2, .version = 13000};
#define S fake_cuda_state

/* Per thread, as the driver has it. */
static __thread void* stack[16];
static __thread int depth;

static char contexts[8];
static char modules[64];
static char functions[64];
static int primary_uses[8];

static int usable(void) {
  if (S.fail_all != 0) return S.fail_all;
  return 0;
}
#define USABLE()                        \
  do {                                  \
    const int refused_ = usable();      \
    if (refused_ != 0) return refused_; \
  } while (0)

EXPORT int cuInit(unsigned flags) {
  (void)flags;
  ++S.calls_init;
  return usable();
}
/* NVRTC asks for this when it looks for its own cache. */
EXPORT int cuGetExportTable(const void** table, const void* id) {
  (void)id;
  *table = 0;
  ++S.calls_export_table;
  return 500;
}
EXPORT int cuDriverGetVersion(int* version) {
  if (S.fail_all == 34) return 34;
  *version = S.version;
  return 0;
}
EXPORT int cuDeviceGetCount(int* count) {
  USABLE();
  *count = S.device_count;
  return 0;
}
EXPORT int cuDeviceGet(int* device, int ordinal) {
  USABLE();
  if (ordinal < 0 || ordinal >= S.device_count) return 101;
  *device = ordinal;
  return 0;
}
EXPORT int cuDeviceGetName(char* name, int size, int device) {
  USABLE();
  (void)snprintf(name, (size_t)size, "Fake GPU %d", device);
  return 0;
}
EXPORT int cuDeviceGetAttribute(int* value, int attribute, int device) {
  USABLE();
  (void)device;
  if (attribute == 75) *value = S.capability / 10;
  if (attribute == 76) *value = S.capability % 10;
  return 0;
}
EXPORT int cuDevicePrimaryCtxRetain(void** context, int device) {
  USABLE();
  ++primary_uses[device];
  ++S.primary_retained;
  *context = &contexts[device];
  return 0;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
  USABLE();
  --primary_uses[device];
  ++S.primary_released;
  return 0;
}
EXPORT int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  USABLE();
  *flags = 0;
  *active = primary_uses[device] > 0;
  return 0;
}
EXPORT int cuCtxGetCurrent(void** context) {
  USABLE();
  *context = depth > 0 ? stack[depth - 1] : 0;
  return 0;
}
EXPORT int cuCtxSetCurrent(void* context) {
  USABLE();
  if (depth == 0) depth = 1;
  stack[depth - 1] = context;
  if (context == 0) --depth;
  return 0;
}
EXPORT int cuCtxPushCurrent_v2(void* context) {
  USABLE();
  if (context == 0 || context == S.dead_context) return 201;
  stack[depth++] = context;
  return 0;
}
EXPORT int cuCtxPopCurrent_v2(void** context) {
  USABLE();
  if (depth == 0) return 201;
  *context = stack[--depth];
  return 0;
}
EXPORT int cuCtxGetDevice(int* device) {
  USABLE();
  if (depth == 0) return 201;
  *device = (int)((char*)stack[depth - 1] - contexts) % 4;
  return 0;
}
#ifndef FAKE_CUDA_11 /* CUDA 12 added it */
EXPORT int cuCtxGetId(void* context, unsigned long long* id) {
  USABLE();
  *id = 1000 + (unsigned long long)((char*)context - contexts);
  return 0;
}
#endif
EXPORT void* fake_cuda_context(int device) {
  return &contexts[4 + device];
}

static int take_image(const void* image, unsigned count, const int* options, void** values) {
  ++S.loads;
  S.jit_options = (int)count;
  S.current_at_load = depth > 0 ? stack[depth - 1] : 0;
  memcpy(S.image_start, image, sizeof S.image_start);
  if (S.fail_load == 0) return 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == 5) strcpy(values[i], S.jit_message);
  }
  return S.fail_load;
}

EXPORT int cuModuleLoadDataEx(void** module, const void* image, unsigned count, int* options, void** values) {
  USABLE();
  if (depth == 0) return 201;
  const int result = take_image(image, count, options, values);
  if (result == 0) *module = &modules[S.loads % 64];
  return result;
}
EXPORT int cuModuleUnload(void* module) {
  USABLE();
  (void)module;
  if (depth == 0) return 201;
  ++S.unloads;
  return 0;
}
EXPORT int cuModuleGetFunction(void** function, void* module, const char* name) {
  USABLE();
  (void)module;
  if (depth == 0) return 201;
  S.current_at_symbol = stack[depth - 1];
  if (strcmp(name, S.kernel) != 0) return 500;
  *function = &functions[1];
  return 0;
}
EXPORT int cuModuleGetGlobal_v2(unsigned long long* address, size_t* size, void* module, const char* name) {
  USABLE();
  (void)module;
  if (strcmp(name, S.variable) != 0) return 500;
  *address = 0x7000;
  *size = 4;
  return 0;
}
EXPORT int cuFuncSetAttribute(void* function, int attribute, int value) {
  USABLE();
  if (function != &functions[1]) return 400;
  S.attribute = attribute;
  S.attribute_value = value;
  return 0;
}
EXPORT int cuGetErrorName(int result, const char** text) {
  if (S.fail_all == 34) return 34;
  *text = result == 200 ? "CUDA_ERROR_INVALID_IMAGE" : result == 218 ? "CUDA_ERROR_INVALID_PTX" : "CUDA_ERROR_OTHER";
  return 0;
}
EXPORT int cuGetErrorString(int result, const char** text) {
  (void)result;
  if (S.fail_all == 34) return 34;
  *text = "what a driver says";
  return 0;
}
