// SPDX-License-Identifier: MIT
#include "cache/log.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "port/env.hpp"

namespace tlc::cache {
namespace {

struct Hook {
  std::shared_mutex mutex;  // held shared while the hook runs, so that it is not destroyed meanwhile
  tlc_log_fn fn = nullptr;
  void* user_data = nullptr;
  void (*destroy)(void*) = nullptr;
  std::atomic<std::int32_t> level{-1};  // -1: TLC_LOG was not read yet
};

Hook& hook() {
  static Hook* one = new Hook;  // never destroyed: threads may log while the process ends
  return *one;
}

std::int32_t level_of(std::string_view text) {
  if (text == "error") return TLC_LOG_ERROR;
  if (text == "warn") return TLC_LOG_WARN;
  if (text == "info") return TLC_LOG_INFO;
  if (text == "debug") return TLC_LOG_DEBUG;
  std::int32_t number = TLC_LOG_OFF;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::int32_t default_level() {
  const char* text = port::secure_env("TLC_LOG");
  return text == nullptr ? std::int32_t{TLC_LOG_OFF} : level_of(text);
}

std::string_view level_name(std::int32_t level) {
  constexpr std::string_view kNames[] = {"off", "error", "warn", "info", "debug"};
  return level >= 0 && level <= TLC_LOG_DEBUG ? kNames[level] : "?";
}

void to_standard_error(std::int32_t level, std::string_view component, std::string_view message) {
  std::string line = "tlcache: ";
  line.append(level_name(level)).append(": ").append(component).append(": ").append(message).append("\n");
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

bool log_wanted(std::int32_t level) {
  Hook& one = hook();
  std::int32_t wanted = one.level.load(std::memory_order_relaxed);
  if (wanted < 0) {
    wanted = default_level();
    std::int32_t unset = -1;
    one.level.compare_exchange_strong(unset, wanted);
  }
  return level <= wanted;
}

void log(std::int32_t level, std::string_view component, std::string_view message) {
  if (!log_wanted(level)) return;
  Hook& one = hook();
  const std::shared_lock lock(one.mutex);
  if (one.fn == nullptr) {
    to_standard_error(level, component, message);
    return;
  }
  one.fn(level, {component.data(), component.size()}, {message.data(), message.size()}, one.user_data);
}

void set_log(std::int32_t level, tlc_log_fn fn, void* user_data, void (*destroy)(void*)) {
  Hook& one = hook();
  void (*old_destroy)(void*) = nullptr;
  void* old_data = nullptr;
  {
    const std::unique_lock lock(one.mutex);
    old_destroy = one.destroy;
    old_data = one.user_data;
    one.fn = fn;
    one.user_data = user_data;
    one.destroy = fn == nullptr ? nullptr : destroy;
    one.level.store(fn == nullptr ? default_level() : level);
  }
  if (old_destroy != nullptr) old_destroy(old_data);
  if (fn == nullptr && destroy != nullptr) destroy(user_data);
}

}  // namespace tlc::cache
