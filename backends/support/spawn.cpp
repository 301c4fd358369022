// SPDX-License-Identifier: MIT
// posix_spawn, poll, and the ways to learn how a child ended.
#include "support/spawn.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

namespace tlcb {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kTick{50};
/// How long a child's own children may keep its output open after it has ended.
constexpr std::chrono::milliseconds kGrace{500};

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }
  [[nodiscard]] int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

  /// Moves it above the standard descriptors, which a host may have closed: dup2 in the child would
  /// otherwise overwrite one that is still to be used.
  [[nodiscard]] bool lift() {
    if (fd_ > 2) return true;
    const int high = ::fcntl(fd_, F_DUPFD_CLOEXEC, 3);
    if (high < 0) return false;
    reset();
    fd_ = high;
    return true;
  }

 private:
  int fd_ = -1;
};

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

/// A file without a name that holds the child's input, at its start.
Fd input_file(std::string_view input) {
  Fd file(::memfd_create("tlcache-input", MFD_CLOEXEC));
  if (!file) {
    std::array<char, 32> path{"/tmp/tlcache-in-XXXXXX"};
    file = Fd(::mkostemp(path.data(), O_CLOEXEC));
    if (!file) return file;
    ::unlink(path.data());
  }
  if (!file.lift() || !write_all(file.get(), input) || ::lseek(file.get(), 0, SEEK_SET) != 0) {
    const int error = errno;
    file.reset();
    errno = error;
  }
  return file;
}

struct Pipe {
  Fd read;
  Fd write;

  [[nodiscard]] bool open() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    read = Fd(ends[0]);
    write = Fd(ends[1]);
    return read.lift() && write.lift() && ::fcntl(read.get(), F_SETFL, O_NONBLOCK) == 0;
  }
};

/// What posix_spawn is told, released at the end of the scope.
class SpawnPlan {
 public:
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attr_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    posix_spawnattr_destroy(&attr_);
    posix_spawn_file_actions_destroy(&actions_);
  }

  int prepare(const std::string& folder, int in, int out, int err) {
    int error = 0;
    const auto then = [&error](int result) {
      if (error == 0) error = result;
    };
    if (!folder.empty()) then(posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str()));
    then(posix_spawn_file_actions_adddup2(&actions_, in, 0));
    then(posix_spawn_file_actions_adddup2(&actions_, out, 1));
    then(posix_spawn_file_actions_adddup2(&actions_, err, 2));
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    // Descriptors that the host opened without close-on-exec are none of a compiler's business.
    then(posix_spawn_file_actions_addclosefrom_np(&actions_, 3));
#endif
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    then(posix_spawnattr_setsigmask(&attr_, &none));
    // An ignored SIGCHLD would be inherited, and break the compiler driver's own waiting.
    then(posix_spawnattr_setsigdefault(&attr_, &all));
    then(posix_spawnattr_setpgroup(&attr_, 0));
    then(posix_spawnattr_setflags(&attr_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
    return error;
  }

  int start(pid_t& pid, const std::string& program, std::vector<char*>& argv, std::vector<char*>& envp) {
    return ::posix_spawn(&pid, program.c_str(), &actions_, &attr_, argv.data(), envp.data());
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attr_;
};

/// The exit status of a process that somebody else has reaped: PIDFD_GET_INFO with PIDFD_INFO_EXIT
/// (Linux 6.15), written out because no header of older systems has it.
std::optional<int> status_by_pidfd(int pidfd) {
  struct Info {
    std::uint64_t mask;
    std::uint64_t cgroup;
    std::array<std::uint32_t, 11> ids;
    std::int32_t exit_code;
  };
  constexpr std::uint64_t kExit = 1U << 3;
  Info info{};
  info.mask = kExit;
  if (pidfd < 0 || ::ioctl(pidfd, _IOWR(0xFF, 11, Info), &info) != 0) return std::nullopt;
  if ((info.mask & kExit) == 0) return std::nullopt;
  return info.exit_code;
}

class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {
#ifdef SYS_pidfd_open
    pidfd_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
#endif
  }

  [[nodiscard]] int pidfd() const {
    return pidfd_.get();
  }

  /// Whether it has ended; then ended() and code() are known.
  bool check() {
    if (done_) return true;
    int status = 0;
    pid_t got = 0;
    do {
      got = ::waitpid(pid_, &status, WNOHANG);
    } while (got < 0 && errno == EINTR);
    if (got == pid_) {
      decide(status);
    } else if (got < 0) {
      check_without_wait();
    }
    return done_;
  }

  /// Kills the group, which exists as long as the child has not been found to have ended.
  void kill_group() {
    if (!done_) ::kill(-pid_, SIGKILL);
  }

  [[nodiscard]] Ended ended() const {
    return ended_;
  }
  [[nodiscard]] int code() const {
    return code_;
  }

 private:
  void decide(int status) {
    done_ = true;
    ended_ = WIFEXITED(status) ? Ended::exited : Ended::signalled;
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
  }

  /// ECHILD: it was reaped by another, or will be by the kernel (SIGCHLD ignored) while it runs on.
  void check_without_wait() {
    bool gone = false;
    if (pidfd_) {
      pollfd alive{pidfd_.get(), POLLIN, 0};
      gone = ::poll(&alive, 1, 0) == 1;
    } else {
      gone = ::kill(pid_, 0) != 0;
    }
    if (!gone) return;
    if (const auto status = status_by_pidfd(pidfd_.get())) return decide(*status);
    done_ = true;
    ended_ = Ended::lost;
  }

  pid_t pid_;
  Fd pidfd_;
  bool done_ = false;
  Ended ended_ = Ended::lost;
  int code_ = 0;
};

/// Takes what is there; closes the pipe at its end.
void drain(Fd& from, std::string& into, std::size_t limit) {
  std::array<char, 65536> buffer;
  while (from) {
    const ssize_t n = ::read(from.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) return from.reset();
    const std::size_t room = limit - std::min(limit, into.size());
    into.append(buffer.data(), std::min(room, static_cast<std::size_t>(n)));
  }
}

/// Reads both streams until the child has ended and its output too.
void attend(const SpawnRequest& request, Child& child, Fd& out, Fd& err, SpawnResult& result) {
  const auto start = Clock::now();
  std::optional<Ended> stopped;
  std::optional<Clock::time_point> ended_at;
  while (true) {
    std::array<pollfd, 3> fds{pollfd{out.get(), POLLIN, 0}, pollfd{err.get(), POLLIN, 0},
                              pollfd{ended_at ? -1 : child.pidfd(), POLLIN, 0}};
    // Without a pidfd only asking tells when the child ends: ask more often.
    const int wait_ms = child.pidfd() >= 0 ? static_cast<int>(kTick.count()) : 5;
    ::poll(fds.data(), fds.size(), wait_ms);
    drain(out, result.output, request.output_limit);
    drain(err, result.errors, request.output_limit);
    const auto now = Clock::now();
    if (!ended_at && child.check()) ended_at = now;
    if (ended_at && ((!out && !err) || now - *ended_at > kGrace)) break;
    if (stopped || ended_at) continue;
    if (request.cancelled && request.cancelled()) stopped = Ended::cancelled;
    if (request.timeout.count() > 0 && now - start > request.timeout) stopped = Ended::timed_out;
    if (stopped) child.kill_group();
  }
  result.ended = stopped.value_or(child.ended());
  result.code = stopped ? 0 : child.code();
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

SpawnResult spawn(const SpawnRequest& request) {
  SpawnResult result;
  const auto failed = [&result](int error) {
    result.code = error;
    return result;
  };
  const Fd in = input_file(request.input);
  Pipe out;
  Pipe err;
  if (!in || !out.open() || !err.open()) return failed(errno);

  std::vector<std::string> args{request.program};
  args.insert(args.end(), request.args.begin(), request.args.end());
  std::vector<std::string> env = request.env;
  std::vector<char*> argv = pointers(args);
  std::vector<char*> envp = pointers(env);
  SpawnPlan plan;
  if (const int error = plan.prepare(request.folder, in.get(), out.write.get(), err.write.get())) {
    return failed(error);
  }
  pid_t pid = 0;
  if (const int error = plan.start(pid, request.program, argv, envp)) return failed(error);
  out.write.reset();
  err.write.reset();
  Child child(pid);
  attend(request, child, out.read, err.read, result);
  return result;
}

std::string SpawnResult::describe() const {
  switch (ended) {
    case Ended::not_started:
      return std::string("could not be started: ") + ::strerror(code);
    case Ended::exited:
      return "exited with status " + std::to_string(code);
    case Ended::signalled:
      return "was killed by signal " + std::to_string(code);
    case Ended::timed_out:
      return "was killed at its time limit";
    case Ended::cancelled:
      return "was cancelled";
    case Ended::lost:
      return "ended with a status that another part of this program took";
  }
  return {};
}

std::string find_program(std::string_view name) {
  const auto usable = [](const std::string& path) {
    struct stat st {};
    return ::stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode) && ::access(path.c_str(), X_OK) == 0;
  };
  if (name.empty() || name.find('\0') != std::string_view::npos) return {};
  if (name.find('/') != std::string_view::npos) {
    std::string path(name);
    return name.front() == '/' && usable(path) ? path : std::string();
  }
  const char* list = ::secure_getenv("PATH");
  std::string_view rest = list != nullptr ? list : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
    if (folder.empty() || folder.front() != '/') continue;
    std::string path = std::string(folder) + "/" + std::string(name);
    if (usable(path)) return path;
  }
  return {};
}

}  // namespace tlcb
