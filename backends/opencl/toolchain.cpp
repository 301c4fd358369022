// SPDX-License-Identifier: MIT
// A listing is remembered by the circumstances it was found in: which loader, which folders of drivers, and each file
// of theirs with its content. What is remembered is not written over; a later finding for equal circumstances, after a
// driver's files were replaced, goes beside it under the next number. It holds as long as all its files are what they
// were.
#include "opencl/toolchain.hpp"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <set>

#include "support/compiler_log.hpp"
#include "support/failure.hpp"
#include "support/tagged_fields.hpp"
#include "support/worker.hpp"

namespace tlcb::opencl {
namespace {

/// Read by the loaders of Khronos and of ocl-icd.
constexpr std::array<const char*, 3> kDriverVariables = {"OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "OPENCL_VENDOR_PATH"};
/// Without which a driver shows no device, or another one, than it shows the host. Others only hide devices, which does
/// no harm here.
constexpr std::array<const char*, 2> kDeviceVariables = {"POCL_DEVICES", "RUSTICL_ENABLE"};
constexpr const char* kUsualDrivers = "/etc/OpenCL/vendors";
constexpr std::chrono::minutes kListLimit{2};
constexpr int kMostFindings = 32;
constexpr std::uint32_t kFilesTag = 1;
constexpr std::uint32_t kListingTag = 2;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> out;
  const std::unique_ptr<DIR, CloseFolder> open(::opendir(folder.c_str()));
  if (open == nullptr) return out;
  while (const dirent* entry = ::readdir(open.get())) {  // NOLINT(concurrency-mt-unsafe): nobody else reads this one
    if (entry->d_name[0] != '.') out.insert(entry->d_name);
  }
  return out;
}

/// What a folder of drivers says: a line a file, with the name of the library in it.
std::string drivers_in(const std::string& folder) {
  std::string out = "drivers " + folder + "\n";
  for (const std::string& name : names_in(folder)) {
    std::string path = folder;
    std::string content = read_file(path.append("/").append(name));
    replace_all(content, "\n", " ");
    out.append("driver ").append(name).append(" ").append(content).append("\n");
  }
  return out;
}

/// What decides which loader and drivers are found.
std::string circumstances(Host host, tlc_call* call, const std::string& wanted) {
  std::string out = "opencl 1\n";
  const auto content = [&](const std::string& path) {
    return path + " " + (::access(path.c_str(), R_OK) == 0 ? file_identity(host, call, path) : "none") + "\n";
  };
  if (!wanted.empty()) {
    out += "chosen " + content(wanted);
  } else if (const std::string open = loader_already_open(); !open.empty()) {
    out += "open " + content(open);
  } else {
    constexpr std::array<const char*, 1> kNames = {kLoaderName};
    out += "loader " + first_file_in(loader_folders(), kNames) + "\nlist " + loader_cache_stamp() + "\n";
  }
  out += "path " + environment("LD_LIBRARY_PATH") + "\n" + drivers_in(kUsualDrivers);
  for (const char* variable : kDriverVariables) {
    const std::string value = environment(variable);
    if (value.empty()) continue;
    out += std::string(variable) + " " + value + "\n";
    if (value.front() == '/') out += value.ends_with(".icd") ? read_file(value) + "\n" : drivers_in(value);
  }
  for (const char* variable : kDeviceVariables) out += std::string(variable) + " " + environment(variable) + "\n";
  return out;
}

std::string identity_of(Host host, tlc_call* call, const Listing& listing) {
  std::vector<std::string> lines;
  for (const std::string& file : listing.files)
    lines.push_back(base_name(file) + " " + file_identity(host, call, file) + "\n");
  std::sort(lines.begin(), lines.end());
  std::string out;
  for (const std::string& line : lines) out += line;
  return out;
}

struct Finding {
  Listing listing;
  std::string files;
};

std::string to_memo(const Finding& found) {
  TaggedWriter out;
  out.field(kFilesTag, found.files);
  out.field(kListingTag, encode(found.listing));
  return out.bytes();
}

/// nullopt where it does not hold any more.
std::optional<Finding> from_memo(Host host, tlc_call* call, std::string_view memo) {
  Finding out;
  const bool read = read_tagged(memo, [&](std::uint32_t tag, std::string bytes) {
    if (tag == kListingTag) return decode(bytes, out.listing);
    out.files = std::move(bytes);
    return tag == kFilesTag;
  });
  const auto readable = [](const std::string& file) { return ::access(file.c_str(), R_OK) == 0; };
  if (!read || out.listing.files.empty() ||
      !std::all_of(out.listing.files.begin(), out.listing.files.end(), readable) ||
      identity_of(host, call, out.listing) != out.files)
    return std::nullopt;
  return out;
}

std::string numbered(const std::string& key, int number) {
  return key + "finding " + std::to_string(number) + "\n";
}

std::string loader_to_open(const std::string& wanted) {
  return wanted.empty() ? loader_already_open() : wanted;
}

Listing ask_worker(Host host, tlc_call* call, const std::string& wanted) {
  Order order;
  order.library = loader_to_open(wanted);
  const auto cancelled = [host, call] { return host->cancelled(call) != 0; };
  const WorkerAnswer answer = run_worker({kWorkerTask, encode(order)}, worker_environment(), cancelled, kListLimit);
  Listing out;
  if (answer.answers.empty() || !decode(answer.answers.front(), out)) {
    const std::string line = last_words(answer.said);
    throw Failure(TLC_E_UNAVAILABLE, "an OpenCL driver did not survive being opened: tlcache-worker " +
                                         answer.ended.describe() + (line.empty() ? "" : ", saying: " + line));
  }
  return out;
}

std::string names_of(const Listing& listing) {
  std::string out;
  for (const ListedDevice& device : listing.devices) {
    if (const auto facts = parse_identity(device.identity)) out += (out.empty() ? "" : ", ") + facts->target();
  }
  return out.empty() ? "none" + (listing.problem.empty() ? "" : " (" + listing.problem + ")") : out;
}

/// The device that a target names; nullopt: none here. Throws Failure where it may be one of several.
std::optional<DeviceFacts> choose(const Listing& listing, const Target& target) {
  std::optional<DeviceFacts> out;
  for (const ListedDevice& device : listing.devices) {
    const auto facts = parse_identity(device.identity);
    if (!facts || !target.names(*facts) || out == facts) continue;
    if (out) {
      throw Failure(TLC_E_INVALID, "target '" + target.text() + "' may be one of several devices here: " +
                                       names_of(listing) + ". Name the platform too; where that is the same, their " +
                                       difference(*facts, *out) + ", and only a context tells them apart");
    }
    out = facts;
  }
  return out;
}

}  // namespace

std::vector<std::string> worker_environment() {
  std::vector<std::string> out;
  const auto pass_on = [&](const char* variable) {
    if (const std::string value = environment(variable); !value.empty())
      out.push_back(std::string(variable) + "=" + value);
  };
  for (const char* variable : kDriverVariables) pass_on(variable);
  for (const char* variable : kDeviceVariables) pass_on(variable);
  pass_on("PATH");  // PoCL starts a linker, and ends its process where there is none
  return out;
}

ToolchainFinder::Known& ToolchainFinder::known(Host host, tlc_call* call, const std::string& wanted) {
  const std::string loader = wanted.empty() ? environment("TLC_OPENCL") : wanted;
  if (const auto found = known_.find(wanted); found != known_.end() && !found->second.listing.devices.empty())
    return found->second;
  if (!loader.empty() && loader.front() != '/') (void)open_loader(loader);  // which says what is wrong with it
  const std::string key = circumstances(host, call, loader);
  Known fresh;
  int number = 0;
  for (std::string memo; number < kMostFindings && fresh.facts.recall(host, call, numbered(key, number), memo);
       ++number) {
    auto found = from_memo(host, call, memo);
    if (!found) continue;
    fresh.listing = std::move(found->listing);
    fresh.files = std::move(found->files);
    return known_[wanted] = std::move(fresh);
  }
  fresh.listing = ask_worker(host, call, loader);
  fresh.asked = true;
  if (fresh.listing.library.empty()) throw Failure(TLC_E_UNAVAILABLE, fresh.listing.problem);
  fresh.files = identity_of(host, call, fresh.listing);
  if (number < kMostFindings && !fresh.listing.devices.empty())
    fresh.facts.remember(host, call, numbered(key, number), to_memo({fresh.listing, fresh.files}));
  return known_[wanted] = std::move(fresh);
}

Listing ToolchainFinder::list(Host host, tlc_call* call, const std::string& wanted) {
  const std::scoped_lock lock(mutex_);
  return known(host, call, wanted).listing;
}

Toolchain ToolchainFinder::get(Host host, tlc_call* call, const std::string& wanted, const Target& target) {
  const std::scoped_lock lock(mutex_);
  Known* found = &known(host, call, wanted);
  std::optional<DeviceFacts> device = choose(found->listing, target);
  if (!device && !found->asked) {  // it may have come since that was remembered
    Listing now = ask_worker(host, call, wanted.empty() ? environment("TLC_OPENCL") : wanted);
    device = choose(now, target);
    found->asked = true;
    if (device) {
      found->listing = std::move(now);
      found->files = identity_of(host, call, found->listing);
    }
  }
  if (!device) {
    throw Failure(TLC_E_UNAVAILABLE, "there is no OpenCL device '" + target.text() + "' on this machine; there is " +
                                         names_of(found->listing));
  }
  Toolchain out;
  out.listing = found->listing;
  out.device = *device;
  out.files = found->files;
  out.identity = device->identity() + out.files;
  out.facts = found->facts;
  return out;
}

void ToolchainFinder::check_same(Host host, tlc_call* call, const std::string& wanted, const Toolchain& toolchain,
                                 const Listing& seen) {
  if (seen.files == toolchain.listing.files && identity_of(host, call, toolchain.listing) == toolchain.files)
    return toolchain.facts.note(host, call);
  const std::scoped_lock lock(mutex_);
  known_.erase(wanted);
  throw Failure(TLC_E_UNCACHEABLE,
                "the OpenCL drivers are not the ones any more that they were when the key was made; "
                "ask again");
}

}  // namespace tlcb::opencl
