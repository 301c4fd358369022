/* SPDX-License-Identifier: MIT */
/*
 * A library for LD_PRELOAD that writes down all that a process does to files under a folder, so that a test can make up
 * what a disk would have had if the power had gone at any moment (power.py).
 *
 *   TLC_POWER_UNDER    the folder            TLC_POWER_JOURNAL  where to write it down: a file, appended to
 *   TLC_POWER_BOOT     a file to be read as the boot id, so that the next process believes in another boot
 *
 * An entry is a line, and the bytes of a write after it:
 *
 *   create INODE PATH       mkdir PATH            sync INODE           write INODE OFFSET LENGTH
 *   rename PATH PATH        unlink PATH           syncdir PATH         size INODE SIZE
 *
 * What is stored through a shared mapping is found by comparing it with what it was, before each entry.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { kBlock = 4096, kMostMappings = 64 };

void tlc_power_flush(void);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

struct mapping {
  char* at;
  size_t size;
  char* shadow;
  unsigned long inode;
  int fd;  // of our own: tells the file's size
};
static struct mapping mappings[kMostMappings];

static void* next_of(const char* name) {
  return dlsym(RTLD_NEXT, name);
}
#define NEXT(name)               \
  static __typeof__(&name) next; \
  if (next == NULL) *(void**)&next = next_of(#name)

static const char* folder(void) {
  const char* under = getenv("TLC_POWER_UNDER");
  return under == NULL ? "" : under;
}

static int begins(const char* path) {
  const char* under = folder();
  return under[0] != '\0' && strncmp(path, under, strlen(under)) == 0;
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

/* The absolute path, if it is under the folder; a file that was unlinked is under it too. */
static int resolve(int dir, const char* name, char* path) {
  if (name[0] == '/') {
    strncpy(path, name, PATH_MAX - 1);
    path[PATH_MAX - 1] = '\0';
  } else {
    if (!path_of(dir, path, PATH_MAX)) return 0;
    strcat(path, "/");
    strncat(path, name, PATH_MAX - strlen(path) - 1);
  }
  return begins(path);
}

static int inode_under(int fd, unsigned long* inode, int* is_folder) {
  char path[PATH_MAX];
  struct stat st;
  if (!path_of(fd, path, sizeof path) || !begins(path) || fstat(fd, &st) != 0) return 0;
  *inode = st.st_ino;
  *is_folder = S_ISDIR(st.st_mode);
  return 1;
}

/* ---- the journal */

static void put(const char* line, const void* bytes, size_t size) {
  static int journal = -1;
  const char* path = getenv("TLC_POWER_JOURNAL");
  if (path == NULL) return;
  if (journal < 0) journal = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const struct iovec parts[2] = {{(void*)line, strlen(line)}, {(void*)bytes, size}};
  if (syscall(SYS_writev, journal, parts, 2) != (long)(parts[0].iov_len + size)) abort();
}

static void put_write(unsigned long inode, off_t at, const void* bytes, size_t size) {
  char line[128];
  snprintf(line, sizeof line, "write %lu %ld %zu\n", inode, (long)at, size);
  put(line, bytes, size);
}

/* What was stored through mappings since the last look. */
static void look_at_mappings(void) {
  for (int i = 0; i < kMostMappings; ++i) {
    struct mapping* one = &mappings[i];
    struct stat st;
    if (one->at == NULL || fstat(one->fd, &st) != 0) continue;
    const size_t end = one->size < (size_t)st.st_size ? one->size : (size_t)st.st_size;
    for (size_t at = 0; at < end; at += kBlock) {
      const size_t size = end - at < kBlock ? end - at : kBlock;
      if (memcmp(one->at + at, one->shadow + at, size) == 0) continue;
      memcpy(one->shadow + at, one->at + at, size);
      put_write(one->inode, (off_t)at, one->shadow + at, size);
    }
  }
}

static void begin(void) {
  pthread_mutex_lock(&mutex);
  look_at_mappings();
}
static void end(void) {
  pthread_mutex_unlock(&mutex);
}

void tlc_power_flush(void) {
  begin();
  end();
}

static void note_path(const char* what, const char* path) {
  char line[PATH_MAX + 32];
  snprintf(line, sizeof line, "%s %s\n", what, path);
  begin();
  put(line, NULL, 0);
  end();
}

static void note_inode(const char* what, int fd, long value) {
  unsigned long inode = 0;
  int is_folder = 0;
  char line[PATH_MAX + 32], path[PATH_MAX];
  const int before = errno;
  if (inode_under(fd, &inode, &is_folder)) {
    if (is_folder && path_of(fd, path, sizeof path))
      snprintf(line, sizeof line, "syncdir %s\n", path);
    else
      snprintf(line, sizeof line, value < 0 ? "%s %lu\n" : "%s %lu %ld\n", what, inode, value);
    begin();
    put(line, NULL, 0);
    end();
  }
  errno = before;
}

static ssize_t note_parts(int fd, const struct iovec* parts, int count, off_t at, ssize_t done) {
  unsigned long inode = 0;
  int is_folder = 0;
  if (done <= 0 || !inode_under(fd, &inode, &is_folder)) return done;
  begin();
  size_t left = (size_t)done;
  for (int i = 0; i < count && left > 0; ++i) {
    const size_t size = parts[i].iov_len < left ? parts[i].iov_len : left;
    put_write(inode, at, parts[i].iov_base, size);
    at += (off_t)size;
    left -= size;
  }
  end();
  return done;
}

/* ---- the calls */

ssize_t pwritev(int fd, const struct iovec* parts, int count, off_t at) {
  NEXT(pwritev);
  return note_parts(fd, parts, count, at, next(fd, parts, count, at));
}

ssize_t pwrite(int fd, const void* from, size_t size, off_t at) {
  NEXT(pwrite);
  const struct iovec part = {(void*)from, size};
  return note_parts(fd, &part, 1, at, next(fd, from, size, at));
}

ssize_t writev(int fd, const struct iovec* parts, int count) {
  NEXT(writev);
  const ssize_t done = next(fd, parts, count);
  return note_parts(fd, parts, count, lseek(fd, 0, SEEK_CUR) - done, done);
}

ssize_t write(int fd, const void* from, size_t size) {
  NEXT(write);
  const struct iovec part = {(void*)from, size};
  const ssize_t done = next(fd, from, size);
  return note_parts(fd, &part, 1, lseek(fd, 0, SEEK_CUR) - done, done);
}

int ftruncate(int fd, off_t size) {
  NEXT(ftruncate);
  const int result = next(fd, size);
  if (result == 0) note_inode("size", fd, size);
  return result;
}

int fallocate(int fd, int mode, off_t at, off_t size) {
  NEXT(fallocate);
  struct stat st;
  const int result = next(fd, mode, at, size);
  if (result == 0 && mode == 0 && fstat(fd, &st) == 0) note_inode("size", fd, st.st_size);
  return result;
}

int fsync(int fd) {
  NEXT(fsync);
  tlc_power_flush();  // what is stored until now is synced; what comes while it is synced need not be
  const int result = next(fd);
  if (result == 0) note_inode("sync", fd, -1);
  return result;
}

int fdatasync(int fd) {
  NEXT(fdatasync);
  tlc_power_flush();
  const int result = next(fd);
  if (result == 0) note_inode("sync", fd, -1);
  return result;
}

int renameat(int from, const char* a, int to, const char* b) {
  NEXT(renameat);
  char first[PATH_MAX], second[PATH_MAX], line[2 * PATH_MAX + 16];
  const int known = resolve(from, a, first) && resolve(to, b, second);
  const int result = next(from, a, to, b);
  if (result == 0 && known) {
    snprintf(line, sizeof line, "rename %s %s\n", first, second);
    begin();
    put(line, NULL, 0);
    end();
  }
  return result;
}

int unlinkat(int dir, const char* path, int flags) {
  NEXT(unlinkat);
  char whole[PATH_MAX];
  const int known = resolve(dir, path, whole);
  const int result = next(dir, path, flags);
  if (result == 0 && known) note_path("unlink", whole);
  return result;
}

int mkdirat(int dir, const char* path, mode_t mode) {
  NEXT(mkdirat);
  char whole[PATH_MAX];
  const int known = resolve(dir, path, whole);
  const int result = next(dir, path, mode);
  if (result == 0 && known) note_path("mkdir", whole);
  return result;
}

int mkdir(const char* path, mode_t mode) {
  NEXT(mkdir);
  const int result = next(path, mode);
  if (result == 0 && begins(path)) note_path("mkdir", path);
  return result;
}

static int note_open(int fd, const char* whole, int known, int was_there) {
  struct stat st;
  char line[PATH_MAX + 64];
  if (fd < 0 || !known || was_there || fstat(fd, &st) != 0) return fd;
  snprintf(line, sizeof line, "create %lu %s\n", (unsigned long)st.st_ino, whole);
  begin();
  put(line, NULL, 0);
  end();
  return fd;
}

static int open_noted(int dir, const char* path, int flags, mode_t mode, int (*next)(int, const char*, int, ...)) {
  char whole[PATH_MAX];
  struct stat st;
  const char* boot = getenv("TLC_POWER_BOOT");
  if (boot != NULL && strcmp(path, "/proc/sys/kernel/random/boot_id") == 0) path = boot;
  const int creates = (flags & O_CREAT) != 0;
  const int known = creates && resolve(dir, path, whole);
  const int was_there = !known || fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
  return note_open(next(dir, path, flags, mode), whole, known, was_there);
}

int openat(int dir, const char* path, int flags, ...) {
  NEXT(openat);
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_noted(dir, path, flags, mode, next);
}

int open(const char* path, int flags, ...) {
  static int (*next)(int, const char*, int, ...);
  if (next == NULL) *(void**)&next = next_of("openat");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_noted(AT_FDCWD, path, flags, mode, next);
}

void* mmap(void* at, size_t size, int allowed, int flags, int fd, off_t from) {
  NEXT(mmap);
  void* made = next(at, size, allowed, flags, fd, from);
  unsigned long inode = 0;
  int is_folder = 0;
  struct stat st;
  if (made == MAP_FAILED || fd < 0 || (flags & MAP_SHARED) == 0 || (allowed & PROT_WRITE) == 0 ||
      !inode_under(fd, &inode, &is_folder) || fstat(fd, &st) != 0)
    return made;
  begin();
  for (int i = 0; i < kMostMappings; ++i) {
    if (mappings[i].at != NULL) continue;
    char* shadow = calloc(1, size);
    const size_t there = size < (size_t)st.st_size ? size : (size_t)st.st_size;
    if (shadow == NULL) abort();
    memcpy(shadow, made, there);
    mappings[i] = (struct mapping){made, size, shadow, inode, fcntl(fd, F_DUPFD_CLOEXEC, 500)};
    break;
  }
  end();
  return made;
}

int munmap(void* at, size_t size) {
  NEXT(munmap);
  begin();
  for (int i = 0; i < kMostMappings; ++i) {
    if (mappings[i].at != at) continue;
    free(mappings[i].shadow);
    close(mappings[i].fd);
    mappings[i].at = NULL;
  }
  end();
  return next(at, size);
}
