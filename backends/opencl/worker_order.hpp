// SPDX-License-Identifier: MIT
// What this backend asks of tlcache-worker, and what comes back: first what is here (Listing), then, if something was
// to be compiled, how that went (Outcome). Written as fields (support/tagged_fields.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tlcb::opencl {

inline constexpr const char* kWorkerTask = "opencl";

struct Order {
  std::string library;  ///< the loader's path; empty: the one that the dynamic loader finds
  std::string beside;   ///< a library to open before it, to see whether the two live in one process; mostly empty
  std::string device;   ///< identity of the one to compile for; empty: only list
  std::string source;
  std::string il;                                            ///< SPIR-V, in place of a source
  std::string options;                                       ///< as the driver takes them
  std::vector<std::pair<std::string, std::string>> headers;  ///< name and text
};

struct ListedDevice {
  std::string identity;
  bool computes = false;
};

struct Listing {
  std::string library;             ///< the loader's path
  std::vector<std::string> files;  ///< every library that came with it, drivers and all; libc left out
  std::vector<ListedDevice> devices;
  std::string problem;  ///< why there are none, or what was passed over
};

struct Outcome {
  std::int64_t result = 0;  ///< of the function that failed; 0: none did
  std::string problem;      ///< what it was, where something is wrong
  std::string log;          ///< of the driver's compiler
  std::string binary;
  std::string kernels;  ///< as kernels_json() writes them
};

[[nodiscard]] std::string encode(const Order& order);
[[nodiscard]] std::string encode(const Listing& listing);
[[nodiscard]] std::string encode(const Outcome& outcome);
// Each is false for anything else.
[[nodiscard]] bool decode(std::string_view bytes, Order& order);
[[nodiscard]] bool decode(std::string_view bytes, Listing& listing);
[[nodiscard]] bool decode(std::string_view bytes, Outcome& outcome);

}  // namespace tlcb::opencl
