// SPDX-License-Identifier: MIT
#include "support/members.hpp"

#include <cstddef>

#include "support/failure.hpp"

namespace tlcb {
namespace {

std::string wanted_member(const tlc_load_options* options) {
  if (options == nullptr || options->struct_size < TLC_SIZEOF(tlc_load_options, member)) return {};
  return std::string(view(options->member));
}

tlc_member empty_member() {
  tlc_member member{};
  member.struct_size = TLC_SIZEOF(tlc_member, type);
  return member;
}

FoundMember found(const tlc_member& member) {
  return {std::string(view(member.name)),
          std::string_view(static_cast<const char*>(member.data), static_cast<std::size_t>(member.size))};
}

}  // namespace

std::optional<FoundMember> find_member(Host host, const tlc_artifact* artifact, std::string_view name) {
  // Asked for members that are mostly absent: without artifact_find, which writes a message then.
  for (std::size_t i = 0; i < host->artifact_member_count(artifact); ++i) {
    tlc_member member = empty_member();
    if (host->artifact_member_at(artifact, i, &member, nullptr) == TLC_OK && view(member.name) == name)
      return found(member);
  }
  return std::nullopt;
}

std::vector<FoundMember> device_code(Host host, const tlc_artifact* artifact) {
  std::vector<FoundMember> out;
  for (std::size_t i = 0; i < host->artifact_member_count(artifact); ++i) {
    tlc_member member = empty_member();
    if (host->artifact_member_at(artifact, i, &member, nullptr) != TLC_OK) continue;
    if (member.type == TLC_MEMBER_DEVICE_BINARY || member.type == TLC_MEMBER_DEVICE_IR) out.push_back(found(member));
  }
  return out;
}

FoundMember member_to_load(Host host, const tlc_artifact* artifact, const tlc_load_options* options,
                           std::initializer_list<const char*> usual) {
  if (const std::string wanted = wanted_member(options); !wanted.empty()) {
    tlc_member member = empty_member();
    HostError error;
    error.check(host->artifact_find(artifact, text(wanted), &member, error.out()));
    return found(member);
  }
  for (const char* name : usual) {
    if (auto member = find_member(host, artifact, name)) return *std::move(member);
  }
  std::vector<FoundMember> all = device_code(host, artifact);
  if (all.size() == 1) return std::move(all.front());
  throw Failure(TLC_REJECTED, all.empty() ? "the artifact has no device code to load"
                                          : "the artifact has several members of device code; name one in the options");
}

void reject(const FoundMember& member, const std::string& problem) {
  throw Failure(TLC_REJECTED, "member '" + member.name + "' cannot be loaded: " + problem);
}

}  // namespace tlcb
