// SPDX-License-Identifier: MIT
// Real plugin files, each copied into a private folder first: the build folder's permissions are nobody's business.
#include "tlc_test.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "backend/plugin.hpp"
#include "backend_support.hpp"
#include "fake_host.hpp"
#include "scratch.hpp"

using namespace tlc;
using namespace tlc::backend;
using namespace tlc::test;

namespace {

std::string copy_of(const std::string& name, const std::string& folder) {
  const std::string to = folder + "/" + name + ".so";
  std::filesystem::copy_file(std::string(TLC_PLUGIN_FOLDER) + "/" + name + ".so", to);
  return to;
}

std::string init_calls() {
  const char* calls = ::getenv("TLC_TEST_INIT");
  return calls != nullptr ? calls : "0";
}

void a_good_plugin_serves(void**) {
  const Scratch scratch;
  Registry registry;
  ::unsetenv("TLC_TEST_INIT");
  const std::string path = copy_of("good", scratch.path());
  assert_ok(load_plugin(registry, fake_host(), path, PluginTrust::allowed));
  auto found = registry.find("testkind", "");
  assert_ok(found);
  assert_string_equal((*found)->ops().engine().c_str(), "good");
  assert_string_equal((*found)->origin().c_str(), path.c_str());
  // Again, and by another name of the same file: nothing happens.
  assert_ok(load_plugin(registry, fake_host(), path, PluginTrust::allowed));
  assert_int_equal(::symlink(path.c_str(), scratch.path("link.so").c_str()), 0);
  assert_ok(load_plugin(registry, fake_host(), scratch.path("link.so"), PluginTrust::allowed));
  assert_string_equal(init_calls().c_str(), "1");
}

void a_newer_minor_that_works_with_us_is_taken(void**) {
  const Scratch scratch;
  Registry registry;
  assert_ok(load_plugin(registry, fake_host(), copy_of("newer_minor", scratch.path()), PluginTrust::allowed));
  assert_ok(registry.find("testkind", "newer_minor"));
}

/// Refused before any of its code is called; the message names the file.
void refused_unseen(const char* name, const char* part, tlc_status status = TLC_E_ABI,
                    PluginTrust trust = PluginTrust::allowed) {
  const Scratch scratch;
  Registry registry;
  ::unsetenv("TLC_TEST_INIT");
  const std::string path = copy_of(name, scratch.path());
  const auto done = load_plugin(registry, fake_host(), path, trust);
  assert_fails(done, status, part);
  assert_true_msg(contains(done.error().message, path), "%s", done.error().message.c_str());
  assert_string_equal(init_calls().c_str(), "0");
  const auto refusals = registry.refusals();
  assert_int_equal(refusals.size(), 1);
  assert_string_equal(refusals[0].reason.c_str(), done.error().message.c_str());
  assert_fails(registry.find("testkind", ""), TLC_E_NOT_FOUND, "none");
}

void bad_descriptors_are_refused_unseen(void**) {
  const std::string ours = std::to_string(TLC_ABI_MAJOR) + "." + std::to_string(TLC_ABI_MINOR);
  refused_unseen("no_desc", "tlc_plugin_desc_v1");
  refused_unseen("no_init", "tlc_plugin_init_v1");
  refused_unseen("wrong_magic", "TLC_PLUGIN_MAGIC");
  refused_unseen("short_desc", "16 bytes");
  refused_unseen("wrong_major", ("this library has ABI " + ours).c_str());
  refused_unseen("wrong_major",
                 ("ABI " + std::to_string(TLC_ABI_MAJOR + 7) + "." + std::to_string(TLC_ABI_MINOR)).c_str());
  refused_unseen("needs_newer_host", ("or newer, this library has ABI " + ours).c_str());
}

void bad_tables_and_starts_are_refused(void**) {
  const auto refused = [](const char* name, const char* part, tlc_status status) {
    const Scratch scratch;
    Registry registry;
    const std::string path = copy_of(name, scratch.path());
    assert_fails(load_plugin(registry, fake_host(), path, PluginTrust::allowed), status, part);
    // Asked again it says the same, and is not started again.
    const std::string calls = init_calls();
    assert_fails(load_plugin(registry, fake_host(), path, PluginTrust::allowed), status, part);
    assert_string_equal(init_calls().c_str(), calls.c_str());
  };
  refused("short_ops", "fewer than", TLC_E_ABI);
  refused("null_engine", "no engine", TLC_E_INVALID);
  refused("throws", "no luck today", TLC_E_CALLBACK);
  refused("refuses", "refused to start", TLC_E_UNAVAILABLE);
  refused("bad_status", "status 77", TLC_E_CALLBACK);
}

void a_stranger_needs_permission(void**) {
  refused_unseen("stranger", "build id", TLC_E_DENIED, PluginTrust::installed);
  refused_unseen("good", "build id", TLC_E_DENIED, PluginTrust::installed);
  const Scratch scratch;
  Registry registry;
  const std::string path = copy_of("stranger", scratch.path());
  assert_false(load_plugin(registry, fake_host(), path, PluginTrust::installed).ok());
  assert_ok(load_plugin(registry, fake_host(), path, PluginTrust::allowed));
}

void paths_others_can_change_are_refused(void**) {
  const Scratch scratch;
  Registry registry;
  const auto load = [&](const std::string& path) {
    return load_plugin(registry, fake_host(), path, PluginTrust::allowed);
  };
  assert_fails(load("good.so"), TLC_E_INVALID, "absolute");
  assert_fails(load(""), TLC_E_INVALID, "absolute");
  assert_fails(load(scratch.path("none.so")), TLC_E_NOT_FOUND, "none.so");

  std::filesystem::create_directories(scratch.path("open/below"));
  const std::string file = copy_of("good", scratch.path("open/below"));
  assert_int_equal(::chmod(scratch.path("open").c_str(), 0777), 0);
  assert_fails(load(file), TLC_E_DENIED, "/open can be written");
  // Through a symlink elsewhere it is the same file.
  assert_int_equal(::symlink(file.c_str(), scratch.path("link.so").c_str()), 0);
  assert_fails(load(scratch.path("link.so")), TLC_E_DENIED, "/open can be written");
  assert_int_equal(::chmod(scratch.path("open").c_str(), 0700), 0);
  assert_int_equal(::chmod(file.c_str(), 0775), 0);
  assert_fails(load(file), TLC_E_DENIED, "good.so can be written");
  assert_int_equal(::chmod(file.c_str(), 0755), 0);
  if (::geteuid() == 0) {
    assert_int_equal(::chown(file.c_str(), 12345, 12345), 0);
    assert_fails(load(file), TLC_E_DENIED, "12345");
    assert_int_equal(::chown(file.c_str(), 0, 0), 0);
  }
  assert_ok(load(file));
}

void a_file_that_is_no_library_is_refused(void**) {
  const Scratch scratch;
  Registry registry;
  std::ofstream(scratch.path("text.so")) << "hello";
  assert_fails(load_plugin(registry, fake_host(), scratch.path("text.so"), PluginTrust::allowed), TLC_E_LOAD,
               "text.so");
}

void the_search_path_takes_folders_and_files(void**) {
  const Scratch scratch;
  std::filesystem::create_directories(scratch.path("more"));
  const std::string good = copy_of("good", scratch.path("more"));
  (void)copy_of("no_desc", scratch.path("more"));
  const std::string single = copy_of("newer_minor", scratch.path());
  std::ofstream(scratch.path("more/readme.txt")) << "not a plugin";
  const std::string list = scratch.path("more") + "::" + single + ":relative/dir";

  Registry closed;
  load_search_path(closed, fake_host(), list, false);
  assert_fails(closed.find("testkind", ""), TLC_E_NOT_FOUND, "none");
  assert_int_equal(closed.refusals().size(), 3);
  assert_true(contains(closed.refusals()[0].reason, "TLC_OPEN_ALLOW_PLUGINS"));

  Registry open;
  load_search_path(open, fake_host(), list, true);
  assert_ok(open.find("testkind", "good"));
  assert_ok(open.find("testkind", "newer_minor"));
  assert_int_equal(open.refusals().size(), 2);
}

void the_cpu_backend_works_as_a_plugin(void**) {
  const Scratch scratch;
  Registry registry;
  assert_ok(load_plugin(registry, fake_host(), copy_of("cpu_plugin", scratch.path()), PluginTrust::allowed));
  {
    auto entry = registry.find("cpu", "");
    assert_ok(entry);
    const Entry::Call call(**entry);
    const auto target = call->resolve_target(nullptr, "cpu:auto");
    assert_ok(target);
    assert_true(contains(*target, "cpu:"));
  }
  registry.retire_all();  // closes it
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_good_plugin_serves),
      cmocka_unit_test(a_newer_minor_that_works_with_us_is_taken),
      cmocka_unit_test(bad_descriptors_are_refused_unseen),
      cmocka_unit_test(bad_tables_and_starts_are_refused),
      cmocka_unit_test(a_stranger_needs_permission),
      cmocka_unit_test(paths_others_can_change_are_refused),
      cmocka_unit_test(a_file_that_is_no_library_is_refused),
      cmocka_unit_test(the_search_path_takes_folders_and_files),
      cmocka_unit_test(the_cpu_backend_works_as_a_plugin),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
