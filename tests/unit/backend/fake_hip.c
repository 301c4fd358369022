/* SPDX-License-Identifier: MIT */
/*
 * A HIP runtime for tests: devices, modules and kernels that are numbers, and a log of what was asked. Built as that of
 * ROCm 5, and (FAKE_HIP_R0600) as that of ROCm 7 with both layouts of the properties.
 *
 * Its hiprtc compiles nothing: it makes an empty code object for the arch, prints on standard output, and
 *   - ends the process for gfx9999, with a word on standard error
 *   - fails where the source has the word "nonsense"
 *   - keeps the source, options and headers in the code object
 */
#include "fake_hip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "amd_object.h"

extern char** environ;

/* The functions are found by name; nobody declares them. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define EXPORT __attribute__((visibility("default")))

EXPORT struct fake_hip_state fake_hip_state = {
    .arch = "gfx90a:sramecc+:xnack-", .arch_one = "gfx1030", .device_count = 2};
#define S fake_hip_state

/* Per thread, as the runtime has them. */
static __thread int device;
static __thread int last_error;

static char modules[64];
static char functions[64];

static int answer(int result) {
  ++S.calls;
  if (S.fail_all != 0) result = S.fail_all;
  if (result != 0) last_error = result;
  return result;
}

EXPORT int hipInit(unsigned flags) {
  (void)flags;
  return answer(0);
}
EXPORT int hipRuntimeGetVersion(int* version) {
#ifdef FAKE_HIP_R0600
  *version = 70000123;
#else
  *version = 50221153;
#endif
  return 0;
}
EXPORT int hipGetDeviceCount(int* count) {
  *count = S.device_count;
  return answer(S.device_count == 0 ? 100 : 0);
}
EXPORT int hipGetDevice(int* now) {
  *now = device;
  return answer(0);
}
EXPORT int hipSetDevice(int wanted) {
  if (wanted < 0 || wanted >= S.device_count) return answer(101);
  device = wanted;
  return answer(0);
}
EXPORT int hipGetLastError(void) {
  const int result = last_error;
  last_error = 0;
  return result;
}
EXPORT int hipPeekAtLastError(void) {
  return last_error;
}
static int properties(char* into, int of, size_t arch) {
  strcpy(into, of == 0 ? "Fake GPU 0" : "Fake GPU 1");
  strcpy(into + arch, of == 0 ? S.arch : S.arch_one);
  return answer(of < S.device_count ? 0 : 101);
}
EXPORT int hipGetDeviceProperties(char* into, int of) {
  return properties(into, of, 396);
}
#ifdef FAKE_HIP_R0600
EXPORT int hipGetDevicePropertiesR0600(char* into, int of) {
  return properties(into, of, 1160);
}
#endif

EXPORT int hipModuleLoadData(void** module, const void* image) {
  ++S.loads;
  S.device_at_load = device;
  memcpy(S.image_start, image, sizeof S.image_start);
  *module = &modules[S.loads % 64];
  return answer(S.fail_load);
}
EXPORT int hipModuleUnload(void* module) {
  (void)module;
  ++S.unloads;
  return answer(0);
}
EXPORT int hipModuleGetFunction(void** function, void* module, const char* name) {
  (void)module;
  S.device_at_symbol = device;
  if (strcmp(name, S.kernel) != 0) return answer(500);
  *function = &functions[1];
  return answer(0);
}
EXPORT int hipModuleGetGlobal(void** address, size_t* size, void* module, const char* name) {
  (void)module;
  if (strcmp(name, S.variable) != 0) return answer(500);
  *address = &functions[2];
  *size = 4;
  return answer(0);
}
EXPORT const char* hipGetErrorName(int result) {
  return result == 200 ? "hipErrorInvalidImage" : "hipErrorOther";
}
EXPORT const char* hipGetErrorString(int result) {
  (void)result;
  return "what a runtime says";
}

/* ---------------------------------------------------------------- hiprtc */

struct program {
  char text[65536];
  char* code;
  size_t size;
  int failed;
};

static void keep(struct program* program, const char* text) {
  const size_t have = strlen(program->text);
  (void)snprintf(program->text + have, sizeof program->text - have, "%s\n", text);
}

EXPORT int hiprtcVersion(int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return 0;
}
EXPORT const char* hiprtcGetErrorString(int result) {
  return result == 6 ? "HIPRTC_ERROR_COMPILATION" : "HIPRTC_ERROR_OTHER";
}
EXPORT int hiprtcCreateProgram(struct program** program, const char* source, const char* name, int count,
                               const char** headers, const char** names) {
  *program = calloc(1, sizeof **program);
  if (*program == NULL) return 1;
  (*program)->failed = strstr(source, "nonsense") != NULL;
  keep(*program, name);
  keep(*program, source);
  for (int i = 0; i < count; ++i) {
    keep(*program, names[i]);
    keep(*program, headers[i]);
  }
  return 0;
}
EXPORT int hiprtcDestroyProgram(struct program** program) {
  free((*program)->code);
  free(*program);
  *program = NULL;
  return 0;
}
EXPORT int hiprtcAddNameExpression(struct program* program, const char* expression) {
  keep(program, expression);
  return 0;
}
EXPORT int hiprtcCompileProgram(struct program* program, int count, const char** options) {
  const char* arch = "";
  (void)printf("noise on standard output\n");
  (void)fflush(stdout);
  for (int i = 0; i < count; ++i) {
    keep(program, options[i]);
    if (strncmp(options[i], "--offload-arch=", 15) == 0) arch = options[i] + 15;
  }
  if (strcmp(arch, "gfx9999") == 0) {
    (void)fprintf(stderr, "fake comgr: what is a %s?\n", arch);
    abort();
  }
  for (char** variable = environ; *variable != NULL; ++variable) keep(program, *variable);
  unsigned flags = 0x53f; /* gfx90a, either xnack, either sramecc */
  if (strcmp(arch, "gfx1030") == 0) flags = 0x36;
  if (strstr(arch, "xnack-") != NULL) flags = (flags & ~0x300U) | 0x200;
  if (strstr(arch, "xnack+") != NULL) flags |= 0x300;
  if (program->failed) return 6;
  program->size = amd_object(NULL, flags, 2, NULL, strlen(program->text));
  program->code = malloc(program->size);
  if (program->code == NULL) return 1;
  (void)amd_object(program->code, flags, 2, program->text, strlen(program->text));
  return 0;
}
EXPORT int hiprtcGetLoweredName(struct program* program, const char* expression, const char** name) {
  (void)program;
  *name = strstr(expression, "scale") != NULL ? "_Z5scaleIfLi4EEvPT_" : NULL;
  return *name == NULL ? 11 : 0;
}
static const char* log_of(const struct program* program) {
  return program->failed ? "kernel.hip:1:1: error: nonsense is no word\n" : "";
}
EXPORT int hiprtcGetProgramLogSize(struct program* program, size_t* size) {
  *size = strlen(log_of(program)) + 1;
  return 0;
}
EXPORT int hiprtcGetProgramLog(struct program* program, char* text) {
  strcpy(text, log_of(program));
  return 0;
}
EXPORT int hiprtcGetCodeSize(struct program* program, size_t* size) {
  *size = program->size;
  return 0;
}
EXPORT int hiprtcGetCode(struct program* program, char* bytes) {
  memcpy(bytes, program->code, program->size);
  return 0;
}
