/* SPDX-License-Identifier: MIT */
/*
 * A library for LD_PRELOAD that makes a process believe it is somewhere else. Each lie has a variable:
 *
 *   TLC_LIE_CRASH=abort|segv|exit  liblmdb ends the process when it opens an index below a folder with a file `poison`
 *                                  (the index's own folder, or the one above it)
 *   TLC_LIE_CLOCK=SECONDS          the wall clock is so much ahead
 *   TLC_LIE_PAGE=BYTES             the system's page size
 *   TLC_LIE_STATFS=MAGIC PATH      the kind (hex) of file system of all that lies below the path
 *   TLC_LIE_LMDB=1.0.0             the version of liblmdb
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

static void* next(const char* name) {
  return dlsym(RTLD_NEXT, name);
}

/* ---- crash */

static int poisoned(const char* path) {
  char folder[PATH_MAX];
  snprintf(folder, sizeof folder, "%s", path);
  for (int up = 0; up < 2; ++up) {
    char file[PATH_MAX + 16];
    char* slash = strrchr(folder, '/');
    if (slash == NULL) return 0;
    *slash = '\0';
    snprintf(file, sizeof file, "%s/poison", folder);
    if (access(file, F_OK) == 0) return 1;
  }
  return 0;
}

int mdb_env_open(void* env, const char* path, unsigned flags, mode_t mode);
int mdb_env_open(void* env, const char* path, unsigned flags, mode_t mode) {
  const char* how = getenv("TLC_LIE_CRASH");
  if (how != NULL && poisoned(path)) {
    if (strcmp(how, "abort") == 0) abort();
    if (strcmp(how, "segv") == 0) raise(SIGSEGV);
    _exit(9);
  }
  return ((int (*)(void*, const char*, unsigned, mode_t))next("mdb_env_open"))(env, path, flags, mode);
}

char* mdb_version(int* major, int* minor, int* patch);
char* mdb_version(int* major, int* minor, int* patch) {
  const char* lie = getenv("TLC_LIE_LMDB");
  if (lie != NULL && sscanf(lie, "%d.%d.%d", major, minor, patch) == 3) return (char*)lie;
  return ((char* (*)(int*, int*, int*))next("mdb_version"))(major, minor, patch);
}

/* ---- clock */

int clock_gettime(clockid_t clock, struct timespec* time) {
  static int (*real)(clockid_t, struct timespec*);
  static long ahead;
  if (real == NULL) {
    const char* lie = getenv("TLC_LIE_CLOCK");
    if (lie != NULL) ahead = atol(lie);
    real = (int (*)(clockid_t, struct timespec*))next("clock_gettime");
  }
  const int code = real(clock, time);
  if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += ahead;
  return code;
}

/* ---- page size */

static long page_lie(void) {
  const char* lie = getenv("TLC_LIE_PAGE");
  return lie == NULL ? 0 : atol(lie);
}

long sysconf(int name) {
  if (name == _SC_PAGESIZE && page_lie() != 0) return page_lie();
  return ((long (*)(int))next("sysconf"))(name);
}

int getpagesize(void) {
  return (int)sysconf(_SC_PAGESIZE);
}

/* ---- kind of file system */

static void lie_about(int fd, long* type) {
  const char* lie = getenv("TLC_LIE_STATFS");
  char link[64], path[PATH_MAX];
  char* rest = NULL;
  if (lie == NULL) return;
  const long magic = strtol(lie, &rest, 16);
  if (*rest != ' ') return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t got = readlink(link, path, sizeof path - 1);
  if (got <= 0) return;
  path[got] = '\0';
  if (strncmp(path, rest + 1, strlen(rest + 1)) == 0) *type = magic;
}

int fstatfs(int fd, struct statfs* out) {
  const int code = ((int (*)(int, struct statfs*))next("fstatfs"))(fd, out);
  if (code == 0) lie_about(fd, (long*)&out->f_type);
  return code;
}

int fstatfs64(int fd, struct statfs64* out) {
  const int code = ((int (*)(int, struct statfs64*))next("fstatfs64"))(fd, out);
  if (code == 0) lie_about(fd, (long*)&out->f_type);
  return code;
}
