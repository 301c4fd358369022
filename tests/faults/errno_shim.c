/* SPDX-License-Identifier: MIT */
/*
 * A library for LD_PRELOAD that makes system calls fail: tlc_shim_arm("pwritev", EIO, 3, 2) lets the third and fourth
 * call of pwritev from now on fail with EIO. "write" stands for every way to write. A count of -1: all from there on.
 *
 * With TLC_SHIM_NETWORK set to a folder, fstatfs says that what is in it lies on NFS.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

static char armed_call[32];
static int armed_errno;
static atomic_long until_first = -1;
static atomic_long left;

void tlc_shim_arm(const char* call, int code, long nth, long count);

void tlc_shim_arm(const char* call, int code, long nth, long count) {
  strncpy(armed_call, call, sizeof armed_call - 1);
  armed_errno = code;
  atomic_store(&left, count);
  atomic_store(&until_first, nth);
}

static int fails(const char* call, const char* kind) {
  if (strcmp(armed_call, call) != 0 && strcmp(armed_call, kind) != 0) return 0;
  if (atomic_load(&until_first) < 0) return 0;
  if (atomic_load(&until_first) > 1) {
    atomic_fetch_sub(&until_first, 1);
    return 0;
  }
  if (atomic_load(&left) == 0) return 0;
  if (atomic_load(&left) > 0) atomic_fetch_sub(&left, 1);
  errno = armed_errno;
  return 1;
}

static void* next_of(const char* name) {
  return dlsym(RTLD_NEXT, name);
}

#define SHIM(result, name, kind, parameters, arguments) \
  result name parameters;                               \
  result name parameters {                              \
    static result(*next) parameters;                    \
    if (next == NULL) *(void**)&next = next_of(#name);  \
    if (fails(#name, kind)) return (result)-1;          \
    return next arguments;                              \
  }

SHIM(ssize_t, pwrite, "write", (int fd, const void* from, size_t size, off_t at), (fd, from, size, at))
SHIM(ssize_t, pwrite64, "write", (int fd, const void* from, size_t size, off_t at), (fd, from, size, at))
SHIM(ssize_t, pwritev, "write", (int fd, const struct iovec* parts, int count, off_t at), (fd, parts, count, at))
SHIM(ssize_t, pwritev64, "write", (int fd, const struct iovec* parts, int count, off_t at), (fd, parts, count, at))
SHIM(ssize_t, writev, "write", (int fd, const struct iovec* parts, int count), (fd, parts, count))
SHIM(ssize_t, pread, "read", (int fd, void* into, size_t size, off_t at), (fd, into, size, at))
SHIM(ssize_t, pread64, "read", (int fd, void* into, size_t size, off_t at), (fd, into, size, at))
SHIM(void*, mmap, "mmap", (void* at, size_t size, int allowed, int flags, int fd, off_t from),
     (at, size, allowed, flags, fd, from))
SHIM(void*, mmap64, "mmap", (void* at, size_t size, int allowed, int flags, int fd, off_t from),
     (at, size, allowed, flags, fd, from))
SHIM(int, fdatasync, "sync", (int fd), (fd))
SHIM(int, fsync, "sync", (int fd), (fd))
SHIM(int, fallocate, "allocate", (int fd, int mode, off_t at, off_t size), (fd, mode, at, size))
SHIM(int, fallocate64, "allocate", (int fd, int mode, off_t at, off_t size), (fd, mode, at, size))
SHIM(int, ftruncate, "allocate", (int fd, off_t size), (fd, size))
SHIM(int, ftruncate64, "allocate", (int fd, off_t size), (fd, size))
SHIM(int, renameat, "name", (int from, const char* a, int to, const char* b), (from, a, to, b))
SHIM(int, unlinkat, "name", (int dir, const char* path, int flags), (dir, path, flags))
SHIM(int, mkdirat, "name", (int dir, const char* path, mode_t mode), (dir, path, mode))

static mode_t mode_of(int flags, va_list* rest) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(*rest, mode_t) : 0;
}

int openat(int dir, const char* path, int flags, ...) {
  static int (*next)(int, const char*, int, ...);
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, &rest);
  va_end(rest);
  if (next == NULL) *(void**)&next = next_of("openat");
  if (fails("openat", "open")) return -1;
  return next(dir, path, flags, mode);
}

int openat64(int dir, const char* path, int flags, ...) {
  static int (*next)(int, const char*, int, ...);
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, &rest);
  va_end(rest);
  if (next == NULL) *(void**)&next = next_of("openat64");
  if (fails("openat64", "open")) return -1;
  return next(dir, path, flags, mode);
}

int open(const char* path, int flags, ...) {
  static int (*next)(const char*, int, ...);
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, &rest);
  va_end(rest);
  if (next == NULL) *(void**)&next = next_of("open");
  if (fails("open", "open")) return -1;
  return next(path, flags, mode);
}

int fcntl(int fd, int command, ...) {
  static int (*next)(int, int, ...);
  va_list rest;
  va_start(rest, command);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  if (next == NULL) *(void**)&next = next_of("fcntl");
  if ((command == F_OFD_SETLK || command == F_OFD_SETLKW) && fails("lock", "lock")) return -1;
  return next(fd, command, argument);
}

int fcntl64(int fd, int command, ...) {
  static int (*next)(int, int, ...);
  va_list rest;
  va_start(rest, command);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  if (next == NULL) *(void**)&next = next_of("fcntl64");
  if ((command == F_OFD_SETLK || command == F_OFD_SETLKW) && fails("lock", "lock")) return -1;
  return next(fd, command, argument);
}

static int on_network(int fd) {
  const char* folder = getenv("TLC_SHIM_NETWORK");
  char link[64];
  char path[4096];
  if (folder == NULL) return 0;
  (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t len = readlink(link, path, sizeof path - 1);
  if (len < 0) return 0;
  path[len] = '\0';
  return strncmp(path, folder, strlen(folder)) == 0;
}

int fstatfs(int fd, struct statfs* into) {
  static int (*next)(int, struct statfs*);
  if (next == NULL) *(void**)&next = next_of("fstatfs");
  const int done = next(fd, into);
  if (done == 0 && on_network(fd)) into->f_type = 0x6969;
  return done;
}

int fstatfs64(int fd, struct statfs64* into) {
  static int (*next)(int, struct statfs64*);
  if (next == NULL) *(void**)&next = next_of("fstatfs64");
  const int done = next(fd, into);
  if (done == 0 && on_network(fd)) into->f_type = 0x6969;
  return done;
}
