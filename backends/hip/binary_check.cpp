// SPDX-License-Identifier: MIT
#include "hip/binary_check.hpp"

#include <elf.h>

#include <utility>

#include "hip/bundle.hpp"

namespace tlcb::hip {
namespace {

void check_bundle(std::string_view bytes, Binary& out) {
  for (const BundleEntry& entry : read_bundle(bytes, out.problem)) {
    if (!out.ok()) return;
    if (!entry.for_gpu) continue;
    CodeObject object = check_code_object(entry.bytes);
    if (!object.ok()) {
      out.problem = "of its code for " + entry.target.text() + ": " + object.problem;
    } else if (object.target != entry.target) {
      out.problem = "its entry for " + entry.target.text() + " holds code for " + object.target.text();
    }
    out.images.push_back(std::move(object));
  }
}

}  // namespace

Binary check_binary(std::string_view bytes) {
  Binary out;
  if (bytes.empty()) {
    out.problem = "it is empty";
  } else if (is_bundle(bytes)) {
    out.format = Format::bundle;
    check_bundle(bytes, out);
  } else if (is_compressed_bundle(bytes)) {
    out.format = Format::compressed_bundle;
    out.problem = compressed_bundle_problem(bytes);
  } else if (bytes.starts_with(ELFMAG)) {
    out.format = Format::code_object;
    CodeObject object = check_code_object(bytes);
    out.problem = object.problem;
    if (out.ok()) out.images.push_back(std::move(object));
  } else {
    out.problem = "it is neither a code object nor an offload bundle";
  }
  return out;
}

std::string format_name(Format format) {
  switch (format) {
    case Format::code_object:
      return "code object";
    case Format::bundle:
      return "offload bundle";
    case Format::compressed_bundle:
      return "compressed offload bundle";
    case Format::unknown:
      break;
  }
  return "unknown";
}

}  // namespace tlcb::hip
