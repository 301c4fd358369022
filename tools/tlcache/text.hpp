// SPDX-License-Identifier: MIT
// What people read: standard output that survives a closed pipe, sizes, ages, tables, colour, a
// progress bar; and reports of the library read without trusting their shape.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::tool {

using Json = nlohmann::ordered_json;

/// Standard output. A reader that went away (`| head`) ends the output, not the command.
class Output {
 public:
  void write(std::string_view bytes);
  /// False when the bytes could not be written for another reason than a closed pipe.
  [[nodiscard]] bool flush();
  [[nodiscard]] int error() const { return error_; }

 private:
  std::string buffer_;
  bool closed_ = false;
  int error_ = 0;
};
Output& output();

template <typename... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  output().write(fmt::format(format, std::forward<Args>(args)...));
}
void print_json(const Json& json);
/// Bytes to standard error, whole, whatever they are.
void write_stderr(std::string_view bytes);
/// `tlcache: warning: ...` on standard error.
void warn(std::string_view message);

/// Text from a store, safe for a terminal: control characters and broken UTF-8 are escaped.
std::string clean(std::string_view text);

std::string human_size(std::uint64_t bytes);
/// "3 min", "2 h 5 min"
std::string human_seconds(std::uint64_t seconds);
/// "850 us", "12.3 ms", "1.24 s", then as human_seconds.
std::string human_micros(std::uint64_t micros);
/// "just now", "3 min ago"; "never" for 0.
std::string human_age(std::uint64_t wall_seconds);
/// "2026-11-30 12:00:05" in local time.
std::string human_date(std::uint64_t wall_seconds);
std::string plural(std::uint64_t count, std::string_view one, std::string_view many);
/// Bytes with K, M, G or T (powers of 1024); false when it is no size.
bool parse_size(std::string_view text, std::uint64_t& bytes);

enum class Style { bold, dim, green, yellow, red };
/// With escapes when standard output is a terminal and NO_COLOR is not set.
std::string styled(Style style, std::string_view text);

/// Rows of cells in columns as wide as their widest cell. Numbers go to the right.
class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
    bool flexible = false;  ///< cut when the terminal is too narrow
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  void print(std::string_view indent = "") const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Lines of "name   value" with the values under each other.
void print_facts(const std::vector<std::pair<std::string, std::string>>& facts, std::string_view indent = "");

/// Long work: a bar on standard error, only on a terminal and only after a second. Ends the work
/// when the user interrupts.
class Progress {
 public:
  explicit Progress(std::string label);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// A tlc_progress_fn; user_data is the Progress.
  static std::int32_t step(std::uint64_t done, std::uint64_t total, void* user_data);

 private:
  void draw(std::uint64_t done, std::uint64_t total);

  std::string label_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point drawn_;
  bool terminal_;
  bool visible_ = false;
};

// Reports are read defensively: a member that is missing or of another type is the default.
std::uint64_t number(const Json& object, const char* name, std::uint64_t otherwise = 0);
std::string text(const Json& object, const char* name, std::string_view otherwise = "");
bool flag(const Json& object, const char* name, bool otherwise = false);
/// The member if it is an object or a list, else an empty list.
const Json& part(const Json& object, const char* name);
/// Any value on one line: text without quotes, a list with commas, an object as name and value.
std::string value_text(const Json& value);

}  // namespace tlc::tool
