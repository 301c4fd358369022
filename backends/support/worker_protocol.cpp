// SPDX-License-Identifier: MIT
#include "support/worker_protocol.hpp"

#include <bit>
#include <cstring>

namespace tlcb {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie");

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
};

template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename T>
bool take(std::string_view& bytes, T& value) {
  if (bytes.size() < sizeof value) return false;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return true;
}

class Writer {
 public:
  void field(Tag tag, std::string_view bytes) {
    put(body_, static_cast<std::uint32_t>(tag));
    put(body_, static_cast<std::uint64_t>(bytes.size()));
    body_ += bytes;
  }
  void fields(Tag tag, const std::vector<std::string>& all) {
    for (const std::string& one : all) field(tag, one);
  }
  [[nodiscard]] std::string frame(Frame kind) const {
    std::string out(kMagic);
    put(out, kWorkerVersion);
    put(out, static_cast<std::uint32_t>(kind));
    put(out, static_cast<std::uint64_t>(body_.size()));
    return out + body_;
  }

 private:
  std::string body_;
};

/// Hands each field to `each`, which says whether it knows the tag.
template <typename Each>
bool read_fields(std::string_view body, Each&& each) {
  while (!body.empty()) {
    std::uint32_t tag = 0;
    std::uint64_t size = 0;
    if (!take(body, tag) || !take(body, size) || size > body.size()) return false;
    if (!each(tag, std::string(body.substr(0, size)))) return false;
    body.remove_prefix(size);
  }
  return true;
}

}  // namespace

std::string encode(const CompileOrder& order) {
  Writer out;
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
  return out.frame(Frame::compile);
}

std::string encode(const WorkerOpened& opened) {
  Writer out;
  out.field(kPath, opened.path);
  out.field(kVersion, opened.version);
  out.fields(kFile, opened.files);
  return out.frame(Frame::opened);
}

std::string encode(const WorkerDone& done) {
  Writer out;
  std::string result;
  put(result, done.result);
  out.field(kResult, result);
  out.field(kProblem, done.problem);
  out.field(kLog, done.log);
  out.field(kCode, done.code);
  out.fields(kLowered, done.lowered);
  return out.frame(Frame::done);
}

bool decode(std::string_view body, CompileOrder& order) {
  order = {};
  return read_fields(body, [&](std::uint32_t tag, std::string bytes) {
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
  return read_fields(body, [&](std::uint32_t tag, std::string bytes) {
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
  return read_fields(body, [&](std::uint32_t tag, std::string bytes) {
    std::string_view number = bytes;
    switch (tag) {
      case kResult:
        return take(number, done.result) && number.empty();
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
  (void)(take(rest, head.version) && take(rest, kind) && take(rest, size));
  if (head.version != kWorkerVersion) return FrameRead::other_version;
  if (size > rest.size()) return FrameRead::cut;
  head.kind = static_cast<Frame>(kind);
  head.body = rest.substr(0, size);
  bytes = rest.substr(size);
  return FrameRead::whole;
}

}  // namespace tlcb
