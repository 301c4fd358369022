// SPDX-License-Identifier: MIT
// What the artifact's shared objects say of themselves.
#include "cpu/cpu.hpp"
#include "support/elf_check.hpp"
#include "support/json.hpp"

namespace tlcb::cpu {
namespace {

std::string describe_member(const tlc_member& member) {
  const ElfCheck elf = check_shared_object(member.data, member.size, true);
  if (!elf.ok()) return R"({"format": "ELF shared object", "problem": )" + json_text(elf.problem) + "}";
  return R"({"format": "ELF shared object", "machine": )" + json_text(elf_machine_name(elf.machine)) +
         R"(, "needed": )" + json_list(elf.needed) + R"(, "functions": )" + json_list(elf.functions) + "}";
}

}  // namespace

std::string describe(Host host, const tlc_artifact* artifact) {
  std::string members;
  for (std::size_t i = 0; i < host->artifact_member_count(artifact); ++i) {
    tlc_member member{};
    member.struct_size = TLC_SIZEOF(tlc_member, type);
    if (host->artifact_member_at(artifact, i, &member, nullptr) != TLC_OK) continue;
    if (member.type != TLC_MEMBER_SHARED_OBJECT) continue;
    members += (members.empty() ? "" : ", ") + json_text(view(member.name)) + ": " + describe_member(member);
  }
  return "{\"members\": {" + members + "}}";
}

}  // namespace tlcb::cpu
