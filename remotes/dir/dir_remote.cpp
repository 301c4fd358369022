// SPDX-License-Identifier: MIT
// A folder as a remote: `dir:/path[?limit=SIZE][&host=NAME]`. docs/remotes.md tells when and how.
//
//   limit=SIZE  bytes of all packs in the folder, such as 500M or 4G (4G)
//   host=NAME   whose packs this host writes and merges; for hosts that change their name, or share one
#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "dir/folder.hpp"

namespace tlc::dir {
namespace {

constexpr std::size_t kMostHost = 40;
constexpr std::uint64_t kLeastLimit = std::uint64_t{1} << 20;

const tlc_host_api* library = nullptr;

void warn(const std::string& text) {
  if (library != nullptr && library->log != nullptr)
    library->log(TLC_LOG_WARN, {"remote", 6}, {text.data(), text.size()});
}

tlc_status answer(const Failure& failure, tlc_error* error) {
  if (!failure || error == nullptr) return failure.status;
  error->code = failure.status;
  error->sys_errno = failure.sys_errno;
  const std::size_t len = std::min(failure.message.size(), sizeof error->message - 1);
  std::memcpy(error->message, failure.message.data(), len);
  error->message[len] = '\0';
  error->message_length = failure.message.size();
  return failure.status;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      path += text[i];
      continue;
    }
    unsigned value = 0;
    if (i + 2 >= text.size() || std::from_chars(&text[i + 1], &text[i + 1] + 2, value, 16).ptr != &text[i + 1] + 2)
      return std::nullopt;
    path += static_cast<char>(value);
    i += 2;
  }
  return path.find('\0') == std::string::npos ? std::optional(path) : std::nullopt;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (error != std::errc{} || unit.size() > 1) return std::nullopt;
  const std::size_t power = unit.empty() ? 0 : std::string_view("KMGT").find(unit[0]) + 1;
  if (!unit.empty() && power == 0) return std::nullopt;
  const unsigned shift = 10 * static_cast<unsigned>(power);
  if (value > (UINT64_MAX >> shift)) return std::nullopt;
  return value << shift;
}

bool is_host(std::string_view name) {
  return !name.empty() && name.size() <= kMostHost && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
         });
}

Failure read_parameter(std::string_view one, Options& options) {
  const std::size_t equals = std::min(one.find('='), one.size());
  const std::string_view name = one.substr(0, equals);
  const std::string_view value = one.substr(std::min(equals + 1, one.size()));
  if (name == "limit") {
    const auto size = parse_size(value);
    if (!size || *size < kLeastLimit) return {TLC_E_INVALID, 0, "limit is a size from 1M on, such as 4G"};
    options.limit = *size;
    return {};
  }
  if (name == "host") {
    if (!is_host(value)) return {TLC_E_INVALID, 0, "host is 1 to 40 of [A-Za-z0-9_.]"};
    options.host = value;
    return {};
  }
  return {TLC_E_INVALID, 0, "'" + std::string(name) + "' is no parameter of a dir remote; there are: limit, host"};
}

Failure read_url(std::string_view url, Options& options) {
  url.remove_prefix(std::min(url.find(':') + 1, url.size()));
  const std::size_t question = std::min(url.find('?'), url.size());
  std::string_view path = url.substr(0, question);
  if (path.starts_with("///")) path.remove_prefix(2);
  const auto plain = unescaped(path);
  if (!plain || plain->size() < 2 || (*plain)[0] != '/')
    return {TLC_E_INVALID, 0, "a dir remote is written dir:/absolute/path, not " + std::string(url)};
  options.path = *plain;
  while (options.path.size() > 1 && options.path.back() == '/') options.path.pop_back();  // else a link is followed
  options.host = host_id();
  for (std::string_view rest = url.substr(std::min(question + 1, url.size())); !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    if (Failure failure = read_parameter(one, options)) return failure;
  }
  return {};
}

Digest digest_of(const std::uint8_t* bytes) {
  Digest digest;
  std::memcpy(digest.data(), bytes, digest.size());
  return digest;
}

std::uint64_t deadline(std::int64_t timeout_ms) {
  return monotonic_ms() + static_cast<std::uint64_t>(std::max<std::int64_t>(timeout_ms, 0));
}

tlc_status open(tlc_str url, void** state, tlc_error* error) {
  Options options;
  options.warn = warn;
  if (const Failure failure = read_url({url.data, url.len}, options)) return answer(failure, error);
  auto folder = std::make_unique<Folder>(std::move(options));
  if (const Failure failure = folder->open()) return answer(failure, error);
  *state = folder.release();
  return TLC_OK;
}

tlc_status get(void* state, const std::uint8_t* digest, std::int64_t timeout_ms, tlc_remote_sink_fn sink,
               void* sink_data, tlc_error* error) {
  std::vector<std::uint8_t> blob;
  const Failure failure = static_cast<Folder*>(state)->get(digest_of(digest), deadline(timeout_ms), blob);
  if (failure) return answer(failure, error);
  return sink(blob.data(), blob.size(), sink_data);
}

tlc_status put_many(void* state, const tlc_remote_item* const* items, std::size_t count, std::int64_t timeout_ms,
                    tlc_error* error) {
  std::vector<Change> changes;
  for (std::size_t i = 0; i < count; ++i) {
    const tlc_remote_item& item = *items[i];
    Change& change = changes.emplace_back();
    change.digest = digest_of(item.digest);
    if (item.data != nullptr) change.data = {static_cast<const std::uint8_t*>(item.data), item.len};
    change.replace = (item.flags & TLC_REMOTE_REPLACE) != 0;
  }
  return answer(static_cast<Folder*>(state)->put(changes, deadline(timeout_ms)), error);
}

tlc_status put(void* state, const std::uint8_t* digest, const void* data, std::size_t len, std::int64_t timeout_ms,
               tlc_error* error) {
  const Change change{digest_of(digest), {static_cast<const std::uint8_t*>(data), len}, false};
  return answer(static_cast<Folder*>(state)->put({&change, 1}, deadline(timeout_ms)), error);
}

tlc_status remove(void* state, const std::uint8_t* digest, std::int64_t timeout_ms, tlc_error* error) {
  const Change change{digest_of(digest), {}, false};
  return answer(static_cast<Folder*>(state)->put({&change, 1}, deadline(timeout_ms)), error);
}

void close(void* state) {
  std::default_delete<Folder>()(static_cast<Folder*>(state));
}

}  // namespace
}  // namespace tlc::dir

extern "C" tlc_status tlc_dir_remote_init_v1(const tlc_host_api* host, const tlc_remote_ops** ops, tlc_error* error);
extern "C" tlc_status tlc_dir_remote_init_v1(const tlc_host_api* host, const tlc_remote_ops** ops, tlc_error*) {
  static const tlc_remote_ops table = {
      TLC_REMOTE_OPS_SIZE, TLC_ABI_MAJOR,  TLC_ABI_MINOR, nullptr,       "folder",         "dir",
      TLC_REMOTE_PRIVATE,  tlc::dir::open, tlc::dir::get, tlc::dir::put, tlc::dir::remove, tlc::dir::close,
      tlc::dir::put_many};
  tlc::dir::library = host;
  *ops = &table;
  return TLC_OK;
}
