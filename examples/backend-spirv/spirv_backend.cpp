// SPDX-License-Identifier: MIT
// A backend for TLCache in one file: GLSL compute shaders to SPIR-V by glslang, checked by SPIRV-Tools.
#include <dlfcn.h>
#include <glslang/Public/ResourceLimits.h>
#include <glslang/SPIRV/GlslangToSpv.h>
#include <tlcache/backend.h>
#include <cerrno>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <spirv-tools/libspirv.hpp>
using namespace glslang;
using std::string;
namespace {
const tlc_host_api* host = nullptr;  // the library's functions, handed to us by it: a plugin links nothing of it
const auto text = [](const string& s) { return tlc_str{s.data(), s.size()}; };
const auto str = [](tlc_str s) { return string(s.data, s.len); };
const auto fail = [](tlc_error* e, tlc_status s, const string& why) { return host->fail(e, s, 0, 0, text(why)); };
const auto give = [](tlc_blob** out, const string& s) {
  return (*out = host->blob_create(s.data(), s.size())) != nullptr ? TLC_OK : TLC_E_NOMEM;
};
const std::map<string, std::pair<EShTargetClientVersion, EShTargetLanguageVersion>> kTargets = {
    {"spirv:vulkan1.0", {EShTargetVulkan_1_0, EShTargetSpv_1_0}},
    {"spirv:vulkan1.1", {EShTargetVulkan_1_1, EShTargetSpv_1_3}},
    {"spirv:vulkan1.2", {EShTargetVulkan_1_2, EShTargetSpv_1_5}},
    {"spirv:vulkan1.3", {EShTargetVulkan_1_3, EShTargetSpv_1_6}}};

// spirv:1.5 is another name for spirv:vulkan1.2; under one name both share what is compiled.
tlc_status resolve_target(void*, tlc_call*, tlc_str target, tlc_blob** resolved, tlc_error* error) {
  for (const auto& [name, version] : kTargets)
    if (str(target) == name || str(target) == "spirv:1." + std::to_string(version.second >> 8 & 255))
      return give(resolved, name);
  return fail(error, TLC_E_INVALID, str(target) + " is none of spirv:vulkan1.0 to 1.3, spirv:1.0, 1.3, 1.5, 1.6");
}

// The compiler is linked into this file. Asked once: the file may be replaced later, but what runs here stays.
tlc_status identify(void*, tlc_call* call, const tlc_request*, tlc_str, tlc_blob** identity, tlc_error*) {
  static const string self = [call] {
    Dl_info file{};
    uint8_t digest[TLC_DIGEST_SIZE];
    if (dladdr(&host, &file) == 0 || host->file_identity(call, text(file.dli_fname), digest, nullptr) != TLC_OK)
      throw std::runtime_error("the backend's own file cannot be read");
    return string(digest, digest + sizeof digest);
  }();
  return give(identity, self);
}

// What a list field of the request holds; of a map field "NAME VALUE".
std::vector<string> strings(const tlc_request* request, const char* field) {
  std::vector<string> all;
  tlc_str name{};
  const tlc_value* list = host->request_find(request, text(field));
  while (const tlc_value* value = host->value_at(list, all.size(), &name))
    all.push_back(str(name) + (name.len > 0 ? " " : "") + str(host->value_text(value)));
  return all;
}

struct Includer : TShader::Includer {
  std::function<IncludeResult*(const string& name, const string& from)> find;
  IncludeResult* includeSystem(const char* name, const char* from, size_t) override { return find(name, from); }
  void releaseInclude(IncludeResult*) override {}
};
tlc_status compile(void*, tlc_call* call, const tlc_request* request, tlc_str target, tlc_bundle* bundle, tlc_log* log,
                   tlc_error* error) {
  if (!strings(request, "options").empty()) return fail(error, TLC_E_INVALID, "this backend takes no options");
  tlc_status status = TLC_OK;
  std::deque<string> contents;
  std::deque<TShader::Includer::IncludeResult> found;
  Includer includer;
  // A file found is a guard, and so is a place without one. Digest first: if the file changes then, the guard fails.
  includer.find = [&](const string& name, const string& from) -> TShader::Includer::IncludeResult* {
    std::vector<string> folders = strings(request, "include_dirs");
    if (!from.empty()) folders.insert(folders.begin(), from.substr(0, from.rfind('/')));
    for (size_t i = 0; i < folders.size() && status == TLC_OK; ++i) {
      const string path = folders[i] + "/" + name;
      uint8_t digest[TLC_DIGEST_SIZE];
      if (host->file_digest(call, text(path), digest, error) != TLC_OK) {
        status = error->sys_errno == ENOENT ? host->bundle_add_absent(bundle, text(path), error) : TLC_E_IO;
        continue;
      }
      status = host->bundle_add_guard(bundle, text(path), digest, error);
      if (found.size() > 1000) status = fail(error, TLC_E_COMPILE, path + ": over 1000 includes; is it a loop?");
      std::ifstream file(path, std::ios::binary);
      contents.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
      return &found.emplace_back(path, contents.back().data(), contents.back().size(), nullptr);
    }
    return nullptr;
  };
  const tlc_str source = host->value_text(host->request_find(request, text("source")));
  const int length = static_cast<int>(source.len);
  string defines;
  for (const string& define : strings(request, "defines")) defines += "#define " + define + "\n";
  TShader shader(EShLangCompute);
  TProgram program;
  shader.setStringsWithLengths(&source.data, &length, 1);
  shader.setPreamble(defines.c_str());
  shader.setEnvInput(EShSourceGlsl, EShLangCompute, EShClientVulkan, 100);
  shader.setEnvClient(EShClientVulkan, kTargets.at(str(target)).first);
  shader.setEnvTarget(EShTargetSpv, kTargets.at(str(target)).second);
  program.addShader(&shader);
  const auto rules = static_cast<EShMessages>(EShMsgSpvRules | EShMsgVulkanRules);
  const bool good = shader.parse(GetDefaultResources(), 450, false, rules, includer) && program.link(rules);
  host->log_append(log, text(string(shader.getInfoLog()) + program.getInfoLog()));
  if (status != TLC_OK) return status;
  if (!good) return fail(error, TLC_E_COMPILE, "glslang refused the shader");
  std::vector<unsigned> words;
  GlslangToSpv(*program.getIntermediate(EShLangCompute), words);
  return host->bundle_add(bundle, text("kernel.spv"), TLC_MEMBER_DEVICE_IR, words.data(), words.size() * 4, 0, error);
}

tlc_status validate(void*, tlc_call*, const tlc_artifact* artifact, const tlc_load_options*, tlc_error* error) {
  tlc_member code{TLC_SIZEOF(tlc_member, type), {}, nullptr, 0, 0};
  if (host->artifact_find(artifact, text("kernel.spv"), &code, error) != TLC_OK) return TLC_REJECTED;
  const auto target = kTargets.find(str(host->artifact_target(artifact)));
  if (target == kTargets.end()) return fail(error, TLC_REJECTED, "the artifact is for no target of this backend");
  spv_target_env rules = SPV_ENV_MAX;
  string why = "it ends within a word";
  spvParseVulkanEnv(target->second.first, target->second.second, &rules);
  spvtools::SpirvTools tools(rules);
  tools.SetMessageConsumer([&](auto, auto, auto&, const char* message) { why = message; });
  const bool good = code.size % 4 == 0 && tools.Validate(static_cast<const uint32_t*>(code.data), code.size / 4);
  return good ? TLC_OK : fail(error, TLC_REJECTED, "kernel.spv is not valid: " + why);
}
tlc_status probe(void*, tlc_call*, tlc_blob** json, tlc_error*) {
  return give(json, "{\"glslang\": \"" + string(GetGlslVersionString()) + "\"}");
}
}  // namespace
extern "C" TLC_API const tlc_plugin_desc tlc_plugin_desc_v1 = {
    TLC_PLUGIN_MAGIC, TLC_SIZEOF(tlc_plugin_desc, build_id), TLC_ABI_MAJOR, TLC_ABI_MINOR, 1, 0, "spirv", "1.0", "MIT",
    nullptr};
extern "C" TLC_API tlc_status tlc_plugin_init_v1(const tlc_host_api* api, const tlc_backend_ops** ops, void**,
                                                 tlc_error* error) {
  static const char* const kinds[] = {"spirv", nullptr};
  static const tlc_backend_ops table = {.struct_size = TLC_BACKEND_OPS_SIZE,
                                        .abi_major = TLC_ABI_MAJOR,
                                        .abi_minor = TLC_ABI_MINOR,
                                        .name = "GLSL to SPIR-V",
                                        .engine = "glslang",
                                        .target_kinds = kinds,
                                        .resolve_target = resolve_target,
                                        .identify = identify,
                                        .compile = compile,
                                        .validate = validate,
                                        .probe = probe};
  host = api;
  *ops = &table;
  return InitializeProcess() ? TLC_OK : fail(error, TLC_E_UNAVAILABLE, "glslang cannot be initialized");
}
