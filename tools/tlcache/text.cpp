// SPDX-License-Identifier: MIT
// Sizes, ages, colour, escapes; standard output; reports of the library.
#include "text.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>

namespace tlc::tool {
namespace {

/// Writes all of it; the errno that stopped it, or 0.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(done));
    } else if (done < 0 && errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

/// Length of the valid UTF-8 sequence at the start of text, with its code point; 0 if broken.
std::size_t decode(std::string_view text, std::uint32_t& point) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  if (length == 0 || text.size() < length) return 0;
  point = length == 1 ? first : first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0U) != 0x80U) return 0;
    point = (point << 6U) | (next & 0x3FU);
  }
  constexpr std::array<std::uint32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  return point < least.at(length) || surrogate || point > 0x10FFFF ? 0 : length;
}

/// Characters that move the cursor or reorder the line.
bool is_control(std::uint32_t point) {
  return point < 0x20 || (point >= 0x7F && point < 0xA0) || point == 0x200E || point == 0x200F ||
         (point >= 0x2028 && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069);
}

bool colour_wanted() {
  static const bool wanted = [] {
    const char* no_color = std::getenv("NO_COLOR");
    const char* term = std::getenv("TERM");
    if (no_color != nullptr && *no_color != '\0') return false;
    if (term != nullptr && std::strcmp(term, "dumb") == 0) return false;
    return ::isatty(STDOUT_FILENO) == 1;
  }();
  return wanted;
}

std::uint64_t now_seconds() {
  return static_cast<std::uint64_t>(std::time(nullptr));
}

}  // namespace

Output& output() {
  static Output instance;
  return instance;
}

void Output::write(std::string_view bytes) {
  if (closed_) return;
  buffer_.append(bytes);
  if (buffer_.size() >= std::size_t{64} << 10U) static_cast<void>(flush());
}

bool Output::flush() {
  if (!closed_ && !buffer_.empty()) {
    const int failed = write_all(STDOUT_FILENO, buffer_);
    buffer_.clear();
    closed_ = failed != 0;
    if (failed != EPIPE) error_ = failed;
  }
  return error_ == 0;
}

void print_json(const Json& json) {
  output().write(json.dump(2, ' ', false, Json::error_handler_t::replace));
  output().write("\n");
}

void write_stderr(std::string_view bytes) {
  static_cast<void>(write_all(STDERR_FILENO, bytes));
}

void warn(std::string_view message) {
  static_cast<void>(output().flush());
  write_stderr(fmt::format("tlcache: warning: {}\n", clean(message)));
}

std::string clean(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    std::uint32_t point = 0;
    const std::size_t length = decode(text, point);
    if (length == 0) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (point == '\n' || point == '\t') {
      result += point == '\n' ? "\\n" : "\\t";
    } else if (is_control(point)) {
      result += point < 0x100 ? fmt::format("\\x{:02x}", point) : fmt::format("\\u{:04x}", point);
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

std::string human_size(std::uint64_t bytes) {
  constexpr std::array<const char*, 7> units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  while (value >= 1023.95 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  const bool whole = unit == 0 || value == static_cast<double>(static_cast<std::uint64_t>(value));
  return whole ? fmt::format("{} {}", static_cast<std::uint64_t>(value), units.at(unit))
               : fmt::format("{:.1f} {}", value, units.at(unit));
}

std::string human_seconds(std::uint64_t seconds) {
  const auto two = [](std::uint64_t big, const char* name, std::uint64_t small, const char* other) {
    return small == 0 ? fmt::format("{} {}", big, name) : fmt::format("{} {} {} {}", big, name, small, other);
  };
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return two(seconds / 60, "min", seconds < 600 ? seconds % 60 : 0, "s");
  if (seconds < 86400) return two(seconds / 3600, "h", seconds % 3600 / 60, "min");
  return two(seconds / 86400, "d", seconds < 864000 ? seconds % 86400 / 3600 : 0, "h");
}

std::string human_micros(std::uint64_t micros) {
  const auto value = static_cast<double>(micros);
  if (micros < 1000) return fmt::format("{} us", micros);
  if (micros < 100'000) return fmt::format("{:.1f} ms", value / 1e3);
  if (micros < 1'000'000) return fmt::format("{:.0f} ms", value / 1e3);
  if (micros < 60'000'000) return fmt::format("{:.2f} s", value / 1e6);
  return human_seconds(micros / 1'000'000);
}

std::string human_age(std::uint64_t wall_seconds) {
  if (wall_seconds == 0) return "never";
  const std::uint64_t now = now_seconds();
  if (wall_seconds > now + 1) return "in the future";
  const std::uint64_t age = now > wall_seconds ? now - wall_seconds : 0;
  if (age < 2) return "just now";
  if (age < 60) return fmt::format("{} s ago", age);
  if (age < 3600) return fmt::format("{} min ago", age / 60);
  if (age < 172'800) return fmt::format("{} h ago", age / 3600);
  return fmt::format("{} d ago", age / 86400);
}

std::string human_date(std::uint64_t wall_seconds) {
  if (wall_seconds > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()) * 8) {
    return fmt::format("{} s after 1970", wall_seconds);
  }
  const auto when = static_cast<std::time_t>(wall_seconds);
  std::tm parts{};
  if (::localtime_r(&when, &parts) == nullptr) return fmt::format("{} s after 1970", wall_seconds);
  std::array<char, 64> buffer{};
  const std::size_t length = std::strftime(buffer.data(), buffer.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return {buffer.data(), length};
}

std::string plural(std::uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

bool parse_size(std::string_view text, std::uint64_t& bytes) {
  std::uint64_t value = 0;
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
    const auto digit = static_cast<std::uint64_t>(text[digits] - '0');
    if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) return false;
    value = value * 10 + digit;
    ++digits;
  }
  if (digits == 0) return false;
  std::string unit(text.substr(digits));
  for (char& letter : unit) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  unsigned shift = 0;
  if (!unit.empty() && unit != "B") {
    const std::size_t place = std::string_view("KMGT").find(unit[0]);
    if (place == std::string_view::npos) return false;
    const std::string rest = unit.substr(1);
    if (!rest.empty() && rest != "B" && rest != "IB") return false;
    shift = static_cast<unsigned>(place + 1) * 10;
  }
  if (value > (std::numeric_limits<std::uint64_t>::max() >> shift)) return false;
  bytes = value << shift;
  return true;
}

std::string styled(Style style, std::string_view text) {
  if (!colour_wanted() || text.empty()) return std::string(text);
  constexpr std::array<int, 5> codes = {1, 2, 32, 33, 31};
  return fmt::format("\x1b[{}m{}\x1b[0m", codes.at(static_cast<std::size_t>(style)), text);
}

// ------------------------------------------------------------------------------ reports

namespace {
const Json* member(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}
}  // namespace

std::uint64_t number(const Json& object, const char* name, std::uint64_t otherwise) {
  const Json* value = member(object, name);
  if (value == nullptr) return otherwise;
  if (value->is_number_unsigned()) return value->get<std::uint64_t>();
  if (value->is_number_integer()) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(value->get<std::int64_t>(), 0));
  }
  if (value->is_number_float()) {
    const auto real = value->get<double>();
    return real >= 0 && real < 1.8e19 ? static_cast<std::uint64_t>(real) : otherwise;
  }
  return otherwise;
}

std::string text(const Json& object, const char* name, std::string_view otherwise) {
  const Json* value = member(object, name);
  if (value == nullptr || value->is_null()) return std::string(otherwise);
  return value_text(*value);
}

bool flag(const Json& object, const char* name, bool otherwise) {
  const Json* value = member(object, name);
  return value != nullptr && value->is_boolean() ? value->get<bool>() : otherwise;
}

const Json& part(const Json& object, const char* name) {
  static const Json empty = Json::array();
  const Json* value = member(object, name);
  return value != nullptr && value->is_structured() ? *value : empty;
}

std::string value_text(const Json& value) {
  if (value.is_string()) return clean(value.get_ref<const std::string&>());
  if (!value.is_structured()) return clean(value.dump(-1, ' ', false, Json::error_handler_t::replace));
  const bool nested = std::any_of(value.begin(), value.end(), [](const Json& item) { return item.is_structured(); });
  std::string result;
  for (const auto& [name, item] : value.items()) {
    if (!result.empty()) result += value.is_array() && nested ? "; " : ", ";
    const std::string shown = value_text(item);
    if (value.is_array()) {
      result += shown;
    } else {
      result += fmt::format("{} {}", clean(name), item.is_structured() ? "(" + shown + ")" : shown);
    }
  }
  return result;
}

}  // namespace tlc::tool
