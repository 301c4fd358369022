// SPDX-License-Identifier: MIT
// One compile for many. 64 separately started processes wait at a barrier until all are there; then each opens the
// store, builds its key and wants the same cold artifact, whose compile takes two seconds. 64 threads want 126 cold
// keys. The compiler is a callback that sleeps and appends a line to a file, so that compiles are counted by what it
// wrote.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>

#include "shared_page.hpp"
#include "support.hpp"

extern char** environ;

namespace {

constexpr int kProcesses = 64;
constexpr unsigned kThreads = 64;
constexpr std::size_t kKeys = 126;

struct Compiler {
  std::string log;
  std::chrono::milliseconds takes;
  std::string member;
};

void append_line(const std::string& path, std::uint64_t number) {
  const std::string line = std::to_string(number) + "\n";
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  bench::require(fd >= 0 && ::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size()),
                 "cannot write to the log");
  ::close(fd);
}

tlc_status compile(const tlc_request*, const tlc_key*, tlc_bundle* bundle, tlc_log*, tlc_error* error, void* data) {
  const auto* compiler = static_cast<const Compiler*>(data);
  std::this_thread::sleep_for(compiler->takes);
  if (!compiler->log.empty()) append_line(compiler->log, bench::now_ns());
  return tlc_bundle_add(bundle, bench::text("kernel.bin"), TLC_MEMBER_DEVICE_BINARY, compiler->member.data(),
                        compiler->member.size(), 0, error);
}

void get_or_compile(tlc_cache* cache, std::uint64_t number, Compiler& compiler) {
  const bench::Request request = bench::make_request(number);
  tlc_compile_options options;
  tlc_compile_options_init(&options);
  options.compile = compile;
  options.user_data = &compiler;
  tlc_artifact* artifact = nullptr;
  tlc_error error;
  tlc_error_init(&error);
  if (tlc_cache_get_or_compile(cache, request.get(), &options, &artifact, nullptr, &error) != TLC_OK)
    bench::fail(error.message);
  tlc_artifact_release(artifact);
}

struct Barrier {
  std::atomic<int> arrived{0};
};

int child(const std::string& folder) {
  const bench::SharedPage<Barrier> barrier(folder + "/barrier");
  barrier->arrived.fetch_add(1);
  while (barrier->arrived.load() < kProcesses) std::this_thread::sleep_for(std::chrono::microseconds(100));
  Compiler compiler{folder + "/compiled", std::chrono::seconds(2), bench::bytes(16 << 10, 5)};
  const bench::Cache cache = bench::open_cache(folder + "/tlcache");
  get_or_compile(cache.get(), 1, compiler);
  append_line(folder + "/done", bench::now_ns());
  return 0;
}

std::vector<std::uint64_t> numbers_in(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t number = 0; file >> number;) numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

void processes(const char* self) {
  const bench::ScratchFolder folder;
  const bench::SharedPage<Barrier> barrier(folder.path() + "/barrier");
  const char* arguments[] = {self, "--child", folder.path().c_str(), nullptr};
  std::vector<pid_t> children(kProcesses);
  for (pid_t& each : children)
    bench::require(::posix_spawn(&each, self, nullptr, nullptr, const_cast<char**>(arguments), environ) == 0,
                   "posix_spawn");
  for (const pid_t each : children) {
    int status = 0;
    ::waitpid(each, &status, 0);
    bench::require(status == 0, "a process failed");
  }
  const std::vector<std::uint64_t> compiled = numbers_in(folder.path() + "/compiled");
  const std::vector<std::uint64_t> done = numbers_in(folder.path() + "/done");
  bench::require(!compiled.empty() && done.size() == kProcesses, "the logs are not complete");
  bench::report("one_key_64_processes", {{"compiles", static_cast<double>(compiled.size())},
                                         {"done_after_s", static_cast<double>(done.back() - compiled.front()) / 1e9}});
}

/// Seconds that 64 threads take to work through the keys.
double work_through(const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const std::uint64_t start = bench::now_ns();
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < kThreads; ++t)
      threads.emplace_back([&] {
        for (std::size_t i = 0; (i = next.fetch_add(1)) < kKeys;) work(i);
      });
  }
  return static_cast<double>(bench::now_ns() - start) / 1e9;
}

void threads(std::chrono::milliseconds takes, int rounds) {
  std::vector<double> ours;
  std::vector<double> bare;
  const bench::ScratchFolder folder;
  const bench::Cache cache = bench::open_cache(folder.path() + "/tlcache");
  Compiler compiler{{}, takes, bench::bytes(16 << 10, 6)};
  for (int round = 0; round < rounds; ++round) {
    bare.push_back(work_through([&](std::size_t) { std::this_thread::sleep_for(takes); }));
    ours.push_back(work_through([&](std::size_t i) {
      get_or_compile(cache.get(), 1000 + static_cast<std::uint64_t>(round) * kKeys + i, compiler);
    }));
  }
  const double base = bench::median(bare);
  const double took = bench::median(ours);
  bench::report("126_keys_64_threads/" + std::to_string(takes.count()) + "ms",
                {{"ours_ms", took * 1e3}, {"bare_ms", base * 1e3}, {"overhead_percent", (took / base - 1) * 100}});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--child") return child(argv[2]);
  const bool quick = argc > 1 && std::string_view(argv[1]) == "--quick";
  processes(argv[0]);
  threads(std::chrono::milliseconds(20), quick ? 3 : 15);
  threads(std::chrono::milliseconds(2000), quick ? 1 : 3);
  return 0;
}
