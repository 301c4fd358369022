/* SPDX-License-Identifier: MIT */
/* A remote from outside, in C, against the public library: what it is asked and given, and what becomes of a cache
 * whose remote is damaged, failing, hanging, old or nobody's. Each test has a store of its own; the remote keeps its
 * blobs. */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "abi_test.h"

enum { MOST = 64, TURN_LENGTH = 32 };

typedef struct blob {
  uint8_t digest[TLC_DIGEST_SIZE];
  void* data;
  size_t len;
  uint64_t flags;
} blob;

/* The remote: everything under one lock. */
static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  blob blobs[MOST];
  size_t count;
  int opens, closes, gets, puts, removes; /* calls; of puts and removes: items */
  int running, most_running;              /* slots at once */
  int hang_gets, hang_puts;               /* while set, the slot does not come back */
  int hanging;                            /* slots that hang now */
  tlc_status fail;                        /* what get and put_many answer, if not 0 */
  tlc_status fail_puts;                   /* put_many alone */
  int failed_puts;
  int signals_blocked; /* seen by the last slot */
} remote = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static tlc_error error;
static char folder[TURN_LENGTH];
static tlc_cache* cache;

static void enter(void) {
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, NULL, &blocked);
  pthread_mutex_lock(&remote.lock);
  remote.signals_blocked = sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGCHLD);
  if (++remote.running > remote.most_running) remote.most_running = remote.running;
}
static tlc_status leave(tlc_status status) {
  --remote.running;
  pthread_cond_broadcast(&remote.changed);
  pthread_mutex_unlock(&remote.lock);
  return status;
}
static void hang_while(const int* wanted) {
  if (!*wanted) return;
  ++remote.hanging;
  pthread_cond_broadcast(&remote.changed);
  while (*wanted) pthread_cond_wait(&remote.changed, &remote.lock);
  --remote.hanging;
}
static void set(int* what, int value) {
  pthread_mutex_lock(&remote.lock);
  *what = value;
  pthread_cond_broadcast(&remote.changed);
  pthread_mutex_unlock(&remote.lock);
}
static int value_of(const int* what) {
  pthread_mutex_lock(&remote.lock);
  const int value = *what;
  pthread_mutex_unlock(&remote.lock);
  return value;
}
static void wait_until(const int* what, int value) {
  pthread_mutex_lock(&remote.lock);
  while (*what != value) pthread_cond_wait(&remote.changed, &remote.lock);
  pthread_mutex_unlock(&remote.lock);
}

static blob* find(const uint8_t* digest) {
  for (size_t i = 0; i < remote.count; ++i)
    if (memcmp(remote.blobs[i].digest, digest, TLC_DIGEST_SIZE) == 0) return &remote.blobs[i];
  return NULL;
}

static tlc_status slot_open(tlc_str url, void** state, tlc_error* e) {
  (void)e;
  enter();
  ++remote.opens;
  *state = url.len > 4 ? &remote : NULL;
  return leave(*state != NULL ? TLC_OK : TLC_E_INVALID);
}
static void slot_close(void* state) {
  (void)state;
  enter();
  ++remote.closes;
  (void)leave(TLC_OK);
}
static tlc_status slot_get(void* state, const uint8_t* digest, int64_t timeout_ms, tlc_remote_sink_fn sink, void* data,
                           tlc_error* e) {
  (void)state;
  (void)e;
  enter();
  ++remote.gets;
  hang_while(&remote.hang_gets);
  if (remote.fail != 0) return leave(remote.fail);
  const blob* found = find(digest);
  if (found == NULL || timeout_ms <= 0) return leave(TLC_MISS);
  const size_t half = found->len / 2;
  tlc_status status = sink(found->data, half, data);
  if (status == TLC_OK) status = sink((const char*)found->data + half, found->len - half, data);
  return leave(status);
}
static void keep(const uint8_t* digest, const void* data, size_t len, uint64_t flags) {
  blob* place = find(digest);
  if (data == NULL) {
    ++remote.removes;
    if (place == NULL) return;
    free(place->data);
    *place = remote.blobs[--remote.count];
    return;
  }
  ++remote.puts;
  if (place != NULL && (flags & TLC_REMOTE_REPLACE) == 0) return;
  if (place == NULL) {
    place = &remote.blobs[remote.count++];
    place->data = NULL;
  }
  free(place->data);
  memcpy(place->digest, digest, TLC_DIGEST_SIZE);
  place->data = malloc(len);
  memcpy(place->data, data, len);
  place->len = len;
  place->flags = flags;
}
static tlc_status slot_put_many(void* state, const tlc_remote_item* const* items, size_t count, int64_t timeout_ms,
                                tlc_error* e) {
  (void)state;
  (void)timeout_ms;
  (void)e;
  enter();
  hang_while(&remote.hang_puts);
  if (remote.fail != 0) return leave(remote.fail);
  if (remote.fail_puts != 0) ++remote.failed_puts;
  if (remote.fail_puts != 0) return leave(remote.fail_puts);
  for (size_t i = 0; i < count; ++i) keep(items[i]->digest, items[i]->data, items[i]->len, items[i]->flags);
  return leave(TLC_OK);
}
static tlc_status slot_put(void* state, const uint8_t* digest, const void* data, size_t len, int64_t timeout_ms,
                           tlc_error* e) {
  const tlc_remote_item item = {TLC_SIZEOF(tlc_remote_item, flags), digest, data, len, 0};
  const tlc_remote_item* one = &item;
  return slot_put_many(state, &one, 1, timeout_ms, e);
}
static tlc_status slot_remove(void* state, const uint8_t* digest, int64_t timeout_ms, tlc_error* e) {
  return slot_put(state, digest, NULL, 0, timeout_ms, e);
}

static tlc_remote_ops table(const char* scheme) {
  const tlc_remote_ops ops = {
      TLC_REMOTE_OPS_SIZE, TLC_ABI_MAJOR, TLC_ABI_MINOR, NULL,        "test remote", scheme,       0,
      slot_open,           slot_get,      slot_put,      slot_remove, slot_close,    slot_put_many};
  return ops;
}

/* ---- caches */

static tlc_cache* open_cache(const char* remotes) {
  tlc_cache_options options;
  tlc_cache_options_init(&options);
  options.directory = tlc_str_from(folder);
  options.flags = TLC_OPEN_NO_ENV | TLC_OPEN_STRICT;
  options.remotes = tlc_str_from(remotes);
  tlc_cache* made = NULL;
  assert_status(tlc_cache_open(&options, &made, &error), TLC_OK, &error);
  return made;
}
static void remove_store(void) {
  char command[64];
  (void)snprintf(command, sizeof(command), "rm -rf %s", folder);
  assert_int_equal(system(command), 0);
}
static void use_store(const char* remotes) {
  (void)snprintf(folder, sizeof(folder), "/tmp/tlc-remote-XXXXXX");
  assert_non_null(mkdtemp(folder));
  cache = open_cache(remotes);
}
/* As another host: its store has nothing. */
static void move_on(const char* remotes) {
  tlc_cache_close(cache);
  remove_store();
  use_store(remotes);
}

static int start(void** state) {
  (void)state;
  const char* seconds = getenv("TLC_TEST_HANG_S");
  alarm(seconds == NULL ? 60 : (unsigned)atoi(seconds)); /* a test that hangs has failed */
  tlc_error_init(&error);
  for (size_t i = 0; i < remote.count; ++i) free(remote.blobs[i].data);
  remote.count = 0;
  remote.opens = remote.closes = remote.gets = remote.puts = remote.removes = remote.most_running = 0;
  use_store("test:one");
  return 0;
}
static int end(void** state) {
  (void)state;
  remote.fail = remote.fail_puts = 0;
  remote.failed_puts = 0;
  tlc_cache_close(cache);
  remove_store();
  return 0;
}

static int compiles;
static tlc_status compile(const tlc_request* request, const tlc_key* key, tlc_bundle* bundle, tlc_log* log,
                          tlc_error* e, void* content) {
  (void)request;
  (void)key;
  (void)log;
  ++compiles;
  tlc_bundle_set_label(bundle, tlc_str_from("secret label"), e);
  return tlc_bundle_add(bundle, tlc_str_from("code"), TLC_MEMBER_OPAQUE, content, strlen(content), 0, e);
}
static tlc_request* request_for(const char* name) {
  tlc_request* request = NULL;
  assert_status(tlc_request_create(tlc_str_from("abi"), &request, &error), TLC_OK, &error);
  assert_status(tlc_request_set_no_toolchain(request, &error), TLC_OK, &error);
  assert_status(tlc_request_add_text(request, tlc_str_from("name"), tlc_str_from(name), 0, &error), TLC_OK, &error);
  return request;
}
/* True if it was compiled; what is found must be `expected`. */
static int get(const char* name, const char* expected) {
  tlc_request* request = request_for(name);
  tlc_compile_options options;
  tlc_compile_options_init(&options);
  options.compile = compile;
  options.user_data = (void*)(uintptr_t)expected;
  tlc_artifact* artifact = NULL;
  const int before = compiles;
  assert_status(tlc_cache_get_or_compile(cache, request, &options, &artifact, NULL, &error), TLC_OK, &error);
  size_t size = 0;
  const void* data = tlc_artifact_data(artifact, 0, &size);
  assert_int_equal(size, strlen(expected));
  assert_memory_equal(data, expected, size);
  tlc_artifact_release(artifact);
  tlc_request_destroy(request);
  return compiles - before;
}
static tlc_stats stats(void) {
  tlc_stats now = {.struct_size = TLC_SIZEOF(tlc_stats, remote_errors)};
  assert_status(tlc_cache_get_stats(cache, tlc_str_from(""), &now, &error), TLC_OK, &error);
  return now;
}
static void assert_described(const char* text) {
  tlc_blob* json = NULL;
  assert_status(tlc_cache_describe(cache, &json, &error), TLC_OK, &error);
  if (strstr(tlc_blob_data(json, NULL), text) == NULL) fail_msg("no '%s' in %s", text, tlc_blob_data(json, NULL));
  tlc_blob_release(json);
}

/* ---- tests */

static void what_one_host_compiles_another_finds(void** state) {
  (void)state;
  assert_int_equal(value_of(&remote.opens), 0);
  assert_int_equal(get("a", "bytes of a"), 1);
  assert_int_equal(stats().remote_gets, 1);
  move_on("test:one");
  assert_int_equal(remote.puts, 1);
  assert_int_equal(remote.closes, 1);
  assert_int_equal(get("a", "bytes of a"), 0);
  assert_true(stats().remote_hits == 1 && stats().compiles == 0 && stats().remote_errors == 0);
  const int gets = value_of(&remote.gets);
  assert_int_equal(get("a", "bytes of a"), 0); /* it is in the store now */
  assert_int_equal(value_of(&remote.gets), gets);
  assert_true(remote.signals_blocked);
  assert_int_equal(remote.most_running, 1);
  move_on("test:one");
  assert_int_equal(remote.puts, 1); /* what came from it is not sent to it */
}

static void no_label_goes_where_others_may_read(void** state) {
  (void)state;
  assert_int_equal(get("a", "bytes of a"), 1);
  move_on("test:one");
  assert_int_equal(remote.count, 1);
  assert_null(memmem(remote.blobs[0].data, remote.blobs[0].len, "secret label", 12));
  assert_int_equal(get("b", "b"), 1);
  move_on("test:one?names=yes");
  assert_int_equal(get("c", "c"), 1);
  move_on("test:one");
  assert_non_null(memmem(remote.blobs[2].data, remote.blobs[2].len, "secret label", 12));
}

static void a_damaged_answer_is_not_used_and_gives_way(void** state) {
  (void)state;
  assert_int_equal(get("a", "bytes of a"), 1);
  move_on("test:one");
  for (size_t i = 0; i < remote.blobs[0].len; i += 7) {
    ((unsigned char*)remote.blobs[0].data)[i] ^= 0x20;
    assert_int_equal(get("a", "bytes of a"), 1);
    assert_int_equal(stats().remote_errors, 1);
    move_on("test:one"); /* the compile's blob replaced the damaged one */
    assert_int_equal(get("a", "bytes of a"), 0);
    move_on("test:one");
  }
}

static void an_answer_for_another_key_is_not_used(void** state) {
  (void)state;
  assert_int_equal(get("a", "bytes of a"), 1);
  assert_int_equal(get("b", "bytes of b"), 1);
  move_on("test:one");
  assert_int_equal(remote.count, 2);
  const blob first = remote.blobs[0];
  remote.blobs[0].data = remote.blobs[1].data;
  remote.blobs[0].len = remote.blobs[1].len;
  remote.blobs[1].data = first.data;
  remote.blobs[1].len = first.len;
  assert_int_equal(get("a", "bytes of a"), 1);
  assert_int_equal(get("b", "bytes of b"), 1);
  assert_int_equal(stats().remote_errors, 2);
}

static void a_failing_remote_is_left_alone(void** state) {
  (void)state;
  remote.fail = TLC_E_IO;
  for (int i = 0; i < 20; ++i) {
    char name[16];
    (void)snprintf(name, sizeof(name), "key %d", i);
    assert_int_equal(get(name, name), 1);
  }
  assert_true(value_of(&remote.gets) < 5); /* one, and perhaps one for each second since */
  assert_described("failing");
  assert_int_equal(remote.puts, 0);
  remote.fail = 0; /* what is queued outlives the process that could not send it */
  tlc_cache_close(cache);
  cache = open_cache("test:one");
  wait_until(&remote.puts, 20);
}

static void one_that_is_full_is_read_on(void** state) {
  (void)state;
  assert_int_equal(get("a", "bytes of a"), 1);
  move_on("test:one");
  remote.fail_puts = TLC_E_IO;
  assert_int_equal(get("b", "bytes of b"), 1);
  wait_until(&remote.failed_puts, 1);
  assert_int_equal(get("a", "bytes of a"), 0);
  assert_described("failing");
  remote.fail_puts = 0;
  tlc_cache_close(cache);
  cache = open_cache("test:one");
  wait_until(&remote.puts, 2);
}

static void a_remote_that_hangs_in_get_delays_by_its_deadline_at_most(void** state) {
  (void)state;
  move_on("test:one?timeout_ms=100");
  set(&remote.hang_gets, 1);
  assert_int_equal(get("a", "bytes of a"), 1); /* while the slot hangs */
  assert_int_equal(value_of(&remote.hanging), 1);
  assert_int_equal(get("b", "bytes of b"), 1);
  assert_int_equal(value_of(&remote.hanging), 1); /* nobody else was sent there */
  assert_described("did not answer within 100 ms");
  tlc_cache_close(cache); /* comes back although the slot does not */
  assert_int_equal(value_of(&remote.hanging), 1);
  assert_int_equal(value_of(&remote.closes), 0); /* it is in use */
  set(&remote.hang_gets, 0);
  wait_until(&remote.closes, 1);
  assert_int_equal(remote.most_running, 1);
  cache = open_cache("test:one");
  wait_until(&remote.puts, 2);
}

static void a_remote_that_hangs_in_put_does_not_keep_the_cache_from_closing(void** state) {
  (void)state;
  set(&remote.hang_puts, 1);
  assert_int_equal(get("a", "bytes of a"), 1);
  wait_until(&remote.hanging, 1);
  tlc_cache_close(cache);
  assert_int_equal(value_of(&remote.hanging), 1);
  set(&remote.hang_puts, 0);
  wait_until(&remote.closes, 1);
  cache = open_cache("test:one");
  move_on("test:one");
  assert_int_equal(get("a", "bytes of a"), 0);
}

static void what_was_removed_is_removed_there_and_not_brought_back(void** state) {
  (void)state;
  assert_int_equal(get("a", "old bytes"), 1);
  wait_until(&remote.puts, 1);
  tlc_request* request = request_for("a");
  tlc_key* key = NULL;
  assert_status(tlc_request_key(request, &key, &error), TLC_OK, &error);
  set(&remote.hang_puts, 1);
  assert_status(tlc_cache_remove(cache, key, &error), TLC_OK, &error);
  assert_int_equal(get("a", "new bytes"), 1); /* though the remote still has it */
  set(&remote.hang_puts, 0);
  move_on("test:one");
  assert_int_equal(get("a", "new bytes"), 0);
  assert_status(tlc_cache_remove(cache, key, &error), TLC_OK, &error);
  move_on("test:one");
  assert_int_equal(remote.count, 0);
  tlc_key_release(key);
  tlc_request_destroy(request);
}

static void an_older_table_works(void** state) {
  (void)state;
  tlc_remote_ops old = table("old");
  old.struct_size = TLC_SIZEOF(tlc_remote_ops, close); /* 0.1 ends there; what lies behind must not be read */
  old.abi_minor = 1;
  memset(&old.put_many, 0xff, sizeof(old.put_many));
  assert_status(tlc_register_remote(&old, &error), TLC_OK, &error);
  move_on("old:x");
  assert_int_equal(get("a", "bytes of a"), 1);
  move_on("old:x");
  assert_int_equal(get("a", "bytes of a"), 0);
  tlc_remote_ops few = table("few"); /* slots that are not there */
  few.open = NULL;
  few.put = NULL;
  few.remove = NULL;
  few.close = NULL;
  few.put_many = NULL;
  assert_status(tlc_register_remote(&few, &error), TLC_OK, &error);
  move_on("few:x");
  assert_int_equal(get("a", "bytes of a"), 0);
  assert_int_equal(get("b", "bytes of b"), 1);
  move_on("few:x");
  assert_int_equal(get("b", "bytes of b"), 1);
}

static void tables_that_do_not_fit_are_refused(void** state) {
  (void)state;
  tlc_remote_ops ops = table("test");
  assert_status(tlc_register_remote(&ops, &error), TLC_OK, &error); /* the same again */
  ops.get = NULL;
  assert_status(tlc_register_remote(&ops, &error), TLC_E_EXISTS, &error);
  assert_non_null(strstr(error.message, "test remote"));
  ops = table("dir");
  assert_status(tlc_register_remote(&ops, &error), TLC_E_EXISTS, &error);
  for (int i = 0; i < 3; ++i) {
    ops = table(i == 0 ? "" : i == 1 ? "UPPER" : NULL);
    assert_status(tlc_register_remote(&ops, &error), TLC_E_INVALID, &error);
  }
  ops = table("fits");
  ops.name = NULL;
  assert_status(tlc_register_remote(&ops, &error), TLC_E_INVALID, &error);
  ops = table("fits");
  ops.struct_size = 0;
  assert_status(tlc_register_remote(&ops, &error), TLC_E_INVALID, &error);
  ops.struct_size = TLC_SIZEOF(tlc_remote_ops, scheme);
  assert_status(tlc_register_remote(&ops, &error), TLC_E_ABI, &error);
  ops = table("fits");
  ops.abi_major = TLC_ABI_MAJOR + 1;
  assert_status(tlc_register_remote(&ops, &error), TLC_E_ABI, &error);
  ops = table("fits");
  ops.next = &ops;
  assert_status(tlc_register_remote(&ops, &error), TLC_E_ABI, &error);
  assert_status(tlc_register_remote(NULL, &error), TLC_E_INVALID, &error);
}

static void urls_that_lead_nowhere_are_told(void** state) {
  (void)state;
  move_on("nobody:x");
  assert_int_equal(get("a", "bytes of a"), 1);
  assert_described("there is no remote for 'nobody:'; there is: dir, test");
  move_on("none");
  assert_int_equal(get("a", "bytes of a"), 1);
  tlc_cache_options options;
  tlc_cache_options_init(&options);
  options.flags = TLC_OPEN_NO_ENV | TLC_OPEN_MEMORY;
  static const char* const wrong[] = {"/a/path", "test:x?timeout_ms=0", "test:x?timeout_ms=1s", "test:x?names=maybe",
                                      "dir:/a :b"};
  for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
    options.remotes = tlc_str_from(wrong[i]);
    tlc_cache* made = NULL;
    assert_status(tlc_cache_open(&options, &made, &error), TLC_E_INVALID, &error);
    assert_null(made);
  }
}

static void a_cache_without_a_store_reads_what_remotes_have(void** state) {
  (void)state;
  assert_int_equal(get("a", "bytes of a"), 1);
  tlc_cache_close(cache);
  tlc_cache_options options;
  tlc_cache_options_init(&options);
  options.flags = TLC_OPEN_NO_ENV | TLC_OPEN_MEMORY;
  options.remotes = tlc_str_from("test:one");
  assert_status(tlc_cache_open(&options, &cache, &error), TLC_OK, &error);
  assert_int_equal(get("a", "bytes of a"), 0);
  assert_int_equal(get("b", "bytes of b"), 1);
  tlc_cache_close(cache);
  cache = open_cache("none");
  assert_int_equal(remote.puts, 1);
}

int main(void) {
  const tlc_remote_ops ops = table("test");
  tlc_error_init(&error);
  if (tlc_register_remote(&ops, &error) != TLC_OK) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(what_one_host_compiles_another_finds, start, end),
      cmocka_unit_test_setup_teardown(no_label_goes_where_others_may_read, start, end),
      cmocka_unit_test_setup_teardown(a_damaged_answer_is_not_used_and_gives_way, start, end),
      cmocka_unit_test_setup_teardown(an_answer_for_another_key_is_not_used, start, end),
      cmocka_unit_test_setup_teardown(a_failing_remote_is_left_alone, start, end),
      cmocka_unit_test_setup_teardown(one_that_is_full_is_read_on, start, end),
      cmocka_unit_test_setup_teardown(a_remote_that_hangs_in_get_delays_by_its_deadline_at_most, start, end),
      cmocka_unit_test_setup_teardown(a_remote_that_hangs_in_put_does_not_keep_the_cache_from_closing, start, end),
      cmocka_unit_test_setup_teardown(what_was_removed_is_removed_there_and_not_brought_back, start, end),
      cmocka_unit_test_setup_teardown(an_older_table_works, start, end),
      cmocka_unit_test_setup_teardown(urls_that_lead_nowhere_are_told, start, end),
      cmocka_unit_test_setup_teardown(tables_that_do_not_fit_are_refused, start, end),
      cmocka_unit_test_setup_teardown(a_cache_without_a_store_reads_what_remotes_have, start, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
