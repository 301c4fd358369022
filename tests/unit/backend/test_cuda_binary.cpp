// SPDX-License-Identifier: MIT
// Whether damaged device code is noticed, and never read beyond its end. With TLC_TEST_NVRTC real cubins are tried too.
#include "tlc_test.hpp"

#include <memory>
#include <random>

#include "cuda/binary_check.hpp"
#include "cuda/ptx.hpp"
#include "cuda_support.hpp"

using namespace tlc::test;
using namespace tlcb::cuda;

namespace {

/// Bytes that end where their memory ends, so that a sanitizer sees a step beyond.
class Exact {
 public:
  explicit Exact(std::string_view bytes) : size_(bytes.size()) {
    data_ = std::make_unique<char[]>(size_ == 0 ? 1 : size_);
    std::memcpy(data_.get(), bytes.data(), size_);
  }
  [[nodiscard]] std::string_view view() const { return {data_.get(), size_}; }

 private:
  std::size_t size_;
  std::unique_ptr<char[]> data_;
};

Binary checked(std::string_view bytes) {
  return check_binary(Exact(bytes).view());
}

/// Also reads what the bytes say of themselves, whatever they are.
void describe_bytes(const std::string& bytes) {
  FakeBundle artifact;
  artifact.members.push_back({"k", TLC_MEMBER_DEVICE_BINARY, bytes});
  assert_ok(cuda_ops().describe(nullptr, artifact));
}

void every_cut_is_noticed(const std::string& whole) {
  assert_true_msg(checked(whole).ok(), "%s", checked(whole).problem.c_str());
  const std::size_t step = std::max<std::size_t>(1, whole.size() / 6000);
  for (std::size_t len = 0; len < whole.size(); len += step) {
    assert_true_msg(!checked(std::string_view(whole).substr(0, len)).ok(), "cut at %zu of %zu", len, whole.size());
  }
  assert_false(checked(whole + '\0').ok());
}

void flips_do_no_harm(const std::string& whole) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes = whole;
    for (int flips = 0; flips < 1 + i % 4; ++flips) {
      // Most of them where the structure is.
      const std::size_t at = i % 2 == 0 ? random() % 64 : random() % bytes.size();
      bytes[at] = static_cast<char>(static_cast<unsigned>(bytes[at]) ^ (1U << (random() % 8)));
    }
    (void)checked(bytes);
    describe_bytes(bytes);
  }
}

void small_cubins_are_judged(void**) {
  for (const bool cuda13 : {true, false}) {
    const std::string cubin = make_cubin(90, cuda13);
    const Binary binary = checked(cubin);
    assert_true_msg(binary.ok(), "%s", binary.problem.c_str());
    assert_int_equal(binary.images.front().arch.number, 90);
    every_cut_is_noticed(cubin);
    flips_do_no_harm(cubin);
  }
  const auto problem_with = [](std::size_t at, char value) {
    std::string bytes = make_cubin(90);
    bytes[at] = value;
    return checked(bytes).problem;
  };
  assert_true(contains(problem_with(EI_OSABI, 3), "OS/ABI"));
  assert_true(contains(problem_with(18, 62), "x86-64"));
  assert_true(contains(problem_with(16, ET_REL), "relocatable"));
  assert_true(contains(problem_with(EI_CLASS, ELFCLASS32), "64-bit"));
}

void ptx_is_judged(void**) {
  const std::string ptx = make_ptx("sm_90a");
  const Binary binary = checked(ptx);
  assert_true_msg(binary.ok(), "%s", binary.problem.c_str());
  assert_true(binary.format == Format::ptx);
  assert_string_equal(binary.images.front().arch.text().c_str(), "compute_90a");
  assert_true(read_ptx(ptx).entries == std::vector<std::string>{"kern"});
  assert_string_equal(read_ptx(ptx).version.c_str(), "8.4");
  every_cut_is_noticed(ptx);
  flips_do_no_harm(ptx);
  assert_true(contains(checked(make_ptx("sm_90").substr(0, make_ptx("sm_90").size() - 1)).problem, "NUL"));
  std::string early = ptx;
  early[early.size() - 4] = '\0';
  assert_true(contains(checked(early).problem, "NUL before its end"));
  assert_true(contains(checked(make_ptx("riscv")).problem, "'riscv'"));
  assert_true(contains(checked(std::string(".version 8.0\n") + '\0').problem, ".target"));
}

/// As CUDA 13's fatbinary writes it: one image of each kind.
std::string make_fatbin(bool packed = false) {
  std::string images;
  const auto add = [&](std::uint16_t kind, std::uint32_t sm, std::string code) {
    code.resize((code.size() + 7) / 8 * 8, '\0');
    std::string header(64, '\0');
    const auto put = [&header](std::size_t at, auto value) { std::memcpy(header.data() + at, &value, sizeof value); };
    put(0, kind);
    put(2, std::uint16_t{0x101});
    put(4, std::uint32_t{64});
    put(8, std::uint64_t{code.size()});
    put(28, sm);
    put(40, std::uint64_t{packed ? 0x8011U : 0x11U});
    images += header + code;
  };
  add(2, 80, packed ? "compressed" : make_cubin(80));
  add(2, 90, packed ? "compressed" : make_cubin(90));
  add(1, 90, packed ? "compressed" : make_ptx("sm_90"));
  std::string out(16, '\0');
  const auto put = [&out](std::size_t at, auto value) { std::memcpy(out.data() + at, &value, sizeof value); };
  put(0, std::uint32_t{0xba55ed50});
  put(4, std::uint16_t{1});
  put(6, std::uint16_t{16});
  put(8, std::uint64_t{images.size()});
  return out + images;
}

void fatbins_are_judged(void**) {
  for (const bool packed : {false, true}) {
    const Binary binary = checked(make_fatbin(packed));
    assert_true_msg(binary.ok(), "%s", binary.problem.c_str());
    assert_u64(binary.images.size(), 3);
    assert_string_equal(binary.images[1].arch.text().c_str(), "sm_90");
    assert_string_equal(binary.images[2].arch.text().c_str(), "compute_90");
    every_cut_is_noticed(make_fatbin(packed));
    flips_do_no_harm(make_fatbin(packed));
  }
  std::string damaged = make_fatbin();
  damaged[16 + 64 + 18] = 62;  // the first image's machine
  assert_true(contains(checked(damaged).problem, "sm_80"));
  damaged = make_fatbin();
  damaged[16 + 28] = 90;
  assert_true(contains(checked(damaged).problem, "holds code for sm_80"));
}

void other_bytes_are_named(void**) {
  assert_true(contains(checked("").problem, "empty"));
  assert_true(contains(checked("int main() {}").problem, "neither"));
  assert_true(contains(checked("\x7f"
                               "ELF")
                           .problem,
                       "too short"));
  assert_true(checked("\xed\x43\x4e\x7f....").format == Format::ltoir);
}

void real_cubins_are_judged(void**) {
  if (!use_test_nvrtc()) skip();
  for (const char* arch : {"sm_80", "sm_90", "sm_90a", "sm_100"}) {
    for (const std::vector<std::string>& options : {std::vector<std::string>{}, {"-G"}, {"-lineinfo"}}) {
      const auto made = compile_cuda(cuda_request(kSaxpy, options), std::string("cuda:") + arch);
      if (!made.done.ok() && made.done.error().status == TLC_E_UNSUPPORTED) continue;  // newer than this NVRTC
      assert_ok(made.done);
      const std::string& cubin = made.bundle.members[0].bytes;
      Arch expected;
      assert_true(parse_arch(arch, expected));
      assert_int_equal(checked(cubin).images.front().arch.number, expected.number);
      every_cut_is_noticed(cubin);
      flips_do_no_harm(cubin);
    }
  }
}

void every_big_cubin_is_whole(void**) {
  if (!use_test_nvrtc()) skip();
  // Tables of more than one kernel, constants, variables, calls.
  const char* source =
      "__constant__ float c[16];\n__device__ int g;\ntemplate <int N> __device__ __noinline__ float f(float x) { "
      "return "
      "x * N + c[N]; }\nextern \"C\" __global__ void a(float* p) { p[0] = f<1>(p[1]); printf(\"%f\", p[0]); }\nextern "
      "\"C\" __global__ void b(float* p) { extern __shared__ float s[]; s[0] = f<2>(p[0]); g = 1; p[1] = s[0]; }\n";
  const auto made = compile_cuda(cuda_request(source));
  assert_ok(made.done);
  every_cut_is_noticed(made.bundle.members[0].bytes);
  flips_do_no_harm(made.bundle.members[0].bytes);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(small_cubins_are_judged), cmocka_unit_test(ptx_is_judged),
      cmocka_unit_test(fatbins_are_judged),      cmocka_unit_test(other_bytes_are_named),
      cmocka_unit_test(real_cubins_are_judged),  cmocka_unit_test(every_big_cubin_is_whole),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
