// SPDX-License-Identifier: MIT
// tlcache-worker: takes one order from standard input, carries it out, answers in frames (support/worker_protocol.hpp)
// on what was its standard output. What libraries print goes to standard error, which the host keeps as the log. It is
// started by the library and is of no use by hand.
//
// Exit codes: 0 an answer was written, whatever it says; 2 the order was not understood; 3 the answer could not be
// written.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>

#include "hiprtc.hpp"
#include "support/worker_handler.hpp"

namespace {

constexpr int kBadOrder = 2;
constexpr int kNotWritten = 3;

std::string read_all(int fd) {
  std::string out;
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return out;
    out.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

/// Each carries out an order and gives the exit code.
int run_compile(std::string_view body, int answers) {
  tlcb::CompileOrder order;
  if (!tlcb::decode(body, order)) return kBadOrder;
  const tlcb::WorkerDone done = tlcb::worker::compile(
      order, [&](const tlcb::WorkerOpened& opened) { (void)write_all(answers, tlcb::encode(opened)); });
  return write_all(answers, tlcb::encode(done)) ? 0 : kNotWritten;
}

int run_task(std::string_view body, int answers) {
  tlcb::WorkerTask task;
  if (!tlcb::decode(body, task)) return kBadOrder;
  const tlcb::WorkerHandler* handler = tlcb::WorkerHandler::find(task.name);
  if (handler == nullptr) return kBadOrder;
  bool written = true;
  handler->run(task.body,
               [&](std::string_view bytes) { written = write_all(answers, tlcb::encode_answer(bytes)) && written; });
  return written ? 0 : kNotWritten;
}

/// What answers go to: standard output as it was, which from now on is standard error.
int take_output() {
  constexpr int kAboveStandard = 3;
  const int fd = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, kAboveStandard);
  return fd < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0 ? -1 : fd;
}

}  // namespace

int main() {
  // The host ended: nobody waits for the answer. And a compiler that crashes leaves no core file in anybody's folder.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  const std::string input = read_all(STDIN_FILENO);
  const int answers = take_output();
  std::string_view rest = input;
  tlcb::FrameHead head;
  int code = kBadOrder;
  if (tlcb::take_frame(rest, head) == tlcb::FrameRead::whole && rest.empty() && answers >= 0) {
    if (head.kind == tlcb::Frame::compile) code = run_compile(head.body, answers);
    if (head.kind == tlcb::Frame::task) code = run_task(head.body, answers);
  }
  if (code == kBadOrder) {
    std::fputs(
        "tlcache-worker: this is no order that I know. I am started by the TLCache library, of my own version.\n",
        stderr);
  }
  // Not by exit(): libraries that ran a compiler have crashed in their destructors.
  ::_exit(code);
}
