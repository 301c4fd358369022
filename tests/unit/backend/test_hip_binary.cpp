// SPDX-License-Identifier: MIT
// Targets of kind hip, code objects, offload bundles and the metadata in them: what is whole, and what is refused.
#include "tlc_test.hpp"

#include <cstring>

#include "hip/binary_check.hpp"
#include "hip/bundle.hpp"
#include "hip/metadata.hpp"
#include "hip/msgpack.hpp"
#include "hip_support.hpp"
#include "support/failure.hpp"

using namespace tlc::test;
using namespace tlcb::hip;

namespace {

TargetId id(const char* text) {
  TargetId out;
  assert_true(parse_target_id(text, out));
  return out;
}

std::string problem_of(const std::string& bytes) {
  return check_binary(bytes).problem;
}

#define assert_problem(bytes, part) \
  assert_true_msg(contains(problem_of(bytes), part), "problem: '%s'", problem_of(bytes).c_str())

void targets_are_read_with_their_settings(void**) {
  for (const char* text : {"gfx90a", "gfx906:xnack+", "gfx90a:sramecc+:xnack-", "gfx9-generic", "gfx1030"}) {
    assert_string_equal(id(text).text().c_str(), text);
  }
  assert_true(id("gfx90a:xnack-:sramecc+") == id("gfx90a:sramecc+:xnack-"));
  TargetId ignored;
  for (const char* text : {"", "gfx", "sm_90", "gfx90a:", "gfx90a:xnack", "gfx90a:xnack*", "gfx90a:fast+", "gfxyz",
                           "gfx90a:xnack+:xnack-", "GFX90a", "gfx90a:+"}) {
    assert_false(parse_target_id(text, ignored));
  }
  assert_u64(parse_targets("hip:gfx1030,hip:gfx90a:xnack+").size(), 2);
  for (const char* text : {"hip", "hip:sm_90", "cuda:sm_90", "hip:gfx90a,cuda:sm_90", "hip:gfx90a,hip:gfx90a"}) {
    bool refused = false;
    try {
      (void)parse_targets(text);
    } catch (const tlcb::Failure& failure) {
      refused = failure.status() == TLC_E_INVALID;
    }
    assert_true_msg(refused, "%s", text);
  }
}

void settings_decide_what_runs_where(void**) {
  const TargetId device = id("gfx90a:sramecc+:xnack-");
  for (const char* fits : {"gfx90a", "gfx90a:xnack-", "gfx90a:sramecc+", "gfx90a:sramecc+:xnack-", "gfx9-generic"}) {
    assert_string_equal(misfit(id(fits), device).c_str(), "");
  }
  assert_true(contains(misfit(id("gfx90a:xnack+"), device), "xnack+"));
  assert_true(contains(misfit(id("gfx90a:sramecc-"), device), "sramecc-"));
  assert_true(contains(misfit(id("gfx908"), device), "gfx908"));
  assert_true(contains(misfit(id("gfx1030:xnack+"), id("gfx1030")), "does not have"));
}

void code_objects_say_what_they_are_for(void**) {
  const auto target = [](unsigned flags, unsigned char abi_version = 2) {
    const Binary binary = check_binary(make_code_object(flags, abi_version));
    assert_true_msg(binary.ok(), "%s", binary.problem.c_str());
    return binary.images.front().target.text();
  };
  assert_string_equal(target(kAnyGfx90a).c_str(), "gfx90a");
  assert_string_equal(target(kXnackOnGfx90a).c_str(), "gfx90a:xnack+");
  assert_string_equal(target(kFullGfx90a).c_str(), "gfx90a:sramecc+:xnack-");
  assert_string_equal(target(kGfx1030).c_str(), "gfx1030");
  assert_string_equal(target(0x54c, 3).c_str(), "gfx942");
  assert_string_equal(target(0x12f, 1).c_str(), "gfx906:xnack+");  // version 3 of the format
  assert_string_equal(target(0x30, 0).c_str(), "gfx908");
}

void wrong_files_are_refused_with_the_reason(void**) {
  const std::string good = make_code_object(kAnyGfx90a);
  assert_problem("", "empty");
  assert_problem("text", "neither a code object nor");
  std::string host = good;
  host[18] = 62;
  host[19] = 0;
  assert_problem(host, "x86-64");
  std::string other_os = good;
  other_os[7] = 0x41;
  assert_problem(other_os, "OS/ABI");
  std::string newer = good;
  newer[8] = 9;
  assert_problem(newer, "newer than any known");
  std::string relocatable = good;
  relocatable[16] = 1;
  assert_problem(relocatable, "must be linked");
  assert_problem(good + "x", "after its end");
  assert_problem(make_code_object(0x77), "number 119, which is not known");
}

void every_cut_and_every_flip_is_survived(void**) {
  const std::string object = make_code_object(kAnyGfx90a);
  const std::string bundle = write_bundle({{id("gfx90a"), object}, {id("gfx1030"), make_code_object(kGfx1030)}});
  assert_string_equal(problem_of(bundle).c_str(), "");
  for (const std::string& whole : {object, bundle}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      assert_false(check_binary(whole.substr(0, size)).ok());
    }
    for (std::size_t i = 0; i < whole.size(); ++i) {
      std::string changed = whole;
      for (const char bit : {'\x01', '\x80', '\xff'}) {
        changed[i] = static_cast<char>(whole[i] ^ bit);
        (void)check_binary(changed);
      }
    }
  }
}

void bundles_hold_code_for_several(void**) {
  const std::string one = make_code_object(kFullGfx90a);
  const std::string two = make_code_object(kGfx1030);
  const std::string bundle = write_bundle({{id("gfx90a:sramecc+:xnack-"), one}, {id("gfx1030"), two}});
  const Binary binary = check_binary(bundle);
  assert_true_msg(binary.ok(), "%s", binary.problem.c_str());
  assert_true(binary.format == Format::bundle);
  assert_u64(binary.images.size(), 2);
  assert_string_equal(binary.images[0].target.text().c_str(), "gfx90a:sramecc+:xnack-");
  std::string problem;
  const auto entries = read_bundle(bundle, problem);
  assert_u64(entries.size(), 3);  // and the host's, which is empty
  assert_true(entries[1].bytes == one && entries[2].bytes == two);
  assert_problem(write_bundle({{id("gfx90a"), two}}), "holds code for gfx1030");
  assert_problem(write_bundle({{id("gfx1030"), two}, {id("gfx1030"), two}}), "two entries");
  assert_problem(write_bundle({}), "no code for a GPU");
  assert_problem(bundle + std::string(5000, '\0'), "after its end");
  std::string beyond = bundle;
  std::uint64_t offset = bundle.size() + 1;
  std::memcpy(beyond.data() + 32 + 24 + 27, &offset, sizeof offset);  // of the second entry
  assert_problem(beyond, "reaches beyond its end");
}

void compressed_bundles_have_a_size_at_least(void**) {
  std::string bytes = std::string("CCOB\x02\0\x01\0", 8) + std::string(40, 'z');
  const auto size = static_cast<std::uint32_t>(bytes.size());
  std::memcpy(bytes.data() + 8, &size, sizeof size);
  assert_true(check_binary(bytes).format == Format::compressed_bundle);
  assert_string_equal(problem_of(bytes).c_str(), "");
  assert_problem(bytes.substr(0, 30), "cut or damaged");
  bytes[6] = 7;
  assert_problem(bytes, "method 7");
}

void metadata_is_read(void**) {
  const std::string note =
      "\x83\xae"
      "amdhsa.kernels\x91\x84\xa5.name\xa4kern\xab.vgpr_count\xcd\x01\x02\xab.sgpr_count\x07\xa5.args\x92\x81\xa5.size"
      "\xcf\x01\x02\x03\x04\x05\x06\x07\x08\xc0\xaf"
      "amdhsa.printf_s\xc4\x02zz\xad"
      "amdhsa.target\xb9"
      "amdgcn-amd-amdhsa--gfx90a";
  const auto read = parse_metadata(note);
  assert_true(read.has_value());
  assert_u64(read->kernels.size(), 1);
  assert_string_equal(read->kernels[0].name.c_str(), "kern");
  assert_u64(read->kernels[0].vgprs, 0x102);
  assert_u64(read->kernels[0].sgprs, 7);
  assert_string_equal(read->target.c_str(), "amdgcn-amd-amdhsa--gfx90a");
  for (std::size_t size = 0; size < note.size(); ++size) {
    assert_false(parse_metadata(note.substr(0, size)).has_value());
  }
  // Counts beyond reason end where the bytes do.
  for (const char* bytes : {"\xdf\xff\xff\xff\xff", "\xdd\xff\xff\xff\xff", "\xdb\xff\xff\xff\xff", "\xc1"}) {
    assert_false(MsgPack(bytes).pass_over());
  }
  std::string nested(100000, '\x91');
  assert_false(MsgPack(nested).pass_over());
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(targets_are_read_with_their_settings),
      cmocka_unit_test(settings_decide_what_runs_where),
      cmocka_unit_test(code_objects_say_what_they_are_for),
      cmocka_unit_test(wrong_files_are_refused_with_the_reason),
      cmocka_unit_test(every_cut_and_every_flip_is_survived),
      cmocka_unit_test(bundles_hold_code_for_several),
      cmocka_unit_test(compressed_bundles_have_a_size_at_least),
      cmocka_unit_test(metadata_is_read),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
