/* SPDX-License-Identifier: MIT */
/*
 * A libamdhip64.so.5 for tests on an NVIDIA card: the entry points of HIP and hiprtc that the hip backend calls, over
 * the CUDA driver and NVRTC. So the whole backend runs on a real device, its worker, its checks and its loading. It
 * proves our plumbing, and nothing of AMD's behaviour.
 *
 *   hiprtc   NVRTC makes a cubin, which is the payload of a code object for gfx90a:sramecc+:xnack- (or what was asked
 * for) loading  takes the payload out again and gives it to cuModuleLoadData device   says that it is a gfx90a with
 * sramecc+ and xnack-
 *
 * A cubin inside that the driver refuses is "invalid image", as HIP says it. NVRTC and libcuda are looked for beside
 * this file, then by name. Each compile adds a line to the file `compiles` beside this file, if it is there.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "amd_object.h"

/* The functions are found by name; nobody declares them. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define EXPORT __attribute__((visibility("default")))
#define ARCH "gfx90a:sramecc+:xnack-"
enum { kNoDevice = 100, kInvalidDevice = 101, kInvalidValue = 1, kUsualCapability = 90 };

/* ---------------------------------------------------------------- libraries */

static void beside(char* path, size_t size, const char* name) {
  Dl_info info;
  path[0] = '\0';
  if (dladdr((void*)(uintptr_t)&beside, &info) == 0 || info.dli_fname == NULL) return;
  const char* slash = strrchr(info.dli_fname, '/');
  if (slash != NULL) (void)snprintf(path, size, "%.*s/%s", (int)(slash - info.dli_fname), info.dli_fname, name);
}

static void* open_one(const char* const* names) {
  for (; *names != NULL; ++names) {
    char path[4096];
    beside(path, sizeof path, *names);
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
      (void)snprintf(path, sizeof path, "/usr/local/cuda/lib64/%s", *names);
      library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    if (library != NULL) return library;
  }
  return NULL;
}

static void* driver(void) {
  static const char* const names[] = {"libcuda.so.1", NULL};
  static void* library;
  if (library == NULL) library = open_one(names);
  return library;
}
static void* nvrtc(void) {
  static const char* const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", NULL};
  static void* library;
  if (library == NULL) library = open_one(names);
  return library;
}

/* CALL(library, "name", (types), arguments...): kNoDevice where the function is not there. */
#define CALL(library, name, types, ...)                                       \
  __extension__({                                                             \
    void* const found_ = (library) != NULL ? dlsym((library), (name)) : NULL; \
    int(*const function_) types = (int(*) types)(uintptr_t)found_;            \
    function_ != NULL ? function_(__VA_ARGS__) : kNoDevice;                   \
  })
#define CU(name, types, ...) CALL(driver(), name, types, __VA_ARGS__)
#define RTC(name, types, ...) CALL(nvrtc(), name, types, __VA_ARGS__)

/* ---------------------------------------------------------------- devices */

static __thread int current_device;
static __thread int last_error;

static int answer(int result) {
  if (result != 0) last_error = result;
  return result;
}

static int start(void) {
  static int started = -1;
  if (started < 0) started = CU("cuInit", (unsigned), 0U);
  return started;
}

/* The primary context of the current device, current in this thread. */
static int use_device(void) {
  int device = 0;
  void* context = NULL;
  int result = start();
  if (result == 0) result = CU("cuDeviceGet", (int*, int), &device, current_device);
  if (result == 0) result = CU("cuDevicePrimaryCtxRetain", (void**, int), &context, device);
  if (result == 0) result = CU("cuCtxPushCurrent_v2", (void*), context);
  return result;
}

static int capability(void) {
  int device = 0;
  int major = 0;
  int minor = 0;
  if (start() != 0 || CU("cuDeviceGet", (int*, int), &device, 0) != 0 ||
      CU("cuDeviceGetAttribute", (int*, int, int), &major, 75, device) != 0 ||
      CU("cuDeviceGetAttribute", (int*, int, int), &minor, 76, device) != 0)
    return kUsualCapability;
  return major * 10 + minor;
}

EXPORT int hipInit(unsigned flags) {
  (void)flags;
  return answer(start());
}
EXPORT int hipRuntimeGetVersion(int* version) {
  *version = 50221153;
  return 0;
}
EXPORT int hipGetDeviceCount(int* count) {
  *count = 0;
  const int result = start();
  return answer(result != 0 ? kNoDevice : CU("cuDeviceGetCount", (int*), count));
}
EXPORT int hipGetDevice(int* device) {
  *device = current_device;
  return 0;
}
EXPORT int hipSetDevice(int device) {
  int count = 0;
  if (hipGetDeviceCount(&count) != 0 || device < 0 || device >= count) return answer(kInvalidDevice);
  current_device = device;
  return 0;
}
EXPORT int hipGetDeviceProperties(char* properties, int device) {
  enum { kName = 256, kArchAt = 396 };
  int found = 0;
  int result = start();
  if (result == 0) result = CU("cuDeviceGet", (int*, int), &found, device);
  if (result == 0) result = CU("cuDeviceGetName", (char*, int, int), properties, kName, found);
  strcpy(properties + kArchAt, ARCH);
  return answer(result);
}
EXPORT int hipGetLastError(void) {
  const int result = last_error;
  last_error = 0;
  return result;
}
EXPORT int hipPeekAtLastError(void) {
  return last_error;
}
EXPORT const char* hipGetErrorName(int result) {
  const char* text = NULL;
  (void)CU("cuGetErrorName", (int, const char**), result, &text);
  return text != NULL ? text : "hipErrorUnknown";
}
EXPORT const char* hipGetErrorString(int result) {
  const char* text = NULL;
  (void)CU("cuGetErrorString", (int, const char**), result, &text);
  return text != NULL ? text : "no meaning is known";
}

/* ---------------------------------------------------------------- modules */

/* What lies in the code object; in a bundle, in its last entry. */
static const char* payload_of(const char* image) {
  if (memcmp(image, "__CLANG_OFFLOAD_BUNDLE__", 24) == 0) {
    uint64_t count = 0;
    memcpy(&count, image + 24, sizeof count);
    const char* entry = image + 32;
    uint64_t head[3] = {0, 0, 0};
    for (uint64_t i = 0; i < count; ++i) {
      memcpy(head, entry, sizeof head);
      entry += sizeof head + head[2];
    }
    image += head[0];
  }
  return image + AMD_OBJECT_PAYLOAD;
}

static int popped(int result) {
  void* gone = NULL;
  (void)CU("cuCtxPopCurrent_v2", (void**), &gone);
  return answer(result);
}

EXPORT int hipModuleLoadData(void** module, const void* image) {
  const int ready = use_device();
  if (ready != 0) return answer(ready);
  return popped(CU("cuModuleLoadDataEx", (void**, const void*, unsigned, int*, void**), module, payload_of(image), 0U,
                   NULL, NULL));
}
EXPORT int hipModuleUnload(void* module) {
  const int ready = use_device();
  if (ready != 0) return answer(ready);
  return popped(CU("cuModuleUnload", (void*), module));
}
EXPORT int hipModuleGetFunction(void** function, void* module, const char* name) {
  const int ready = use_device();
  if (ready != 0) return answer(ready);
  return popped(CU("cuModuleGetFunction", (void**, void*, const char*), function, module, name));
}
EXPORT int hipModuleGetGlobal(void** address, size_t* size, void* module, const char* name) {
  unsigned long long device_address = 0;
  const int ready = use_device();
  if (ready != 0) return answer(ready);
  const int result = popped(CU("cuModuleGetGlobal_v2", (unsigned long long*, size_t*, void*, const char*),
                               &device_address, size, module, name));
  *address = (void*)(uintptr_t)device_address;
  return result;
}

/* ---------------------------------------------------------------- hiprtc */

struct program {
  void* real;
  char* code;
  size_t size;
};

static void count_compile(void) {
  char path[4096];
  beside(path, sizeof path, "compiles");
  const int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return;
  (void)!write(file, "1\n", 2);
  (void)close(file);
}

/* e_flags of a target id, in version 4 of the format; 0 for one that this shim does not know. */
static unsigned flags_of(const char* arch) {
  unsigned flags = 0;
  if (strncmp(arch, "gfx90a", 6) == 0) flags = 0x53f;
  if (strncmp(arch, "gfx908", 6) == 0) flags = 0x530;
  if (strncmp(arch, "gfx1030", 7) == 0) return 0x36;
  if (strstr(arch, "xnack-") != NULL) flags = (flags & ~0x300U) | 0x200;
  if (strstr(arch, "xnack+") != NULL) flags |= 0x300;
  if (strstr(arch, "sramecc-") != NULL) flags = (flags & ~0xc00U) | 0x800;
  if (strstr(arch, "sramecc+") != NULL) flags |= 0xc00;
  return flags;
}

EXPORT int hiprtcVersion(int* major, int* minor) {
  return RTC("nvrtcVersion", (int*, int*), major, minor);
}
EXPORT const char* hiprtcGetErrorString(int result) {
  const char* (*const function)(int) =
      nvrtc() != NULL ? (const char* (*)(int))(uintptr_t)dlsym(nvrtc(), "nvrtcGetErrorString") : NULL;
  return function != NULL ? function(result) : "the shim finds no NVRTC";
}
EXPORT int hiprtcCreateProgram(struct program** program, const char* source, const char* name, int count,
                               const char** headers, const char** names) {
  *program = calloc(1, sizeof **program);
  if (*program == NULL) return 1;
  return RTC("nvrtcCreateProgram", (void**, const char*, const char*, int, const char**, const char**),
             &(*program)->real, source, name, count, headers, names);
}
EXPORT int hiprtcDestroyProgram(struct program** program) {
  (void)RTC("nvrtcDestroyProgram", (void**), &(*program)->real);
  free((*program)->code);
  free(*program);
  *program = NULL;
  return 0;
}
EXPORT int hiprtcAddNameExpression(struct program* program, const char* expression) {
  return RTC("nvrtcAddNameExpression", (void*, const char*), program->real, expression);
}
EXPORT int hiprtcGetLoweredName(struct program* program, const char* expression, const char** name) {
  return RTC("nvrtcGetLoweredName", (void*, const char*, const char**), program->real, expression, name);
}
EXPORT int hiprtcGetProgramLogSize(struct program* program, size_t* size) {
  return RTC("nvrtcGetProgramLogSize", (void*, size_t*), program->real, size);
}
EXPORT int hiprtcGetProgramLog(struct program* program, char* text) {
  return RTC("nvrtcGetProgramLog", (void*, char*), program->real, text);
}

static int wrap(struct program* program, unsigned flags) {
  size_t size = 0;
  int result = RTC("nvrtcGetCUBINSize", (void*, size_t*), program->real, &size);
  if (result != 0) return result;
  char* cubin = malloc(size);
  program->size = amd_object(NULL, flags, 2, NULL, size);
  program->code = malloc(program->size);
  if (cubin == NULL || program->code == NULL) {
    free(cubin);
    return 1;
  }
  result = RTC("nvrtcGetCUBIN", (void*, char*), program->real, cubin);
  if (result == 0) (void)amd_object(program->code, flags, 2, cubin, size);
  free(cubin);
  return result;
}

EXPORT int hiprtcCompileProgram(struct program* program, int count, const char** options) {
  const char* words[256];
  int used = 0;
  unsigned flags = 0;
  char arch[64];
  (void)snprintf(arch, sizeof arch, "--gpu-architecture=sm_%d", capability());
  words[used++] = arch;
  words[used++] = "-modify-stack-limit=false";
  for (int i = 0; i < count && used < 250; ++i) {
    if (strncmp(options[i], "--offload-arch=", 15) == 0) {
      flags = flags_of(options[i] + 15);
    } else if (strncmp(options[i], "-D", 2) == 0 || strncmp(options[i], "-I", 2) == 0 ||
               strncmp(options[i], "-std", 4) == 0) {
      words[used++] = options[i]; /* what both spell alike */
    }
  }
  if (flags == 0) { /* as hiprtc does */
    (void)fprintf(stderr, "the shim knows no such arch\n");
    abort();
  }
  count_compile();
  const int result = RTC("nvrtcCompileProgram", (void*, int, const char**), program->real, used, words);
  return result != 0 ? result : wrap(program, flags);
}
EXPORT int hiprtcGetCodeSize(struct program* program, size_t* size) {
  *size = program->size;
  return program->code != NULL ? 0 : kInvalidValue;
}
EXPORT int hiprtcGetCode(struct program* program, char* bytes) {
  if (program->code == NULL) return kInvalidValue;
  memcpy(bytes, program->code, program->size);
  return 0;
}
