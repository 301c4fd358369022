// SPDX-License-Identifier: MIT
// Metal, on macOS. Compiled with ARC (-fobjc-arc); what goes out as `void*` is retained once and comes back in release().
//
// - Every call has an autorelease pool of its own: threads of a host may have none, and what Metal autoreleases would stay
//   until they end.
// - An exception of Metal's (its validation layer raises some) becomes a Failure: it must not run through C++ frames of
//   others. In Objective-C++ ARC releases on the way of an exception, too.
// - A device is looked for at each call, and is the caller's own object where it names one: nothing of it is kept here.
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "metal/runtime.hpp"
#include "support/failure.hpp"

namespace tlcb::metal {
namespace {

std::string text_of(NSString* text) {
  const char* bytes = text == nil ? nullptr : text.UTF8String;
  return bytes == nullptr ? std::string() : std::string(bytes);
}

/// nil for what is not UTF-8.
NSString* string_of(std::string_view text) {
  return [[NSString alloc] initWithBytes:text.data() length:text.size() encoding:NSUTF8StringEncoding];
}

/// Runs a body with a pool of its own, and turns exceptions of Objective-C into Failure.
template <typename Body>
auto undisturbed(Body&& body) {
  @autoreleasepool {
    @try {
      return body();
    } @catch (NSException* exception) {
      throw Failure(TLC_E_INTERNAL, "Metal raised " + text_of(exception.name) + ": " + text_of(exception.reason));
    }
  }
}

Outcome outcome_of(NSError* error) {
  if (error == nil) return {"unknown", 0, "Metal does not say why"};
  Outcome out;
  out.domain = text_of(error.domain);
  out.code = error.code;
  out.detail = text_of(error.localizedDescription);
  const std::string reason = text_of(error.localizedFailureReason);
  if (!reason.empty() && out.detail.find(reason) == std::string::npos) out.detail += ": " + reason;
  return out;
}

id<MTLDevice> device_of(const DeviceChoice& choice) {
  if (choice.context != nullptr) return (__bridge id<MTLDevice>)choice.context;
  id<MTLDevice> found = nil;
  if (choice.number <= 0) {
    found = MTLCreateSystemDefaultDevice();
    if (found == nil) throw Failure(TLC_E_UNAVAILABLE, "Metal has no device here");
    return found;
  }
  NSArray<id<MTLDevice>>* all = MTLCopyAllDevices();
  if (static_cast<NSUInteger>(choice.number) >= all.count) {
    throw Failure(TLC_E_INVALID, "there is no device " + std::to_string(choice.number) + "; there are " +
                                     std::to_string(all.count));
  }
  return all[static_cast<NSUInteger>(choice.number)];
}

std::vector<std::string> families_of(id<MTLDevice> device) {
  struct Kind {
    const char* name;
    int first;
    int last;
  };
  // Families that are not made yet are answered NO.
  constexpr std::array<Kind, 4> kKinds = {{{"common", 1, 9}, {"mac", 1, 9}, {"apple", 1, 30}, {"metal", 3, 9}}};
  std::vector<std::string> out;
  for (const Kind& kind : kKinds) {
    for (int number = kind.first; number <= kind.last; ++number) {
      const std::string name = kind.name + std::to_string(number);
      if ([device supportsFamily:static_cast<MTLGPUFamily>(family_number(name))]) out.push_back(name);
    }
  }
  return out;
}

/// The newest family of Apple's own GPUs, else that of Macs; and the running system.
std::string native_of(const std::vector<std::string>& families) {
  Target target;
  for (const char* kind : {"mac", "apple"}) {
    for (const std::string& family : families) {
      if (family.starts_with(kind)) target.family = family;
    }
  }
  const NSOperatingSystemVersion version = NSProcessInfo.processInfo.operatingSystemVersion;
  target.os = "macos";
  target.os_version = {static_cast<unsigned>(version.majorVersion), static_cast<unsigned>(version.minorVersion)};
  return target.text();
}

DeviceFacts facts_of(id<MTLDevice> device) {
  DeviceFacts out;
  out.name = text_of(device.name);
  out.registry_id = device.registryID;
  out.families = families_of(device);
  out.native = native_of(out.families);
  return out;
}

void set_math(MTLCompileOptions* options, bool fast) {
  if (@available(macOS 15.0, *)) {
    options.mathMode = fast ? MTLMathModeFast : MTLMathModeSafe;
    return;
  }
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
  options.fastMathEnabled = fast ? YES : NO;
#pragma clang diagnostic pop
}

MTLCompileOptions* options_of(const LoadOptions& options, Version language) {
  MTLCompileOptions* out = [[MTLCompileOptions alloc] init];
  NSMutableDictionary<NSString*, NSObject*>* macros = [NSMutableDictionary dictionary];
  for (const auto& [name, value] : options.macros) {
    NSString* const key = string_of(name);
    NSString* const text = string_of(value);
    if (key == nil || text == nil) throw Failure(TLC_REJECTED, "the macro '" + name + "' is not UTF-8");
    macros[key] = text;
  }
  out.preprocessorMacros = macros;
  // Metal numbers the language's versions so itself (MTLLanguageVersion).
  if (language != Version()) out.languageVersion = static_cast<MTLLanguageVersion>(language.major << 16 | language.minor);
  if (options.fast_math) set_math(out, *options.fast_math);
  if (options.preserve_invariance) {
    if (@available(macOS 11.0, *)) out.preserveInvariance = YES;
  }
  if (options.for_size) {
    if (@available(macOS 13.0, *)) out.optimizationLevel = MTLLibraryOptimizationLevelSize;
  }
  return out;
}

/// Hands an object out, retained for whoever gets it. An error beside an object is a warning.
void* handed_out(id object, NSError* error, Outcome& outcome) {
  if (object == nil) {
    outcome = outcome_of(error);
    return nullptr;
  }
  return (__bridge_retained void*)object;
}

class MetalRuntime : public Runtime {
 public:
  DeviceFacts device(const DeviceChoice& choice) override {
    return undisturbed([&] { return facts_of(device_of(choice)); });
  }

  std::vector<DeviceFacts> devices() override {
    return undisturbed([] {
      std::vector<DeviceFacts> out;
      for (id<MTLDevice> device in MTLCopyAllDevices()) out.push_back(facts_of(device));
      return out;
    });
  }

  void* library_of_source(const DeviceChoice& choice, std::string_view text, const LoadOptions& options,
                          Version language, Outcome& outcome) override {
    return undisturbed([&] {
      NSString* const source = string_of(text);
      if (source == nil) throw Failure(TLC_REJECTED, "the source is not UTF-8");
      NSError* error = nil;
      id<MTLLibrary> library = [device_of(choice) newLibraryWithSource:source
                                                               options:options_of(options, language)
                                                                 error:&error];
      return handed_out(library, error, outcome);
    });
  }

  void* library_of_metallib(const DeviceChoice& choice, std::string_view bytes, Outcome& outcome) override {
    return undisturbed([&] {
      // The default destructor makes dispatch copy the bytes: the program may keep the library, and with it the data,
      // longer than the artifact that the bytes are mapped from.
      dispatch_data_t data = dispatch_data_create(bytes.data(), bytes.size(), nil, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
      if (data == nil) throw Failure(TLC_E_NOMEM, "out of memory for a metallib of " + std::to_string(bytes.size()) + " bytes");
      NSError* error = nil;
      id<MTLLibrary> library = [device_of(choice) newLibraryWithData:data error:&error];
      return handed_out(library, error, outcome);
    });
  }

  void* function(void* library, const std::string& name) override {
    return undisturbed([&] {
      NSString* const asked = string_of(name);
      id<MTLFunction> found = asked == nil ? nil : [(__bridge id<MTLLibrary>)library newFunctionWithName:asked];
      Outcome ignored;
      return handed_out(found, nil, ignored);
    });
  }

  std::vector<std::string> function_names(void* library) override {
    return undisturbed([&] {
      std::vector<std::string> out;
      for (NSString* name in ((__bridge id<MTLLibrary>)library).functionNames) out.push_back(text_of(name));
      return out;
    });
  }

  void release(void* object) override {
    @autoreleasepool {
      id const owned = (__bridge_transfer id)object;
      (void)owned;
    }
  }
};

}  // namespace

std::unique_ptr<Runtime> open_runtime() {
  return std::make_unique<MetalRuntime>();
}

}  // namespace tlcb::metal
