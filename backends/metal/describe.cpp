// SPDX-License-Identifier: MIT
// What artifacts say of themselves: of a metallib its system and versions, and its functions; of text the functions
// that it marks.
#include <cstddef>

#include "metal/metal.hpp"
#include "metal/source.hpp"
#include "support/json.hpp"
#include "support/members.hpp"

namespace tlcb::metal {
namespace {

std::string functions_json(const std::vector<Function>& functions) {
  std::string out;
  for (const Function& function : functions) {
    out += (out.empty() ? "" : ", ") + (R"({"name": )" + json_text(function.name)) + R"(, "kind": )" +
           json_text(function.kind);
    if (function.language != Version()) out += R"(, "language": )" + json_text(function.language.text());
    if (function.air != Version()) out += R"(, "air": )" + json_text(function.air.text());
    if (function.code_bytes != 0) out += R"(, "code_bytes": )" + std::to_string(function.code_bytes);
    out += "}";
  }
  return "[" + out + "]";
}

std::string describe_metallib(std::string_view bytes) {
  const Metallib library = check_metallib(bytes);
  std::string out = R"({"format": "metallib")";
  if (!library.ok()) return out + R"(, "problem": )" + json_text(library.problem) + "}";
  out += R"(, "version": )" + json_text(library.format.text()) + R"(, "type": )" + json_text(library.type);
  if (!library.os.empty()) out += R"(, "system": )" + json_text(library.os + library.os_version.text());
  return out + R"(, "kernels": )" + functions_json(library.functions) + "}";
}

std::string describe_text(std::string_view bytes) {
  const std::string problem = source_problem(bytes);
  std::string out = R"({"format": "Metal source")";
  if (!problem.empty()) return out + R"(, "problem": )" + json_text(problem) + "}";
  return out + R"(, "kernels": )" + functions_json(functions_of(bytes)) + "}";
}

}  // namespace

std::string describe(State& state, const tlc_artifact* artifact) {
  std::string members;
  const auto add = [&](const FoundMember& member, const std::string& said) {
    members += (members.empty() ? "" : ", ") + json_text(member.name) + ": " + said;
  };
  for (const FoundMember& member : device_code(state.host, artifact)) add(member, describe_metallib(member.bytes));
  for (std::size_t i = 0; i < state.host->artifact_member_count(artifact); ++i) {
    tlc_member member{};
    member.struct_size = TLC_SIZEOF(tlc_member, type);
    if (state.host->artifact_member_at(artifact, i, &member, nullptr) != TLC_OK) continue;
    const std::string name(view(member.name));
    if (member.type != TLC_MEMBER_SOURCE || !name.ends_with(".metal")) continue;
    const std::string_view bytes(static_cast<const char*>(member.data), static_cast<std::size_t>(member.size));
    add({name, bytes}, describe_text(bytes));
  }
  return "{\"members\": {" + members + "}}";
}

}  // namespace tlcb::metal
