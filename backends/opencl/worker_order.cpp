// SPDX-License-Identifier: MIT
#include "opencl/worker_order.hpp"

#include "support/tagged_fields.hpp"

namespace tlcb::opencl {
namespace {

enum Tag : std::uint32_t {
  kLibrary = 1,
  kDevice,
  kSource,
  kIl,
  kOptions,
  kHeaderName,
  kHeaderText,
  kFile,
  kComputing,  ///< a device that is no CPU
  kResult,
  kProblem,
  kLog,
  kBinary,
  kKernels,
  kBeside,
};

}  // namespace

std::string encode(const Order& order) {
  TaggedWriter out;
  out.field(kLibrary, order.library);
  if (!order.beside.empty()) out.field(kBeside, order.beside);
  out.field(kDevice, order.device);
  out.field(kSource, order.source);
  out.field(kIl, order.il);
  out.field(kOptions, order.options);
  for (const auto& [name, text] : order.headers) {
    out.field(kHeaderName, name);
    out.field(kHeaderText, text);
  }
  return out.bytes();
}

std::string encode(const Listing& listing) {
  TaggedWriter out;
  out.field(kLibrary, listing.library);
  out.fields(kFile, listing.files);
  for (const ListedDevice& device : listing.devices) out.field(device.computes ? kComputing : kDevice, device.identity);
  out.field(kProblem, listing.problem);
  return out.bytes();
}

std::string encode(const Outcome& outcome) {
  TaggedWriter out;
  std::string result;
  put_number(result, outcome.result);
  out.field(kResult, result);
  out.field(kProblem, outcome.problem);
  out.field(kLog, outcome.log);
  out.field(kBinary, outcome.binary);
  out.field(kKernels, outcome.kernels);
  return out.bytes();
}

bool decode(std::string_view bytes, Order& order) {
  order = {};
  return read_tagged(bytes, [&](std::uint32_t tag, std::string value) {
    switch (tag) {
      case kLibrary:
        order.library = std::move(value);
        return true;
      case kBeside:
        order.beside = std::move(value);
        return true;
      case kDevice:
        order.device = std::move(value);
        return true;
      case kSource:
        order.source = std::move(value);
        return true;
      case kIl:
        order.il = std::move(value);
        return true;
      case kOptions:
        order.options = std::move(value);
        return true;
      case kHeaderName:
        order.headers.emplace_back(std::move(value), std::string());
        return true;
      case kHeaderText:
        if (order.headers.empty()) return false;
        order.headers.back().second = std::move(value);
        return true;
      default:
        return false;
    }
  });
}

bool decode(std::string_view bytes, Listing& listing) {
  listing = {};
  return read_tagged(bytes, [&](std::uint32_t tag, std::string value) {
    switch (tag) {
      case kLibrary:
        listing.library = std::move(value);
        return true;
      case kFile:
        listing.files.push_back(std::move(value));
        return true;
      case kDevice:
      case kComputing:
        listing.devices.push_back({std::move(value), tag == kComputing});
        return true;
      case kProblem:
        listing.problem = std::move(value);
        return true;
      default:
        return false;
    }
  });
}

bool decode(std::string_view bytes, Outcome& outcome) {
  outcome = {};
  return read_tagged(bytes, [&](std::uint32_t tag, std::string value) {
    std::string_view number = value;
    switch (tag) {
      case kResult:
        return take_number(number, outcome.result) && number.empty();
      case kProblem:
        outcome.problem = std::move(value);
        return true;
      case kLog:
        outcome.log = std::move(value);
        return true;
      case kBinary:
        outcome.binary = std::move(value);
        return true;
      case kKernels:
        outcome.kernels = std::move(value);
        return true;
      default:
        return false;
    }
  });
}

}  // namespace tlcb::opencl
