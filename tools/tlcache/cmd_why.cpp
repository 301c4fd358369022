// SPDX-License-Identifier: MIT
// tlcache why: why a look-up hits or misses, in plain sentences.
#include <ctime>
#include <memory>

#include "compile_args.hpp"
#include "entries.hpp"
#include "files.hpp"

namespace tlc::tool {
namespace {

struct Args : CompileArgs {
  std::string subject;
};

/// The key that a stored entry, of any kind, was made for.
Key key_of_digest(tlc_cache* cache, const std::string& given) {
  const std::string prefix = digest_prefix(given);
  const Entry* chosen = nullptr;
  const std::vector<Entry> entries = list_entries(cache, {});
  for (const Entry& entry : entries) {
    if (!entry.digest.starts_with(prefix)) continue;
    if (chosen != nullptr && chosen->digest != entry.digest) {
      fail(exit_usage, "{} is ambiguous: {} and {} begin so", prefix, chosen->digest, entry.digest);
    }
    chosen = &entry;
  }
  if (chosen == nullptr) {
    fail(exit_negative, "nothing is stored under {}; give the file and options that it was compiled with instead",
         prefix);
  }
  if (chosen->encoding.empty()) fail(exit_negative, "{} was stored without its key", prefix);
  Error error;
  tlc_key* key = nullptr;
  const tlc_status status = tlc_key_decode(chosen->encoding.data(), chosen->encoding.size(), &key, &error);
  Key result(key);
  check(status, error, "the stored key");
  return result;
}

Key key_of_file(tlc_cache* cache, Args& args) {
  args.file = args.subject;
  const Request request = build_request(args);
  Error error;
  tlc_key* key = nullptr;
  const tlc_status status = tlc_cache_key(cache, request.get(), &key, &error);
  Key result(key);
  if (status < 0) fail_with_backends(cache, args, status, error);
  check(status, error);
  return result;
}

Key key_of(tlc_cache* cache, Args& args) {
  if (!args.target.empty()) return key_of_file(cache, args);
  if (exists(args.subject) || args.subject == "-") {
    fail(exit_usage,
         "--target is missing: a file is explained with the options that it is compiled "
         "with, for example --target cpu:native");
  }
  const bool is_hex = args.subject.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  if (!is_hex) fail(exit_usage, "'{}' is neither a file nor a digest", args.subject);
  return key_of_digest(cache, args.subject);
}

/// ", 5 min ago" of a report's when_s, be it an age or a date; empty when it is not known.
std::string when(const Json& report) {
  constexpr std::uint64_t no_age = 1'000'000'000;  // 31 years: then it is a date
  const std::uint64_t seconds = number(report, "when_s");
  if (seconds == 0) return {};
  const auto now = static_cast<std::uint64_t>(std::time(nullptr));
  return ", " + human_age(seconds < no_age && seconds < now ? now - seconds : seconds);
}

std::string verdict(const Json& report) {
  const std::string outcome = text(report, "outcome");
  const std::string reason = text(report, "reason");
  const std::string because = reason.empty() ? "" : fmt::format(" ({})", reason);
  if (outcome == "hit") return "it is stored, and a look-up finds it.";
  if (outcome == "evicted") {
    return fmt::format(
        "it was evicted{} to keep the store within its limit{}.\n"
        "`tlcache stats` tells whether the limit is too small.",
        when(report), because);
  }
  if (outcome == "removed") return fmt::format("it was removed{}{}.", when(report), because);
  if (outcome == "guard") return "it was compiled, but a file that the compiler reads is not the same any more.";
  if (outcome == "rejected") {
    return fmt::format("something is stored, but it cannot be used{}; the next compile replaces it.", because);
  }
  if (outcome == "never") return fmt::format("this was never built here{}.", because);
  return fmt::format("{}{}.", outcome.empty() ? "unknown" : outcome, because);
}

void print_guards(const Json& report) {
  for (const Json& guard : part(report, "guards")) {
    const std::string kind = text(guard, "kind", "changed");
    const std::string path = text(guard, "path", "?");
    if (kind == "missing") {
      print("  {}  is gone\n", path);
    } else if (kind == "appeared") {
      print("  {}  is there now, where the compiler found nothing before\n", path);
    } else {
      print("  {}  {}\n", path, kind == "changed" ? "has changed" : kind);
    }
  }
}

void print_difference(const Json& difference) {
  const std::string kind = text(difference, "kind", "changed");
  const std::string path = text(difference, "path", "?");
  const std::string was = text(difference, "was");
  const std::string now = text(difference, "now");
  if (kind == "added") {
    print("  {}: {} now, absent there\n", path, now);
  } else if (kind == "removed") {
    print("  {}: absent now, {} there\n", path, was);
  } else {
    print("  {}: {} -> {}\n", path, was, now);
  }
}

void print_nearest(const Json& report, bool hit) {
  const Json& nearest = part(report, "nearest");
  const std::uint64_t scanned = number(report, "scanned");
  if (nearest.empty()) {
    if (scanned == 0 && text(report, "outcome") == "never")
      print("No entry of this namespace is stored to compare it with.\n");
    return;
  }
  const std::string label = text(nearest, "label");
  const std::uint64_t created = number(nearest, "created_ns") / 1'000'000'000;
  print("The nearest{} of {} is {}{}{}.\n", hit ? " other" : "", plural(scanned, "stored key", "stored keys"),
        text(nearest, "digest", "?").substr(0, 12), label.empty() ? "" : fmt::format(" ({})", label),
        created == 0 ? "" : fmt::format(", built {}", human_age(created)));
  const Json& differences = part(nearest, "differences");
  if (differences.empty()) {
    print("No field of it differs.\n");
    return;
  }
  print("{} in:\n", hit ? "What was built here differs from it" : "It differs");
  for (const Json& difference : differences) print_difference(difference);
}

int run(const Context& context, Args& args) {
  const Cache cache = context.open();
  const Key key = key_of(cache.get(), args);
  Error error;
  tlc_blob* json = nullptr;
  const tlc_status status = tlc_cache_explain(cache.get(), key.get(), &json, &error);
  const Blob blob(json);
  check(status, error);
  const Json report = parse_report(blob);
  const bool hit = text(report, "outcome") == "hit";
  if (context.json) {
    print_json(report);
    return hit ? exit_ok : exit_negative;
  }
  print("{} {}: {}\n", hit ? styled(Style::green, "hit") : styled(Style::yellow, "miss"),
        text(report, "digest", hex(tlc_key_digest(key.get()))).substr(0, 12), verdict(report));
  if (!hit) print_guards(report);
  print_nearest(report, hit);
  return hit ? exit_ok : exit_negative;
}

}  // namespace

void add_why(CLI::App& app, Context& context) {
  auto args = std::make_shared<Args>();
  CLI::App* command =
      add_command(app, "why", "Say why a look-up hits or misses",
                  "Takes a digest, or a file with the options of `tlcache compile`. Compiles nothing. For a miss\n"
                  "it names what became of the artifact: never built, evicted, removed, or a header that changed;\n"
                  "and the stored key that is most like it, with each field that differs. For a hit it names the\n"
                  "other key that is most like it. Exit code 0 for a hit, 1 for a miss.\n"
                  "\n"
                  "Examples:\n"
                  "  tlcache why matmul.c --target cpu:native -O3\n"
                  "  tlcache why 3f2a91\n");
  command->add_option("SUBJECT", args->subject, "A source file, or the first digits of a digest")
      ->required()
      ->type_name("");
  add_compile_options(*command, *args);
  command->callback([&context, args] { context.run = [&context, args] { return run(context, *args); }; });
}

}  // namespace tlc::tool
