// SPDX-License-Identifier: MIT
// libFuzzer target: no bytes make the checks of OpenCL binaries and of program.json read outside of them, nor the
// readers of what tlcache-worker is told and answers; and what is read of a device's identity is written again alike.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "opencl/binary_check.hpp"
#include "opencl/program_info.hpp"
#include "opencl/worker_order.hpp"
#include "support/worker_protocol.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tlcb::opencl;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)check_binary(bytes);
  if (const auto info = parse_program(bytes)) (void)mismatch(*info, bytes);
  if (const auto facts = parse_identity(bytes)) {
    if (parse_identity(facts->identity()) != facts) std::abort();
  }
  Order order;
  Listing listing;
  Outcome outcome;
  tlcb::WorkerTask task;
  (void)decode(bytes, order);
  (void)decode(bytes, listing);
  (void)decode(bytes, outcome);
  (void)tlcb::decode(bytes, task);
  return 0;
}
