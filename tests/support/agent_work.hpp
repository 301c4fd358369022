// SPDX-License-Identifier: MIT
// Many commands at once, and an oracle outside the store: what was begun and what was done, a line each in a file that
// outlives whoever is killed.
//
//   B NAME VERSION   about to be published     R NAME   about to be removed
//   P NAME VERSION   published: the library said so
//
// `work` makes up commands, `recall` compares what is in a store with what the oracle says.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>

#include "agent_state.hpp"

namespace agent {

using Runner = std::function<Answer(const std::string&)>;

class Oracle {
 public:
  explicit Oracle(const std::string& path)
      : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {}
  ~Oracle() { ::close(file_); }
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;

  void note(char what, const std::string& name, std::uint64_t version) {
    const std::string line = std::string(1, what) + ' ' + name + ' ' + std::to_string(version) + '\n';
    if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::perror("oracle");
  }

 private:
  int file_;
};

/// One process' share of a torture. Names begin with its tag, so that it alone decides what their versions are.
class Worker {
 public:
  Worker(const Runner& run, const std::string& oracle, std::string tag, std::uint64_t seed)
      : run_(run), path_(oracle), oracle_(oracle), tag_(std::move(tag)), random_(seed) {}

  /// The answer that should not have been given, or an empty text.
  std::string one(const std::string& kind) {
    if (kind == "put") return publish("put", fresh_name(), 1);
    if (kind == "guard") return publish("put", fresh_name(), 1, ' ' + path_ + ".guard");
    if (kind == "replace") {
      const std::string name = tag_ + "-r" + std::to_string(random_() % 3);
      return publish("replace", name, ++versions_[name]);
    }
    if (kind == "compile") return compile();
    if (kind == "get") return allowed(run_("get " + some_name()), {"TLC_OK", "TLC_MISS", "TLC_REJECTED"});
    if (kind == "miss") return allowed(run_("get never"), {"TLC_MISS"});
    if (kind == "folder") return folder();
    if (kind == "remove") {
      const std::string name = some_name();
      oracle_.note('R', name, 0);
      return allowed(run_("remove " + name), {"TLC_OK", "TLC_MISS", "TLC_NOT_STORED", "TLC_TIMEOUT"});
    }
    // gc:BYTES, clear:NAMESPACE
    std::string command = kind;
    std::replace(command.begin(), command.end(), ':', ' ');
    return allowed(run_(command), {"TLC_OK", "TLC_E_BUSY", "TLC_TIMEOUT", "TLC_NOT_STORED"});
  }

  [[nodiscard]] std::uint64_t random() { return random_(); }
  [[nodiscard]] long long not_stored() const { return not_stored_; }

 private:
  static std::string status_of(const Answer& answer) { return answer.text.substr(0, answer.text.find(kBetween)); }

  static std::string allowed(const Answer& answer, const std::vector<std::string>& statuses) {
    const bool known = std::find(statuses.begin(), statuses.end(), status_of(answer)) != statuses.end();
    return known ? std::string() : answer.text;
  }

  std::string fresh_name() { return names_.emplace_back(tag_ + '-' + std::to_string(names_.size())); }
  std::string some_name() { return names_.empty() ? "never" : names_[random_() % names_.size()]; }

  /// Mostly small; some large; a few that get a segment of their own.
  std::string size() {
    const std::uint64_t roll = random_() % 100;
    const std::uint64_t most = roll < 80 ? 8'000 : roll < 96 ? 90'000 : 400'000;
    return std::to_string(200 + random_() % most);
  }

  std::string publish(const char* how, const std::string& name, std::uint64_t version, const std::string& more = {}) {
    oracle_.note('B', name, version);
    const Answer answer = run_(std::string(how) + ' ' + name + ' ' + std::to_string(version) + ' ' + size() + more);
    const std::string status = status_of(answer);
    if (status == "TLC_OK") oracle_.note('P', name, version);
    not_stored_ += status == "TLC_NOT_STORED" ? 1 : 0;
    return allowed(answer, {"TLC_OK", "TLC_EXISTED", "TLC_CONFLICT", "TLC_NOT_STORED"});
  }

  std::string compile() {
    const std::string name = fresh_name();
    oracle_.note('B', name, 1);
    const Answer answer = run_("compile " + name + ' ' + path_ + ".notes plain 0");
    // Its artifact may be in memory only: what is published is not said, so nothing is promised.
    return allowed(answer, {"TLC_OK"});
  }

  std::string folder() {
    const std::string name = some_name();
    if (status_of(run_("hold " + name)) != "TLC_OK") return {};
    const Answer answer = run_("folder " + name);
    run_("release " + name);
    return allowed(answer, {"TLC_OK", "TLC_E_IO"});
  }

  const Runner& run_;
  std::string path_;
  Oracle oracle_;
  std::string tag_;
  std::mt19937_64 random_;
  std::vector<std::string> names_;
  std::map<std::string, std::uint64_t> versions_;
  long long not_stored_ = 0;
};

inline std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

/// work ORACLE TAG SEED COUNT KIND,KIND...: so many commands, each of a kind picked at random.
inline Answer work(const Arguments& words, const Runner& run) {
  Worker worker(run, words.at(1), words.at(2), number(words, 3, 1));
  const std::vector<std::string> kinds = split(words.at(5), ',');
  for (std::uint64_t i = number(words, 4, 1); i > 0; --i) {
    const std::string& kind = kinds[worker.random() % kinds.size()];
    const std::string wrong = worker.one(kind);
    if (!wrong.empty()) return Answer{"BAD"}.add("kind", kind).add("answer", wrong);
  }
  return Answer{"TLC_OK"}.add("not_stored", worker.not_stored());
}

struct Expected {
  std::uint64_t begun = 0, published = 0;
  bool removed = false;
};

inline std::map<std::string, Expected> read_oracle(const std::string& path) {
  std::map<std::string, Expected> all;
  std::ifstream file(path);
  char what = 0;
  std::string name;
  for (std::uint64_t version = 0; file >> what >> name >> version;) {
    Expected& one = all[name];
    if (what == 'B') one.begun = std::max(one.begun, version);
    if (what == 'P') one.published = std::max(one.published, version);
    if (what == 'R') one.removed = true;
  }
  return all;
}

/// recall ORACLE [1]: 1: nothing that was published may be missing, or be an older version. Wrong bytes never.
inline Answer recall(const Arguments& words, const Runner& run) {
  const bool all_kept = number(words, 2, 0) != 0;
  long long found = 0, missing = 0;
  for (const auto& [name, expected] : read_oracle(words.at(1))) {
    const std::string text = run("get " + name).text;
    const std::vector<std::string> parts = split(text, kBetween);
    if (parts[0] == "TLC_OK") {
      const std::uint64_t version = std::stoull(parts.at(1).substr(parts[1].find('=') + 1));
      ++found;
      if (version > expected.begun || (all_kept && version < expected.published))
        return Answer{"BAD"}.add("name", name).add("version", static_cast<long long>(version)).add("answer", text);
    } else if (parts[0] == "TLC_MISS" || parts[0] == "TLC_REJECTED") {
      ++missing;
      if (all_kept && expected.published != 0 && !expected.removed)
        return Answer{"LOST"}.add("name", name).add("answer", text);
    } else {
      return Answer{"BAD"}.add("name", name).add("answer", text);
    }
  }
  return Answer{"TLC_OK"}.add("found", found).add("missing", missing);
}

}  // namespace agent
