// SPDX-License-Identifier: MIT
// What every command of the tool shares: owning handles of the C API, failures with their exit
// code, the options that all commands take, and opening the cache.
#pragma once

#include <tlcache/tlcache.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text.hpp"

namespace tlc::tool {

/// Exit codes; documented in tlcache(1).
enum Exit : int {
  exit_ok = 0,
  exit_negative = 1,       ///< a miss, an entry that is not stored, damage found
  exit_usage = 2,          ///< the command line is wrong
  exit_failed = 3,         ///< the system, the store or a backend refused
  exit_compile_error = 4,  ///< the compiler refused the source
};

/// Ends a command: a sentence for people and the exit code. Caught in main.
class Failure : public std::exception {
 public:
  Failure(int code, std::string message) : code_(code), message_(std::move(message)) {}
  [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
  std::string message_;
};

template <typename... Args>
[[noreturn]] void fail(int code, fmt::format_string<Args...> format, Args&&... args) {
  throw Failure(code, fmt::format(format, std::forward<Args>(args)...));
}

template <auto Function>
struct Release {
  template <typename T>
  void operator()(T* object) const {
    Function(object);
  }
};
using Cache = std::unique_ptr<tlc_cache, Release<tlc_cache_close>>;
using Request = std::unique_ptr<tlc_request, Release<tlc_request_destroy>>;
using Key = std::unique_ptr<tlc_key, Release<tlc_key_release>>;
using Bundle = std::unique_ptr<tlc_bundle, Release<tlc_bundle_destroy>>;
using Artifact = std::unique_ptr<tlc_artifact, Release<tlc_artifact_release>>;
using Blob = std::unique_ptr<tlc_blob, Release<tlc_blob_release>>;
using Cancel = std::unique_ptr<tlc_cancel, Release<tlc_cancel_release>>;

/// A tlc_error that is ready to be passed.
struct Error : tlc_error {
  Error() : tlc_error{} { tlc_error_init(this); }
};

inline tlc_str str(std::string_view text) {
  return {text.data(), text.size()};
}
inline std::string_view view(tlc_str text) {
  return text.data == nullptr ? std::string_view{} : std::string_view{text.data, text.len};
}
std::string_view view(const Blob& blob);

/// The library's message for a status, or the status in a few words where there is none.
std::string explain(tlc_status status, const tlc_error& error);
/// Exit code of a status: 0, 1 for outcomes, 2 for a wrong argument, 4 for a compile error, else 3.
int exit_code(tlc_status status);
/// Throws a Failure unless status is TLC_OK. `doing` comes before the library's message.
void check(tlc_status status, const tlc_error& error, std::string_view doing = {});

/// The report a library call left in a blob.
Json parse_report(const Blob& blob);

/// What the command line says for all commands, and the command it chose.
struct Context {
  std::string directory;
  std::vector<std::string> plugins;
  bool json = false;
  bool quiet = false;
  bool read_only = false;
  bool allow_plugins = false;
  std::function<int()> run;

  enum class Open {
    strict,  ///< a store that cannot be used is an error
    lenient  ///< the cache then works from memory: doctor, backends, compile
  };
  [[nodiscard]] Cache open(Open how = Open::strict) const;
  /// Refuses a command that writes when --read-only was given.
  void require_writable(std::string_view command) const;
};

/// A subcommand with its one-line description and its examples, as shown by --help.
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& description,
                      const std::string& details);

/// Validators whose complaints read well.
CLI::Validator one_of(std::vector<std::string> words);
CLI::Validator whole_number();
CLI::Validator seconds();

/// Lower-case hex digits of a digest, as given by a person; fails on anything else.
std::string digest_prefix(std::string_view given);
std::string hex(const std::uint8_t* digest);
/// The artifact under a prefix; fails with exit 1 when there is none.
Artifact find_artifact(tlc_cache* cache, std::string_view given);

tlc_artifact_info info_of(const tlc_artifact* artifact);
std::vector<tlc_member> members_of(const tlc_artifact* artifact);
Json members_json(const tlc_artifact* artifact);
/// "shared object", ...; the number where the type is unknown.
std::string member_type(std::uint32_t type);

// One per command group.
void add_compile(CLI::App& app, Context& context);
void add_store(CLI::App& app, Context& context);
void add_put(CLI::App& app, Context& context);
void add_why(CLI::App& app, Context& context);
void add_maintain(CLI::App& app, Context& context);
void add_stats(CLI::App& app, Context& context);
void add_doctor(CLI::App& app, Context& context);
void add_completion(CLI::App& app, Context& context);

}  // namespace tlc::tool
