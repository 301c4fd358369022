// SPDX-License-Identifier: MIT
// Which paths the compiler must have looked at and found empty.
//
// A header found as F/name, where F is a folder of the search list, was not in the folders before
// F. A "name" is looked for beside the file that includes it first; which file that was is not
// known, so it must not appear beside any header that is not the system's.
#include "cpu/guards.hpp"
#include "support/failure.hpp"
#include "support/toolchain.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <set>

namespace tlcb::cpu {
namespace {

bool exists(const std::string& path) {
  struct stat st {};
  return ::lstat(path.c_str(), &st) == 0;
}

std::string folder_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

/// Folders of the system and of the compiler: programs do not put quoted headers there.
bool is_system(const std::string& folder) {
  return folder.starts_with("/usr/");
}

std::string joined(std::string folder, std::string_view name) {
  folder += '/';
  folder += name;
  return folder;
}

class Maker {
 public:
  explicit Maker(const Reads& reads) : reads_(reads) {
    folders_ = reads.search.quoted;
    folders_.insert(folders_.end(), reads.search.folders.begin(), reads.search.folders.end());
  }

  GuardSet run() {
    for (const std::string& folder : reads_.search.missing) absent_below({}, folder);
    shadows_of_headers();
    asked_for(reads_.source, "the source");
    for (const std::string& header : reads_.headers) asked_for(read_file(header), header);
    shadows_of_libraries();
    for (const auto* list : {&reads_.headers, &reads_.linked}) {
      for (const std::string& path : *list) out_.read(path);
    }
    return std::move(out_);
  }

 private:
  /// Notes that `folder`/`name` is not there, by the shortest path that says so.
  void absent_below(const std::string& folder, const std::string& name) {
    const std::string path = folder.empty() ? name : folder + "/" + name;
    if (path.empty() || path.front() != '/' || !checked_.insert(path).second || exists(path)) {
      return;
    }
    out_.nothing_at(path);
  }

  void shadows_of_headers() {
    std::set<std::string> beside;
    for (const std::string& header : reads_.headers) {
      const std::string folder = folder_of(header);
      if (!is_system(folder)) beside.insert(folder);
    }
    for (const std::string& header : reads_.headers) {
      for (std::size_t i = 0; i < folders_.size(); ++i) {
        const std::string start = folders_[i] + "/";
        if (!header.starts_with(start)) continue;
        const std::string name = header.substr(start.size());
        for (std::size_t j = 0; j < i; ++j) absent_below(folders_[j], name);
        for (const std::string& folder : beside) absent_below(folder, name);
      }
    }
  }

  /// What a file asks about by __has_include and does not find must stay away.
  void asked_for(std::string_view text, const std::string& where) {
    if (text.find(".incbin") != std::string_view::npos) {
      throw Failure(TLC_E_UNCACHEABLE, where +
                                           " uses .incbin: the file it reads cannot be watched; put its bytes "
                                           "into the source, or compile without the cache");
    }
    for (const std::string& name : has_include_names(text)) {
      if (name.front() == '/') {
        absent_below({}, name);
        continue;
      }
      // Up to the folder where it is found; in all of them when it is not.
      for (const std::string& folder : folders_) {
        if (exists(joined(folder, name))) break;
        absent_below(folder, name);
      }
    }
  }

  /// -lname takes lib<name>.so or .a of the first -L folder that has either.
  void shadows_of_libraries() {
    for (const std::string& library : reads_.libraries) {
      for (const std::string& folder : reads_.library_dirs) {
        const bool literal = library.starts_with(':');
        const std::string stem = joined(folder, literal ? library.substr(1) : std::string("lib").append(library));
        const std::string shared = literal ? stem : stem + ".so";
        if (exists(shared)) break;
        absent_below({}, shared);
        if (literal) continue;
        if (exists(stem + ".a")) break;
        absent_below({}, stem + ".a");
      }
    }
  }

  const Reads& reads_;
  std::vector<std::string> folders_;
  std::set<std::string> checked_;
  GuardSet out_;
};

}  // namespace

GuardSet make_guards(const Reads& reads) {
  return Maker(reads).run();
}

}  // namespace tlcb::cpu
