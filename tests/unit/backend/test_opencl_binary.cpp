// SPDX-License-Identifier: MIT
// What can be seen of OpenCL programs without a driver: PoCL's binaries, SPIR-V, program.json; devices' identities and
// targets.
#include "tlc_test.hpp"

#include "opencl/binary_check.hpp"
#include "opencl/checksum.hpp"
#include "opencl/pocl_binary.hpp"
#include "opencl/target.hpp"
#include "opencl/worker_order.hpp"
#include "opencl_support.hpp"
#include "support/failure.hpp"

using namespace tlcb::opencl;
using namespace tlc::test;

namespace {

template <typename Call>
std::string refusal(Call&& call, tlc_status status) {
  try {
    call();
  } catch (const tlcb::Failure& failure) {
    if (failure.status() == status) return failure.what();
    print_error("status %d\n", failure.status());
  }
  return {};
}

void targets_name_a_device(void**) {
  assert_string_equal(target_word("  Intel(R) Arc(TM) A770  Graphics ").c_str(), "intel-r-arc-tm-a770-graphics");
  assert_string_equal(target_word("gfx90a:sramecc+:xnack-").c_str(), "gfx90a-sramecc+-xnack");
  assert_string_equal(target_word("(R)\xc3\xa9").c_str(), "r");
  assert_string_equal(target_word("---").c_str(), "unnamed");
  assert_string_equal(fake_gpu().target().c_str(), kFakeGpuTarget);
  assert_true(parse_target(kFakeGpuTarget).names(fake_gpu()));
  assert_false(parse_target(kFakeGpuTarget).names(fake_cpu()));
  assert_true(parse_target("opencl:fake-cpu").names(fake_cpu()));
  assert_false(parse_target("opencl:fake-cpu:other").names(fake_cpu()));
  for (const char* text : {"opencl", "cuda:sm_90", "opencl:a,opencl:b", "opencl:a:b:c", "opencl:A", "opencl:a--b"}) {
    assert_false(refusal([&] { (void)parse_target(text); }, TLC_E_INVALID).empty());
  }
  assert_true(wanted_device("opencl").has_value() && wanted_device("opencl:auto").has_value());
  assert_u64(*wanted_device("opencl:17")->number, 17);
  assert_false(wanted_device("opencl:gfx90a").has_value());
  assert_false(refusal([] { (void)wanted_device("opencl:99999999999"); }, TLC_E_INVALID).empty());
}

void identities_are_read_as_they_are_written(void**) {
  for (const DeviceFacts& facts : {fake_gpu(), fake_cpu()}) {
    const auto read = parse_identity(facts.identity());
    assert_true(read.has_value() && *read == facts);
  }
  for (const char* text :
       {"", "device: x\n", "device: x\nplatform: y", "nothing: x\ndevice: x\nplatform: y\n", "platform: y\ndevice: x\n",
        "device: x\ndevice: x\nplatform: y\n", "device: \nplatform: y\n"}) {
    assert_false(parse_identity(text).has_value());
  }
  DeviceFacts updated = fake_gpu();
  updated.driver = "2.0";
  assert_string_equal(difference(fake_gpu(), updated).c_str(), "driver is '1.0', not '2.0'");
  assert_string_equal(difference(fake_gpu(), fake_gpu()).c_str(), "");
}

void checksums_are_those_of_the_standard(void**) {
  assert_string_equal(crc64_text("123456789").c_str(), "995dc9bbdf1939fa");
  const std::string bytes(1000, 'x');
  for (std::size_t i = 0; i < bytes.size(); i += 13) {
    std::string flipped = bytes;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
    assert_true(crc64(flipped) != crc64(bytes));
  }
}

void program_json_vouches_for_its_bytes(void**) {
  const std::string binary = "the binary";
  KernelInfo kernel;
  kernel.name = "a \"name\"";
  kernel.max_threads = UINT64_MAX;
  kernel.required = "64x1x1";
  kernel.arguments = {"global float* x", ""};
  const std::string json = program_json(fake_gpu(), binary, kernels_json({kernel}));
  const auto info = parse_program(json);
  assert_true(info.has_value());
  assert_true(info->device == fake_gpu());
  assert_string_equal(info->kernels.at(0).name.c_str(), kernel.name.c_str());
  assert_true(info->kernels.at(0).arguments == kernel.arguments);
  assert_string_equal(mismatch(*info, binary).c_str(), "");
  assert_true(contains(mismatch(*info, "the binar"), "cut"));
  assert_true(contains(mismatch(*info, "the bin4ry"), "not those that the driver made"));
  for (std::size_t size = 0; size + 1 < json.size(); ++size)
    assert_false(parse_program(json.substr(0, size)).has_value());
  assert_false(
      parse_program(R"({"format": 2, "device": "device: x\nplatform: y\n", "size": 1, "crc64": "", "kernels": {}})")
          .has_value());
}

void pocl_binaries_are_walked_to_their_end(void**) {
  for (const std::uint32_t version : {9U, 10U, 11U}) {
    const std::string whole = pocl::binary(version);
    const PoclBinary binary = check_pocl_binary(whole);
    assert_true_msg(binary.ok() && binary.walked, "version %u: %s", version, binary.problem.c_str());
    assert_string_equal(binary.kernels.at(0).name.c_str(), "k");
    assert_string_equal(binary.kernels.at(0).arguments.at(0).c_str(), "global float* x");
    for (std::size_t size = 8; size < whole.size(); ++size)
      assert_true_msg(!check_pocl_binary(whole.substr(0, size)).ok(), "%zu bytes", size);
    assert_false(check_pocl_binary(whole + '\0').ok());
    // Any number in it may be anything.
    for (std::size_t i = 8; i < whole.size(); ++i) {
      for (const int value : {0, 1, 0x7f, 0xff}) {
        std::string changed = whole;
        changed[i] = static_cast<char>(value);
        (void)check_pocl_binary(changed);
      }
    }
  }
  // Of what is not known only the header is looked at: program.json vouches for the rest.
  assert_true(check_pocl_binary(pocl::binary(12)).ok());
  assert_false(check_pocl_binary(pocl::binary(12)).walked);
}

void paths_in_pocl_binaries_stay_in_its_folder(void**) {
  for (const char* path : {"/../../../etc/x", "k", "/k/..", "/./k", "/k/", "/", ""}) {
    const PoclBinary binary = check_pocl_binary(pocl::binary(9, path));
    assert_true_msg(contains(binary.problem, "leads out of"), "%s: %s", path, binary.problem.c_str());
  }
  assert_true(contains(check_pocl_binary(pocl::binary(9, "/" + std::string(5000, 'x'))).problem, "leads out of"));
  std::string hash = pocl::binary();
  hash.replace(36, 3, "../");
  assert_true(contains(check_pocl_binary(hash).problem, "names a folder"));
}

void code_in_pocl_binaries_is_looked_at(void**) {
  assert_true(contains(check_pocl_binary(pocl::binary(9, "/k/0-0-0/k.so", "no library")).problem, "code in it"));
}

void other_formats_are_told_apart(void**) {
  assert_true(check_binary("// PTX\n.version 8.4\n").format == Format::text);
  assert_true(check_binary(std::string("\1\2\3", 3)).format == Format::other);
  assert_string_equal(check_binary("").problem.c_str(), "it is empty");
  std::string elf(
      "\x7f"
      "ELF\2\1\1",
      7);
  assert_true(check_binary(elf).format == Format::elf);
  assert_false(check_binary(elf).ok());
  std::string spirv;
  for (const std::uint32_t word : {0x07230203U, 0x10000U, 0U, 10U, 0U, 0x20011U, 1U}) pocl::number(spirv, word);
  assert_string_equal(spirv_problem(spirv).c_str(), "");
  assert_true(check_binary(spirv).format == Format::spirv);
  for (std::size_t size = 1; size < spirv.size(); ++size) {
    if (size != 20) assert_false(spirv_problem(spirv.substr(0, size)).empty());
  }
  assert_false(spirv_problem(spirv + spirv.substr(20, 4)).empty());
}

void orders_and_answers_are_read_as_they_are_written(void**) {
  Order order{"/lib", "beside", "device", "source", "il", "-w", {{"a.h", "A"}, {"b.h", ""}}};
  Order read_order;
  assert_true(decode(encode(order), read_order));
  assert_true(read_order.headers == order.headers && read_order.il == "il" && read_order.beside == "beside" &&
              read_order.options == "-w");
  Listing listing{"/lib", {"a", "b"}, {{"one", true}, {"two", false}}, "why"};
  Listing read;
  assert_true(decode(encode(listing), read));
  assert_true(read.files == listing.files && read.devices.size() == 2);
  assert_true(read.devices[0].computes && !read.devices[1].computes && read.devices[1].identity == "two");
  Outcome outcome{-11, "p", "l", std::string("\0b", 2), "{}"};
  Outcome read_outcome;
  assert_true(decode(encode(outcome), read_outcome));
  assert_true(read_outcome.result == -11 && read_outcome.binary == outcome.binary);
  assert_false(decode(encode(outcome), read_order));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(targets_name_a_device),
      cmocka_unit_test(identities_are_read_as_they_are_written),
      cmocka_unit_test(checksums_are_those_of_the_standard),
      cmocka_unit_test(program_json_vouches_for_its_bytes),
      cmocka_unit_test(pocl_binaries_are_walked_to_their_end),
      cmocka_unit_test(paths_in_pocl_binaries_stay_in_its_folder),
      cmocka_unit_test(code_in_pocl_binaries_is_looked_at),
      cmocka_unit_test(other_formats_are_told_apart),
      cmocka_unit_test(orders_and_answers_are_read_as_they_are_written),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
