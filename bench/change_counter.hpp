// SPDX-License-Identifier: MIT
// The change counter of a store, raised from outside: then what a process knows must be looked up in the index again.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "store/control.hpp"
#include "support.hpp"

namespace bench {

class ChangeCounter {
 public:
  explicit ChangeCounter(const std::string& folder) {
    std::string path;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
      if (entry.path().filename() == "control") path = entry.path();
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    require(fd >= 0, "cannot open the control file");
    map_ = ::mmap(nullptr, sizeof(tlc::store::ControlHeader), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    require(map_ != MAP_FAILED, "cannot map the control file");
    ::close(fd);
  }
  ChangeCounter(const ChangeCounter&) = delete;
  ChangeCounter& operator=(const ChangeCounter&) = delete;
  ~ChangeCounter() { ::munmap(map_, sizeof(tlc::store::ControlHeader)); }
  void raise() { static_cast<tlc::store::ControlHeader*>(map_)->change.fetch_add(1); }

 private:
  void* map_;
};

}  // namespace bench
