// SPDX-License-Identifier: MIT
// What a backend and tlcache-worker say to each other.
//
// The worker reads one request from its standard input and writes frames to what was its standard output; both are
// files or pipes that nobody else writes to, since the worker sends the output of the libraries it runs to standard
// error. A worker that dies leaves the frames it had written, and a frame counts only when it is whole.
//
//   frame:  8 bytes "TLCWORK\n", u32 version, u32 kind, u64 bytes of the body, the body
//   body:   fields (support/tagged_fields.hpp); of an answer to a task what its handler wrote
//
// Numbers are little-endian. A field of a tag that is not known is an error: both ends are of one version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tlcb {

inline constexpr std::uint32_t kWorkerVersion = 2;

enum class Frame : std::uint32_t {
  compile = 1,  ///< a request to compile
  opened = 2,   ///< the library was opened: what it consists of
  done = 3,     ///< the compile has ended
  task = 4,     ///< a request to a handler that a backend has in the worker (support/worker_handler.hpp)
  answer = 5,   ///< what the handler says; there may be several
};

/// Source to code object by the functions of hiprtc.
struct CompileOrder {
  std::string library;  ///< path or name of the library; empty: the names in `candidates`, in their order
  std::vector<std::string> candidates;
  std::string source;
  std::string name;                                          ///< of the source
  std::vector<std::string> options;                          ///< in order
  std::vector<std::pair<std::string, std::string>> headers;  ///< name and text
  std::vector<std::string> expressions;                      ///< names to lower
};

struct WorkerOpened {
  std::string path;                ///< of the library
  std::string version;             ///< as it says it
  std::vector<std::string> files;  ///< every library that came with it, libc left out
};

struct WorkerDone {
  std::int64_t result = 0;  ///< of the library's, 0: success
  std::string problem;      ///< what is wrong where no result of the library's says it, or what it calls that result
  std::string log;
  std::string code;
  std::vector<std::string> lowered;  ///< of each expression
};

struct WorkerTask {
  std::string name;  ///< of the handler
  std::string body;
};

[[nodiscard]] std::string encode(const CompileOrder& order);
[[nodiscard]] std::string encode(const WorkerOpened& opened);
[[nodiscard]] std::string encode(const WorkerDone& done);
[[nodiscard]] std::string encode(const WorkerTask& task);
[[nodiscard]] std::string encode_answer(std::string_view bytes);

// Each reads the body of a frame of its kind; false for anything else.
[[nodiscard]] bool decode(std::string_view body, CompileOrder& order);
[[nodiscard]] bool decode(std::string_view body, WorkerOpened& opened);
[[nodiscard]] bool decode(std::string_view body, WorkerDone& done);
[[nodiscard]] bool decode(std::string_view body, WorkerTask& task);

enum class FrameRead {
  whole,
  cut,            ///< nothing, or the beginning of one
  other_version,  ///< `version` says which
  nonsense,
};
struct FrameHead {
  std::uint32_t version = 0;
  Frame kind = Frame::compile;
  std::string_view body;
};
/// Takes the frame at the front of `bytes`.
[[nodiscard]] FrameRead take_frame(std::string_view& bytes, FrameHead& head);

}  // namespace tlcb
