// SPDX-License-Identifier: MIT
// Making artifacts of kind metal, through a cache: texts and metallibs are checked, stored, found again by another
// process, and described. Apple's compiler is a script here that writes a metallib made for tests; it says what it was
// given.
#include "tlc_test.hpp"

#include <sys/stat.h>

#include <cstdlib>

#include "../cache/cache_support.hpp"
#include "metal/metallib.hpp"
#include "metal_support.hpp"
#include "scratch.hpp"

using namespace tlc;
using namespace tlc::test;

namespace {

FakeValue bytes_value(const std::string& bytes) {
  return {TLC_TYPE_BYTES, bytes, 0, {}};
}

FakeRequest metallib_request(const std::string& bytes) {
  FakeRequest request;
  request.fields["metallib"] = bytes_value(bytes);
  return request;
}

void a_text_is_kept_as_it_is_with_its_options(void**) {
  FakeRequest request = source_request(kAddMetal, {"-fno-fast-math"});
  request.fields["defines"] = map_value({{"N", int_value(4)}});
  Compiled made = compile_metal(request, "metal:apple7:msl3.1");
  assert_ok(made.done);
  assert_u64(made.bundle.members.size(), 2);
  assert_string_equal(made.member("kernel.metal")->bytes.c_str(), kAddMetal);
  assert_int_equal(made.member("kernel.metal")->type, TLC_MEMBER_SOURCE);
  assert_string_equal(made.member("options.json")->bytes.c_str(), R"({"define.N": "4", "math": "precise"})");
  assert_ok(metal_ops().validate(nullptr, made.bundle, nullptr));
  Compiled plain = compile_metal(source_request(kAddMetal), "metal");
  assert_ok(plain.done);
  assert_u64(plain.bundle.members.size(), 1);
}

void what_cannot_be_compiled_at_load_is_refused(void**) {
  const auto fails = [](const FakeRequest& request, tlc_status status, const char* part) {
    assert_fails(compile_metal(request).done, status, part);
  };
  fails(FakeRequest(), TLC_E_INVALID, "'source' is missing");
  fails(source_request(""), TLC_E_COMPILE, "empty");
  fails(source_request("int x; /* open"), TLC_E_COMPILE, "comment");
  fails(source_request("MTLB is how a metallib begins"), TLC_E_COMPILE, "it is a metallib");
  fails(source_request("#include \"mine.h\"\n"), TLC_E_UNSUPPORTED, "\"mine.h\", which needs Apple's compiler");
  fails(source_request("int x;", {"-O0"}), TLC_E_UNSUPPORTED, "'-O0' needs Apple's compiler");
  fails(source_request("int x;", {"-std=metal3.1"}), TLC_E_INVALID, "put that into the target");
  FakeRequest names = source_request("int x;");
  names.fields["name_expressions"] = list_value({"f<float>"});
  fails(names, TLC_E_UNSUPPORTED, "host_name");
  FakeRequest headers = source_request("int x;");
  headers.fields["headers"] = map_value({{"../x.h", text_value("")}});
  fails(headers, TLC_E_INVALID, "must be relative");
  assert_fails(metal_ops().identify(nullptr, headers, "metal"), TLC_E_INVALID, "must be relative");
}

void a_given_metallib_is_checked_and_kept(void**) {
  const std::string good = MadeMetallib().bytes();
  Compiled made = compile_metal(metallib_request(good), "metal:apple7:macos14.0");
  assert_ok(made.done);
  assert_true(made.member("kernel.metallib")->bytes == good);
  assert_ok(metal_ops().validate(nullptr, made.bundle, nullptr));
  const auto fails = [](const std::string& bytes, const char* target, const char* part) {
    const Compiled refused = compile_metal(metallib_request(bytes), target);
    assert_fails(refused.done, TLC_E_INVALID, part);
    assert_true(refused.bundle.members.empty());
  };
  fails(good.substr(0, good.size() - 1), "metal", "cut or damaged");
  std::string flipped = good;
  flipped.back() ^= 1;
  fails(flipped, "metal", "not what its hash says");
  fails("text", "metal", "no metallib");
  fails(good, "metal:ios17.0", "for macos, but the artifact is for ios");
  fails(good, "metal:macos13.0", "needs macos 14.0");
  FakeRequest both = metallib_request(good);
  both.fields["source"] = text_value(kAddMetal);
  assert_fails(compile_metal(both).done, TLC_E_INVALID, "both there");
  FakeRequest text = metallib_request(good);
  text.fields["metallib"] = text_value("x");
  assert_fails(compile_metal(text).done, TLC_E_INVALID, "must be bytes");
}

/// A program in Apple's compiler's place: it writes metallibs that it finds beside itself.
class Script {
 public:
  explicit Script(const Scratch& scratch) : folder_(scratch.path("toolchain")) {
    std::filesystem::create_directories(folder_);
    write_file(folder_ + "/made.metallib", MadeMetallib().bytes());
    MadeMetallib other;
    other.system = 0x82;
    write_file(folder_ + "/ios.metallib", other.bytes());
    write_file(folder_ + "/air-lld", "one");
    write("first");
  }

  /// Another version of it is another text.
  void write(const std::string& version) const {
    write_file(
        path(),
        "#!/bin/sh\n# " + version + "\nhere=" + folder_ +
            "\n"
            "if [ \"$1\" = --version ]; then echo 'Apple metal version 1'; echo \"InstalledDir: $here\"; exit 0; fi\n"
            "echo \"$*\" >> $here/calls\nin=; out=; dep=; inc=\n"
            "while [ $# -gt 0 ]; do case $1 in -o) out=$2; shift;; -MF) dep=$2; shift;; -I*) inc=${1#-I};; esac; "
            "in=$1; shift; done\n"
            "if grep -q nonsense $in; then echo \"$in:1: error: nonsense\" >&2; exit 1; fi\n"
            "printf 'k: kernel.metal' > $dep\n"
            "[ -f $inc/value.h ] && printf ' %s/value.h' $inc >> $dep\n"
            "made=$here/made.metallib; if grep -q 'for ios' $in; then made=$here/ios.metallib; fi\n"
            "cp $made $out; echo 'a warning' >&2\n");
    ::chmod(path().c_str(), 0755);
    let_files_age();
  }

  [[nodiscard]] std::string path() const { return folder_ + "/metal"; }
  [[nodiscard]] std::string calls() const {
    std::ifstream file(folder_ + "/calls");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] FakeRequest request(const std::string& source, const std::vector<std::string>& options = {}) const {
    FakeRequest out = source_request(source, options);
    out.fields["compiler"] = text_value(path());
    return out;
  }

  std::string folder_;
};

void apples_compiler_makes_metallibs(void**) {
  const Scratch scratch;
  const Script script(scratch);
  write_file(scratch.path("headers/value.h"), "#define N 4\n");
  let_files_age();
  FakeRequest request = script.request(std::string("#include \"value.h\"\n") + kAddMetal, {"-O0"});
  request.fields["include_dirs"] = list_value({scratch.path("absent"), scratch.path("headers")});
  request.fields["defines"] = map_value({{"N", int_value(4)}});
  Compiled made = compile_metal(request, "metal:apple7:macos14.0:msl3.1");
  assert_ok(made.done);
  assert_true(made.member("kernel.metallib")->bytes == MadeMetallib().bytes());
  assert_true(contains(made.log.text, "a warning"));
  for (const char* word :
       {"-x metal", "-mmacosx-version-min=14.0", "-std=metal3.1", "-DN=4", "-O0", " kernel.metal\n"}) {
    assert_true_msg(contains(script.calls(), word), "%s in: %s", word, script.calls().c_str());
  }
  assert_u64(made.bundle.present.count(scratch.path("headers/value.h")), 1);
  assert_true(made.bundle.is_absent(scratch.path("absent")));
  assert_fails(compile_metal(script.request(kAddMetal), "metal:ios17.0:msl2.4").done, TLC_E_COMPILE, "for macos");
  assert_true(contains(script.calls(), "-mios-version-min=17.0 -std=ios-metal2.4"));
}

void what_apples_compiler_says_comes_back(void**) {
  const Scratch scratch;
  const Script script(scratch);
  const Compiled bad = compile_metal(script.request("nonsense"));
  assert_fails(bad.done, TLC_E_COMPILE, "kernel.metal:1: error: nonsense");
  assert_true(contains(bad.log.text, "nonsense"));
  // What it makes is judged like anything else.
  assert_fails(compile_metal(script.request("// for ios\nint x;"), "metal:macos14.0").done, TLC_E_COMPILE,
               "what was made for metal:macos14.0 cannot be used: it is for ios");
  write_file(script.folder_ + "/made.metallib", MadeMetallib().bytes().substr(0, 100));
  assert_fails(compile_metal(script.request(kAddMetal)).done, TLC_E_COMPILE, "cut or damaged");
  FakeRequest none = script.request(kAddMetal);
  none.fields["compiler"] = text_value("/nonexistent/metal");
  assert_fails(metal_ops().identify(nullptr, none, "metal"), TLC_E_UNAVAILABLE, "absolute path of a program");
}

void the_compiler_is_in_the_key_by_content(void**) {
  const Scratch scratch;
  const Script script(scratch);
  const auto identity = [&] {
    return new_ops(tlc_metal_plugin_init_v1).identify(nullptr, script.request(kAddMetal), "metal:apple7").value();
  };
  const std::string first = identity();
  assert_true(contains(first, "Apple metal version 1"));
  assert_false(contains(first, scratch.path()));  // wherever it is
  assert_string_equal(identity().c_str(), first.c_str());
  script.write("second");
  const std::string second = identity();
  assert_string_not_equal(second.c_str(), first.c_str());
  write_file(script.folder_ + "/air-lld", "two");
  assert_string_not_equal(identity().c_str(), second.c_str());
  assert_string_equal(metal_ops().identify(nullptr, source_request(kAddMetal), "metal").value().c_str(),
                      "metal 1\nas text\n");
}

/// A variable of the environment, as it was when this ends.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { ::setenv(name_, before_.c_str(), 1); }

 private:
  const char* name_;
  std::string before_;
};

void xcrun_says_which_compiler(void**) {
  const Scratch scratch;
  const Script script(scratch);
  std::filesystem::create_directories(scratch.path("bin"));
  const std::string xcrun = scratch.path("bin/xcrun");
  write_file(xcrun, "#!/bin/sh\necho \"$*\" >> " + scratch.path("asked") + "\n[ \"$2\" = macosx ] && echo " +
                        script.path() + " || { echo 'xcrun: error: no such SDK' >&2; exit 1; }\n");
  ::chmod(xcrun.c_str(), 0755);
  const Variable path("PATH", scratch.path("bin") + ":/usr/bin:/bin");
  const backend::Ops fresh = new_ops(tlc_metal_plugin_init_v1);
  const Compiled made = compile_by(fresh, source_request(kAddMetal), "metal:apple7:macos14.0");
  assert_ok(made.done);
  assert_non_null(made.member("kernel.metallib"));
  const auto probed = fresh.probe(nullptr);
  assert_ok(probed);
  assert_true_msg(contains(*probed, R"("path": ")" + script.path()), "%s", probed->c_str());
  // No compiler for this one: its text is kept.
  const Compiled kept = compile_by(fresh, source_request(kAddMetal), "metal:ios17.0");
  assert_ok(kept.done);
  assert_non_null(kept.member("kernel.metal"));
  assert_fails(compile_by(fresh, source_request("#include <vector>\n"), "metal:ios17.0").done, TLC_E_UNSUPPORTED,
               "xcrun finds no metal: xcrun: error: no such SDK");
}

void what_is_missing_is_probed(void**) {
  const Variable path("PATH", "/nonexistent");
  const auto probed = new_ops(tlc_metal_plugin_init_v1).probe(nullptr);
  assert_ok(probed);
  assert_true_msg(contains(*probed, "there is no xcrun in PATH") && contains(*probed, "loaded on a Mac"), "%s",
                  probed->c_str());
}

Own<tlc_artifact> get(tlc_cache* cache, const std::string& target, bool& compiled, const std::string& metallib = {}) {
  tlc_request* raw = nullptr;
  assert_int_equal(tlc_request_create(str("test"), &raw, nullptr), TLC_OK);
  const Own<tlc_request> request(raw);
  assert_int_equal(tlc_request_set_target(raw, str(target), nullptr), TLC_OK);
  if (metallib.empty()) {
    assert_int_equal(tlc_request_add_text(raw, str("source"), str(kAddMetal), 0, nullptr), TLC_OK);
  } else {
    assert_int_equal(tlc_request_add_bytes(raw, str("metallib"), metallib.data(), metallib.size(), 0, nullptr), TLC_OK);
  }
  tlc_artifact* artifact = nullptr;
  tlc_blob* log = nullptr;
  Err error;
  const tlc_status status = tlc_cache_get_or_compile(cache, raw, nullptr, &artifact, &log, &error);
  const Own<tlc_blob> said(log);
  compiled = log != nullptr;
  if (status != TLC_OK) assert_int_equal(status, TLC_E_INVALID);
  return Own<tlc_artifact>(artifact);
}

void a_second_process_hits(void**) {
  const Scratch scratch;
  for (const std::string& metallib : {std::string(), MadeMetallib().bytes()}) {
    for (const bool first : {true, false}) {
      const int code = in_child([&] {
        bool compiled = false;
        const Own<tlc_artifact> artifact =
            get(open_cache(scratch.path("store")).get(), "metal:apple7:macos14.0", compiled, metallib);
        size_t size = 0;
        const char* data = static_cast<const char*>(tlc_artifact_data(artifact.get(), 0, &size));
        const std::string wanted = metallib.empty() ? std::string(kAddMetal) : metallib;
        if (std::string(data, size) != wanted) return 2;
        return compiled == first ? 0 : 1;
      });
      assert_int_equal(code, 0);
    }
  }
}

void a_broken_metallib_is_not_stored(void**) {
  const Scratch scratch;
  const Own<tlc_cache> cache = open_cache(scratch.path("store"));
  std::string broken = MadeMetallib().bytes();
  broken.back() ^= 1;
  bool compiled = false;
  for (int i = 0; i < 2; ++i) assert_null(get(cache.get(), "metal:apple7", compiled, broken).get());
  assert_non_null(get(cache.get(), "metal:apple7", compiled, MadeMetallib().bytes()).get());
}

void targets_have_keys_of_their_own(void**) {
  const Scratch scratch;
  const Own<tlc_cache> cache = open_cache(scratch.path("store"));
  bool compiled = false;
  for (const char* target : {"metal", "metal:apple7", "metal:apple8", "metal:mac2", "metal:apple7:macos14.0",
                             "metal:apple7:macos15.0", "metal:apple7:msl3.0", "metal:apple7:msl3.1"}) {
    (void)get(cache.get(), target, compiled);
    assert_true_msg(compiled, "%s", target);
    (void)get(cache.get(), target, compiled);
    assert_false(compiled);
  }
  (void)get(cache.get(), "metal:msl3.1:apple7", compiled);  // another spelling
  assert_false(compiled);
}

void artifacts_describe_themselves(void**) {
  const Scratch scratch;
  const Own<tlc_cache> cache = open_cache(scratch.path("store"));
  const auto told = [&](const Own<tlc_artifact>& artifact) {
    tlc_blob* json = nullptr;
    Err error;
    assert_true_msg(tlc_artifact_describe(artifact.get(), cache.get(), &json, &error) == TLC_OK, "%s", error.message);
    const Own<tlc_blob> owned(json);
    return std::string(tlc_blob_data(json, nullptr));
  };
  bool compiled = false;
  const std::string library = told(get(cache.get(), "metal:apple7", compiled, MadeMetallib().bytes()));
  for (const char* part : {R"("format": "metallib")", R"("system": "macos14.0")", R"("type": "executable")",
                           R"({"name": "add", "kind": "kernel", "language": "3.1", "air": "2.6", "code_bytes": )"}) {
    assert_true_msg(contains(library, part), "%s in %s", part, library.c_str());
  }
  const std::string text = told(get(cache.get(), "metal:apple7", compiled));
  assert_string_equal(text.c_str(), R"({"members": {"kernel.metal": {"format": "Metal source", "kernels": )"
                                    R"([{"name": "add", "kind": "kernel"}]}}})");
  FakeBundle broken = metal_artifact("MTLBxx");
  const auto said = metal_ops().describe(nullptr, broken);
  assert_ok(said);
  assert_true(contains(*said, "\"problem\": \"it is shorter"));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_text_is_kept_as_it_is_with_its_options),
      cmocka_unit_test(what_cannot_be_compiled_at_load_is_refused),
      cmocka_unit_test(a_given_metallib_is_checked_and_kept),
      cmocka_unit_test(apples_compiler_makes_metallibs),
      cmocka_unit_test(what_apples_compiler_says_comes_back),
      cmocka_unit_test(the_compiler_is_in_the_key_by_content),
      cmocka_unit_test(xcrun_says_which_compiler),
      cmocka_unit_test(what_is_missing_is_probed),
      cmocka_unit_test(a_second_process_hits),
      cmocka_unit_test(a_broken_metallib_is_not_stored),
      cmocka_unit_test(targets_have_keys_of_their_own),
      cmocka_unit_test(artifacts_describe_themselves),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
