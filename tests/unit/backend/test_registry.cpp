// SPDX-License-Identifier: MIT
#include "tlc_test.hpp"

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "backend/registry.hpp"
#include "backend_support.hpp"
#include "scratch.hpp"

using namespace tlc;
using namespace tlc::backend;
using namespace tlc::test;
using namespace std::chrono_literals;

namespace {

const char* const kCpu[] = {"cpu", nullptr};
const char* const kBoth[] = {"cpu", "gpu", nullptr};

struct State {
  std::atomic<int> closed{0};
};
void count_close(void* state) {
  static_cast<State*>(state)->closed++;
}

std::string serving(const Registry& registry, const char* kind, const char* engine) {
  auto found = registry.find(kind, engine);
  return found ? (*found)->ops().name() : "";
}

void pairs_and_defaults(void**) {
  Registry registry;
  const auto cc = make_ops("cc", kCpu, "first");
  const auto jit = make_ops("jit", kBoth, "second");
  assert_ok(registry.add(&cc, nullptr, 0));
  assert_ok(registry.add(&jit, nullptr, 0));
  assert_string_equal(serving(registry, "cpu", "cc").c_str(), "first");
  assert_string_equal(serving(registry, "cpu", "jit").c_str(), "second");
  assert_string_equal(serving(registry, "gpu", "jit").c_str(), "second");
  assert_string_equal(serving(registry, "cpu", "").c_str(), "first");
  assert_string_equal(serving(registry, "gpu", "").c_str(), "second");
  assert_string_equal(registry.default_engine("gpu").c_str(), "jit");
  assert_string_equal(registry.default_engine("npu").c_str(), "");

  const auto chosen = make_ops("best", kCpu, "third");
  assert_ok(registry.add(&chosen, nullptr, TLC_REGISTER_DEFAULT));
  assert_string_equal(registry.default_engine("cpu").c_str(), "best");
  assert_ok(registry.remove(&chosen, nullptr));
  assert_string_equal(registry.default_engine("cpu").c_str(), "cc");
}

void what_is_not_there_lists_what_is(void**) {
  Registry registry;
  assert_fails(registry.find("foo", ""), TLC_E_NOT_FOUND, "no backend for target kind 'foo'; registered: none");
  const auto cc = make_ops("cc", kCpu);
  assert_ok(registry.add(&cc, nullptr, 0));
  assert_fails(registry.find("foo", ""), TLC_E_NOT_FOUND, "registered: cpu (cc)");
  assert_fails(registry.find("cpu", "nope"), TLC_E_NOT_FOUND, "'cpu' and engine 'nope'");
  registry.note_refusal("/x.so", make_error(TLC_E_ABI, "old"));
  assert_fails(registry.find("foo", ""), TLC_E_NOT_FOUND, "1 plugin was refused");
  Registry of_a_cache(&registry);  // plugin files are the process's
  assert_fails(of_a_cache.find("foo", ""), TLC_E_NOT_FOUND, "1 plugin was refused");
  assert_true(contains(listing_json(of_a_cache, nullptr), "/x.so"));
}

void the_same_again_does_nothing_another_is_refused(void**) {
  Registry registry;
  const auto both = make_ops("cc", kBoth, "mine");
  const auto other = make_ops("cc", kCpu, "theirs");
  int state = 0;
  assert_ok(registry.add(&both, &state, 0));
  assert_ok(registry.add(&both, &state, 0));
  assert_fails(registry.add(&other, nullptr, 0, "/plug.so"), TLC_E_EXISTS, "'mine' from the application");
  // All or none: gpu is free, cpu is taken.
  const char* const more[] = {"npu", "cpu", nullptr};
  const auto partly = make_ops("cc", more);
  assert_fails(registry.add(&partly, nullptr, 0), TLC_E_EXISTS, "cpu");
  assert_fails(registry.find("npu", ""), TLC_E_NOT_FOUND, "npu");
  assert_fails(registry.add(&both, &state, 1U << 9), TLC_E_INVALID, "flags");
  // The same address with another content is another backend.
  auto reused = make_ops("cc", kCpu, "one");
  Registry second;
  assert_ok(second.add(&reused, nullptr, 0));
  reused.engine = "dd";
  assert_ok(second.add(&reused, nullptr, 0));
  assert_ok(second.find("cpu", "dd"));
}

void an_override_covers_and_gives_back(void**) {
  Registry registry;
  const auto below = make_ops("cc", kCpu, "below");
  const auto above = make_ops("cc", kCpu, "above");
  assert_ok(registry.add(&below, nullptr, 0));
  assert_ok(registry.add(&above, nullptr, TLC_REGISTER_OVERRIDE));
  assert_string_equal(serving(registry, "cpu", "cc").c_str(), "above");
  assert_ok(registry.remove(&above, nullptr));
  assert_string_equal(serving(registry, "cpu", "cc").c_str(), "below");
  assert_fails(registry.remove(&above, nullptr), TLC_E_NOT_FOUND, "not registered");
}

void an_overlay_comes_before_its_parent(void**) {
  Registry process;
  Registry overlay(&process);
  const auto theirs = make_ops("cc", kCpu, "process");
  const auto mine = make_ops("cc", kCpu, "overlay");
  const auto extra = make_ops("jit", kCpu, "extra");
  assert_ok(process.add(&theirs, nullptr, 0));
  assert_string_equal(serving(overlay, "cpu", "").c_str(), "process");
  assert_ok(overlay.add(&mine, nullptr, 0));
  assert_ok(overlay.add(&extra, nullptr, 0));
  assert_string_equal(serving(overlay, "cpu", "").c_str(), "overlay");
  assert_string_equal(serving(process, "cpu", "").c_str(), "process");
  assert_ok(overlay.find("cpu", "jit"));
  assert_fails(process.find("cpu", "jit"), TLC_E_NOT_FOUND, "jit");
}

void removing_closes_once_and_not_under_modules(void**) {
  Registry registry;
  State state;
  auto ops = make_ops("cc", kCpu, "modular");
  ops.close = count_close;
  assert_ok(registry.add(&ops, &state, 0));
  auto entry = *registry.find("cpu", "cc");
  entry->add_module();
  assert_fails(registry.remove(&ops, &state), TLC_E_BUSY, "1 of its modules");
  assert_ok(registry.find("cpu", "cc"));
  entry->remove_module();
  assert_int_equal(state.closed, 0);
  assert_ok(registry.remove(&ops, &state));
  assert_int_equal(state.closed, 1);
  const Entry::Call late(*entry);
  assert_false(static_cast<bool>(late));
  assert_true(contains(late.refused().message, "modular"));
}

void removing_waits_for_running_calls(void**) {
  Registry registry;
  State state;
  auto ops = make_ops("cc", kCpu);
  ops.close = count_close;
  assert_ok(registry.add(&ops, &state, 0));
  auto entry = *registry.find("cpu", "cc");
  std::atomic<bool> entered{false};
  std::atomic<int> closed_while_running{-1};
  std::thread caller([&] {
    const Entry::Call call(*entry);
    entered = static_cast<bool>(call);
    std::this_thread::sleep_for(100ms);
    closed_while_running = state.closed.load();
  });
  while (!entered) std::this_thread::yield();
  const auto removed = registry.remove(&ops, &state);
  caller.join();
  assert_ok(removed);
  assert_int_equal(closed_while_running, 0);
  assert_int_equal(state.closed, 1);
}

void a_call_cannot_remove_its_own_backend(void**) {
  Registry registry;
  const auto ops = make_ops("cc", kCpu);
  assert_ok(registry.add(&ops, nullptr, 0));
  auto entry = *registry.find("cpu", "cc");
  {
    const Entry::Call call(*entry);
    assert_fails(registry.remove(&ops, nullptr), TLC_E_BUSY, "own calls");
  }
  assert_ok(registry.remove(&ops, nullptr));
}

void a_retired_backend_closes_with_its_last_module(void**) {
  Registry registry;
  State state;
  auto ops = make_ops("cc", kCpu);
  ops.close = count_close;
  assert_ok(registry.add(&ops, &state, 0));
  auto entry = *registry.find("cpu", "cc");
  entry->add_module();
  registry.retire_all();
  assert_fails(registry.find("cpu", "cc"), TLC_E_NOT_FOUND, "none");
  assert_int_equal(state.closed, 0);
  entry->remove_module();
  assert_int_equal(state.closed, 1);

  State inner;
  assert_ok(registry.add(&ops, &inner, 0));
  auto second = *registry.find("cpu", "cc");
  {
    const Entry::Call call(*second);
    registry.retire_all();  // from within one of its own calls
    assert_int_equal(inner.closed, 0);
  }
  assert_int_equal(inner.closed, 1);
}

void threads_find_while_others_register(void**) {
  Registry registry;
  const auto fixed = make_ops("cc", kCpu, "fixed");
  assert_ok(registry.add(&fixed, nullptr, 0));
  std::atomic<bool> stop{false};
  std::atomic<int> lost{0};
  std::atomic<int> bad_close{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&] {
      while (!stop) {
        if (serving(registry, "cpu", "cc") != "fixed") lost++;
        if (auto found = registry.find("gpu", "jit")) {
          const Entry::Call call(**found);
          if (call && call->engine() != "jit") lost++;
        }
      }
    });
  }
  std::vector<std::unique_ptr<State>> states;
  auto jit = make_ops("jit", kBoth, "comes and goes");
  jit.close = count_close;
  for (int i = 0; i < 300; ++i) {
    states.push_back(std::make_unique<State>());
    if (!registry.add(&jit, states.back().get(), 0).ok()) lost++;
    if (!registry.remove(&jit, states.back().get()).ok()) lost++;
    if (states.back()->closed != 1) bad_close++;
  }
  stop = true;
  for (auto& reader : readers) reader.join();
  assert_int_equal(lost, 0);
  assert_int_equal(bad_close, 0);
}

void a_child_does_not_wait_for_calls_of_its_parent(void**) {
  Registry registry;
  const auto ops = make_ops("cc", kCpu);
  assert_ok(registry.add(&ops, nullptr, 0));
  auto entry = *registry.find("cpu", "cc");
  std::atomic<bool> entered{false};
  std::atomic<bool> leave{false};
  std::thread caller([&] {
    const Entry::Call call(*entry);
    entered = true;
    while (!leave) std::this_thread::sleep_for(1ms);
  });
  while (!entered) std::this_thread::yield();
  const pid_t child = start_child([&] {
    ::alarm(20);
    return registry.remove(&ops, nullptr).ok() ? 0 : 1;
  });
  assert_int_equal(wait_for(child), 0);
  leave = true;
  caller.join();
}

tlc_status unavailable(void*, tlc_call*, tlc_blob**, tlc_error* error) {
  __builtin_strcpy(error->message, "no such \"device\"");
  return TLC_E_UNAVAILABLE;
}

void the_listing_says_what_and_why_not(void**) {
  Registry registry;
  auto ops = make_ops("cc", kCpu, "listed");
  ops.probe = unavailable;
  assert_ok(registry.add(&ops, nullptr, 0, "built in"));
  registry.note_refusal("/old.so", make_error(TLC_E_ABI, "too old"));
  const std::string json = listing_json(registry, nullptr);
  assert_string_equal(
      json.c_str(),
      "{\"backends\": [{\"name\": \"listed\", \"engine\": \"cc\", \"kinds\": [\"cpu\"], \"default_of\": [\"cpu\"], "
      "\"origin\": \"built in\", \"host_bound\": false, \"survives_fork\": false, \"available\": false, "
      "\"reason\": \"no such \\\"device\\\"\", \"found\": {}}], "
      "\"refused\": [{\"origin\": \"/old.so\", \"reason\": \"too old\"}]}");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(pairs_and_defaults),
      cmocka_unit_test(what_is_not_there_lists_what_is),
      cmocka_unit_test(the_same_again_does_nothing_another_is_refused),
      cmocka_unit_test(an_override_covers_and_gives_back),
      cmocka_unit_test(an_overlay_comes_before_its_parent),
      cmocka_unit_test(removing_closes_once_and_not_under_modules),
      cmocka_unit_test(removing_waits_for_running_calls),
      cmocka_unit_test(a_call_cannot_remove_its_own_backend),
      cmocka_unit_test(a_retired_backend_closes_with_its_last_module),
      cmocka_unit_test(threads_find_while_others_register),
      cmocka_unit_test(a_child_does_not_wait_for_calls_of_its_parent),
      cmocka_unit_test(the_listing_says_what_and_why_not),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
