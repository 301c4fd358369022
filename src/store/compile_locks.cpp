// SPDX-License-Identifier: MIT
#include "store/compile_locks.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "port/file.hpp"
#include "port/lock.hpp"

namespace tlc::store {
namespace {

std::uint64_t offset_of(const trust::Digest& key) {
  std::uint64_t word = 0;
  std::memcpy(&word, key.bytes.data(), sizeof word);
  return word & ((std::uint64_t{1} << 62) - 1);
}

}  // namespace

Result<int> CompileLocks::file_for(const trust::Digest& key) {
  const std::size_t number = key.bytes[31] % kFiles;
  const std::lock_guard lock(mutex_);
  if (files_[number]) return files_[number].get();
  if (Result<void> made = port::make_dir_at(dir_, "compile"); !made) return std::move(made).error();
  const std::string name = std::string("compile/") + "0123456789abcdef"[number];
  Result<port::Fd> file = port::open_at(dir_, name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!file) return std::move(file).error();
  files_[number] = port::LockFile(std::move(*file));
  return files_[number].get();
}

Result<bool> CompileLocks::try_take(const trust::Digest& key) {
  Result<int> file = file_for(key);
  if (!file) return std::move(file).error();
  return port::try_lock(*file, offset_of(key), 1, port::LockMode::exclusive);
}

void CompileLocks::give_back(const trust::Digest& key) {
  if (Result<int> file = file_for(key); file) (void)port::unlock(*file, offset_of(key), 1);
}

}  // namespace tlc::store
