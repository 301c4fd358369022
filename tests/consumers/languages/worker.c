/* SPDX-License-Identifier: MIT */
/*
 * The worker of languages.py in C. usage: worker FOLDER NOTES NAME; a command a line on standard input, an answer a
 * line. worker.py says what each command does; built as a shared library, consumer_* gives the same to a program.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tlcache/tlcache.h>
#include <unistd.h>

enum { CONTENT_SIZE = 4096 };

typedef struct consumer {
  tlc_cache* cache;
  const char* notes;
  const char* name;
  char answer[4096];
} consumer;

typedef struct compile {
  const consumer* of;
  const char* key;
  int hold;
} compile;

/* Ends the process: nothing that happens here is to be gone on from. */
static void must(const char* what, int is_so, const tlc_error* error) {
  if (is_so) return;
  fprintf(stderr, "worker in C: %s: %s\n", what, error ? error->message : "");
  exit(1);
}

/* What every language makes of a key: its name and a zero byte, again and again. */
static void content(const char* key, char* out) {
  const size_t length = strlen(key) + 1;
  size_t at;
  for (at = 0; at < CONTENT_SIZE; ++at) out[at] = key[at % length];
}

static void fill(tlc_bundle* bundle, const char* key, const char* maker, tlc_error* error) {
  char code[CONTENT_SIZE];
  content(key, code);
  must("code", tlc_bundle_add(bundle, tlc_str_from("code"), TLC_MEMBER_OPAQUE, code, sizeof code, 0, error) == TLC_OK,
       error);
  must("maker",
       tlc_bundle_add(bundle, tlc_str_from("maker"), TLC_MEMBER_OPAQUE, maker, strlen(maker), 0, error) == TLC_OK,
       error);
}

static tlc_status on_compile(const tlc_request* request, const tlc_key* key, tlc_bundle* bundle, tlc_log* log,
                             tlc_error* error, void* user_data) {
  const compile* job = user_data;
  char line[256];
  const int file = open(job->of->notes, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const int length = snprintf(line, sizeof line, "%s %ld %s\n", job->of->name, (long)getpid(), job->key);
  (void)request, (void)key, (void)log;
  must("notes", file >= 0 && write(file, line, (size_t)length) == length, NULL);
  close(file);
  while (job->hold) pause();
  usleep(5000);
  fill(bundle, job->key, job->of->name, error);
  return TLC_OK;
}

static tlc_request* request_of(const char* key, tlc_error* error) {
  tlc_request* request = NULL;
  must("request", tlc_request_create(tlc_str_from("languages"), &request, error) == TLC_OK, error);
  tlc_request_set_no_toolchain(request, error);
  tlc_request_add_text(request, tlc_str_from("name"), tlc_str_from(key), 0, error);
  tlc_request_begin_list(request, tlc_str_from("numbers"), 0, error);
  tlc_request_add_int(request, tlc_str_from(NULL), (int64_t)strlen(key), 0, error);
  must("a field", tlc_request_add_f64(request, tlc_str_from(NULL), 0.5, 0, error) == TLC_OK, error);
  must("a list", tlc_request_end(request, error) == TLC_OK, error);
  return request;
}

/* Checks the artifact's content, adds who made it to the answer, lets it go. */
static void take(consumer* self, const char* key, tlc_artifact* artifact) {
  char expected[CONTENT_SIZE];
  size_t size = 0;
  const char* code = tlc_artifact_data(artifact, 0, &size);
  content(key, expected);
  must("the content is another", size == CONTENT_SIZE && memcmp(code, expected, size) == 0, NULL);
  code = tlc_artifact_data(artifact, 1, &size);
  if (self->answer[0]) strcat(self->answer, " ");
  strncat(self->answer, code, size);
  tlc_artifact_release(artifact);
}

static void get_or_compile(consumer* self, const char* key, int hold) {
  tlc_compile_options options;
  tlc_artifact* artifact = NULL;
  compile job;
  tlc_error error;
  tlc_error_init(&error);
  job.of = self, job.key = key, job.hold = hold;
  tlc_compile_options_init(&options);
  options.compile = on_compile;
  options.user_data = &job;
  tlc_request* request = request_of(key, &error);
  must("get_or_compile", tlc_cache_get_or_compile(self->cache, request, &options, &artifact, NULL, &error) == TLC_OK,
       &error);
  tlc_request_destroy(request);
  take(self, key, artifact);
}

static void hammer(consumer* self, unsigned count, unsigned seed) {
  unsigned i;
  for (i = 0; i < 2 * count; ++i) {
    char key[32];
    /* Once in an order of its own, in which the count is a power of two; then in order, for the answer. */
    snprintf(key, sizeof key, "key-%u", i < count ? (seed + i * (2 * seed + 1)) & (count - 1) : i - count);
    if (i == count) self->answer[0] = '\0';
    get_or_compile(self, key, 0);
  }
}

static void put_or_get(consumer* self, const char* key, int is_put) {
  tlc_error error;
  tlc_key* digest = NULL;
  tlc_artifact* artifact = NULL;
  tlc_error_init(&error);
  tlc_request* request = request_of(key, &error);
  must("key", tlc_cache_key(self->cache, request, &digest, &error) == TLC_OK, &error);
  if (is_put) {
    tlc_bundle* bundle = NULL;
    tlc_bundle_create(&bundle, &error);
    fill(bundle, key, self->name, &error);
    must("put", tlc_cache_put(self->cache, digest, bundle, &artifact, &error) >= TLC_OK, &error);
    tlc_bundle_destroy(bundle);
    take(self, key, artifact);
  } else if (tlc_cache_get(self->cache, digest, &artifact, &error) == TLC_OK) {
    take(self, key, artifact);
  } else {
    strcpy(self->answer, "miss");
  }
  tlc_key_release(digest);
  tlc_request_destroy(request);
}

enum { ROWS = 37, COLUMNS = 129 };

/* A real kernel of the folder, by the cpu backend. */
static void softmax(consumer* self, const char* folder) {
  static float x[ROWS * COLUMNS], y[ROWS * COLUMNS];
  const char* options[] = {"-O3", "-lm", "-iquote", folder};
  char source[8192], path[512];
  tlc_request* request = NULL;
  tlc_artifact* artifact = NULL;
  tlc_module* module = NULL;
  tlc_blob* log = NULL;
  tlc_error error;
  uint64_t hash = 14695981039346656037u;
  union {
    void* address;
    void (*kernel)(const float*, float*, int, int);
  } symbol;
  size_t i;
  tlc_error_init(&error);
  snprintf(path, sizeof path, "%s/softmax.c", folder);
  FILE* file = fopen(path, "rb");
  must(path, file != NULL, NULL);
  const size_t length = fread(source, 1, sizeof source - 1, file);
  fclose(file);
  source[length] = '\0';
  must("request", tlc_request_create(tlc_str_from("languages"), &request, &error) == TLC_OK, &error);
  tlc_request_set_target(request, tlc_str_from("cpu:native"), &error);
  tlc_request_add_text(request, tlc_str_from("source"), tlc_str_from(source), 0, &error);
  tlc_request_add_text(request, tlc_str_from("language"), tlc_str_from("c"), 0, &error);
  tlc_request_begin_list(request, tlc_str_from("options"), 0, &error);
  for (i = 0; i < 4; ++i) tlc_request_add_text(request, tlc_str_from(NULL), tlc_str_from(options[i]), 0, &error);
  tlc_request_end(request, &error);
  must("get_or_compile", tlc_cache_get_or_compile(self->cache, request, NULL, &artifact, &log, &error) == TLC_OK,
       &error);
  must("load", tlc_cache_load(self->cache, artifact, NULL, &module, &error) == TLC_OK, &error);
  must("softmax", tlc_module_symbol(module, tlc_str_from("softmax"), &symbol.address, &error) == TLC_OK, &error);
  for (i = 0; i < ROWS * COLUMNS; ++i) x[i] = ((float)((i * 7 + 3) % 23) - 11) / 8;
  symbol.kernel(x, y, ROWS, COLUMNS);
  for (i = 0; i < sizeof y; ++i) hash = (hash ^ ((const unsigned char*)y)[i]) * 1099511628211u;
  snprintf(self->answer, sizeof self->answer, "%llu %s", (unsigned long long)hash, log ? "compiled" : "found");
  tlc_blob_release(log);
  tlc_module_release(module);
  tlc_artifact_release(artifact);
  tlc_request_destroy(request);
}

consumer* consumer_open(const char* folder, const char* notes, const char* name) {
  tlc_cache_options options;
  tlc_error error;
  consumer* self = calloc(1, sizeof *self);
  tlc_error_init(&error);
  tlc_cache_options_init(&options);
  options.directory = tlc_str_from(folder);
  options.flags = TLC_OPEN_STRICT | TLC_OPEN_NO_ENV;
  must("open", tlc_cache_open(&options, &self->cache, &error) == TLC_OK, &error);
  self->notes = notes;
  self->name = name;
  return self;
}

/* The answer is valid until the next call. */
const char* consumer_command(consumer* self, const char* line) {
  char word[64] = "", folder[256] = "";
  unsigned count = 0, seed = 0;
  self->answer[0] = '\0';
  if (sscanf(line, "hammer %u %u", &count, &seed) == 2) {
    hammer(self, count, seed);
  } else if (sscanf(line, "hold %63s", word) == 1) {
    get_or_compile(self, word, 1);
  } else if (sscanf(line, "compile %63s", word) == 1) {
    get_or_compile(self, word, 0);
  } else if (sscanf(line, "put %63s", word) == 1) {
    put_or_get(self, word, 1);
  } else if (sscanf(line, "get %63s", word) == 1) {
    put_or_get(self, word, 0);
  } else if (sscanf(line, "softmax %255[^\n]", folder) == 1) {
    softmax(self, folder);
  } else if (strncmp(line, "library", 7) == 0) {
    /* Where the code of the library lies that this one calls: another address is another copy. */
    snprintf(self->answer, sizeof self->answer, "%llu", (unsigned long long)(size_t)tlc_version_string());
  } else {
    must(line, 0, NULL);
  }
  return self->answer;
}

void consumer_close(consumer* self) {
  tlc_cache_close(self->cache);
  free(self);
}

#ifndef CONSUMER_LIBRARY
int main(int argc, char** argv) {
  char line[256];
  if (argc != 4) return 2;
  consumer* self = consumer_open(argv[1], argv[2], argv[3]);
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    puts(consumer_command(self, line));
    fflush(stdout);
  }
  consumer_close(self);
  return 0;
}
#endif
