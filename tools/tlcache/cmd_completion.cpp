// SPDX-License-Identifier: MIT
// tlcache completion, and the hidden command that the completion scripts ask for words.
#include <memory>
#include <set>

#include "common.hpp"
#include "completions.hpp"
#include "entries.hpp"

namespace tlc::tool {
namespace {

int print_script(const std::string& shell) {
  if (shell == "bash") {
    output().write(bash_completion);
  } else {
    output().write(shell == "zsh" ? zsh_completion : fish_completion);
  }
  return exit_ok;
}

void print_backend_words(tlc_cache* cache, bool engines) {
  Error error;
  tlc_blob* json = nullptr;
  if (tlc_cache_backends(cache, &json, &error) != TLC_OK) return;
  const Blob blob(json);
  std::set<std::string> words;
  const Json report = parse_report(blob);
  for (const Json& backend : part(report, "backends")) {
    if (engines) words.insert(text(backend, "engine"));
    if (engines) continue;
    for (const Json& kind : part(backend, "kinds")) words.insert(value_text(kind));
  }
  for (const std::string& word : words) print("{}\n", word);
}

/// One word a line; nothing, and no error, when there is nothing to offer.
int complete(const Context& context, const std::string& what) {
  try {
    const Cache cache = context.open(Context::Open::lenient);
    if (what == "targets" || what == "engines") {
      print_backend_words(cache.get(), what == "engines");
      return exit_ok;
    }
    std::set<std::string> words;
    for (const Entry& entry : list_entries(cache.get(), {})) {
      if (!is_plain(entry)) continue;
      words.insert(what == "namespaces" ? clean(entry.name_space) : entry.digest.substr(0, 12));
    }
    for (const std::string& word : words) print("{}\n", word);
  } catch (const Failure&) {
    return exit_ok;
  }
  return exit_ok;
}

}  // namespace

void add_completion(CLI::App& app, Context& context) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = add_command(app, "completion", "Print the completion script of a shell",
                                  "Packages install these scripts. By hand:\n"
                                  "\n"
                                  "  source <(tlcache completion bash)\n"
                                  "  tlcache completion zsh > \"${fpath[1]}/_tlcache\"\n"
                                  "  tlcache completion fish > ~/.config/fish/completions/tlcache.fish\n");
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->type_name("")
      ->check(one_of({"bash", "zsh", "fish"}));
  command->callback([&context, shell] { context.run = [shell] { return print_script(*shell); }; });

  auto what = std::make_shared<std::string>();
  CLI::App* words = add_command(app, "complete-words", "", "");
  words->group("");  // hidden
  words->add_option("WHAT", *what)->required()->check(one_of({"digests", "namespaces", "targets", "engines"}));
  words->callback([&context, what] { context.run = [&context, what] { return complete(context, *what); }; });
}

}  // namespace tlc::tool
