// SPDX-License-Identifier: MIT
#include "store/trace.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "port/clock.hpp"
#include "port/file.hpp"
#include "port/fork.hpp"
#include "port/retry.hpp"

namespace tlc::store {
namespace {

constexpr std::size_t kGathered = 3072;

}  // namespace

Trace::Trace(port::Fd file) : file_(std::move(file)), fork_epoch_(port::fork_epoch()) {
  lines_.reserve(2 * kGathered);
}

Result<std::shared_ptr<Trace>> Trace::open(const std::string& path) {
  Result<port::Fd> file = port::open_at(AT_FDCWD, path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
  if (!file) return std::move(file).error();
  return std::shared_ptr<Trace>(new Trace(std::move(*file)));
}

Trace::~Trace() {
  flush();
}

void Trace::note(char what, const trust::Digest& key, std::uint64_t bytes, std::uint64_t compile_us,
                 std::string_view name_space) {
  std::string line = std::to_string(port::wall_ns() / 1'000'000) + ' ' + std::to_string(::getpid()) + ' ' + what + ' ' +
                     trust::to_hex(key).substr(0, 16) + ' ' + std::to_string(bytes) + ' ' + std::to_string(compile_us) +
                     ' ';
  for (const char c : name_space) line += static_cast<unsigned char>(c) <= ' ' || c == 0x7f ? '_' : c;
  line += '\n';
  const std::lock_guard lock(mutex_);
  lines_ += line;
  if (what != 'h' || lines_.size() >= kGathered) write_out();
}

void Trace::flush() {
  if (fork_epoch_ != port::fork_epoch()) return;  // the parent's lines, and perhaps a thread's lock
  const std::lock_guard lock(mutex_);
  write_out();
}

// One write, so that lines of other processes do not get between. What cannot be written is lost: a trace must not
// disturb what it traces.
void Trace::write_out() {
  if (!lines_.empty() && fork_epoch_ == port::fork_epoch())
    (void)port::retry([&] { return ::write(file_.get(), lines_.data(), lines_.size()); });
  lines_.clear();
}

}  // namespace tlc::store
