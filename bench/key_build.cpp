// SPDX-License-Identifier: MIT
// Building a key, from an empty request to the digest, beside BLAKE2b of its bytes: those of its encoding and, since
// the encoding holds only the digest of a long value, those of the source.
#include <sodium.h>

#include "support.hpp"

namespace {

/// Ten fields as a kernel has them; `source` is the long one.
bench::Key build(const std::string& source) {
  tlc_request* raw = nullptr;
  bench::require(tlc_request_create(bench::text("bench/kernel"), &raw, nullptr) == TLC_OK, "tlc_request_create");
  const bench::Request request(raw);
  static constexpr std::string_view kToolchain = "compiler 12.4.131 build 9f2c";
  (void)tlc_request_set_target(raw, bench::text("device:arch90:fast"), nullptr);
  (void)tlc_request_set_engine(raw, bench::text("jit"), nullptr);
  (void)tlc_request_set_toolchain(raw, kToolchain.data(), kToolchain.size(), nullptr);
  (void)tlc_request_add_text(raw, bench::text("source"), bench::text(source), 0, nullptr);
  (void)tlc_request_add_text(raw, bench::text("name"), bench::text("matmul_kernel"), 0, nullptr);
  (void)tlc_request_add_int(raw, bench::text("block_m"), 128, 0, nullptr);
  (void)tlc_request_add_int(raw, bench::text("block_n"), 256, 0, nullptr);
  (void)tlc_request_add_int(raw, bench::text("stages"), 3, 0, nullptr);
  (void)tlc_request_add_bool(raw, bench::text("fast_math"), 1, 0, nullptr);
  (void)tlc_request_add_f64(raw, bench::text("epsilon"), 1e-5, 0, nullptr);
  tlc_key* key = nullptr;
  tlc_error error;
  tlc_error_init(&error);
  if (tlc_request_key(raw, &key, &error) != TLC_OK) bench::fail(error.message);
  return bench::Key(key);
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::string_view(argv[1]) == "--quick";
  bench::require(sodium_init() >= 0, "sodium_init");
  for (const std::size_t size : {std::size_t{200}, std::size_t{16} << 10, std::size_t{256} << 10}) {
    std::string source = bench::bytes(size, 7);
    for (char& c : source) c = static_cast<char>('a' + (static_cast<unsigned char>(c) & 15));
    const bench::Key key = build(source);
    std::size_t length = 0;
    const std::uint8_t* encoding = tlc_key_encoding(key.get(), &length);
    const std::size_t turns = size > 100'000 ? 4 : size > 10'000 ? 20 : 200;
    const std::vector<bench::Arm> arms{{"ours",
                                        [&] {
                                          for (std::size_t i = 0; i < turns; ++i)
                                            bench::use(tlc_key_digest(build(source).get())[0]);
                                        },
                                        turns},
                                       {"blake2b",
                                        [&] {
                                          unsigned char digest[32];
                                          for (std::size_t i = 0; i < turns; ++i) {
                                            if (length < source.size()) {
                                              crypto_generichash(digest, sizeof digest,
                                                                 reinterpret_cast<const unsigned char*>(source.data()),
                                                                 source.size(), nullptr, 0);
                                              bench::use(digest[0]);
                                            }
                                            crypto_generichash(digest, sizeof digest, encoding, length, nullptr, 0);
                                            bench::use(digest[0]);
                                          }
                                        },
                                        turns}};
    const std::vector<double> times = bench::interleave(arms, quick ? 21 : 301);
    bench::report("key/" + std::to_string(size),
                  {{"ours", times[0]}, {"blake2b", times[1]}, {"bytes", static_cast<double>(size)}});
  }
  return 0;
}
