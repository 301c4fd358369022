// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <time.h>

#include <cstring>
#include <filesystem>
#include <numeric>
#include <random>

namespace bench {

std::uint64_t now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

double median(std::vector<double> values) {
  require(!values.empty(), "no measurements");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void fail(const std::string& message) {
  std::fprintf(stderr, "bench: %s\n", message.c_str());
  std::exit(1);
}

ScratchFolder::ScratchFolder() {
  std::string name = std::filesystem::temp_directory_path().string() + "/tlcache-bench-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) fail("cannot make a folder in " + name);
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void report(std::string_view name, const std::vector<std::pair<std::string, double>>& values) {
  std::printf("{\"case\": \"%.*s\", \"values\": {", static_cast<int>(name.size()), name.data());
  for (std::size_t i = 0; i < values.size(); ++i)
    std::printf("%s\"%s\": %.3f", i == 0 ? "" : ", ", values[i].first.c_str(), values[i].second);
  std::printf("}}\n");
  std::fflush(stdout);
}

std::string bytes(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string made(size, '\0');
  for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(made.data() + at, &word, std::min(sizeof word, size - at));
  }
  return made;
}

std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  return order;
}

std::uint64_t sum_of(const void* data, std::size_t size) {
  std::uint64_t sum = 0;
  const auto* at = static_cast<const unsigned char*>(data);
  for (; size >= sizeof sum; size -= sizeof sum, at += sizeof sum) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    sum += word;
  }
  for (; size > 0; --size) sum += *at++;
  return sum;
}

std::vector<double> interleave(const std::vector<Arm>& arms, int rounds) {
  std::vector<std::vector<double>> times(arms.size());
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < arms.size(); ++i) {
      arms[i].slice();  // so that what the arm before it left in the processor's caches does not count
      const std::uint64_t start = now_ns();
      arms[i].slice();
      const auto took = static_cast<double>(now_ns() - start);
      times[i].push_back(took / static_cast<double>(arms[i].operations));
    }
  std::vector<double> medians;
  for (auto& each : times) medians.push_back(median(std::move(each)));
  return medians;
}

Cache open_cache(const std::string& folder, std::uint64_t limit) {
  tlc_cache_options options;
  tlc_cache_options_init(&options);
  options.directory = text(folder);
  options.limit_bytes = limit;
  options.flags = TLC_OPEN_STRICT | TLC_OPEN_NO_ENV;
  tlc_cache* cache = nullptr;
  tlc_error error;
  tlc_error_init(&error);
  if (tlc_cache_open(&options, &cache, &error) != TLC_OK) fail(error.message);
  return Cache(cache);
}

Request make_request(std::uint64_t number) {
  tlc_request* request = nullptr;
  require(tlc_request_create(text("bench"), &request, nullptr) == TLC_OK, "tlc_request_create");
  Request made(request);
  require(tlc_request_set_no_toolchain(request, nullptr) == TLC_OK, "tlc_request_set_no_toolchain");
  require(tlc_request_add_uint(request, text("number"), number, 0, nullptr) == TLC_OK, "tlc_request_add_uint");
  return made;
}

Key make_key(std::uint64_t number) {
  const Request request = make_request(number);
  tlc_key* key = nullptr;
  tlc_error error;
  tlc_error_init(&error);
  if (tlc_request_key(request.get(), &key, &error) != TLC_OK) fail(error.message);
  return Key(key);
}

Bundle make_bundle(const std::string& member) {
  tlc_bundle* bundle = nullptr;
  require(tlc_bundle_create(&bundle, nullptr) == TLC_OK, "tlc_bundle_create");
  Bundle made(bundle);
  require(tlc_bundle_add(bundle, text("kernel.bin"), TLC_MEMBER_DEVICE_BINARY, member.data(), member.size(),
                         TLC_BUNDLE_BORROW, nullptr) == TLC_OK,
          "tlc_bundle_add");
  return made;
}

void put(tlc_cache* cache, const tlc_key* key, const std::string& member) {
  const Bundle bundle = make_bundle(member);
  tlc_error error;
  tlc_error_init(&error);
  if (tlc_cache_put(cache, key, bundle.get(), nullptr, &error) != TLC_OK) fail(error.message);
}

}  // namespace bench
