// SPDX-License-Identifier: MIT
#include "store/opening_mark.hpp"

#include <fcntl.h>
#include <stdio.h>

#include <cerrno>
#include <utility>

#include "port/clock.hpp"
#include "port/fd.hpp"
#include "port/file.hpp"
#include "port/step.hpp"
#include "port/system.hpp"
#include "store/format.hpp"
#include "trust/hash.hpp"

namespace tlc::store {
namespace {

constexpr std::uint64_t kIndexDeaths = 2;
constexpr std::uint64_t kStoreDeaths = 4;
constexpr const char* kAside = ".aside-";

}  // namespace

std::uint64_t boot_hash() {
  static const std::uint64_t hash = [] {
    const std::string id = port::boot_id();
    return id.empty() ? std::uint64_t{0} : trust::xxh3_64(id.data(), id.size());
  }();
  return hash;
}

OpeningMark::OpeningMark(const Control& control) : control_(control) {
  ControlHeader* header = control_.header();
  if (header->opening_boot.load() != boot_hash()) {  // the machine went down, which is nobody's fault here
    header->opening.store(0);
    header->opening_boot.store(boot_hash());
  }
  const std::uint64_t deaths = header->opening.load();
  if (deaths >= kIndexDeaths) suspect_ = deaths >= kStoreDeaths ? Suspect::store : Suspect::index;
  header->opening.store(deaths + 1);
}

OpeningMark::~OpeningMark() {
  control_.header()->opening.store(0);
}

bool is_aside_name(const std::string& name) {
  return name.starts_with(format_folder_name() + kAside);
}

std::vector<std::string> stores_aside(const std::string& root) {
  std::vector<std::string> aside;
  Result<std::vector<std::string>> names = port::list_dir_at(AT_FDCWD, root.c_str());
  if (!names) return aside;
  for (std::string& name : *names)
    if (is_aside_name(name)) aside.push_back(std::move(name));
  return aside;
}

Result<void> set_store_aside(int format_dir, const std::string& format_path) {
  const std::string root = format_path.substr(0, format_path.rfind('/'));
  Result<port::Fd> parent = port::open_at(AT_FDCWD, root.c_str(), O_RDONLY | O_DIRECTORY);
  if (!parent) return std::move(parent).error();
  for (const std::string& name : stores_aside(root)) (void)port::remove_tree_at(parent->get(), name.c_str());
  const std::string to = format_folder_name() + kAside + std::to_string(port::wall_ns() / 1'000'000'000);
  if (::renameat(parent->get(), format_folder_name().c_str(), parent->get(), to.c_str()) != 0)
    return io_error(errno, "cannot rename " + format_path);
  TLC_STEP("open.aside");
  // Who has the store open knows its control file by this name.
  if (::renameat(format_dir, "control", format_dir, "control.aside") != 0)
    return io_error(errno, "cannot rename the control file of " + root + "/" + to);
  return {};
}

}  // namespace tlc::store
