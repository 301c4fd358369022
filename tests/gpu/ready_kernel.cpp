// SPDX-License-Identifier: MIT
// How long until a kernel can run. Two arms in turn, each with a cubin that this process has not loaded before:
//
//   ours   store open, key built: get, check, load, symbol, first launch, and its end
//   bare   the same bytes in memory: cuModuleLoadData, cuModuleGetFunction, first launch, and its end
//
// Prints a line of JSON for each size of cubin: medians in microseconds, and the median of the pairs' ratios.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "kernels.hpp"
#include "session.hpp"

using namespace tlc::gpu;

namespace {

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// A kernel that is different for each number, and as long as `steps` makes it.
std::string source(int number, int steps) {
  std::string text =
      "extern \"C\" __global__ void add" + std::to_string(number) + "(int* value) {\n  int x = *value;\n";
  for (int i = 0; i < steps; ++i)
    text += "  x = x * " + std::to_string(2 * i + 3) + " ^ (x >> " + std::to_string(i % 13 + 1) + ");\n";
  return text + "  if (x != 0x7fffffff) *value += " + std::to_string(number) + ";\n}\n";
}

struct Entry {
  Owned<tlc_key> key;
  std::string cubin;
};

Entry prepare(const Session& session, int number, int steps) {
  const auto got = session.get(Wanted(source(number, steps)));
  std::size_t size = 0;
  const void* data = tlc_artifact_data(got.artifact.get(), 0, &size);
  return {Session::key_of(got.artifact.get()), std::string(static_cast<const char*>(data), size)};
}

/// Where the time of our arm goes, summed: get, load, symbol, launch to end.
struct Parts {
  double get = 0;
  double load = 0;
  double symbol = 0;
  double launch = 0;
};

double ours(const Session& session, const Entry& entry, int number, void* argument, Parts& parts) {
  const std::string name = "add" + std::to_string(number);
  const Card& card = Card::get();
  tlc_error error = error_here();
  const double start = now_us();
  tlc_artifact* artifact = nullptr;
  require(tlc_cache_get(session.get(), entry.key.get(), &artifact, &error), error, "get");
  const double got = now_us();
  tlc_module* module = nullptr;
  require(tlc_cache_load(session.get(), artifact, nullptr, &module, &error), error, "load");
  const double loaded = now_us();
  void* function = nullptr;
  require(tlc_module_symbol(module, view(name), &function, &error), error, "symbol");
  const double found = now_us();
  card.launch(function, 1, 1, 1, 1, 0, {argument});
  card.synchronize();
  const double end = now_us();
  parts.get += got - start;
  parts.load += loaded - got;
  parts.symbol += found - loaded;
  parts.launch += end - found;
  tlc_module_release(module);
  tlc_artifact_release(artifact);
  return end - start;
}

double bare(const Entry& entry, int number, void* argument) {
  const std::string name = "add" + std::to_string(number);
  const Card& card = Card::get();
  const double start = now_us();
  void* module = card.load(entry.cubin.data());
  card.launch(card.function(module, name.c_str()), 1, 1, 1, 1, 0, {argument});
  card.synchronize();
  const double took = now_us() - start;
  card.unload(module);
  return took;
}

/// The same by the driver's newer interface, to tell its cost from ours.
double bare_library(const Entry& entry, int number, void* argument) {
  const std::string name = "add" + std::to_string(number);
  const Card& card = Card::get();
  const double start = now_us();
  Handle library = nullptr;
  Handle kernel = nullptr;
  Handle function = nullptr;
  card.call("cuLibraryLoadData", &library, static_cast<const void*>(entry.cubin.data()), Handle{}, Handle{}, 0U,
            Handle{}, Handle{}, 0U);
  card.call("cuLibraryGetKernel", &kernel, library, name.c_str());
  card.call("cuKernelGetFunction", &function, kernel);
  card.launch(function, 1, 1, 1, 1, 0, {argument});
  card.synchronize();
  const double took = now_us() - start;
  card.call("cuLibraryUnload", library);
  return took;
}

void measure(const std::string& folder, int steps, int pairs) {
  constexpr int kFirst = 1000000;
  std::vector<Entry> entries;
  {
    const Session session(folder);
    for (int i = 0; i < 3 * pairs; ++i) entries.push_back(prepare(session, i + 1, steps));
    entries.push_back(prepare(session, kFirst, steps));
  }
  const Session session(folder);  // knows none of them yet
  DeviceBuffer<int> value(std::vector<int>{1});
  Parts parts;
  (void)ours(session, entries.back(), kFirst, value.argument(), parts);  // the driver's and our own first time ever
  (void)bare(entries.back(), kFirst, value.argument());
  (void)bare_library(entries.back(), kFirst, value.argument());
  parts = {};
  std::vector<double> our_times;
  std::vector<double> bare_times;
  std::vector<double> library_times;
  std::vector<double> ratios;
  for (int i = 0; i < pairs; ++i) {
    const auto mine = [&] { our_times.push_back(ours(session, entries[3 * i], 3 * i + 1, value.argument(), parts)); };
    if (i % 2 == 0) mine();
    bare_times.push_back(bare(entries[3 * i + 1], 3 * i + 2, value.argument()));
    if (i % 2 != 0) mine();
    library_times.push_back(bare_library(entries[3 * i + 2], 3 * i + 3, value.argument()));
    ratios.push_back(our_times.back() / bare_times.back());
  }
  std::printf(
      "{\"bytes\": %zu, \"pairs\": %d, \"ours_us\": %.1f, \"bare_us\": %.1f, \"library_us\": %.1f, \"ratio\": %.3f, "
      "\"pairs_ratio\": %.3f, \"get_us\": %.1f, \"load_us\": %.1f, \"symbol_us\": %.1f, \"launch_us\": %.1f}\n",
      entries[0].cubin.size(), pairs, median(our_times), median(bare_times), median(library_times),
      median(our_times) / median(bare_times), median(ratios), parts.get / pairs, parts.load / pairs,
      parts.symbol / pairs, parts.launch / pairs);
}

}  // namespace

int main(int argc, char** argv) {
  const int pairs = argc > 1 ? std::atoi(argv[1]) : 40;
  Card::get().use_primary();
  for (const int steps : {1, 400, 1600}) {
    char folder[] = "/tmp/tlc-ready-XXXXXX";
    if (::mkdtemp(folder) == nullptr) return 1;
    measure(folder, steps, pairs);
    std::filesystem::remove_all(folder);
  }
  return 0;
}
