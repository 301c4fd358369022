// SPDX-License-Identifier: MIT
// Finding members of an artifact.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/host.hpp"
#include "support/json.hpp"

namespace tlcb {

struct FoundMember {
  std::string name;
  std::string_view bytes;
};

/// By name; nullopt if there is none.
[[nodiscard]] std::optional<FoundMember> find_member(Host host, const tlc_artifact* artifact, std::string_view name);

/// All members of device code.
[[nodiscard]] std::vector<FoundMember> device_code(Host host, const tlc_artifact* artifact);

/// What to load: the member the options name, else the first of `usual` that is there, else the only one of device
/// code. Throws Failure.
[[nodiscard]] FoundMember member_to_load(Host host, const tlc_artifact* artifact, const tlc_load_options* options,
                                         std::initializer_list<const char*> usual);

[[noreturn]] void reject(const FoundMember& member, const std::string& problem);

/// A member that its backend wrote, parsed; empty where there is none. Throws Failure for what does not parse.
template <typename Parsed>
Parsed metadata(Host host, const tlc_artifact* artifact, const char* name,
                std::optional<Parsed> (*parse)(std::string_view)) {
  const auto member = find_member(host, artifact, name);
  if (!member) return {};
  auto parsed = parse(member->bytes);
  if (!parsed) reject(*member, "it is not what this backend writes there");
  return *std::move(parsed);
}

/// {"members": {NAME: what describe_member says, ...}}, of the members of device code.
template <typename DescribeMember>
[[nodiscard]] std::string describe_device_code(Host host, const tlc_artifact* artifact,
                                               DescribeMember&& describe_member) {
  std::string members;
  for (const FoundMember& member : device_code(host, artifact)) {
    members += (members.empty() ? "" : ", ") + json_text(member.name) + ": " + describe_member(member.bytes);
  }
  return "{\"members\": {" + members + "}}";
}

}  // namespace tlcb
