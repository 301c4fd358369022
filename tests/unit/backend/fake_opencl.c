/* SPDX-License-Identifier: MIT */
/*
 * An OpenCL loader for tests, with two platforms: one with a CPU, one with two equal GPUs. Nothing is compiled: a
 * binary is text with all that it was made of, and
 *   - a source with the word "nonsense" is refused, with a log
 *   - a source with the word "crash" ends the process, with a word on standard error
 *   - a binary is taken by the device whose name is in it
 *
 * It ends the process when it is first asked beside the library built of FAKE_COMGR, as PoCL does beside AMD's
 * compiler. In a process that cannot set the state, OCL_ICD_VENDORS="fake:platforms=0,driver=2.0" does (only these
 * two). Built as libOpenCL.so.1 of OpenCL 3.0, and (FAKE_OPENCL_11) of 1.1, without what came later.
 */
#include "fake_opencl.h"

#ifdef FAKE_COMGR
__attribute__((visibility("default"))) int fake_comgr;
#else

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char** environ;

/* The functions are found by name; nobody declares them. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define EXPORT __attribute__((visibility("default")))

EXPORT struct fake_opencl_state fake_opencl_state = {.platforms = 2, .driver = "1.0"};
#define S fake_opencl_state

struct platform {
  const char* name;
};
struct device {
  struct platform* platform;
  const char* name;
  uint64_t type;
  uint32_t vendor;
};
struct program {
  char* text;
  char* binary;
  char* log;
};
struct context {
  uint32_t count;
  struct device* devices[4];
};
struct kernel {
  const char* name;
};

static struct platform platforms[2] = {{"Fake CPU Platform"}, {"Fake (R) GPUs"}};
static struct device devices[3] = {{&platforms[0], "  Fake CPU\n", 2, 0x8086},
                                   {&platforms[1], "Fake GPU(TM) 9000", 4, 0x10de},
                                   {&platforms[1], "Fake GPU(TM) 9000", 4, 0x10de}};
static struct context contexts[64]; /* a test has fewer */
static const char* kernel_names[] = {"one", "two"};

static int answer(int result) {
  ++S.calls;
  return result;
}

__attribute__((constructor)) static void configure(void) {
  const char* set = getenv("OCL_ICD_VENDORS");
  if (set == NULL || strncmp(set, "fake:", 5) != 0) return;
  const char* number = strstr(set, "platforms=");
  if (number != NULL) S.platforms = atoi(number + 10);
  const char* driver = strstr(set, "driver=");
  if (driver != NULL) S.driver = strdup(driver + 7);
}

static int give(const void* value, size_t size, size_t room, void* out, size_t* written) {
  if (written != NULL) *written = size;
  if (out == NULL) return answer(0);
  if (room < size) return answer(-30);
  memcpy(out, value, size);
  return answer(0);
}
static int give_text(const char* text, size_t room, void* out, size_t* written) {
  return give(text, strlen(text) + 1, room, out, written);
}

EXPORT int clGetPlatformIDs(uint32_t room, struct platform** out, uint32_t* count) {
  if (dlopen("libamd_comgr.so.99", RTLD_NOW | RTLD_NOLOAD) != NULL) {
    fprintf(stderr, "fake driver: two compilers are one too many\n");
    abort();
  }
  if (S.fail_platforms != 0) return answer(S.fail_platforms);
  if (S.platforms == 0) return answer(-1001);
  if (count != NULL) *count = (uint32_t)S.platforms;
  for (uint32_t i = 0; out != NULL && i < room && i < (uint32_t)S.platforms; ++i) out[i] = &platforms[i];
  return answer(0);
}
EXPORT int clGetPlatformInfo(struct platform* of, uint32_t what, size_t room, void* out, size_t* size) {
  switch (what) {
    case 0x0901:
      return give_text("OpenCL 3.0 Fake", room, out, size);
    case 0x0902:
      return give_text(of->name, room, out, size);
    case 0x0903:
      return give_text("Fakes, Inc.", room, out, size);
    default:
      return answer(-30);
  }
}
EXPORT int clGetDeviceIDs(struct platform* of, uint64_t type, uint32_t room, struct device** out, uint32_t* count) {
  (void)type;
  if (of == &platforms[0] && S.fail_devices != 0) return answer(S.fail_devices);
  const uint32_t first = of == &platforms[0] ? 0 : 1;
  const uint32_t there = of == &platforms[0] ? 1 : 2;
  if (count != NULL) *count = there;
  for (uint32_t i = 0; out != NULL && i < room && i < there; ++i) out[i] = &devices[first + i];
  return answer(0);
}
EXPORT int clGetDeviceInfo(struct device* of, uint32_t what, size_t room, void* out, size_t* size) {
  static const unsigned char uuid[16] = {0xab, 1};
  const uint32_t pci = 0x56a0;
  switch (what) {
    case 0x1000:
      return give(&of->type, sizeof of->type, room, out, size);
    case 0x1001:
      return give(&of->vendor, sizeof of->vendor, room, out, size);
    case 0x1031:
      return give(&of->platform, sizeof of->platform, room, out, size);
    case 0x102B:
      if (S.nameless && of == &devices[0]) return answer(-30);
      return give_text(of->name, room, out, size);
    case 0x102C:
      return give_text("Fakes, Inc.", room, out, size);
    case 0x102D:
      return give_text(S.driver, room, out, size);
    case 0x102F:
      return give_text("OpenCL 3.0 Fake", room, out, size);
    case 0x103D:
      return give_text("OpenCL C 1.2", room, out, size);
    case 0x1030:
      return give_text(of == &devices[0] ? "cl_khr_fp64 cl_intel_device_attribute_query" : "cl_khr_device_uuid", room,
                       out, size);
    case 0x105B:
      return give_text(of == &devices[0] ? "" : "SPIR-V_1.0", room, out, size);
    case 0x106B:
      return give(uuid, sizeof uuid, room, out, size);
    case 0x4251:
      return give(&pci, sizeof pci, room, out, size);
    default:
      return answer(-30);
  }
}

EXPORT struct context* clCreateContext(const intptr_t* properties, uint32_t count, struct device* const* of,
                                       void (*notify)(void), void* data, int* result) {
  (void)properties;
  (void)notify;
  (void)data;
  ++S.contexts;
  *result = answer(0);
  struct context* context = &contexts[S.contexts % 64];
  context->count = count;
  memcpy(context->devices, of, count * sizeof *of);
  return context;
}
EXPORT int clRetainContext(struct context* context) {
  (void)context;
  ++S.references;
  return answer(0);
}
EXPORT int clReleaseContext(struct context* context) {
  (void)context;
  --S.references;
  return answer(0);
}
EXPORT int clGetContextInfo(struct context* of, uint32_t what, size_t room, void* out, size_t* size) {
  if (what != 0x1081) return answer(-30);
  return give(of->devices, of->count * sizeof of->devices[0], room, out, size);
}

static struct program* new_program(const char* text, size_t length) {
  ++S.programs_alive;
  struct program* program = calloc(1, sizeof *program);
  program->text = strndup(text, length);
  return program;
}
EXPORT struct program* clCreateProgramWithSource(struct context* context, uint32_t count, const char** texts,
                                                 const size_t* lengths, int* result) {
  (void)context;
  (void)count;
  *result = answer(0);
  return new_program(texts[0], lengths[0]);
}
EXPORT struct program* clCreateProgramWithBinary(struct context* context, uint32_t count, struct device* const* of,
                                                 const size_t* lengths, const unsigned char** binaries, int* of_each,
                                                 int* result) {
  ++S.loads;
  S.context_at_load = context;
  S.devices_at_load = count;
  S.device_at_load = of[0];
  S.size_at_load = lengths[0];
  memcpy(S.start_at_load, binaries[0], sizeof S.start_at_load);
  for (uint32_t i = 0; i < count; ++i) of_each[i] = S.fail_status;
  *result = answer(S.fail_binary);
  return S.fail_binary != 0 ? NULL : new_program((const char*)binaries[0], lengths[0]);
}

static char* text_of(const char* format, const char* a, const char* b, const char* c) {
  const size_t size = strlen(format) + strlen(a) + strlen(b) + strlen(c) + 1;
  char* out = malloc(size);
  snprintf(out, size, format, a, b, c);
  return out;
}
static char* with_environment(char* text) {
  for (char** one = environ; *one != NULL; ++one) {
    char* more = text_of("%s%s\n%s", text, *one, "");
    free(text);
    text = more;
  }
  return text;
}
static int make(struct program* program, struct device* const* of, const char* options, const char* headers,
                int failure) {
  ++S.builds;
  if (strstr(program->text, "crash") != NULL) {
    fprintf(stderr, "fake driver: that was too much\n");
    abort();
  }
  printf("noise on standard output\n");
  fflush(stdout);
  if (strstr(program->text, "nonsense") != NULL) {
    program->log = strdup("kernel.cl:1:1: error: nonsense is no word\n");
    return answer(failure);
  }
  if (S.fail_build != 0) {
    program->log = strdup("what a driver says\n");
    return answer(S.fail_build);
  }
  char* made = text_of("FAKEBIN for %s\noptions [%s]\n%s", of[0]->name, options, program->text);
  program->binary = with_environment(text_of("%s\n%s%s", made, headers, ""));
  free(made);
  program->log = strdup("");
  return answer(0);
}
EXPORT int clBuildProgram(struct program* program, uint32_t count, struct device* const* of, const char* options,
                          void (*notify)(void), void* data) {
  (void)count;
  (void)notify;
  (void)data;
  return make(program, of, options, "", -11);
}
EXPORT int clGetProgramBuildInfo(struct program* of, struct device* device, uint32_t what, size_t room, void* out,
                                 size_t* size) {
  (void)device;
  if (what != 0x1183 || of->log == NULL) return answer(-30);
  return give_text(of->log, room, out, size);
}
EXPORT int clGetProgramInfo(struct program* of, uint32_t what, size_t room, void* out, size_t* size) {
  const size_t length = of->binary == NULL ? 0 : strlen(of->binary);
  switch (what) {
    case 0x1165:
      return give(&length, sizeof length, room, out, size);
    case 0x1166:
      memcpy(*(char**)out, of->binary, length);
      return answer(0);
    case 0x1168:
      return give_text("one;two", room, out, size);
    default:
      return answer(-30);
  }
}
EXPORT int clReleaseProgram(struct program* program) {
  --S.programs_alive;
  free(program->text);
  free(program->binary);
  free(program->log);
  free(program);
  return answer(0);
}

EXPORT struct kernel* clCreateKernel(struct program* program, const char* name, int* result) {
  (void)program;
  for (size_t i = 0; i < sizeof kernel_names / sizeof *kernel_names; ++i) {
    if (strcmp(name, kernel_names[i]) != 0) continue;
    ++S.kernels_alive;
    struct kernel* kernel = calloc(1, sizeof *kernel);
    kernel->name = kernel_names[i];
    *result = answer(0);
    return kernel;
  }
  *result = answer(-46);
  return NULL;
}
EXPORT int clReleaseKernel(struct kernel* kernel) {
  --S.kernels_alive;
  free(kernel);
  return answer(0);
}
EXPORT int clGetKernelInfo(struct kernel* of, uint32_t what, size_t room, void* out, size_t* size) {
  (void)of;
  const uint32_t arguments = 2;
  if (what != 0x1191) return answer(-30);
  return give(&arguments, sizeof arguments, room, out, size);
}
EXPORT int clGetKernelWorkGroupInfo(struct kernel* of, struct device* device, uint32_t what, size_t room, void* out,
                                    size_t* size) {
  (void)device;
  const size_t three[3] = {64, 2, 1};
  const size_t one = 1024;
  const uint64_t bytes = UINT64_MAX; /* a driver that says anything */
  switch (what) {
    case 0x11B0:
    case 0x11B3:
      return give(&one, sizeof one, room, out, size);
    case 0x11B1:
      return strcmp(of->name, "two") != 0 ? answer(-30) : give(three, sizeof three, room, out, size);
    case 0x11B2:
      return give(&bytes, sizeof bytes, room, out, size);
    default:
      return answer(-30);
  }
}

#ifndef FAKE_OPENCL_11
EXPORT int clCompileProgram(struct program* program, uint32_t count, struct device* const* of, const char* options,
                            uint32_t headers, struct program* const* texts, const char** names, void (*notify)(void),
                            void* data) {
  (void)count;
  (void)notify;
  (void)data;
  char* all = strdup("");
  for (uint32_t i = 0; i < headers; ++i) {
    char* more = text_of("%s%s\n%s\n", all, names[i], texts[i]->text);
    free(all);
    all = more;
  }
  const int result = make(program, of, options, all, -15);
  free(all);
  return result;
}
EXPORT struct program* clLinkProgram(struct context* context, uint32_t count, struct device* const* of,
                                     const char* options, uint32_t inputs, struct program* const* programs,
                                     void (*notify)(void), void* data, int* result) {
  (void)context;
  (void)count;
  (void)of;
  (void)options;
  (void)inputs;
  (void)notify;
  (void)data;
  struct program* out = new_program(programs[0]->text, strlen(programs[0]->text));
  out->binary = text_of("%s%s%s", programs[0]->binary, "linked\n", "");
  *result = answer(0);
  return out;
}
EXPORT int clGetKernelArgInfo(struct kernel* of, uint32_t index, uint32_t what, size_t room, void* out, size_t* size) {
  (void)of;
  const uint32_t space = index == 0 ? 0x119B : 0x119E;
  switch (what) {
    case 0x1196:
      return give(&space, sizeof space, room, out, size);
    case 0x1198:
      return give_text(index == 0 ? "float*" : "int", room, out, size);
    case 0x119A:
      return give_text(index == 0 ? "x" : "n", room, out, size);
    default:
      return answer(-30);
  }
}
EXPORT struct program* clCreateProgramWithIL(struct context* context, const void* il, size_t length, int* result) {
  (void)context;
  char text[64];
  snprintf(text, sizeof text, "SPIR-V of %zu bytes, %02x", length, *(const unsigned char*)il);
  *result = answer(0);
  return new_program(text, strlen(text));
}
#endif
#endif
