// SPDX-License-Identifier: MIT
// A process that uses a cache as it is told: one command a line on standard input, one answer a line on standard
// output.
//
// The fault and stress tests (tests/support/agents.py) start as many as they need, stop and kill them, and give each
// its own user, limits, namespaces and environment. An answer is the status' name, then name=value pairs, separated by
// the byte 31. What is read is always compared with what must have been put (agent_content.hpp): BAD says it was not.
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "agent_shim.hpp"
#include "agent_state.hpp"
#include "agent_work.hpp"

using namespace agent;  // NOLINT

namespace {

// ---- commands: words[0] is the command's name

Answer open_cache(const Arguments& words) {  // open FOLDER|- [FLAGS [LIMIT]]
  const Api& api = *state().api;
  tlc_cache_options options{};
  api.tlc_cache_options_init(&options);
  if (words.at(1) != "-") options.directory = str(words[1]);
  options.flags = number(words, 2, 0);
  options.limit_bytes = number(words, 3, 0);
  Cache& cache = state().current();
  cache.api = &api;
  Failure failure(api);
  return failure.answer(api, api.tlc_cache_open(&options, &cache.handle, &failure.error));
}

Answer close_cache(const Arguments&) {
  Cache& cache = state().current();
  cache.api->tlc_cache_close(cache.handle);
  cache.handle = nullptr;
  return {"TLC_OK"};
}

Answer put(const Arguments& words) {  // put NAME VERSION SIZE [GUARDED-FILE]
  const Cache& cache = state().current();
  const Wanted wanted(*cache.api, words.at(1));
  const Made made(*cache.api, words[1], number(words, 2, 1), number(words, 3, 1000));
  if (words.size() > 4) cache.api->tlc_bundle_add_guard(made.bundle, str(words[4]), nullptr, nullptr);
  Failure failure(*cache.api);
  return failure.answer(*cache.api,
                        cache.api->tlc_cache_put(cache.handle, wanted.key, made.bundle, nullptr, &failure.error));
}

Answer put_cost(const Arguments& words) {  // put_cost NAME VERSION SIZE MICROSECONDS: what compiling it took
  const Cache& cache = state().current();
  const Wanted wanted(*cache.api, words.at(1));
  const Made made(*cache.api, words[1], number(words, 2, 1), number(words, 3, 1000));
  cache.api->tlc_bundle_set_compile_time(made.bundle, number(words, 4, 0), nullptr);
  Failure failure(*cache.api);
  return failure.answer(*cache.api,
                        cache.api->tlc_cache_put(cache.handle, wanted.key, made.bundle, nullptr, &failure.error));
}

Answer replace(const Arguments& words) {  // replace NAME VERSION SIZE
  const Cache& cache = state().current();
  const Wanted wanted(*cache.api, words.at(1));
  const Made made(*cache.api, words[1], number(words, 2, 1), number(words, 3, 1000));
  tlc_artifact* seen = nullptr;
  cache.api->tlc_cache_get(cache.handle, wanted.key, &seen, nullptr);
  Failure failure(*cache.api);
  const tlc_status status =
      cache.api->tlc_cache_replace(cache.handle, wanted.key, seen, made.bundle, nullptr, &failure.error);
  cache.api->tlc_artifact_release(seen);
  return failure.answer(*cache.api, status);
}

Answer get(const Arguments& words) {  // get NAME
  const Cache& cache = state().current();
  const Wanted wanted(*cache.api, words.at(1));
  Failure failure(*cache.api);
  tlc_artifact* artifact = nullptr;
  const tlc_status status = cache.api->tlc_cache_get(cache.handle, wanted.key, &artifact, &failure.error);
  if (status != TLC_OK) return failure.answer(*cache.api, status);
  Answer answer = check(*cache.api, words[1], artifact);
  cache.api->tlc_artifact_release(artifact);
  return answer;
}

Answer hold(const Arguments& words) {  // hold NAME: get it and keep the handle
  const Cache& cache = state().current();
  const Wanted wanted(*cache.api, words.at(1));
  Failure failure(*cache.api);
  tlc_artifact* artifact = nullptr;
  const tlc_status status = cache.api->tlc_cache_get(cache.handle, wanted.key, &artifact, &failure.error);
  if (status == TLC_OK) state().held[words[1]] = {cache.api, words[1], artifact};
  return failure.answer(*cache.api, status);
}

Answer check_held(const Arguments& words) {  // check NAME [read]
  const State::Held& held = state().held.at(words.at(1));
  return check(*held.api, held.name, held.artifact, words.size() > 2);
}

Answer release(const Arguments& words) {  // release NAME
  const State::Held held = state().held.at(words.at(1));
  state().held.erase(words[1]);
  held.api->tlc_artifact_release(held.artifact);
  return {"TLC_OK"};
}

Answer folder(const Arguments& words) {  // folder NAME: of the held artifact
  const State::Held& held = state().held.at(words.at(1));
  Failure failure(*held.api);
  tlc_blob* path = nullptr;
  const tlc_status status = held.api->tlc_artifact_folder(held.artifact, &path, &failure.error);
  return blob_answer(*held.api, failure, status, "path", path);
}

Answer remove(const Arguments& words) {  // remove NAME
  const Cache& cache = state().current();
  const Wanted wanted(*cache.api, words.at(1));
  Failure failure(*cache.api);
  return failure.answer(*cache.api, cache.api->tlc_cache_remove(cache.handle, wanted.key, &failure.error));
}

Answer invalidate(const Arguments& words) {  // invalidate NAME: the held artifact
  const Cache& cache = state().current();
  Failure failure(*cache.api);
  return failure.answer(
      *cache.api, cache.api->tlc_cache_invalidate(cache.handle, state().held.at(words.at(1)).artifact, &failure.error));
}

Answer clear(const Arguments& words) {  // clear [NAMESPACE]
  const Cache& cache = state().current();
  Failure failure(*cache.api);
  std::uint64_t removed = 0;
  const std::string name_space = words.size() > 1 ? words[1] : "";
  const tlc_status status = cache.api->tlc_cache_clear(cache.handle, str(name_space), &removed, &failure.error);
  return failure.answer(*cache.api, status).add("removed", static_cast<long long>(removed));
}

Answer report(const Arguments& words) {  // gc [BYTES] | verify [1] | stats | describe | limit BYTES
  const Cache& cache = state().current();
  Failure failure(*cache.api);
  tlc_blob* json = nullptr;
  tlc_status status = TLC_OK;
  if (words[0] == "gc")
    status = cache.api->tlc_cache_gc(cache.handle, number(words, 1, 0), nullptr, nullptr, &json, &failure.error);
  else if (words[0] == "verify")
    status = cache.api->tlc_cache_verify(cache.handle, static_cast<std::uint32_t>(number(words, 1, 0)), nullptr,
                                         nullptr, &json, &failure.error);
  else if (words[0] == "stats")
    status = cache.api->tlc_cache_stats_json(cache.handle, &json, &failure.error);
  else if (words[0] == "limit")
    status = cache.api->tlc_cache_configure(cache.handle, {"limit", 5}, str(words.at(1)), &failure.error);
  else
    status = cache.api->tlc_cache_describe(cache.handle, &json, &failure.error);
  return blob_answer(*cache.api, failure, status, "json", json);
}

Answer begin(const Arguments& words) {  // begin NAME [MS]
  const Cache& cache = state().current();
  const Wanted wanted(*cache.api, words.at(1));
  Failure failure(*cache.api);
  tlc_artifact* artifact = nullptr;
  const tlc_status status =
      cache.api->tlc_cache_begin(cache.handle, wanted.key, static_cast<std::int64_t>(number(words, 2, 0)), nullptr,
                                 &artifact, &state().lock, &failure.error);
  cache.api->tlc_artifact_release(artifact);
  return failure.answer(*cache.api, status);
}

Answer publish(const Arguments& words) {  // publish NAME VERSION SIZE: ends the lock
  const Cache& cache = state().current();
  const Made made(*cache.api, words.at(1), number(words, 2, 1), number(words, 3, 1000));
  Failure failure(*cache.api);
  return failure.answer(*cache.api, cache.api->tlc_lock_publish(std::exchange(state().lock, nullptr), made.bundle,
                                                                nullptr, &failure.error));
}

Answer abandon(const Arguments&) {
  state().current().api->tlc_lock_abandon(std::exchange(state().lock, nullptr));
  return {"TLC_OK"};
}

// ---- get_or_compile

/// What a compile callback does: notes itself in a file, perhaps nests, takes its time, fails or makes version 1.
struct Compile {
  std::string name, notes, how;
  long milliseconds = 0;
};

std::string compile_once(const Compile& compile, long timeout_ms);

tlc_status run_compile(const tlc_request*, const tlc_key*, tlc_bundle* bundle, tlc_log*, tlc_error* error, void* data) {
  const Compile& compile = *static_cast<Compile*>(data);
  const Api& api = *state().current().api;
  const int notes = ::open(compile.notes.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const std::string line = std::to_string(::getpid()) + "\n";
  if (::write(notes, line.data(), line.size()) < 0) std::perror("notes");
  ::close(notes);
  if (compile.how == "same" || compile.how == "other") {
    const Compile inner{compile.how == "same" ? compile.name : compile.name + "-inner", compile.notes, "plain", 0};
    if (!compile_once(inner, -1).starts_with("TLC_OK")) return TLC_E_CALLBACK;
  }
  ::usleep(static_cast<useconds_t>(compile.milliseconds * 1000));
  if (compile.how == "fail") {
    std::snprintf(error->message, sizeof error->message, "the compile of %s failed on purpose", compile.name.c_str());
    error->code = TLC_E_COMPILE;
    return TLC_E_COMPILE;
  }
  fill(api, bundle, compile.name, 1, 1000);
  return TLC_OK;
}

std::string compile_once(const Compile& compile, long timeout_ms) {
  const Cache& cache = state().current();
  const Api& api = *cache.api;
  const Wanted wanted(api, compile.name);
  tlc_compile_options options{};
  api.tlc_compile_options_init(&options);
  options.compile = run_compile;
  options.user_data = const_cast<Compile*>(&compile);
  options.timeout_ms = timeout_ms;
  Failure failure(api);
  tlc_artifact* artifact = nullptr;
  const tlc_status status =
      api.tlc_cache_get_or_compile(cache.handle, wanted.request, &options, &artifact, nullptr, &failure.error);
  Answer answer = failure.answer(api, status);
  if (artifact != nullptr) answer = check(api, compile.name, artifact);
  api.tlc_artifact_release(artifact);
  return answer.text;
}

Answer compile(const Arguments& words) {  // compile NAME NOTES HOW MS [THREADS [TIMEOUT-MS]]
  const Compile wanted{words.at(1), words.at(2), words.at(3), std::stol(words.at(4))};
  std::vector<std::string> answers(number(words, 5, 1));
  const long timeout_ms = words.size() > 6 ? std::stol(words[6]) : -1;
  std::vector<std::thread> threads;
  for (std::string& answer : answers)
    threads.emplace_back([&answer, &wanted, timeout_ms] { answer = compile_once(wanted, timeout_ms); });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& answer : answers)
    if (answer != answers[0]) return Answer{"DIFFERENT"}.add("first", answers[0]).add("other", answer);
  return {answers[0]};
}

// ---- the cpu backend

std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
    i += 2;
  }
  return out;
}

// cc FIELD=VALUE...: values %-escaped, lists by commas. Compiles with the backend, loads, calls `int f(void)`.
// explain FIELD=VALUE...: why it hits or misses. kernel FIELD=VALUE...: only finds, and holds it as "kernel".
Answer cc(const Arguments& words) {
  const Cache& cache = state().current();
  const Api& api = *cache.api;
  tlc_request* request = nullptr;
  api.tlc_request_create(str(state().name_space), &request, nullptr);
  std::string target = "cpu:auto";
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string name = words[i].substr(0, equals);
    std::string value = words[i].substr(equals + 1);
    if (name == "target") {
      target = unescaped(value);
    } else if (name == "options" || name == "include_dirs") {
      api.tlc_request_begin_list(request, str(name), 0, nullptr);
      std::stringstream items(value);
      while (std::getline(items, value, ','))
        api.tlc_request_add_text(request, {"", 0}, str(unescaped(value)), 0, nullptr);
      api.tlc_request_end(request, nullptr);
    } else if (name == "define") {
      api.tlc_request_begin_map(request, {"defines", 7}, 0, nullptr);
      api.tlc_request_add_text(request, {"D", 1}, str(value), 0, nullptr);
      api.tlc_request_end(request, nullptr);
    } else {
      api.tlc_request_add_text(request, str(name), str(unescaped(value)), 0, nullptr);
    }
  }
  if (!target.empty()) api.tlc_request_set_target(request, str(target), nullptr);
  Failure failure(api);
  Answer answer;
  if (words[0] == "explain") {
    tlc_key* key = nullptr;
    tlc_blob* json = nullptr;
    tlc_status status = api.tlc_cache_key(cache.handle, request, &key, &failure.error);
    if (status == TLC_OK) status = api.tlc_cache_explain(cache.handle, key, &json, &failure.error);
    answer = blob_answer(api, failure, status, "json", json);
    api.tlc_key_release(key);
  } else {
    tlc_artifact* artifact = nullptr;
    tlc_blob* log = nullptr;
    tlc_compile_options options{};
    api.tlc_compile_options_init(&options);
    if (words[0] == "kernel") options.flags = TLC_COMPILE_NEVER;
    tlc_status status = api.tlc_cache_get_or_compile(cache.handle, request, &options, &artifact, &log, &failure.error);
    answer = failure.answer(api, status).add("compiled", log != nullptr ? 1 : 0);
    api.tlc_blob_release(log);
    if (status == TLC_OK && words[0] == "kernel") {
      state().held["kernel"] = {&api, "kernel", artifact};
    } else if (status == TLC_OK) {
      static auto& loaded = *new std::vector<tlc_module*>;  // never released: the functions stay callable
      tlc_module*& module = loaded.emplace_back(nullptr);
      void* address = nullptr;
      status = api.tlc_cache_load(cache.handle, artifact, nullptr, &module, &failure.error);
      if (status == TLC_OK) status = api.tlc_module_symbol(module, {"f", 1}, &address, &failure.error);
      if (status == TLC_OK)
        answer.add("value", reinterpret_cast<int (*)()>(address)());
      else
        answer.add("load", failure.answer(api, status).text);
      api.tlc_artifact_release(artifact);
    }
  }
  api.tlc_request_destroy(request);
  return answer;
}

// ---- what a program does beside the cache

Answer run_line(const std::string& line);

// fork|clone COMMAND ; COMMAND: a child runs them and exits; its answers come back. clone: past libc's fork handlers.
Answer in_child(const Arguments& words) {
  int ends[2];
  if (::pipe(ends) != 0) return {"ERROR"};
  const auto pid = words[0] == "fork" ? ::fork() : static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  if (pid == 0) {
    std::string all, line;
    for (std::size_t i = 1; i <= words.size(); ++i) {
      if (i < words.size() && words[i] != ";") {
        line += (line.empty() ? "" : " ") + words[i];
        continue;
      }
      const std::string answer = run_line(line).text;
      all += (all.empty() ? "" : " ; ") + answer;
      line.clear();
    }
    const ssize_t put = ::write(ends[1], all.data(), all.size());
    ::_exit(put == static_cast<ssize_t>(all.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string all;
  char block[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], block, sizeof block)) > 0;)
    all.append(block, static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return Answer{WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "TLC_OK" : "DIED"}.add("child", all);
}

Answer leave_child(const Arguments& words) {  // orphan SECONDS: a child that only lives on
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (int fd = 0; fd < 3; ++fd) ::close(fd);
    ::alarm(static_cast<unsigned>(number(words, 1, 30)));
    ::pause();
    ::_exit(0);
  }
  return Answer{"TLC_OK"}.add("pid", pid);
}

// Reads and closes every file below a folder, as a backup would, and takes and drops a record lock on each: that ends
// all POSIX record locks this process has on them.
void read_tree(const std::string& path, long long& files) {
  DIR* dir = ::opendir(path.c_str());
  if (dir == nullptr) return;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    const std::string inner = path + "/" + name;
    struct stat st {};
    if (::lstat(inner.c_str(), &st) != 0) continue;
    if (S_ISDIR(st.st_mode)) read_tree(inner, files);
    if (!S_ISREG(st.st_mode)) continue;
    const int fd = ::open(inner.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) continue;
    char block[4096];
    while (::read(fd, block, sizeof block) > 0) {
    }
    struct flock whole {};
    whole.l_type = F_UNLCK;
    (void)::fcntl(fd, F_SETLK, &whole);
    ::close(fd);
    ++files;
  }
  ::closedir(dir);
}

Answer backup(const Arguments& words) {  // backup FOLDER
  long long files = 0;
  read_tree(words.at(1), files);
  return Answer{"TLC_OK"}.add("files", files);
}

Answer use_library(const Arguments& words) {  // library FILE: caches opened from now on are this copy's
  auto api = agent::load_library(words.at(1).c_str());
  if (api == nullptr) return {"ERROR"};
  state().others.push_back(std::move(api));
  state().api = state().others.back().get();
  return {"TLC_OK"};
}

// busy THREADS: so many threads use the current cache until the process ends.
Answer stay_busy(const Arguments& words) {
  const Cache cache = state().current();
  for (std::uint64_t thread = 0; thread < number(words, 1, 4); ++thread) {
    std::thread([cache, thread] {
      for (std::uint64_t turn = 0;; ++turn) {
        const std::string name = "busy-" + std::to_string((thread + turn) % 20);
        const Wanted wanted(*cache.api, name);
        tlc_artifact* artifact = nullptr;
        if (cache.api->tlc_cache_get(cache.handle, wanted.key, &artifact, nullptr) == TLC_OK) {
          if (check(*cache.api, name, artifact).text.rfind("TLC_OK", 0) != 0) std::abort();
        } else {
          const Made made(*cache.api, name, 1, 20000);
          cache.api->tlc_cache_put(cache.handle, wanted.key, made.bundle, nullptr, nullptr);
        }
        cache.api->tlc_artifact_release(artifact);
      }
    }).detach();
  }
  return {"TLC_OK"};
}

// unload: lets go of the copy of the library that the current cache is of, whatever its threads do.
Answer unload(const Arguments&) {
  return {::dlclose(state().current().api->loaded) == 0 ? "TLC_OK" : "ERROR"};
}

// leave exit|quick: ends the process without closing anything.
Answer leave(const Arguments& words) {
  if (words.at(1) == "quick") std::quick_exit(0);
  std::exit(0);
}

Answer rlimit(const Arguments& words) {  // rlimit nofile|fsize|as VALUE
  const auto which = words.at(1) == "nofile" ? RLIMIT_NOFILE : words[1] == "fsize" ? RLIMIT_FSIZE : RLIMIT_AS;
  rlimit64 limit{};
  ::getrlimit64(which, &limit);
  limit.rlim_cur = number(words, 2, 0);
  return {::setrlimit64(which, &limit) == 0 ? "TLC_OK" : "ERROR"};
}

// eatfds: opens files until there is no descriptor left.
Answer eat_descriptors(const Arguments&) {
  long long opened = 0;
  while (::open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) ++opened;
  return Answer{"TLC_OK"}.add("opened", opened);
}

const std::map<std::string, std::function<Answer(const Arguments&)>>& commands() {
  static const std::map<std::string, std::function<Answer(const Arguments&)>> all = {
      {"open", open_cache},
      {"close", close_cache},
      {"put", put},
      {"put_cost", put_cost},
      {"replace", replace},
      {"get", get},
      {"hold", hold},
      {"check", check_held},
      {"release", release},
      {"folder", folder},
      {"remove", remove},
      {"invalidate", invalidate},
      {"clear", clear},
      {"gc", report},
      {"verify", report},
      {"stats", report},
      {"describe", report},
      {"limit", report},
      {"begin", begin},
      {"publish", publish},
      {"abandon", abandon},
      {"compile", compile},
      {"cc", cc},
      {"explain", cc},
      {"kernel", cc},
      {"fork", in_child},
      {"clone", in_child},
      {"orphan", leave_child},
      {"backup", backup},
      {"library", use_library},
      {"busy", stay_busy},
      {"unload", unload},
      {"leave", leave},
      {"rlimit", rlimit},
      {"arm", arm},
      {"under", under},
      {"counted", counted},
      {"flush", flush},
      {"eatfds", eat_descriptors},
      {"work", [](const Arguments& words) { return work(words, run_line); }},
      {"recall", [](const Arguments& words) { return recall(words, run_line); }},
      {"env",
       [](const Arguments& words) {
         ::setenv(words.at(1).c_str(), words.at(2).c_str(), 1);
         return Answer{"TLC_OK"};
       }},
      {"cache",
       [](const Arguments& words) {
         state().cache = words.at(1);
         return Answer{"TLC_OK"};
       }},
      {"namespace",
       [](const Arguments& words) {
         state().name_space = words.at(1);
         return Answer{"TLC_OK"};
       }},
      {"sleep",
       [](const Arguments& words) {
         ::usleep(static_cast<useconds_t>(number(words, 1, 0) * 1000));
         return Answer{"TLC_OK"};
       }},
      {"pid", [](const Arguments&) { return Answer{"TLC_OK"}.add("pid", ::getpid()); }},
  };
  return all;
}

Answer run_line(const std::string& line) {
  std::istringstream stream(line);
  Arguments words;
  for (std::string word; stream >> word;) words.push_back(word);
  const auto found = words.empty() ? commands().end() : commands().find(words[0]);
  if (found == commands().end()) return Answer{"UNKNOWN"}.add("command", line);
  return found->second(words);
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const std::string answer = run_line(line).text + "\n";
    for (std::size_t at = 0; at < answer.size();) {
      const ssize_t put = ::write(1, answer.data() + at, answer.size() - at);
      if (put <= 0) return 1;
      at += static_cast<std::size_t>(put);
    }
  }
  for (auto& [name, cache] : state().caches)
    if (cache.handle != nullptr) cache.api->tlc_cache_close(cache.handle);
  return 0;
}
