// SPDX-License-Identifier: MIT
// What is done in tlcache-worker: listing the devices, and compiling for one of them.
#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>

#include "opencl/cl_device.hpp"
#include "opencl/program_info.hpp"
#include "opencl/worker_order.hpp"
#include "support/failure.hpp"
#include "support/loaded_library.hpp"
#include "support/worker_handler.hpp"

namespace tlcb::opencl {
namespace {

/// Of a kernel, what the driver tells without having to.
class KernelReader {
 public:
  KernelReader(const ClApi& api, ClDevice device) : api_(api), device_(device) {}

  [[nodiscard]] std::optional<KernelInfo> read(ClProgram program, const std::string& name) const {
    ClResult result = kClOk;
    ClKernel kernel = api_.create_kernel(program, name.c_str(), &result);
    if (kernel == nullptr || result != kClOk) return std::nullopt;
    KernelInfo out;
    out.name = name;
    out.max_threads = group_number<std::size_t>(kernel, kClGroupSize);
    out.multiple = group_number<std::size_t>(kernel, kClGroupMultiple);
    out.shared_bytes = group_number<ClBits>(kernel, kClGroupLocalBytes);
    out.private_bytes = group_number<ClBits>(kernel, kClGroupPrivateBytes);
    out.required = required(kernel);
    out.arguments = arguments(kernel);
    (void)api_.release_kernel(kernel);
    return out;
  }

 private:
  [[nodiscard]] auto asking_group(ClKernel kernel, ClNumber what) const {
    return [this, kernel, what](std::size_t room, void* out, std::size_t* size) {
      return api_.group_info(kernel, device_, what, room, out, size);
    };
  }
  template <typename Number>
  [[nodiscard]] std::uint64_t group_number(ClKernel kernel, ClNumber what) const {
    return asked_number<Number>(asking_group(kernel, what), 0);
  }

  [[nodiscard]] std::string required(ClKernel kernel) const {
    std::array<std::size_t, 3> size{};
    std::size_t written = 0;
    if (api_.group_info(kernel, device_, kClGroupSizeRequired, sizeof size, size.data(), &written) != kClOk) return {};
    if (size[0] == 0) return {};
    return std::to_string(size[0]) + "x" + std::to_string(size[1]) + "x" + std::to_string(size[2]);
  }

  [[nodiscard]] std::vector<std::string> arguments(ClKernel kernel) const {
    constexpr ClNumber kMost = 4096;
    const auto count = asked_number<ClNumber>(
        [&](std::size_t room, void* out, std::size_t* size) {
          return api_.kernel_info(kernel, kClKernelArgumentCount, room, out, size);
        },
        0);
    std::vector<std::string> out;
    for (ClNumber i = 0; i < std::min(count, kMost); ++i) out.push_back(argument(kernel, i));
    return out;
  }

  [[nodiscard]] std::string argument(ClKernel kernel, ClNumber index) const {
    if (api_.argument_info == nullptr) return {};
    const auto asking = [&](ClNumber what) {
      return [this, kernel, index, what](std::size_t room, void* out, std::size_t* size) {
        return api_.argument_info(kernel, index, what, room, out, size);
      };
    };
    const auto space = asked_number<ClNumber>(asking(kClArgumentAddress), 0);
    return argument_text(space, asked_text(asking(kClArgumentTypeName)), asked_text(asking(kClArgumentName)));
  }

  const ClApi& api_;
  ClDevice device_;
};

/// The process ends after it: nothing is released.
class Compile {
 public:
  Compile(const ClApi& api, ClDevice device, const Order& order) : api_(api), device_(device), order_(order) {}

  Outcome run() {
    (void)(make_context() && make_program() && take_binary());
    return std::move(out_);
  }

 private:
  bool check(ClResult result, const char* doing) {
    if (result == kClOk) return true;
    out_.result = result;
    out_.problem = std::string(doing) + ": " + result_name(result);
    return false;
  }

  bool lacks(const char* what) {
    out_.result = kClCompilerNotAvailable;
    out_.problem = what;
    return false;
  }

  bool make_context() {
    ClResult result = kClOk;
    context_ = api_.create_context(nullptr, 1, &device_, nullptr, nullptr, &result);
    return check(result, "clCreateContext");
  }

  bool make_program() {
    if (order_.il.empty()) return order_.headers.empty() ? build_source() : compile_with_headers();
    if (api_.program_of_il == nullptr)
      return lacks("this OpenCL loader knows no SPIR-V, which needs OpenCL 2.1 or newer");
    const std::string taken = asked_text([&](std::size_t room, void* out, std::size_t* size) {
      return api_.device_info(device_, kClDeviceIl, room, out, size);
    });
    if (taken.find("SPIR-V") == std::string::npos) return lacks("this device takes no SPIR-V; give it a source");
    ClResult result = kClOk;
    program_ = api_.program_of_il(context_, order_.il.data(), order_.il.size(), &result);
    return check(result, "clCreateProgramWithIL") && build();
  }

  ClProgram text(const std::string& source, ClResult& result) {
    const char* data = source.c_str();
    const std::size_t length = source.size();
    return api_.program_of_source(context_, 1, &data, &length, &result);
  }

  bool build() {
    const ClResult result = api_.build(program_, 1, &device_, order_.options.c_str(), nullptr, nullptr);
    out_.log += build_log(api_, program_, device_);
    return check(result, "clBuildProgram");
  }

  bool build_source() {
    ClResult result = kClOk;
    program_ = text(order_.source, result);
    return check(result, "clCreateProgramWithSource") && build();
  }

  bool compile_with_headers() {
    if (api_.compile == nullptr || api_.link == nullptr)
      return lacks("this OpenCL loader takes no headers from memory, which needs OpenCL 1.2 or newer");
    ClResult result = kClOk;
    ClProgram source = text(order_.source, result);
    if (!check(result, "clCreateProgramWithSource")) return false;
    std::vector<ClProgram> texts;
    std::vector<const char*> names;
    for (const auto& [name, header] : order_.headers) {
      texts.push_back(text(header, result));
      names.push_back(name.c_str());
      if (!check(result, "clCreateProgramWithSource")) return false;
    }
    result = api_.compile(source, 1, &device_, order_.options.c_str(), static_cast<ClNumber>(texts.size()),
                          texts.data(), names.data(), nullptr, nullptr);
    out_.log += build_log(api_, source, device_);
    if (!check(result, "clCompileProgram")) return false;
    program_ = api_.link(context_, 1, &device_, "", 1, &source, nullptr, nullptr, &result);
    if (program_ != nullptr) out_.log += build_log(api_, program_, device_);
    return check(result, "clLinkProgram");
  }

  bool take_binary() {
    std::size_t size = 0;
    ClResult result = api_.program_info(program_, kClProgramBinarySizes, sizeof size, &size, nullptr);
    if (!check(result, "clGetProgramInfo(CL_PROGRAM_BINARY_SIZES)")) return false;
    if (size == 0) return lacks("the driver gives no binary of what it compiled");
    std::string binary(size, '\0');
    auto* into = reinterpret_cast<unsigned char*>(binary.data());
    result = api_.program_info(program_, kClProgramBinaries, sizeof into, static_cast<void*>(&into), nullptr);
    if (!check(result, "clGetProgramInfo(CL_PROGRAM_BINARIES)")) return false;
    out_.kernels = kernels_json(kernels());
    out_.binary = std::move(binary);
    return true;
  }

  [[nodiscard]] std::vector<KernelInfo> kernels() const {
    const std::string names = asked_text([&](std::size_t room, void* out, std::size_t* size) {
      return api_.program_info(program_, kClProgramKernelNames, room, out, size);
    });
    const KernelReader reader(api_, device_);
    std::vector<KernelInfo> out;
    for (std::size_t at = 0; at < names.size();) {
      const std::size_t end = std::min(names.find(';', at), names.size());
      if (auto kernel = reader.read(program_, names.substr(at, end - at))) out.push_back(*std::move(kernel));
      at = end + 1;
    }
    return out;
  }

  const ClApi& api_;
  ClDevice device_;
  const Order& order_;
  ClContext context_ = nullptr;
  ClProgram program_ = nullptr;
  Outcome out_;
};

void serve(std::string_view body, const WorkerHandler::Answer& answer) {
  Order order;
  if (!decode(body, order)) return;
  std::string ignored;
  if (!order.beside.empty()) (void)LoadedLibrary::open(order.beside, ignored);
  const std::set<std::string> before = loaded_files();
  Listing listing;
  std::optional<Loader> loader;
  try {
    loader = open_loader(order.library);
  } catch (const Failure& failure) {
    listing.problem = failure.what();
    return answer(encode(listing));
  }
  const DeviceList found = list_devices(loader->api);
  listing.library = loader->path;
  listing.problem = found.problem;
  for (const Device& device : found.devices) listing.devices.push_back({device.facts.identity(), device.computes});
  const std::set<std::string> after = loaded_files();
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(), std::back_inserter(listing.files));
  answer(encode(listing));
  if (order.device.empty()) return;
  for (const Device& device : found.devices) {
    if (device.facts.identity() == order.device) return answer(encode(Compile(loader->api, device.id, order).run()));
  }
}

const WorkerHandler handler(kWorkerTask, serve);

}  // namespace
}  // namespace tlcb::opencl
