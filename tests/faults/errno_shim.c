/* SPDX-License-Identifier: MIT */
/*
 * A library for LD_PRELOAD that makes system calls fail.
 *
 *   tlc_shim_under("/store")              from now on only calls on what lies there count and fail
 *   tlc_shim_arm("pwritev", EIO, 3, 2)    the third and fourth call of pwritev from now on fail with EIO
 *   tlc_shim_counts(text, size)           how many calls of each name there were since: "openat=3 pwritev=2"
 *
 * A count of -1: all from there on. An errno of 0: a transfer moves half of what was asked for. A negative one: that,
 * and the next one fails with the positive errno, as where a disk gets full in the middle of a write. Instead of one
 * call's name a kind may be given: "write" stands for every way to write. Calls are those that libraries make through
 * libc's names; all that libtlcache and liblmdb use on files and memory are here (test_errno_matrix.py checks that).
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

void tlc_shim_arm(const char* call, int code, long nth, long count);
void tlc_shim_under(const char* prefix);
void tlc_shim_counts(char* text, size_t size);

/* What each wrapper says of itself. */
struct call {
  const char* name;
  const char* kind;
  atomic_long passed;
  _Atomic(struct call*) next;
  atomic_int listed;
};

static _Atomic(struct call*) calls;
static char armed_call[32];
static int armed_errno;
static atomic_long until_first = -1;
static atomic_long left;
static char under[PATH_MAX];

void tlc_shim_arm(const char* call, int code, long nth, long count) {
  atomic_store(&until_first, -1);
  strncpy(armed_call, call, sizeof armed_call - 1);
  armed_errno = code;
  atomic_store(&left, count);
  for (struct call* one = atomic_load(&calls); one != NULL; one = atomic_load(&one->next))
    atomic_store(&one->passed, 0);
  atomic_store(&until_first, nth);
}

void tlc_shim_under(const char* prefix) {
  strncpy(under, prefix, sizeof under - 1);
}

void tlc_shim_counts(char* text, size_t size) {
  size_t at = 0;
  text[0] = '\0';
  for (struct call* one = atomic_load(&calls); one != NULL && at < size; one = atomic_load(&one->next)) {
    const long passed = atomic_load(&one->passed);
    if (passed > 0) at += (size_t)snprintf(text + at, size - at, "%s%s=%ld", at == 0 ? "" : " ", one->name, passed);
  }
}

/* ---- where a call acts */

static int begins(const char* path) {
  return strncmp(path, under, strlen(under)) == 0;
}

static int path_of(int fd, char* path, size_t size) {
  char link[64];
  if (fd == AT_FDCWD)
    strcpy(link, "/proc/self/cwd");
  else
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, size - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  return 1;
}

static int on_fd(int fd) {
  char path[PATH_MAX];
  return under[0] == '\0' || (path_of(fd, path, sizeof path) && begins(path));
}

static int on_path(int dir, const char* name) {
  char path[2 * PATH_MAX];
  if (under[0] == '\0') return 1;
  if (name[0] == '/') return begins(name);
  if (!path_of(dir, path, PATH_MAX)) return 0;
  strcat(path, "/");
  strncat(path, name, PATH_MAX - 1);
  return begins(path);
}

/* 0: the call is to be made; an errno: it fails; -1: it is to be short. */
static int verdict(struct call* call, int here) {
  const int errno_before = errno;
  if (!here) return 0;
  if (!atomic_exchange(&call->listed, 1)) {
    struct call* first = atomic_load(&calls);
    do atomic_store(&call->next, first);
    while (!atomic_compare_exchange_weak(&calls, &first, call));
  }
  atomic_fetch_add(&call->passed, 1);
  errno = errno_before;
  if (atomic_load(&until_first) < 0) return 0;
  if (strcmp(armed_call, call->name) != 0 && strcmp(armed_call, call->kind) != 0) return 0;
  if (atomic_load(&until_first) > 1) {
    atomic_fetch_sub(&until_first, 1);
    return 0;
  }
  if (atomic_load(&left) == 0) return 0;
  if (atomic_load(&left) > 0) atomic_fetch_sub(&left, 1);
  if (armed_errno <= 0) {
    if (armed_errno < 0) {
      armed_errno = -armed_errno;
      atomic_store(&left, 1);
    }
    return -1;
  }
  errno = armed_errno;
  return armed_errno;
}

/* ---- the calls */

#define NEXT(name)               \
  static __typeof__(&name) next; \
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, #name)
#define SELF(name, kind) static struct call self = {name, kind, 0, NULL, 0}

#define SHIM(result, failed, symbol, name, kind, here, parameters, arguments) \
  result symbol parameters;                                                   \
  result symbol parameters {                                                  \
    NEXT(symbol);                                                             \
    SELF(name, kind);                                                         \
    if (verdict(&self, here) > 0) return failed;                              \
    return next arguments;                                                    \
  }
/* Twice, for programs built with and without large-file names. */
#define SHIM2(result, failed, symbol, kind, here, parameters, arguments)   \
  SHIM(result, failed, symbol, #symbol, kind, here, parameters, arguments) \
  SHIM(result, failed, symbol##64, #symbol, kind, here, parameters, arguments)

/* Transfers may be short: a size above 1 is halved. */
#define TRANSFER(symbol, name, kind, parameters, arguments) \
  ssize_t symbol parameters;                                \
  ssize_t symbol parameters {                               \
    NEXT(symbol);                                           \
    SELF(name, kind);                                       \
    const int what = verdict(&self, on_fd(fd));             \
    if (what > 0) return -1;                                \
    if (what < 0 && size > 1) size /= 2;                    \
    return next arguments;                                  \
  }
#define VECTOR(symbol, name, parameters, arguments) \
  ssize_t symbol parameters;                        \
  ssize_t symbol parameters {                       \
    NEXT(symbol);                                   \
    SELF(name, "write");                            \
    struct iovec halved[1024];                      \
    const int what = verdict(&self, on_fd(fd));     \
    if (what > 0) return -1;                        \
    if (what < 0) {                                 \
      count = halve(halved, parts, count);          \
      parts = halved;                               \
    }                                               \
    return next arguments;                          \
  }

static int halve(struct iovec* into, const struct iovec* parts, int count) {
  size_t total = 0;
  for (int i = 0; i < count; ++i) total += parts[i].iov_len;
  size_t wanted = total > 1 ? total / 2 : total;
  int made = 0;
  for (; made < count && made < 1024 && wanted > 0; ++made) {
    into[made] = parts[made];
    if (into[made].iov_len > wanted) into[made].iov_len = wanted;
    wanted -= into[made].iov_len;
  }
  return made;
}

TRANSFER(pwrite, "pwrite", "write", (int fd, const void* from, size_t size, off_t at), (fd, from, size, at))
TRANSFER(pwrite64, "pwrite", "write", (int fd, const void* from, size_t size, off_t at), (fd, from, size, at))
TRANSFER(write, "write", "write", (int fd, const void* from, size_t size), (fd, from, size))
TRANSFER(pread, "pread", "read", (int fd, void* into, size_t size, off_t at), (fd, into, size, at))
TRANSFER(pread64, "pread", "read", (int fd, void* into, size_t size, off_t at), (fd, into, size, at))
TRANSFER(read, "read", "read", (int fd, void* into, size_t size), (fd, into, size))
VECTOR(pwritev, "pwritev", (int fd, const struct iovec* parts, int count, off_t at), (fd, parts, count, at))
VECTOR(pwritev64, "pwritev", (int fd, const struct iovec* parts, int count, off_t at), (fd, parts, count, at))
VECTOR(writev, "writev", (int fd, const struct iovec* parts, int count), (fd, parts, count))

SHIM2(void*, MAP_FAILED, mmap, "mmap", fd < 0 ? under[0] == '\0' : on_fd(fd),
      (void* at, size_t size, int allowed, int flags, int fd, off_t from), (at, size, allowed, flags, fd, from))
SHIM(int, -1, munmap, "munmap", "unmap", 1, (void* at, size_t size), (at, size))
SHIM(int, -1, msync, "msync", "sync", 1, (void* at, size_t size, int flags), (at, size, flags))
SHIM(int, -1, madvise, "madvise", "advise", 1, (void* at, size_t size, int advice), (at, size, advice))
SHIM(int, -1, fdatasync, "fdatasync", "sync", on_fd(fd), (int fd), (fd))
SHIM(int, -1, fsync, "fsync", "sync", on_fd(fd), (int fd), (fd))
SHIM2(int, -1, fallocate, "allocate", on_fd(fd), (int fd, int mode, off_t at, off_t size), (fd, mode, at, size))
SHIM2(int, -1, ftruncate, "allocate", on_fd(fd), (int fd, off_t size), (fd, size))
SHIM2(off_t, -1, lseek, "seek", on_fd(fd), (int fd, off_t at, int from), (fd, at, from))
SHIM(int, -1, renameat, "renameat", "name", on_path(from, a), (int from, const char* a, int to, const char* b),
     (from, a, to, b))
SHIM(int, -1, renameat2, "renameat2", "name", on_path(from, a),
     (int from, const char* a, int to, const char* b, unsigned flags), (from, a, to, b, flags))
SHIM(int, -1, link, "link", "name", on_path(AT_FDCWD, a), (const char* a, const char* b), (a, b))
SHIM(int, -1, unlink, "unlink", "name", on_path(AT_FDCWD, path), (const char* path), (path))
SHIM(int, -1, unlinkat, "unlinkat", "name", on_path(dir, path), (int dir, const char* path, int flags),
     (dir, path, flags))
SHIM(int, -1, mkdir, "mkdir", "name", on_path(AT_FDCWD, path), (const char* path, mode_t mode), (path, mode))
SHIM(int, -1, mkdirat, "mkdirat", "name", on_path(dir, path), (int dir, const char* path, mode_t mode),
     (dir, path, mode))
SHIM(int, -1, chmod, "chmod", "mode", on_path(AT_FDCWD, path), (const char* path, mode_t mode), (path, mode))
SHIM(int, -1, fchmod, "fchmod", "mode", on_fd(fd), (int fd, mode_t mode), (fd, mode))
SHIM(int, -1, fchmodat, "fchmodat", "mode", on_path(dir, path), (int dir, const char* path, mode_t mode, int flags),
     (dir, path, mode, flags))
SHIM(int, -1, access, "access", "stat", on_path(AT_FDCWD, path), (const char* path, int mode), (path, mode))
SHIM(int, -1, stat, "stat", "stat", on_path(AT_FDCWD, path), (const char* path, struct stat* st), (path, st))
SHIM(int, -1, lstat, "lstat", "stat", on_path(AT_FDCWD, path), (const char* path, struct stat* st), (path, st))
SHIM(int, -1, fstat, "fstat", "stat", on_fd(fd), (int fd, struct stat* st), (fd, st))
SHIM(int, -1, fstatat, "fstatat", "stat", on_path(dir, path), (int dir, const char* path, struct stat* st, int flags),
     (dir, path, st, flags))
SHIM(int, -1, fstatfs, "fstatfs", "stat", on_fd(fd), (int fd, struct statfs* st), (fd, st))
SHIM(int, -1, fstatvfs, "fstatvfs", "stat", on_fd(fd), (int fd, struct statvfs* st), (fd, st))
SHIM(int, -1, memfd_create, "memfd_create", "open", 1, (const char* name, unsigned flags), (name, flags))
SHIM(ssize_t, -1, getrandom, "getrandom", "random", 1, (void* into, size_t size, unsigned flags), (into, size, flags))
SHIM(char*, NULL, realpath, "realpath", "open", on_path(AT_FDCWD, path), (const char* path, char* into), (path, into))
SHIM(DIR*, NULL, fdopendir, "fdopendir", "open", on_fd(fd), (int fd), (fd))
SHIM(struct dirent*, NULL, readdir, "readdir", "read", on_fd(dirfd(dir)), (DIR * dir), (dir))

/* liblmdb of older C libraries. */
int __fxstat(int version, int fd, struct stat* st);
SHIM(int, -1, __fxstat, "fstat", "stat", on_fd(fd), (int version, int fd, struct stat* st), (version, fd, st))

/* The descriptor is gone whatever close says. */
int close(int fd) {
  NEXT(close);
  SELF("close", "close");
  const int code = verdict(&self, on_fd(fd));
  const int result = next(fd);
  if (code <= 0) return result;
  errno = code;
  return -1;
}

static mode_t mode_of(int flags, va_list* rest) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(*rest, mode_t) : 0;
}

#define OPENAT(symbol)                                     \
  int symbol(int dir, const char* path, int flags, ...) {  \
    NEXT(symbol);                                          \
    SELF("openat", "open");                                \
    va_list rest;                                          \
    va_start(rest, flags);                                 \
    const mode_t mode = mode_of(flags, &rest);             \
    va_end(rest);                                          \
    if (verdict(&self, on_path(dir, path)) > 0) return -1; \
    return next(dir, path, flags, mode);                   \
  }
#define OPEN(symbol)                                            \
  int symbol(const char* path, int flags, ...) {                \
    NEXT(symbol);                                               \
    SELF("open", "open");                                       \
    va_list rest;                                               \
    va_start(rest, flags);                                      \
    const mode_t mode = mode_of(flags, &rest);                  \
    va_end(rest);                                               \
    if (verdict(&self, on_path(AT_FDCWD, path)) > 0) return -1; \
    return next(path, flags, mode);                             \
  }
#define FCNTL(symbol)                                                    \
  int symbol(int fd, int command, ...) {                                 \
    NEXT(symbol);                                                        \
    SELF("fcntl", "fcntl");                                              \
    static struct call lock = {"lock", "lock", 0, NULL, 0};              \
    va_list rest;                                                        \
    va_start(rest, command);                                             \
    void* argument = va_arg(rest, void*);                                \
    va_end(rest);                                                        \
    const int locks = command == F_OFD_SETLK || command == F_OFD_SETLKW; \
    if (verdict(locks ? &lock : &self, on_fd(fd)) > 0) return -1;        \
    return next(fd, command, argument);                                  \
  }

OPENAT(openat)
OPENAT(openat64)
OPEN(open)
OPEN(open64)
FCNTL(fcntl)
FCNTL(fcntl64)
