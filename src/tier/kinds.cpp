// SPDX-License-Identifier: MIT
#include "tier/kinds.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

namespace tlc::tier {
namespace {

constexpr std::size_t kMaxScheme = 32;
constexpr std::size_t kMaxText = 256;
constexpr std::size_t kPrefix = TLC_SIZEOF(tlc_remote_ops, caps);

std::string version(std::uint32_t major, std::uint32_t minor) {
  return "ABI " + std::to_string(major) + "." + std::to_string(minor);
}

bool is_scheme(std::string_view text) {
  return !text.empty() && text.size() <= kMaxScheme && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '.' || c == '-';
  });
}

tlc_str view(std::string_view text) {
  return {text.data(), text.size()};
}

/// Calls a slot; what it throws or says becomes an Error, but the unwinding of a cancelled thread passes.
template <typename Fn>
Result<void> guarded(const Kind& kind, const char* slot, const Fn& fn) {
  tlc_error error{};
  error.struct_size = TLC_SIZEOF(tlc_error, message);
  tlc_status status = TLC_OK;
  const std::string who = "remote '" + kind.name() + "': " + slot;
  try {
    status = fn(&error);
  } catch (abi::__forced_unwind&) {
    throw;
  } catch (const std::exception& thrown) {
    return make_error(TLC_E_CALLBACK, who + " threw an exception: " + thrown.what());
  } catch (...) {
    return make_error(TLC_E_CALLBACK, who + " threw an exception: not a std::exception");
  }
  if (status == TLC_OK) return {};
  error.message[sizeof error.message - 1] = '\0';
  Error made{status, error.sys_errno, error.backend_code, error.message};
  if (made.message.empty()) made.message = who + " answered status " + std::to_string(status) + " and said no more";
  return made;
}

struct Sink {
  std::vector<std::uint8_t> bytes;
  std::uint64_t cap;
  bool over = false;
};

tlc_status take(const void* data, std::size_t len, void* user_data) {
  Sink& sink = *static_cast<Sink*>(user_data);
  sink.over = sink.over || len > sink.cap - sink.bytes.size();
  if (sink.over) return TLC_TOO_LARGE;
  if (len == 0) return TLC_OK;
  try {
    const auto* from = static_cast<const std::uint8_t*>(data);
    sink.bytes.insert(sink.bytes.end(), from, from + len);
  } catch (const std::bad_alloc&) {
    return TLC_E_NOMEM;
  }
  return TLC_OK;
}

}  // namespace

Result<Kind> Kind::negotiate(const tlc_remote_ops* theirs) {
  const std::size_t size = theirs->struct_size;
  if (size == 0) return make_error(TLC_E_INVALID, "tlc_remote_ops.struct_size is not set; use TLC_REMOTE_OPS_SIZE");
  if (size < kPrefix)
    return make_error(TLC_E_ABI, "the remote's table has " + std::to_string(size) + " bytes; the least is " +
                                     std::to_string(kPrefix));
  if (theirs->abi_major != TLC_ABI_MAJOR)
    return make_error(TLC_E_ABI, "the remote is for " + version(theirs->abi_major, theirs->abi_minor) +
                                     ", this library has " + version(TLC_ABI_MAJOR, TLC_ABI_MINOR));
  Kind kind;
  std::memcpy(&kind.table_, theirs, std::min(size, TLC_REMOTE_OPS_SIZE));
  if (kind.table_.next != nullptr) return make_error(TLC_E_ABI, "tlc_remote_ops.next is not NULL");
  if (kind.table_.name == nullptr || kind.table_.name[0] == '\0')
    return make_error(TLC_E_INVALID, "the remote has no name");
  kind.name_.assign(kind.table_.name, ::strnlen(kind.table_.name, kMaxText));
  if (kind.table_.scheme != nullptr) kind.scheme_.assign(kind.table_.scheme, ::strnlen(kind.table_.scheme, kMaxText));
  if (!is_scheme(kind.scheme_))
    return make_error(TLC_E_INVALID, "remote '" + kind.name_ + "': a scheme has 1 to 32 of [a-z0-9+.-]");
  return kind;
}

bool Kind::same_as(const Kind& other) const {
  const tlc_remote_ops& a = table_;
  const tlc_remote_ops& b = other.table_;
  return name_ == other.name_ && scheme_ == other.scheme_ && a.caps == b.caps && a.open == b.open && a.get == b.get &&
         a.put == b.put && a.remove == b.remove && a.close == b.close && a.put_many == b.put_many;
}

Result<void*> Kind::open(std::string_view url) const {
  void* state = nullptr;
  if (table_.open == nullptr) return state;
  Result<void> done = guarded(*this, "open", [&](tlc_error* error) { return table_.open(view(url), &state, error); });
  if (!done) return std::move(done).error();
  return state;
}

Result<std::vector<std::uint8_t>> Kind::get(void* state, const trust::Digest& digest, std::uint64_t cap,
                                            std::int64_t timeout_ms) const {
  if (table_.get == nullptr) return make_error(TLC_MISS, "");
  Sink sink{{}, cap};
  Result<void> done = guarded(*this, "get", [&](tlc_error* error) {
    return table_.get(state, digest.bytes.data(), timeout_ms, take, &sink, error);
  });
  if (sink.over) return make_error(TLC_TOO_LARGE, "the remote has more bytes than the store would take");
  if (!done) return std::move(done).error();
  return std::move(sink.bytes);
}

Result<void> Kind::put_one(void* state, const Item& item, std::int64_t timeout_ms) const {
  const std::uint8_t* digest = item.digest.bytes.data();
  if (!item.bytes.empty()) {
    if (table_.put == nullptr) return {};
    return guarded(*this, "put", [&](tlc_error* error) {
      return table_.put(state, digest, item.bytes.data(), item.bytes.size(), timeout_ms, error);
    });
  }
  if (table_.remove == nullptr) return {};
  Result<void> done =
      guarded(*this, "remove", [&](tlc_error* error) { return table_.remove(state, digest, timeout_ms, error); });
  return !done && done.error().status == TLC_MISS ? Result<void>{} : done;
}

Result<void> Kind::put(void* state, std::span<const Item> items, std::int64_t timeout_ms) const {
  if (table_.put_many == nullptr) {
    for (const Item& item : items) {
      Result<void> done = put_one(state, item, timeout_ms);
      if (!done && done.error().status != TLC_TOO_LARGE) return done;
    }
    return {};
  }
  std::vector<tlc_remote_item> made;
  made.reserve(items.size());
  std::vector<const tlc_remote_item*> pointers;
  for (const Item& item : items) {
    made.push_back({TLC_SIZEOF(tlc_remote_item, flags), item.digest.bytes.data(),
                    item.bytes.empty() ? nullptr : item.bytes.data(), item.bytes.size(),
                    item.replace ? std::uint64_t{TLC_REMOTE_REPLACE} : 0});
    pointers.push_back(&made.back());
  }
  return guarded(*this, "put_many", [&](tlc_error* error) {
    return table_.put_many(state, pointers.data(), pointers.size(), timeout_ms, error);
  });
}

void Kind::close(void* state) const {
  if (table_.close == nullptr) return;
  (void)guarded(*this, "close", [&](tlc_error*) {
    table_.close(state);
    return tlc_status{TLC_OK};
  });
}

Result<void> Kinds::add(const tlc_remote_ops* ops) {
  Result<Kind> kind = Kind::negotiate(ops);
  if (!kind) return std::move(kind).error();
  const std::lock_guard lock(mutex_);
  for (const auto& known : kinds_) {
    if (known->scheme() != kind->scheme()) continue;
    if (known->same_as(*kind)) return {};
    return make_error(TLC_E_EXISTS,
                      "the scheme '" + kind->scheme() + "' belongs to the remote '" + known->name() + "'");
  }
  kinds_.push_back(std::make_shared<const Kind>(std::move(*kind)));
  return {};
}

Result<std::shared_ptr<const Kind>> Kinds::find(std::string_view scheme) {
  const std::lock_guard lock(mutex_);
  std::string names;
  for (const auto& kind : kinds_) {
    if (kind->scheme() == scheme) return kind;
    names += (names.empty() ? "" : ", ") + kind->scheme();
  }
  return make_error(TLC_E_NOT_FOUND, "there is no remote for '" + std::string(scheme) + ":'; there is: " + names);
}

// Never destroyed: a thread that a remote does not let go of may outlive everything else.
Kinds& process_kinds(const tlc_host_api* host) {
  static Kinds& kinds = *[host] {
    auto* made = new Kinds;  // NOLINT: see above
    for (const Builtin& builtin : builtin_remotes()) {
      const tlc_remote_ops* ops = nullptr;
      tlc_error error{};
      error.struct_size = TLC_SIZEOF(tlc_error, message);
      if (builtin.init(host, &ops, &error) == TLC_OK && ops != nullptr) (void)made->add(ops);
    }
    return made;
  }();
  return kinds;
}

}  // namespace tlc::tier
