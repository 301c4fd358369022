// SPDX-License-Identifier: MIT
// A page of memory that processes share by the path of a file: barriers, and times that one process takes for another.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <type_traits>

#include "support.hpp"

namespace bench {

/// A new file's page is all zeros, which must be a good `Content`.
template <typename Content>
class SharedPage {
  static_assert(std::is_standard_layout_v<Content> && sizeof(Content) <= 4096);

 public:
  explicit SharedPage(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    require(fd >= 0 && ::ftruncate(fd, 4096) == 0, "cannot make a page to share");
    page_ = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    require(page_ != MAP_FAILED, "cannot map a page to share");
    ::close(fd);
  }
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;
  ~SharedPage() { ::munmap(page_, 4096); }
  Content* operator->() const { return static_cast<Content*>(page_); }

 private:
  void* page_;
};

}  // namespace bench
