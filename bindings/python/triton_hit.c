/* SPDX-License-Identifier: MIT */
/*
 * tlcache.integrations._triton_hit: a kernel of Triton's that is stored, and whose files are in place. In C, by itself:
 * the first look-up of a process is most of what a hit costs, and most of that was importing what else the package has.
 *
 *   cache() -> int                                        address of the process's tlc_cache, opened at the first call
 *   files(namespace, key, file, folder, known) -> tuple   (changed, created, paths), or None: ask the store
 *
 * Both raise RuntimeError where even a cache without a store cannot be opened.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tlcache/tlcache.h"

enum { CLOCK_STEP_NS = 100000000 };

static int64_t ns_of(struct timespec time) {
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* ---------------------------------------------------------------- the cache */

static _Atomic(tlc_cache*) process_cache;

/* Without the GIL: opening may log, and the log is Python's. Of two threads that open at once, one keeps its own. */
static tlc_cache* cache_of_process(tlc_error* error) {
  tlc_cache* cache = atomic_load(&process_cache);
  if (cache != NULL) return cache;
  tlc_cache_options options;
  tlc_cache_options_init(&options);
  if (tlc_cache_open(&options, &cache, error) != TLC_OK) return NULL;
  tlc_cache* first = NULL;
  if (atomic_compare_exchange_strong(&process_cache, &first, cache)) return cache;
  tlc_cache_close(cache);
  return first;
}

/* What was counted is written then. */
static void close_cache(void) {
  tlc_cache_close(atomic_exchange(&process_cache, NULL));
}

static PyObject* raise(const tlc_error* error) {
  PyErr_SetString(PyExc_RuntimeError, error->message);
  return NULL;
}

static PyObject* py_cache(PyObject* module, PyObject* none) {
  (void)module;
  (void)none;
  tlc_error error;
  tlc_error_init(&error);
  tlc_cache* cache;
  Py_BEGIN_ALLOW_THREADS
  cache = cache_of_process(&error);
  Py_END_ALLOW_THREADS
  return cache == NULL ? raise(&error) : PyLong_FromVoidPtr(cache);
}

/* ---------------------------------------------------------------- files in place */

/* Where files are looked for, and what was found. */
struct look {
  const char* folder;
  int64_t known_changed, known_created; /* as of an earlier look; -1: there was none */
  int64_t changed, created;
  int same;         /* nothing has changed since the earlier look */
  int found;        /* all files are there */
  size_t used;      /* of names */
  char names[8192]; /* each ends in a zero byte */
};

static int is_file_of(int folder, const char* name, uint64_t size, int64_t stamp) {
  struct stat file;
  return fstatat(folder, name, &file, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(file.st_mode) &&
         (uint64_t)file.st_size == size && ns_of(file.st_mtim) == stamp;
}

static int has_files(struct look* look, int folder, const tlc_member* members, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const size_t length = members[i].name.len;
    char* name = look->names + look->used;
    if (length >= sizeof look->names - look->used) return 0;
    memcpy(name, members[i].name.data, length);
    name[length] = '\0';
    if (!is_file_of(folder, name, members[i].size, look->created)) return 0;
    look->used += length + 1;
  }
  return count != 0;
}

/*
 * Whether each member is a file in the folder, of its size, last written when the artifact was made. The folder's own
 * time is taken before: whoever replaces a file after that changes it. It is opened without asking to read it; files
 * are then found by name alone.
 */
static int32_t look_for_files(const tlc_artifact_info* info, const tlc_member* members, size_t count, void* user_data) {
  struct look* look = user_data;
  struct stat state;
  look->created = (int64_t)info->created_ns;
  if (look->known_changed >= 0 && look->known_created == look->created) {
    look->same = stat(look->folder, &state) == 0 && ns_of(state.st_mtim) == look->known_changed;
    if (look->same) return 1;
  }
  const int folder = open(look->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return 0;
  if (fstat(folder, &state) == 0) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    look->changed = ns_of(state.st_mtim);
    /* A change sooner after the last than the clock's step would not show. */
    if (ns_of(now) - look->changed <= CLOCK_STEP_NS) look->changed = -1;
    look->found = has_files(look, folder, members, count);
  }
  close(folder);
  return look->found;
}

/* The key of a kernel, or of a single file: as _triton_store.py makes it. */
static tlc_status make_key(tlc_str name_space, tlc_str key, tlc_str file, tlc_key** out, tlc_error* error) {
  tlc_request* request = NULL;
  tlc_status status = tlc_request_create(name_space, &request, error);
  if (status == TLC_OK) status = tlc_request_set_toolchain(request, name_space.data, name_space.len, error);
  if (status == TLC_OK) status = tlc_request_add_text(request, tlc_str_from("key"), key, 0, error);
  if (status == TLC_OK && file.data != NULL)
    status = tlc_request_add_text(request, tlc_str_from("file"), file, 0, error);
  if (status == TLC_OK) status = tlc_request_key(request, out, error);
  tlc_request_destroy(request);
  return status;
}

static PyObject* result_of(const struct look* look, PyObject* folder) {
  PyObject* paths = PyDict_New();
  for (size_t at = 0; paths != NULL && at < look->used; at += strlen(look->names + at) + 1) {
    PyObject* path = PyUnicode_FromFormat("%U/%s", folder, look->names + at);
    if (path == NULL || PyDict_SetItemString(paths, look->names + at, path) != 0) Py_CLEAR(paths);
    Py_XDECREF(path);
  }
  return paths == NULL ? NULL : Py_BuildValue("LLN", (long long)look->changed, (long long)look->created, paths);
}

static PyObject* py_files(PyObject* module, PyObject* arguments) {
  (void)module;
  tlc_str name_space, key, file;
  Py_ssize_t name_space_size, key_size, file_size = 0;
  PyObject *folder, *known;
  if (!PyArg_ParseTuple(arguments, "s#s#z#UO:files", &name_space.data, &name_space_size, &key.data, &key_size,
                        &file.data, &file_size, &folder, &known))
    return NULL;
  name_space.len = (size_t)name_space_size;
  key.len = (size_t)key_size;
  file.len = (size_t)file_size;
  PyObject* path = PyUnicode_EncodeFSDefault(folder);
  if (path == NULL) return NULL;
  struct look look;
  look.folder = PyBytes_AsString(path);
  look.known_changed = look.known_created = -1;
  look.same = look.found = 0;
  look.used = 0;
  if (known != Py_None) {
    long long changed, created;
    PyObject* paths;
    if (!PyArg_ParseTuple(known, "LLO", &changed, &created, &paths)) {
      Py_DECREF(path);
      return NULL;
    }
    look.known_changed = changed;
    look.known_created = created;
  }
  tlc_status status = TLC_E_UNAVAILABLE;
  tlc_error error;
  tlc_error_init(&error);
  Py_BEGIN_ALLOW_THREADS
  tlc_cache* cache = cache_of_process(&error);
  if (cache != NULL) {
    tlc_key* made = NULL;
    status = make_key(name_space, key, file, &made, &error);
    look.created = 0;
    if (status == TLC_OK) status = tlc_cache_outline(cache, made, look_for_files, &look, &error);
    tlc_key_release(made);
  }
  Py_END_ALLOW_THREADS
  Py_DECREF(path);
  if (status == TLC_OK && look.same) {
    Py_INCREF(known);
    return known;
  }
  if (status == TLC_OK && look.found) return result_of(&look, folder);
  if (status < 0) return raise(&error);
  Py_RETURN_NONE;
}

/* ---------------------------------------------------------------- the module */

static int check_version(PyObject* module) {
  (void)module;
  const uint32_t running = tlc_abi_version(), major = running >> 16, minor = running & 0xffff;
  if (major == TLC_ABI_MAJOR && (TLC_ABI_MAJOR != 0 ? minor >= TLC_ABI_MINOR : minor == TLC_ABI_MINOR)) {
    if (Py_AtExit(close_cache) == 0) return 0;
    PyErr_SetString(PyExc_ImportError, "nothing more can be done when Python ends");
    return -1;
  }
  PyErr_Format(
      PyExc_ImportError,
      "tlcache was built for ABI %d.%d of libtlcache, but version %s with ABI %u.%u was loaded; install the tlcache "
      "package again",
      TLC_ABI_MAJOR, TLC_ABI_MINOR, tlc_version_string(), major, minor);
  return -1;
}

static PyMethodDef methods[] = {
    {"cache", py_cache, METH_NOARGS, "The address of the process's tlc_cache."},
    {"files", py_files, METH_VARARGS, "Paths of an entry's files, if they are in the folder as they were stored."},
    {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {{Py_mod_exec, check_version},
#ifdef Py_GIL_DISABLED
                                   {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
                                   {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                        "tlcache.integrations._triton_hit",
                                        "Triton's kernels that are stored, and in place.",
                                        0,
                                        methods,
                                        slots,
                                        NULL,
                                        NULL,
                                        NULL};

PyMODINIT_FUNC PyInit__triton_hit(void) {
  return PyModuleDef_Init(&definition);
}
