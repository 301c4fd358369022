/* SPDX-License-Identifier: MIT */
/* A process of tools/demo: gets both kernels through the cache, runs them, checks them against a plain computation.
 *
 *   tlc_demo_worker KERNELS TILE BIAS
 *
 * KERNELS is the folder of matmul.c and softmax.c; BIAS is what kernels.h there says. It prints "ready", waits for a
 * line on standard input, and then prints one line of JSON:
 *
 *   {"language": "C", "ready_ms": 12.3, "compiled": ["matmul"]}
 *
 * ready_ms: from that line until both kernels could be called. The same in Python: worker.py.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tlcache/tlcache.h>

enum { M = 61, N = 53, K = 47, ROWS = 37, COLUMNS = 129 }; /* no multiples of a tile: the edges count too */

typedef void (*matmul_fn)(const float*, const float*, float*, int, int, int);
typedef void (*softmax_fn)(const float*, float*, int, int);

static tlc_error error;

static void die(const char* what, const char* why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static void check(tlc_status status, const char* what) {
  if (status != TLC_OK) die(what, error.message);
}

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static char* read_file(const char* path) {
  enum { LIMIT = 1 << 20 };
  char* text = calloc(1, LIMIT);
  FILE* file = fopen(path, "rb");
  if (text == NULL || file == NULL) die(path, "cannot be read");
  if (fread(text, 1, LIMIT - 1, file) == 0) die(path, "is empty");
  fclose(file);
  return text;
}

static void add_option(tlc_request* request, const char* option) {
  check(tlc_request_add_text(request, tlc_str_from(""), tlc_str_from(option), 0, &error), option);
}

/* As `tlcache compile KERNELS/NAME.c -t cpu:native -n demo -O 3 --option=-lm [-D TILE=TILE]` asks: the same key. */
static tlc_request* request_for(const char* kernels, const char* name, const char* tile) {
  char path[4096];
  tlc_request* request = NULL;
  if (snprintf(path, sizeof(path), "%s/%s.c", kernels, name) >= (int)sizeof(path)) die(kernels, "is too long");
  char* source = read_file(path);
  check(tlc_request_create(tlc_str_from("demo"), &request, &error), name);
  check(tlc_request_set_target(request, tlc_str_from("cpu:native"), &error), name);
  check(tlc_request_set_label(request, tlc_str_from(name), &error), name);
  check(tlc_request_add_text(request, tlc_str_from("source"), tlc_str_from(source), 0, &error), name);
  check(tlc_request_add_text(request, tlc_str_from("language"), tlc_str_from("c"), 0, &error), name);
  check(tlc_request_begin_list(request, tlc_str_from("options"), 0, &error), name);
  add_option(request, "-O3");
  add_option(request, "-lm");
  add_option(request, "-iquote");
  add_option(request, kernels);
  check(tlc_request_end(request, &error), name);
  if (tile != NULL) {
    check(tlc_request_begin_map(request, tlc_str_from("defines"), 0, &error), name);
    check(tlc_request_add_text(request, tlc_str_from("TILE"), tlc_str_from(tile), 0, &error), name);
    check(tlc_request_end(request, &error), name);
  }
  free(source);
  return request;
}

/* Puts the kernel's address into function (of any function type). Its module is kept until the process ends. */
static int get_kernel(tlc_cache* cache, const char* kernels, const char* name, const char* tile, void* function) {
  tlc_request* request = request_for(kernels, name, tile);
  tlc_artifact* artifact = NULL;
  tlc_module* module = NULL;
  tlc_blob* log = NULL;
  void* address = NULL;
  check(tlc_cache_get_or_compile(cache, request, NULL, &artifact, &log, &error), name);
  check(tlc_cache_load(cache, artifact, NULL, &module, &error), name);
  check(tlc_module_symbol(module, tlc_str_from(name), &address, &error), name);
  memcpy(function, &address, sizeof(address)); /* C has no cast from an object's to a function's pointer */
  const int compiled = log != NULL;
  tlc_blob_release(log);
  tlc_artifact_release(artifact);
  tlc_request_destroy(request);
  return compiled;
}

static void fill(float* values, int count, int seed) {
  for (int i = 0; i < count; ++i) values[i] = (float)((i * 7 + seed) % 23 - 11) / 8.0f;
}

static void near(double got, double wanted, const char* what) {
  if (!(fabs(got - wanted) <= 1e-4 * (1.0 + fabs(wanted)))) die(what, "gave a wrong result");
}

static void check_matmul(matmul_fn matmul, double bias) {
  static float a[M * K], b[K * N], c[M * N];
  fill(a, M * K, 1);
  fill(b, K * N, 5);
  matmul(a, b, c, M, N, K);
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      double sum = bias;
      for (int p = 0; p < K; ++p) sum += (double)a[i * K + p] * (double)b[p * N + j];
      near((double)c[i * N + j], sum, "matmul");
    }
  }
}

static void check_softmax(softmax_fn softmax) {
  static float x[ROWS * COLUMNS], y[ROWS * COLUMNS];
  fill(x, ROWS * COLUMNS, 3);
  softmax(x, y, ROWS, COLUMNS);
  for (int row = 0; row < ROWS; ++row) {
    const int first = row * COLUMNS;
    double sum = 0;
    for (int i = first; i < first + COLUMNS; ++i) sum += exp((double)x[i]);
    for (int i = first; i < first + COLUMNS; ++i) near((double)y[i], exp((double)x[i]) / sum, "softmax");
  }
}

int main(int argc, char** argv) {
  char line[16];
  matmul_fn matmul = NULL;
  softmax_fn softmax = NULL;
  tlc_cache_options options;
  tlc_cache* cache = NULL;
  if (argc != 4) die(argv[0], "usage: tlc_demo_worker KERNELS TILE BIAS");
  puts("ready");
  fflush(stdout);
  if (fgets(line, sizeof(line), stdin) == NULL) return 1;

  const double started = now_ms();
  tlc_error_init(&error);
  tlc_cache_options_init(&options);
  options.flags = TLC_OPEN_STRICT;
  check(tlc_cache_open(&options, &cache, &error), "the cache");
  const int matmul_compiled = get_kernel(cache, argv[1], "matmul", argv[2], &matmul);
  const int softmax_compiled = get_kernel(cache, argv[1], "softmax", NULL, &softmax);
  const double ready = now_ms() - started;

  check_matmul(matmul, strtod(argv[3], NULL));
  check_softmax(softmax);
  tlc_cache_close(cache);
  printf("{\"language\": \"C\", \"ready_ms\": %.3f, \"compiled\": [%s%s%s]}\n", ready,
         matmul_compiled ? "\"matmul\"" : "", matmul_compiled && softmax_compiled ? ", " : "",
         softmax_compiled ? "\"softmax\"" : "");
  return 0;
}
