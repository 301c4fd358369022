// SPDX-License-Identifier: MIT
// A C++ application: owners around the handles, a compile callback that throws nothing across, every header included.
#include <tlcache/backend.h>
#include <tlcache/remote.h>
#include <tlcache/tlcache.h>

#include <cstdio>
#include <memory>
#include <string>

namespace {

struct Close {
  void operator()(tlc_cache* p) const { tlc_cache_close(p); }
  void operator()(tlc_request* p) const { tlc_request_destroy(p); }
  void operator()(tlc_artifact* p) const { tlc_artifact_release(p); }
};
template <class T>
using Owner = std::unique_ptr<T, Close>;

tlc_str str(const std::string& s) {
  return tlc_str{s.data(), s.size()};
}

tlc_status compile(const tlc_request*, const tlc_key*, tlc_bundle* bundle, tlc_log*, tlc_error* error,
                   void* user_data) {
  ++*static_cast<int*>(user_data);
  return tlc_bundle_add(bundle, str("out"), TLC_MEMBER_OPAQUE, "code", 4, 0, error);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  tlc_error error;
  tlc_error_init(&error);
  tlc_cache_options options;
  tlc_cache_options_init(&options);
  const std::string folder = argv[1];
  options.directory = str(folder);
  options.flags = TLC_OPEN_STRICT | TLC_OPEN_NO_ENV;
  tlc_cache* raw_cache = nullptr;
  tlc_request* raw_request = nullptr;
  if (tlc_cache_open(&options, &raw_cache, &error) != TLC_OK) return std::puts(error.message), 1;
  const Owner<tlc_cache> cache(raw_cache);
  if (tlc_request_create(str("consumer/c++"), &raw_request, &error) != TLC_OK) return std::puts(error.message), 1;
  const Owner<tlc_request> request(raw_request);
  tlc_request_set_no_toolchain(request.get(), nullptr);

  int compiled = 0;
  for (int round = 0; round < 2; ++round) {
    tlc_compile_options how;
    tlc_compile_options_init(&how);
    how.compile = compile;
    how.user_data = &compiled;
    tlc_artifact* found = nullptr;
    if (tlc_cache_get_or_compile(cache.get(), request.get(), &how, &found, nullptr, &error) != TLC_OK) {
      return std::puts(error.message), 1;
    }
    const Owner<tlc_artifact> artifact(found);
    std::size_t size = 0;
    const void* data = tlc_artifact_data(artifact.get(), 0, &size);
    if (std::string(static_cast<const char*>(data), size) != "code") return std::puts("wrong bytes"), 1;
  }
  std::printf("compiled %d time(s) for 2 look-ups\n", compiled);
  return compiled == 1 ? 0 : 1;
}
