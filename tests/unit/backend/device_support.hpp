// SPDX-License-Identifier: MIT
// What tests of backends for devices share: a backend's table with a fake host, requests, compiles.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "backend/ops.hpp"
#include "backend_support.hpp"
#include "fake_host.hpp"

namespace tlc::test {

/// A backend's table, with a state that lives as long as the process, as a built-in backend's does.
inline backend::Ops new_ops(tlc_plugin_init_fn init) {
  const tlc_backend_ops* table = nullptr;
  void* state = nullptr;
  assert_int_equal(init(fake_host(), &table, &state, nullptr), TLC_OK);
  auto negotiated = backend::Ops::negotiate(table, state, "a test");
  assert_ok(negotiated);
  static auto* const all = new std::vector<backend::Ops>;
  all->push_back(*negotiated);
  return all->back();
}

inline FakeRequest source_request(const std::string& source, const std::vector<std::string>& options = {}) {
  FakeRequest request;
  request.fields["source"] = text_value(source);
  if (!options.empty()) request.fields["options"] = list_value(options);
  return request;
}

inline FakeValue map_value(const std::vector<std::pair<std::string, FakeValue>>& entries) {
  return {TLC_TYPE_MAP, {}, 0, entries};
}
inline FakeValue int_value(std::int64_t number) {
  return {TLC_TYPE_INT, {}, number, {}};
}

struct Compiled {
  FakeBundle bundle;
  FakeLog log;
  Result<void> done;

  [[nodiscard]] const FakeMember* member(const std::string& name) const {
    for (const FakeMember& one : bundle.members) {
      if (one.name == name) return &one;
    }
    return nullptr;
  }
};

inline Compiled compile_by(const backend::Ops& ops, const FakeRequest& request, const std::string& target) {
  Compiled out;
  out.bundle.target = target;
  out.done = ops.compile(nullptr, request, target, out.bundle, out.log);
  return out;
}

inline const char* const kSaxpy =
    "extern \"C\" __global__ void saxpy(float a, const float* x, float* y, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) y[i] += a * x[i];\n"
    "}\n";

inline void write_file(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

/// Until files written so far are older than a compile, beyond doubt.
inline void let_files_age() {
  ::usleep(50'000);
}

}  // namespace tlc::test
