// SPDX-License-Identifier: MIT
#include "support/program_parts.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "support/toolchain.hpp"

namespace tlcb {
namespace {

constexpr std::chrono::seconds kQueryLimit{30};

/// Whether the file is an ELF program that the dynamic loader starts; a script is not, and must not be run to find out.
bool has_interpreter(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  Elf64_Ehdr header{};
  bool found = false;
  if (::pread(fd, &header, sizeof header, 0) == static_cast<ssize_t>(sizeof header) &&
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_phentsize == sizeof(Elf64_Phdr)) {
    for (std::uint64_t i = 0; i < header.e_phnum && !found; ++i) {
      Elf64_Phdr segment{};
      const auto at = static_cast<off_t>(header.e_phoff + i * sizeof segment);
      if (::pread(fd, &segment, sizeof segment, at) != static_cast<ssize_t>(sizeof segment)) break;
      found = segment.p_type == PT_INTERP;
    }
  }
  ::close(fd);
  return found;
}

}  // namespace

SpawnResult ask_program(const std::string& program, std::vector<std::string> args, std::vector<std::string> env) {
  SpawnRequest request;
  request.program = program;
  request.args = std::move(args);
  request.env = std::move(env);
  request.folder = "/";
  request.timeout = kQueryLimit;
  return spawn(request);
}

void add_program_libraries(const std::string& program, const std::vector<std::string>& env,
                           std::set<std::string>& into) {
  if (!has_interpreter(program)) return;
  std::vector<std::string> tracing = env;
  tracing.emplace_back("LD_TRACE_LOADED_OBJECTS=1");
  const SpawnResult result = ask_program(program, {}, std::move(tracing));
  for (const std::string& line : lines_of(result.output)) {
    const std::size_t arrow = line.find(" => /");
    if (arrow == std::string::npos) continue;
    const std::size_t end = line.find(" (", arrow);
    const std::string path = line.substr(arrow + 4, end - arrow - 4);
    if (!is_libc(base_name(path)) && is_file(path)) into.insert(path);
  }
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) out.push_back(take_line(text));
  return out;
}

bool is_file(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode);
}

}  // namespace tlcb
