// SPDX-License-Identifier: MIT
// The trace of requests that TLC_TRACE asks for: what the simulator of eviction replays (bench/evict_sim.py).
//
// Text, one line a request, fields between single spaces; all processes append to one file:
//
//   ms since 1970   pid   what   digest (16 hex digits)   bytes in the store   compile time in us   namespace
//
// what: h hit, m miss, r rejected, p published. Bytes and compile time are 0 where nothing was found. Blanks and
// control characters of a namespace become "_". Hits of a process on one artifact are one line a minute, as recency
// stamps are; they are gathered and written 3 KiB at a time and at close, so a killed process loses at most those. All
// else is written at once. A line is written whole; a reader passes over what does not fit.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "port/fd.hpp"
#include "port/result.hpp"
#include "trust/digest.hpp"

namespace tlc::store {

class Trace {
 public:
  /// Appends to the file, which is made if it is not there: 0600, never through a symlink.
  static Result<std::shared_ptr<Trace>> open(const std::string& path);
  ~Trace();

  void note(char what, const trust::Digest& key, std::uint64_t bytes, std::uint64_t compile_us,
            std::string_view name_space);
  void flush();

 private:
  explicit Trace(port::Fd file);
  void write_out();  // mutex held

  port::Fd file_;
  std::uint64_t fork_epoch_;
  std::mutex mutex_;
  std::string lines_;
};

}  // namespace tlc::store
