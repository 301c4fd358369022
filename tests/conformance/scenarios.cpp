// SPDX-License-Identifier: MIT
// scenarios.json by the public C API. README.md says what a step means.
//
// usage: scenarios FILE
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <stdexcept>

#include "requests.hpp"

namespace {

using namespace conformance;
namespace fs = std::filesystem;

[[noreturn]] void wrong(const std::string& what) {
  throw std::runtime_error(what);
}

tlc_status status_named(const std::string& name) {
  for (tlc_status status = -64; status < 64; ++status) {
    if (name == tlc_status_name(status)) return status;
  }
  wrong("no status " + name);
}

// The callback of get_or_compile: does what `compile` says.
struct Compile {
  const json& given;
  std::function<tlc_status(const json&, tlc_bundle*, tlc_error*)> fill;
  bool ran = false;
};

tlc_status on_compile(const tlc_request* /*request*/, const tlc_key* /*key*/, tlc_bundle* bundle, tlc_log* log,
                      tlc_error* error, void* user_data) {
  auto* compile = static_cast<Compile*>(user_data);
  compile->ran = true;
  const std::string said = compile->given.value("log", std::string());
  tlc_log_append(log, text(said));
  if (compile->given.contains("members")) return compile->fill(compile->given, bundle, error);
  const tlc_status status = status_named(compile->given.at("fails"));
  const std::string why = compile->given.at("text");
  if (error != nullptr) {
    error->code = status;
    error->message_length = why.size();
    (void)snprintf(error->message, sizeof error->message, "%s", why.c_str());
  }
  return status;
}

class Run {
 public:
  Run(const json& requests, fs::path folder) : requests_(requests), folder_(std::move(folder)) {}

  void step(const json& step) {
    tlc_error_init(&error_);
    artifact_ = nullptr;
    const std::string operation = step.at("do");
    const auto found = kOperations.find(operation);
    if (found == kOperations.end()) wrong("no operation " + operation);
    tlc_status status = (this->*found->second)(step);
    if (artifact_ != nullptr) artifacts_[step.value("as", "")].reset(artifact_);
    // What README.md says of bindings that answer yes or no.
    if (operation == "invalidate" && status == TLC_CONFLICT) status = TLC_MISS;
    json expect = step.value("expect", json("TLC_OK"));
    if (!expect.is_array()) expect = json::array({expect});
    bool is_expected = false;
    for (const json& one : expect) is_expected = is_expected || one == tlc_status_name(status);
    const std::string message = status == TLC_OK ? "" : error_.message;
    if (!is_expected) wrong(std::string(tlc_status_name(status)) + " (" + message + ")");
    if (message.find(step.value("message", "")) == std::string::npos) wrong("the message is: " + message);
  }

 private:
  using Operation = tlc_status (Run::*)(const json&);
  static const std::map<std::string, Operation> kOperations;

  const json& requests_;
  fs::path folder_;
  std::map<std::string, Owned<tlc_cache>> caches_;
  std::map<std::string, Owned<tlc_artifact>> artifacts_;
  std::map<std::string, Owned<tlc_lock>> locks_;
  tlc_error error_{};
  tlc_artifact* artifact_ = nullptr;  // what the step gave

  tlc_cache* cache(const json& step) { return caches_.at(step.value("cache", "c")).get(); }
  const json& request(const json& name) { return requests_.at(name.get<std::string>()); }
  Owned<tlc_key> key(const json& name) {
    Owned<tlc_key> made;
    if (make_key(request(name), made, &error_) != TLC_OK) wrong(error_.message);
    return made;
  }
  tlc_artifact* artifact(const json& name) { return artifacts_.at(name.get<std::string>()).get(); }

  tlc_status fill(const json& step, tlc_bundle* bundle, tlc_error* error) {
    tlc_status status = TLC_OK;
    for (const auto& [name, given] : step.at("members").items()) {
      const std::string data = bytes(given);
      status = tlc_bundle_add(bundle, text(name), TLC_MEMBER_OPAQUE, data.data(), data.size(), 0, error);
      if (status != TLC_OK) return status;
    }
    const std::string label = step.value("label", "");
    if (step.contains("label") && (status = tlc_bundle_set_label(bundle, text(label), error)) != TLC_OK) return status;
    for (const json& name : step.value("requires", json::array())) {
      status = tlc_bundle_add_requirement(bundle, key(name).get(), error);
      if (status != TLC_OK) return status;
    }
    return TLC_OK;
  }

  // Publishes the step's members by `publish`, unless the bundle is refused before.
  tlc_status with_bundle(const json& step, const std::function<tlc_status(const tlc_bundle*)>& publish) {
    tlc_bundle* made = nullptr;
    if (tlc_bundle_create(&made, &error_) != TLC_OK) wrong(error_.message);
    const Owned<tlc_bundle> bundle(made);
    const tlc_status status = fill(step, made, &error_);
    return status == TLC_OK ? publish(made) : status;
  }

  tlc_status open(const json& step) {
    tlc_cache_options options;
    tlc_cache_options_init(&options);
    const std::string folder = (folder_ / "store").string();
    options.directory = text(folder);
    options.limit_bytes = step.value("limit", std::uint64_t{0});
    options.flags = TLC_OPEN_NO_ENV;
    const std::map<std::string, std::uint64_t> flags{
        {"strict", TLC_OPEN_STRICT}, {"read_only", TLC_OPEN_READ_ONLY}, {"memory", TLC_OPEN_MEMORY}};
    for (const std::string option : step.value("options", json::array())) options.flags |= flags.at(option);
    tlc_cache* made = nullptr;
    const tlc_status status = tlc_cache_open(&options, &made, &error_);
    caches_[step.value("cache", "c")].reset(made);
    return status;
  }
  tlc_status close(const json& step) {
    caches_.erase(step.value("cache", "c"));
    return TLC_OK;
  }
  tlc_status file(const json& step) {
    std::ofstream(folder_ / step.at("folder").get<std::string>()) << "no folder";
    return TLC_OK;
  }
  tlc_status bare_key(const json& step) {
    Owned<tlc_key> made;
    return make_key(request(step.at("request")), made, &error_);
  }
  tlc_status cache_key(const json& step) {
    Owned<tlc_request> made;
    tlc_key* found = nullptr;
    tlc_status status = make_request(request(step.at("request")), made, &error_);
    if (status == TLC_OK) status = tlc_cache_key(cache(step), made.get(), &found, &error_);
    tlc_key_release(found);
    return status;
  }
  tlc_status get(const json& step) {
    return tlc_cache_get(cache(step), key(step.at("key")).get(), &artifact_, &error_);
  }
  tlc_status put(const json& step) {
    return with_bundle(step, [&](const tlc_bundle* bundle) {
      return tlc_cache_put(cache(step), key(step.at("key")).get(), bundle, &artifact_, &error_);
    });
  }
  tlc_status replace(const json& step) {
    return with_bundle(step, [&](const tlc_bundle* bundle) {
      const tlc_artifact* seen = step.at("seen").is_null() ? nullptr : artifact(step["seen"]);
      return tlc_cache_replace(cache(step), key(step.at("key")).get(), seen, bundle, &artifact_, &error_);
    });
  }
  tlc_status amend(const json& step) {
    return with_bundle(step, [&](const tlc_bundle* bundle) {
      return tlc_cache_amend(cache(step), key(step.at("key")).get(), artifact(step.at("seen")), bundle, &artifact_,
                             &error_);
    });
  }
  tlc_status remove(const json& step) { return tlc_cache_remove(cache(step), key(step.at("key")).get(), &error_); }
  tlc_status link(const json& step) {
    return tlc_cache_link(cache(step), key(step.at("from")).get(), key(step.at("to")).get(), &error_);
  }
  tlc_status invalidate(const json& step) {
    return tlc_cache_invalidate(cache(step), artifact(step.at("artifact")), &error_);
  }
  tlc_status clear(const json& step) {
    const std::string name = step.at("namespace").is_null() ? "" : step["namespace"].get<std::string>();
    std::uint64_t removed = 0;
    const tlc_status status = tlc_cache_clear(cache(step), text(name), &removed, &error_);
    if (removed != step.at("removed").get<std::uint64_t>()) wrong("removed " + std::to_string(removed));
    return status;
  }
  tlc_status find(const json& step) {
    const Owned<tlc_key> wanted = key(step.at("key"));
    std::string hex;
    char pair[3];
    for (int i = 0; i < TLC_DIGEST_SIZE; ++i) {
      (void)snprintf(pair, sizeof pair, "%02x", tlc_key_digest(wanted.get())[i]);
      hex += pair;
    }
    hex.resize(step.at("digits"));
    return tlc_cache_find(cache(step), text(hex), &artifact_, &error_);
  }
  tlc_status begin(const json& step) {
    tlc_lock* lock = nullptr;
    const tlc_status status =
        tlc_cache_begin(cache(step), key(step.at("key")).get(), TLC_WAIT_DEFAULT, nullptr, &artifact_, &lock, &error_);
    if (lock != nullptr) locks_[step.at("lock")].reset(lock);
    return status;
  }
  Owned<tlc_lock> take(const json& step) {
    return std::move(locks_.extract(step.at("lock").get<std::string>()).mapped());
  }
  tlc_status publish(const json& step) {
    Owned<tlc_lock> lock = take(step);
    return with_bundle(
        step, [&](const tlc_bundle* bundle) { return tlc_lock_publish(lock.release(), bundle, &artifact_, &error_); });
  }
  tlc_status fail(const json& step) {
    const std::string why = step.at("text");
    tlc_lock_fail(take(step).release(), status_named(step.at("status")), text(why));
    return TLC_OK;
  }
  tlc_status abandon(const json& step) {
    (void)take(step);
    return TLC_OK;
  }
  tlc_status get_or_compile(const json& step) {
    Owned<tlc_request> made;
    if (make_request(request(step.at("request")), made, &error_) != TLC_OK) wrong(error_.message);
    Compile compile{step.at("compile"), [this](const json& given, tlc_bundle* bundle, tlc_error* error) {
                      return fill(given, bundle, error);
                    }};
    tlc_compile_options options;
    tlc_compile_options_init(&options);
    options.compile = on_compile;
    options.user_data = &compile;
    options.flags = (step.value("keep_failure", false) ? std::uint64_t{TLC_COMPILE_KEEP_FAILURE} : 0) |
                    (step.value("closed", false) ? std::uint64_t{TLC_COMPILE_CLOSED} : 0);
    tlc_blob* log = nullptr;
    const tlc_status status = tlc_cache_get_or_compile(cache(step), made.get(), &options, &artifact_, &log, &error_);
    const Owned<tlc_blob> said(log);
    if (compile.ran != step.at("compiled").get<bool>()) wrong(compile.ran ? "it compiled" : "it did not compile");
    if (step.contains("log") && (log == nullptr || step["log"] != tlc_blob_data(log, nullptr)))
      wrong("the log differs");
    return status;
  }
  tlc_status member(const json& step) {
    tlc_member found{};
    found.struct_size = TLC_SIZEOF(tlc_member, type);
    const std::string name = step.at("name");
    return tlc_artifact_find(artifact(step.at("artifact")), text(name), &found, &error_);
  }
  tlc_status check(const json& step) {
    const tlc_artifact* has = artifact(step.at("artifact"));
    const json& members = step.at("members");
    if (tlc_artifact_member_count(has) != members.size()) wrong("it has another number of members");
    for (std::size_t i = 0; i < members.size(); ++i) {
      tlc_member found{};
      found.struct_size = TLC_SIZEOF(tlc_member, type);
      if (tlc_artifact_member_at(has, i, &found, &error_) != TLC_OK) wrong(error_.message);
      const std::string name = copy(found.name);
      if (!members.contains(name)) wrong("it has a member " + name);
      const std::string wanted = bytes(members[name]);
      if (wanted != copy({static_cast<const char*>(found.data), found.size})) wrong(name + " has other bytes");
      std::string read(found.size, '?');
      if (tlc_artifact_read(has, i, read.data(), read.size(), &error_) != TLC_OK) wrong(error_.message);
      if (read != wanted) wrong(name + " is read otherwise");
    }
    tlc_artifact_info info{};
    info.struct_size = TLC_SIZEOF(tlc_artifact_info, tier);
    if (tlc_artifact_get_info(has, &info, &error_) != TLC_OK) wrong(error_.message);
    if (step.contains("namespace") && step["namespace"] != copy(info.name_space)) wrong("another namespace");
    if (step.contains("label") && step["label"] != copy(info.label)) wrong("another label");
    return TLC_OK;
  }
  tlc_status stats(const json& step) {
    tlc_stats found{};
    found.struct_size = TLC_SIZEOF(tlc_stats, memory_bytes);
    const std::string name = step.value("namespace", "");
    const tlc_status status = tlc_cache_get_stats(cache(step), text(name), &found, &error_);
    const std::map<std::string, std::uint64_t> counters{{"hits", found.hits},
                                                        {"misses", found.misses},
                                                        {"puts", found.puts},
                                                        {"compiles", found.compiles},
                                                        {"entries", found.entries}};
    const json is = step.value("is", json::object());
    for (const auto& [counter, wanted] : is.items()) {
      if (counters.at(counter) != wanted) wrong(counter + " is " + std::to_string(counters.at(counter)));
    }
    return status;
  }
};

const std::map<std::string, Run::Operation> Run::kOperations{
    {"open", &Run::open},       {"close", &Run::close},     {"file", &Run::file},
    {"key", &Run::bare_key},    {"get", &Run::get},         {"cache_key", &Run::cache_key},
    {"put", &Run::put},         {"replace", &Run::replace}, {"amend", &Run::amend},
    {"remove", &Run::remove},   {"link", &Run::link},       {"invalidate", &Run::invalidate},
    {"clear", &Run::clear},     {"find", &Run::find},       {"begin", &Run::begin},
    {"publish", &Run::publish}, {"fail", &Run::fail},       {"abandon", &Run::abandon},
    {"member", &Run::member},   {"check", &Run::check},     {"get_or_compile", &Run::get_or_compile},
    {"stats", &Run::stats}};

bool run(const json& requests, const json& scenario, const fs::path& folder) {
  const std::string name = scenario.at("name");
  std::size_t number = 0;
  bool good = true;
  printf("[ RUN      ] %s\n", name.c_str());
  fs::create_directories(folder);
  try {
    Run state(requests, folder);
    for (const json& step : scenario.at("steps")) {
      ++number;
      state.step(step);
    }
  } catch (const std::exception& error) {
    printf("step %zu: %s: %s\n", number, scenario["steps"][number - 1].dump().c_str(), error.what());
    good = false;
  }
  fs::remove_all(folder);
  printf("[ %s ] %s\n", good ? "      OK" : " FAILED ", name.c_str());
  return good;
}

int run_all(const char* path) {
  std::ifstream file(path);
  const json data = json::parse(file);
  std::string place = (fs::temp_directory_path() / "tlc-scenarios-XXXXXX").string();
  if (mkdtemp(place.data()) == nullptr) wrong("no folder can be made for the stores");
  std::size_t failed = 0;
  for (const json& scenario : data.at("scenarios")) {
    failed += run(data.at("requests"), scenario, fs::path(place) / "scenario") ? 0 : 1;
  }
  fs::remove_all(place);
  return failed == 0 && !data["scenarios"].empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    return run_all(argv[1]);
  } catch (const std::exception& error) {
    (void)fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
