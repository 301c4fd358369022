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
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

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

/* When an entry of the folder was last made, replaced or removed; -1: there is no such folder. */
static int64_t tlcpy_changed_ns(const char* path) {
  struct stat folder;
  if (stat(path, &folder) != 0 || !S_ISDIR(folder.st_mode)) return -1;
  return (int64_t)folder.st_mtim.tv_sec * 1000000000 + folder.st_mtim.tv_nsec;
}

static int is_file_of(const char* path, const tlc_member* member, int64_t stamp) {
  struct stat file;
  return lstat(path, &file) == 0 && S_ISREG(file.st_mode) && (uint64_t)file.st_size == member->size &&
         (int64_t)file.st_mtim.tv_sec * 1000000000 + file.st_mtim.tv_nsec == stamp;
}

/*
 * Names of the members, each followed by a slash, if the folder holds every one of them as a file of its size that was
 * last written when the artifact was made; else NULL. Valid until this thread's next call.
 */
static const char* tlcpy_files_in(const tlc_artifact* artifact, const char* folder) {
  static _Thread_local char names[8192];
  char path[4096];
  const int64_t stamp = tlcpy_created_ns(artifact);
  const size_t count = tlc_artifact_member_count(artifact), base = strlen(folder);
  size_t used = 0, index = 0;
  if (base + 2 > sizeof path) return NULL;
  memcpy(path, folder, base);
  path[base] = '/';
  for (; index < count; ++index) {
    tlc_member member;
    memset(&member, 0, sizeof member);
    member.struct_size = TLC_SIZEOF(tlc_member, type);
    if (tlc_artifact_member_at(artifact, index, &member, NULL) != TLC_OK) break;
    const size_t length = member.name.len;
    if (used + length + 2 > sizeof names || base + length + 2 > sizeof path) break;
    memcpy(path + base + 1, member.name.data, length);
    path[base + 1 + length] = '\0';
    if (!is_file_of(path, &member, stamp)) break;
    memcpy(names + used, member.name.data, length);
    used += length;
    names[used++] = '/';
  }
  names[used] = '\0';
  return index == count && count != 0 ? names : NULL;
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
