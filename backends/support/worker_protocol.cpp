// SPDX-License-Identifier: MIT
#include "support/worker_protocol.hpp"

#include "support/tagged_fields.hpp"

namespace tlcb {
namespace {

constexpr std::string_view kMagic = "TLCWORK\n";
constexpr std::size_t kHead = 8 + 4 + 4 + 8;

enum Tag : std::uint32_t {
  kLibrary = 1,
  kCandidate,
  kSource,
  kName,
  kOption,
  kHeaderName,
  kHeaderText,
  kExpression,
  kPath,
  kVersion,
  kFile,
  kResult,
  kProblem,
  kLog,
  kCode,
  kLowered,
  kTask,
  kBody,
};

std::string frame(Frame kind, std::string_view body) {
  std::string out(kMagic);
  put_number(out, kWorkerVersion);
  put_number(out, static_cast<std::uint32_t>(kind));
  put_number(out, static_cast<std::uint64_t>(body.size()));
  return out.append(body);
}

}  // namespace

std::string encode(const CompileOrder& order) {
  TaggedWriter out;
  out.field(kLibrary, order.library);
  out.fields(kCandidate, order.candidates);
  out.field(kSource, order.source);
  out.field(kName, order.name);
  out.fields(kOption, order.options);
  for (const auto& [name, text] : order.headers) {
    out.field(kHeaderName, name);
    out.field(kHeaderText, text);
  }
  out.fields(kExpression, order.expressions);
  return frame(Frame::compile, out.bytes());
}

std::string encode(const WorkerOpened& opened) {
  TaggedWriter out;
  out.field(kPath, opened.path);
  out.field(kVersion, opened.version);
  out.fields(kFile, opened.files);
  return frame(Frame::opened, out.bytes());
}

std::string encode(const WorkerDone& done) {
  TaggedWriter out;
  std::string result;
  put_number(result, done.result);
  out.field(kResult, result);
  out.field(kProblem, done.problem);
  out.field(kLog, done.log);
  out.field(kCode, done.code);
  out.fields(kLowered, done.lowered);
  return frame(Frame::done, out.bytes());
}

std::string encode(const WorkerTask& task) {
  TaggedWriter out;
  out.field(kTask, task.name);
  out.field(kBody, task.body);
  return frame(Frame::task, out.bytes());
}

std::string encode_answer(std::string_view bytes) {
  return frame(Frame::answer, bytes);
}

bool decode(std::string_view body, WorkerTask& task) {
  task = {};
  return read_tagged(body, [&](std::uint32_t tag, std::string bytes) {
    if (tag != kTask && tag != kBody) return false;
    (tag == kTask ? task.name : task.body) = std::move(bytes);
    return true;
  });
}

bool decode(std::string_view body, CompileOrder& order) {
  order = {};
  return read_tagged(body, [&](std::uint32_t tag, std::string bytes) {
    switch (tag) {
      case kLibrary:
        order.library = std::move(bytes);
        return true;
      case kCandidate:
        order.candidates.push_back(std::move(bytes));
        return true;
      case kSource:
        order.source = std::move(bytes);
        return true;
      case kName:
        order.name = std::move(bytes);
        return true;
      case kOption:
        order.options.push_back(std::move(bytes));
        return true;
      case kHeaderName:
        order.headers.emplace_back(std::move(bytes), std::string());
        return true;
      case kHeaderText:
        if (order.headers.empty()) return false;
        order.headers.back().second = std::move(bytes);
        return true;
      case kExpression:
        order.expressions.push_back(std::move(bytes));
        return true;
      default:
        return false;
    }
  });
}

bool decode(std::string_view body, WorkerOpened& opened) {
  opened = {};
  return read_tagged(body, [&](std::uint32_t tag, std::string bytes) {
    if (tag == kPath) {
      opened.path = std::move(bytes);
    } else if (tag == kVersion) {
      opened.version = std::move(bytes);
    } else if (tag == kFile) {
      opened.files.push_back(std::move(bytes));
    } else {
      return false;
    }
    return true;
  });
}

bool decode(std::string_view body, WorkerDone& done) {
  done = {};
  return read_tagged(body, [&](std::uint32_t tag, std::string bytes) {
    std::string_view number = bytes;
    switch (tag) {
      case kResult:
        return take_number(number, done.result) && number.empty();
      case kProblem:
        done.problem = std::move(bytes);
        return true;
      case kLog:
        done.log = std::move(bytes);
        return true;
      case kCode:
        done.code = std::move(bytes);
        return true;
      case kLowered:
        done.lowered.push_back(std::move(bytes));
        return true;
      default:
        return false;
    }
  });
}

FrameRead take_frame(std::string_view& bytes, FrameHead& head) {
  std::string_view rest = bytes;
  const std::string_view magic = rest.substr(0, kMagic.size());
  if (magic != kMagic.substr(0, magic.size())) return FrameRead::nonsense;
  if (rest.size() < kHead) return FrameRead::cut;
  rest.remove_prefix(kMagic.size());
  std::uint32_t kind = 0;
  std::uint64_t size = 0;
  (void)(take_number(rest, head.version) && take_number(rest, kind) && take_number(rest, size));
  if (head.version != kWorkerVersion) return FrameRead::other_version;
  if (size > rest.size()) return FrameRead::cut;
  head.kind = static_cast<Frame>(kind);
  head.body = rest.substr(0, size);
  bytes = rest.substr(size);
  return FrameRead::whole;
}

}  // namespace tlcb
