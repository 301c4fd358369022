// SPDX-License-Identifier: MIT
// libFuzzer target: no bytes make the checks of code objects, bundles and their metadata read outside of them, nor the
// reader of the worker's frames.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "hip/binary_check.hpp"
#include "hip/metadata.hpp"
#include "support/worker_protocol.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)tlcb::hip::check_binary(bytes);
  (void)tlcb::hip::parse_metadata(bytes);
  std::string_view rest = bytes;
  tlcb::FrameHead head;
  tlcb::CompileOrder order;
  tlcb::WorkerDone done;
  if (take_frame(rest, head) == tlcb::FrameRead::whole) {
    (void)decode(head.body, order);
    (void)decode(head.body, done);
  }
  return 0;
}
