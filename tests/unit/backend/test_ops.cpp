// SPDX-License-Identifier: MIT
#include "tlc_test.hpp"

#include <stdexcept>

#include "backend/blob.hpp"
#include "backend_support.hpp"

using namespace tlc;
using namespace tlc::backend;
using namespace tlc::test;

namespace {

const char* const kKinds[] = {"cpu", "gpu", nullptr};

tlc_status throwing(void*, tlc_call*, const tlc_artifact*, const tlc_load_options*, tlc_error*) {
  throw std::runtime_error("boom");
}
tlc_status throwing_int(void*, tlc_call*, tlc_str, tlc_blob**, tlc_error*) {
  throw 5;
}
tlc_status explained(void*, tlc_call*, tlc_blob**, tlc_error* error) {
  error->sys_errno = 12;
  error->backend_code = 345;
  __builtin_strcpy(error->message, "the device is on fire");
  return TLC_E_UNAVAILABLE;
}
tlc_status silent(void*, tlc_call*, tlc_blob**, tlc_error*) {
  return TLC_E_UNAVAILABLE;
}
tlc_status odd(void*, tlc_call*, tlc_blob**, tlc_error*) {
  return TLC_MISS;
}
tlc_status empty_handed(void*, tlc_call*, tlc_blob**, tlc_error*) {
  return TLC_OK;
}
tlc_status rejects(void*, tlc_call*, const tlc_artifact*, const tlc_load_options*, tlc_error*) {
  return TLC_REJECTED;
}
tlc_status described(void*, tlc_call*, const tlc_artifact*, tlc_blob** json, tlc_error*) {
  *json = make_blob("{\"members\": {}}").release();
  return TLC_OK;
}
tlc_status echo(void* state, tlc_call*, tlc_str target, tlc_blob** out, tlc_error*) {
  *out = make_blob(std::string(target.data, target.len) + "/" + static_cast<const char*>(state)).release();
  return TLC_OK;
}
void* throwing_native(void*, void*) {
  throw std::runtime_error("boom");
}
void throwing_unload(void*, void*) {
  throw std::runtime_error("boom");
}

Ops negotiated(const tlc_backend_ops& table, void* state = nullptr) {
  auto ops = Ops::negotiate(&table, state, "a test");
  assert_ok(ops);
  return *ops;
}

void a_whole_table_is_taken(void**) {
  auto table = make_ops("cc", kKinds, "My backend");
  table.caps = TLC_BACKEND_HOST_BOUND;
  table.resolve_target = echo;
  char state[] = "state";
  const Ops ops = negotiated(table, state);
  assert_string_equal(ops.name().c_str(), "My backend");
  assert_string_equal(ops.engine().c_str(), "cc");
  assert_int_equal(ops.kinds().size(), 2);
  assert_true(ops.host_bound());
  assert_false(ops.survives_fork());
  auto resolved = ops.resolve_target(nullptr, "cpu:native");
  assert_ok(resolved);
  assert_string_equal(resolved->c_str(), "cpu:native/state");
}

void the_table_is_never_read_again(void**) {
  auto table = make_ops("cc", kKinds);
  table.resolve_target = echo;
  char state[] = "s";
  const Ops ops = negotiated(table, state);
  table = {};
  assert_ok(ops.resolve_target(nullptr, "cpu"));
}

void an_older_shorter_table_lacks_the_later_slots(void**) {
  auto table = make_ops("cc", kKinds);
  table.resolve_target = echo;
  table.describe = described;
  table.identify = reinterpret_cast<decltype(table.identify)>(uintptr_t{1});  // beyond its size: garbage
  table.struct_size = TLC_SIZEOF(tlc_backend_ops, resolve_target);
  const Ops ops = negotiated(table);
  assert_true(ops.can_resolve());
  assert_false(ops.can_identify());
  assert_fails(ops.describe(nullptr, nullptr), TLC_E_UNSUPPORTED, "has no describe");
  table.struct_size = TLC_SIZEOF(tlc_backend_ops, close);  // ABI 0.1
  assert_fails(negotiated(table).describe(nullptr, nullptr), TLC_E_UNSUPPORTED, "has no describe");
  table.struct_size = TLC_BACKEND_OPS_SIZE;
  assert_string_equal(negotiated(table).describe(nullptr, nullptr)->c_str(), "{\"members\": {}}");
  table.struct_size = TLC_BACKEND_OPS_PREFIX;
  assert_false(negotiated(table).can_resolve());
}

void a_newer_larger_table_is_taken(void**) {
  struct {
    tlc_backend_ops ops;
    void* later[4];
  } larger{make_ops("cc", kKinds), {}};
  larger.ops.struct_size = TLC_BACKEND_OPS_SIZE + sizeof larger.later;
  larger.ops.abi_minor = TLC_ABI_MINOR + 5;
  larger.ops.resolve_target = echo;
  assert_true(negotiated(larger.ops).can_resolve());
  larger.ops.abi_minor = 0;
  assert_true(negotiated(larger.ops).can_resolve());
}

void what_does_not_fit_is_refused_by_name(void**) {
  auto table = make_ops("cc", kKinds, "Old thing");
  table.abi_major = TLC_ABI_MAJOR + 1;
  table.abi_minor = 4;
  auto wrong = Ops::negotiate(&table, nullptr, "/opt/p.so");
  assert_fails(wrong, TLC_E_ABI, "Old thing");
  assert_true(contains(wrong.error().message, "/opt/p.so"));
  assert_true(contains(wrong.error().message, std::to_string(TLC_ABI_MAJOR + 1) + ".4"));
  assert_true(contains(wrong.error().message, std::to_string(TLC_ABI_MAJOR) + "." + std::to_string(TLC_ABI_MINOR)));

  table = make_ops("cc", kKinds);
  table.struct_size = TLC_BACKEND_OPS_PREFIX - 1;
  assert_fails(Ops::negotiate(&table, nullptr, "a test"), TLC_E_ABI, "fewer than");
  table.struct_size = TLC_BACKEND_OPS_PREFIX + 3;
  assert_fails(Ops::negotiate(&table, nullptr, "a test"), TLC_E_ABI, "inside a slot");
  assert_fails(Ops::negotiate(nullptr, nullptr, "a test"), TLC_E_INVALID, "NULL");
}

void names_are_checked(void**) {
  const auto refused = [](const char* engine, const char* const* kinds, const char* name, const char* part) {
    const auto table = make_ops(engine, kinds, name);
    assert_fails(Ops::negotiate(&table, nullptr, "a test"), TLC_E_INVALID, part);
  };
  const char* const none[] = {nullptr};
  const char* const upper[] = {"CPU", nullptr};
  const char* const native[] = {"native", nullptr};
  const char* const twice[] = {"cpu", "cpu", nullptr};
  refused(nullptr, kKinds, "x", "engine");
  refused("", kKinds, "x", "engine");
  refused("a:b", kKinds, "x", "a:b");
  refused("cc", nullptr, "x", "target kinds");
  refused("cc", none, "x", "no target kind");
  refused("cc", upper, "x", "CPU");
  refused("cc", native, "x", "native");
  refused("cc", twice, "x", "twice");
  refused("cc", kKinds, nullptr, "no name");
  refused("cc", kKinds, "", "no name");
}

void missing_slots_say_which(void**) {
  const Ops ops = negotiated(make_ops("cc", kKinds, "Bare"));
  assert_fails(ops.resolve_target(nullptr, "cpu"), TLC_E_UNSUPPORTED, "'Bare' (engine cc) has no resolve_target");
  assert_fails(ops.identify(nullptr, nullptr, "cpu"), TLC_E_UNSUPPORTED, "identify");
  assert_fails(ops.compile(nullptr, nullptr, "cpu", nullptr, nullptr), TLC_E_UNSUPPORTED, "compile");
  assert_fails(ops.load(nullptr, nullptr, nullptr), TLC_E_UNSUPPORTED, "load");
  assert_fails(ops.symbol(nullptr, "f"), TLC_E_UNSUPPORTED, "symbol");
  // These have an answer without a slot.
  assert_ok(ops.validate(nullptr, nullptr, nullptr));
  assert_u64(*ops.place(nullptr, nullptr), 0);
  assert_string_equal(ops.probe(nullptr)->c_str(), "{}");
  int module = 0;
  assert_ptr_equal(ops.native(&module), &module);
  ops.unload(&module);
  ops.close();
}

void exceptions_stop_at_the_call(void**) {
  auto table = make_ops("cc", kKinds, "Bad");
  table.validate = throwing;
  table.resolve_target = throwing_int;
  table.native = throwing_native;
  table.unload = throwing_unload;
  const Ops ops = negotiated(table);
  assert_fails(ops.validate(nullptr, nullptr, nullptr), TLC_E_CALLBACK, "'Bad': validate threw an exception: boom");
  assert_fails(ops.resolve_target(nullptr, "cpu"), TLC_E_CALLBACK, "resolve_target");
  assert_null(ops.native(nullptr));
  ops.unload(nullptr);
}

void errors_come_back_whole(void**) {
  auto table = make_ops("cc", kKinds, "B");
  table.probe = explained;
  const auto error = negotiated(table).probe(nullptr).error();
  assert_int_equal(error.status, TLC_E_UNAVAILABLE);
  assert_int_equal(error.sys_errno, 12);
  assert_int_equal(error.backend_code, 345);
  assert_string_equal(error.message.c_str(), "the device is on fire");
  table.probe = silent;
  assert_fails(negotiated(table).probe(nullptr), TLC_E_UNAVAILABLE, "'B': probe failed");
  table.probe = odd;
  assert_fails(negotiated(table).probe(nullptr), TLC_E_CALLBACK, "may not return");
  table.probe = empty_handed;
  assert_fails(negotiated(table).probe(nullptr), TLC_E_ABI, "no result");
  table.validate = rejects;
  assert_fails(negotiated(table).validate(nullptr, nullptr, nullptr), TLC_REJECTED, "validate");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_whole_table_is_taken),
      cmocka_unit_test(the_table_is_never_read_again),
      cmocka_unit_test(an_older_shorter_table_lacks_the_later_slots),
      cmocka_unit_test(a_newer_larger_table_is_taken),
      cmocka_unit_test(what_does_not_fit_is_refused_by_name),
      cmocka_unit_test(names_are_checked),
      cmocka_unit_test(missing_slots_say_which),
      cmocka_unit_test(exceptions_stop_at_the_call),
      cmocka_unit_test(errors_come_back_whole),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
