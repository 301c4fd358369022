/* SPDX-License-Identifier: MIT */
/*
 * The few lines of C that the Python package adds to the library's own functions.
 *
 * Errors and members are written to a thread's own storage: a call then allocates nothing in Python
 * on the way to a hit, and Python reads what was written before its thread makes another call.
 *
 * A function named tlcpy_... is seen from Python: generate_ffi.py reads its signature, which must
 * be on one line.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static _Thread_local tlc_error tlcpy_thread_error;
static _Thread_local tlc_member tlcpy_thread_member;
static _Thread_local tlc_status tlcpy_thread_status;

/* This thread's error, cleared; for one call of the library that runs no Python. */
static tlc_error* tlcpy_error(void) {
  tlc_error_init(&tlcpy_thread_error);
  return &tlcpy_thread_error;
}

/* As tlc_cache_get. NULL: tlcpy_status has the status and tlcpy_last_error the reason. */
static tlc_artifact* tlcpy_get(tlc_cache* cache, const tlc_key* key) {
  tlc_artifact* artifact = NULL;
  tlcpy_thread_status = tlc_cache_get(cache, key, &artifact, tlcpy_error());
  return artifact;
}

/* As tlc_cache_get for each key, in order; NULL for a miss. How many were looked up: fewer after an error, as
 * tlcpy_get. */
static size_t tlcpy_get_many(tlc_cache* cache, tlc_key* const* keys, size_t count, tlc_artifact** artifacts) {
  size_t index = 0;
  for (; index < count; ++index) {
    artifacts[index] = NULL;
    tlcpy_thread_status = tlc_cache_get(cache, keys[index], &artifacts[index], tlcpy_error());
    if (tlcpy_thread_status < 0) break;
  }
  return index;
}

/* The lock that the last tlcpy_begin of this thread got. */
static _Thread_local tlc_lock* tlcpy_thread_lock;

/* As tlc_cache_begin for a key's encoding, without waiting. NULL: as tlcpy_get, TLC_LOCKED with tlcpy_lock(). */
static tlc_artifact* tlcpy_begin(tlc_cache* cache, const char* encoding, size_t length) {
  tlc_artifact* artifact = NULL;
  tlc_key* key = NULL;
  tlcpy_thread_lock = NULL;
  tlcpy_thread_status = tlc_key_decode((const uint8_t*)encoding, length, &key, tlcpy_error());
  if (tlcpy_thread_status != TLC_OK) return NULL;
  tlcpy_thread_status = tlc_cache_begin(cache, key, 0, NULL, &artifact, &tlcpy_thread_lock, tlcpy_error());
  tlc_key_release(key);
  return artifact;
}

/* The lock of the last tlcpy_begin, which the caller ends. */
static tlc_lock* tlcpy_lock(void) {
  return tlcpy_thread_lock;
}

/* When the artifact was made: the time stamp of files that were written from it. */
static int64_t tlcpy_created_ns(const tlc_artifact* artifact) {
  tlc_artifact_info info;
  memset(&info, 0, sizeof info);
  info.struct_size = TLC_SIZEOF(tlc_artifact_info, tier);
  return tlc_artifact_get_info(artifact, &info, NULL) == TLC_OK ? (int64_t)info.created_ns : 0;
}

static int is_file_of(int folder, const char* name, const tlc_member* member, int64_t stamp) {
  struct stat file;
  return fstatat(folder, name, &file, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(file.st_mode) &&
         (uint64_t)file.st_size == member->size &&
         (int64_t)file.st_mtim.tv_sec * 1000000000 + file.st_mtim.tv_nsec == stamp;
}

/*
 * Names of the members, each followed by a slash, if the folder holds every one of them as a file of its size that was
 * last written when the artifact was made; else NULL. Valid until this thread's next call.
 *
 * The folder is opened once, without asking to read it: the system then looks for each file by its name alone.
 */
static const char* tlcpy_files_in(const tlc_artifact* artifact, const char* path) {
  static _Thread_local char names[8192];
  const int64_t stamp = tlcpy_created_ns(artifact);
  const size_t count = tlc_artifact_member_count(artifact);
  size_t used = 0, index = 0;
  const int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return NULL;
  for (; index < count; ++index) {
    tlc_member member;
    memset(&member, 0, sizeof member);
    member.struct_size = TLC_SIZEOF(tlc_member, type);
    if (tlc_artifact_member_at(artifact, index, &member, NULL) != TLC_OK) break;
    char* name = names + used;
    if (used + member.name.len + 2 > sizeof names) break;
    memcpy(name, member.name.data, member.name.len);
    name[member.name.len] = '\0';
    if (!is_file_of(folder, name, &member, stamp)) break;
    used += member.name.len;
    names[used++] = '/';
  }
  close(folder);
  names[used] = '\0';
  return index == count && count != 0 ? names : NULL;
}

/* Text that grows; `data` is NULL once there was no memory. */
struct tlcpy_text {
  char* data;
  size_t used, room;
};

static void append(struct tlcpy_text* text, const char* data, size_t size) {
  if (text->data == NULL) return;
  if (size > text->room - text->used) {
    const size_t room = 2 * (text->room + size);
    char* larger = realloc(text->data, room);
    if (larger == NULL) free(text->data);
    text->data = larger;
    text->room = room;
    if (larger == NULL) return;
  }
  memcpy(text->data + text->used, data, size);
  text->used += size;
}

/* Whether the list, names with a slash before and after each, has this one; suffix: one that the name ends with. */
static int is_listed(const char* list, const char* name, size_t length, int suffix) {
  for (const char* at = list + 1; *at != '\0';) {
    const char* end = strchr(at, '/');
    const size_t size = end == NULL ? strlen(at) : (size_t)(end - at);
    if (suffix ? size <= length && memcmp(name + length - size, at, size) == 0
               : size == length && memcmp(name, at, size) == 0)
      return 1;
    at += size + (end != NULL);
  }
  return 0;
}

/* A walk over folders: what it looks for, and what it has found. */
struct tlcpy_walk {
  const char *ends, *without; /* lists of the form "/.h/.hpp/" */
  struct tlcpy_text text;
  int64_t newest;
};

/* A folder that is being walked over, and those around it: a link that leads back into one is not followed. */
struct tlcpy_place {
  const struct tlcpy_place* around;
  dev_t device;
  ino_t inode;
};

static int by_name(const void* a, const void* b) {
  return strcmp(*(char* const*)a, *(char* const*)b);
}

static void note_file(struct tlcpy_walk* walk, const char* path, size_t length, const struct stat* file) {
  const int64_t changed = (int64_t)file->st_mtim.tv_sec * 1000000000 + file->st_mtim.tv_nsec;
  char state[160];
  const int written = snprintf(state, sizeof state, "%llu %llu %lld %lld %lld\n", (unsigned long long)file->st_dev,
                               (unsigned long long)file->st_ino, (long long)file->st_size, (long long)changed,
                               (long long)file->st_ctim.tv_sec * 1000000000 + file->st_ctim.tv_nsec);
  append(&walk->text, path, length + 1);
  append(&walk->text, state, (size_t)written);
  if (changed > walk->newest) walk->newest = changed;
}

/* What is worth a look in a folder: its type and name. The system tells the type, so other files are not looked at. */
static char** names_in(DIR* folder, const struct tlcpy_walk* walk, int is_root, size_t* count) {
  char** names = NULL;
  size_t room = 0;
  *count = 0;
  for (const struct dirent* one = NULL; (one = readdir(folder)) != NULL;) {
    const size_t length = strlen(one->d_name);
    if (strcmp(one->d_name, ".") == 0 || strcmp(one->d_name, "..") == 0) continue;
    if (one->d_type == DT_REG && !is_listed(walk->ends, one->d_name, length, 1)) continue;
    if (one->d_type != DT_REG &&
        (strcmp(one->d_name, "__pycache__") == 0 || (is_root && is_listed(walk->without, one->d_name, length, 0))))
      continue;
    if (*count == room) {
      char** larger = realloc(names, (room = 2 * room + 16) * sizeof *names);
      if (larger == NULL) break;
      names = larger;
    }
    if ((names[*count] = strdup(one->d_name)) == NULL) break;
    ++*count;
  }
  if (*count != 0) qsort(names, *count, sizeof *names, by_name);
  return names;
}

/* path: of the folder `handle`, `length` bytes, in memory of PATH_MAX bytes. Closes the handle. */
static void walk_over(struct tlcpy_walk* walk, int handle, char* path, size_t length,
                      const struct tlcpy_place* around) {
  struct stat state;
  DIR* folder = NULL;
  if (fstat(handle, &state) != 0 || (folder = fdopendir(handle)) == NULL) {
    close(handle);
    return;
  }
  const struct tlcpy_place here = {around, state.st_dev, state.st_ino};
  for (const struct tlcpy_place* one = around; one != NULL; one = one->around)
    if (one->device == here.device && one->inode == here.inode) {
      closedir(folder);
      return;
    }
  size_t count = 0;
  char** names = names_in(folder, walk, around == NULL, &count);
  for (size_t i = 0; i < count; ++i) {
    const size_t size = strlen(names[i]);
    if (length + 1 + size < PATH_MAX && fstatat(handle, names[i], &state, 0) == 0) {
      path[length] = '/';
      memcpy(path + length + 1, names[i], size + 1);
      int inner = -1;
      if (S_ISREG(state.st_mode) && is_listed(walk->ends, names[i], size, 1))
        note_file(walk, path, length + 1 + size, &state);
      else if (S_ISDIR(state.st_mode) && (inner = openat(handle, names[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0)
        walk_over(walk, inner, path, length + 1 + size, &here);
    }
    free(names[i]);
  }
  free(names);
  closedir(folder);
}

/*
 * The state of all files with one of the ends in a folder and below: path, zero byte, "device inode size mtime
 * ctime", newline, for each in a fixed order. newest: the latest mtime, in ns. Folders named __pycache__ are left out,
 * and those in `without` right below the root. The lists are of the form "/.h/.hpp/". NULL: no memory. To be freed by
 * tlcpy_free.
 */
static char* tlcpy_tree_state(const char* root, const char* ends, const char* without, int64_t* newest, size_t* size) {
  struct tlcpy_walk walk = {ends, without, {malloc(1 << 16), 0, 1 << 16}, 0};
  char path[PATH_MAX];
  const size_t length = strlen(root);
  const int handle = length < sizeof path ? open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  if (handle >= 0) {
    memcpy(path, root, length + 1);
    walk_over(&walk, handle, path, length, NULL);
  }
  *newest = walk.newest;
  *size = walk.text.used;
  return walk.text.data;
}

static void tlcpy_free(char* memory) {
  free(memory);
}

/*
 * Adds fields to a request that were written down before (_request.py, Prepared), in one call:
 *
 *   kind (a byte), length of the name (2 bytes), name, then by kind
 *     n null  { begin of a map  } its end (without name)    nothing
 *     t text                                                length (4 bytes), UTF-8
 *     d digest                                              32 bytes
 *
 * Lengths are in this machine's order. TLC_E_INVALID: the text does not fit the format.
 */
static tlc_status tlcpy_add_prepared(tlc_request* request, const char* text, size_t size) {
  tlc_error* error = tlcpy_error();
  for (size_t at = 0; at < size;) {
    tlc_status status = TLC_OK;
    tlc_str name = {NULL, 0};
    uint16_t name_size = 0;
    uint32_t length = 0;
    const char kind = text[at++];
    if (kind == '}') {
      if ((status = tlc_request_end(request, error)) != TLC_OK) return status;
      continue;
    }
    if (size - at < sizeof name_size) return TLC_E_INVALID;
    memcpy(&name_size, text + at, sizeof name_size);
    at += sizeof name_size;
    if (size - at < name_size) return TLC_E_INVALID;
    name.data = text + at;
    name.len = name_size;
    at += name_size;
    if (kind == 'n') {
      status = tlc_request_add_null(request, name, 0, error);
    } else if (kind == '{') {
      status = tlc_request_begin_map(request, name, 0, error);
    } else if (kind == 'd') {
      if (size - at < TLC_DIGEST_SIZE) return TLC_E_INVALID;
      status = tlc_request_add_digest(request, name, (const uint8_t*)text + at, 0, error);
      at += TLC_DIGEST_SIZE;
    } else if (kind == 't') {
      if (size - at < sizeof length) return TLC_E_INVALID;
      memcpy(&length, text + at, sizeof length);
      at += sizeof length;
      if (size - at < length) return TLC_E_INVALID;
      const tlc_str value = {text + at, length};
      at += length;
      status = tlc_request_add_text(request, name, value, 0, error);
    } else {
      return TLC_E_INVALID;
    }
    if (status != TLC_OK) return status;
  }
  return TLC_OK;
}

/* What the last tlcpy_get of this thread answered. */
static tlc_status tlcpy_status(void) {
  return tlcpy_thread_status;
}

/* This thread's error as the last call left it. */
static tlc_error* tlcpy_last_error(void) {
  return &tlcpy_thread_error;
}

/* As tlc_artifact_find; valid until this thread's next call. NULL: there is none. */
static const tlc_member* tlcpy_find(const tlc_artifact* artifact, const char* name, size_t length) {
  tlc_str text;
  text.data = name;
  text.len = length;
  memset(&tlcpy_thread_member, 0, sizeof tlcpy_thread_member);
  tlcpy_thread_member.struct_size = TLC_SIZEOF(tlc_member, type);
  return tlc_artifact_find(artifact, text, &tlcpy_thread_member, NULL) == TLC_OK ? &tlcpy_thread_member : NULL;
}

/* As tlc_artifact_member_at; valid until this thread's next call. NULL: beyond the last. */
static const tlc_member* tlcpy_member(const tlc_artifact* artifact, size_t index) {
  memset(&tlcpy_thread_member, 0, sizeof tlcpy_thread_member);
  tlcpy_thread_member.struct_size = TLC_SIZEOF(tlc_member, type);
  return tlc_artifact_member_at(artifact, index, &tlcpy_thread_member, NULL) == TLC_OK ? &tlcpy_thread_member : NULL;
}

/* Fills an error a callback was given. */
static tlc_status tlcpy_fail(tlc_error* error, tlc_status status, const char* text, size_t len) {
  tlc_str message;
  message.data = text;
  message.len = len;
  return tlc_host()->fail(error, status, 0, 0, message);
}

/* struct_size of the structs that have no init function. */
static size_t tlcpy_size_of_info(void) {
  return TLC_SIZEOF(tlc_artifact_info, tier);
}

static size_t tlcpy_size_of_stats(void) {
  return TLC_SIZEOF(tlc_stats, remote_errors);
}

/*
 * Ctrl-C during a wait. Python's own handler only sets a flag, which is looked at when the call
 * returns: up to ten minutes later. So, while the main thread waits, a handler in front of Python's
 * triggers the wait's cancel token too. Only the main thread guards, and ends its guards in the
 * order opposite to their start; the handlers see the innermost token. Nothing is done where the
 * program has no handler of its own (default, ignored).
 */
static tlc_cancel* volatile tlcpy_guard_token;
static volatile sig_atomic_t tlcpy_guard_depth;
static struct sigaction tlcpy_guard_previous;

static void on_sigint(int signal_number, siginfo_t* info, void* context) {
  tlc_cancel* token = tlcpy_guard_token;
  if (token) tlc_cancel_trigger(token);
  if (tlcpy_guard_previous.sa_flags & SA_SIGINFO) {
    tlcpy_guard_previous.sa_sigaction(signal_number, info, context);
  } else if (tlcpy_guard_previous.sa_handler != SIG_IGN && tlcpy_guard_previous.sa_handler != SIG_DFL) {
    tlcpy_guard_previous.sa_handler(signal_number);
  }
}

/* Starts a guard; returns the token of the guard around it, for tlcpy_guard_end. */
static tlc_cancel* tlcpy_guard_begin(tlc_cancel* token) {
  tlc_cancel* outer = tlcpy_guard_token;
  tlcpy_guard_token = token;
  if (tlcpy_guard_depth == 0) {
    struct sigaction now;
    if (sigaction(SIGINT, NULL, &now) == 0 &&
        ((now.sa_flags & SA_SIGINFO) || (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN))) {
      struct sigaction ours;
      tlcpy_guard_previous = now;
      memset(&ours, 0, sizeof ours);
      ours.sa_sigaction = on_sigint;
      ours.sa_flags = SA_SIGINFO | (now.sa_flags & (SA_ONSTACK | SA_RESTART));
      ours.sa_mask = now.sa_mask;
      sigaction(SIGINT, &ours, NULL);
    }
  }
  tlcpy_guard_depth = tlcpy_guard_depth + 1;
  return outer;
}

/* Ends a guard. A handler that somebody else installed meanwhile is left in place. */
static void tlcpy_guard_end(tlc_cancel* outer) {
  tlcpy_guard_depth = tlcpy_guard_depth - 1;
  if (tlcpy_guard_depth == 0) {
    struct sigaction now;
    if (sigaction(SIGINT, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_sigint) {
      sigaction(SIGINT, &tlcpy_guard_previous, NULL);
    }
  }
  tlcpy_guard_token = outer;
}
