// SPDX-License-Identifier: MIT
// Fields and members as a person writes them on a command line.
//
//   NAME=TEXT          text              NAME:int=5       whole number, -2^63 to 2^64-1
//   NAME:text=TEXT     text              NAME:f64=0.5     floating point
//   NAME:file=PATH     bytes of a file   NAME:bool=true   true, false, 1 or 0
//   NAME:null          null
#pragma once

#include <string>
#include <vector>

#include "common.hpp"

namespace tlc::tool {

/// Adds the fields to a request; fails on a bad one, or a name that is given twice.
void add_fields(tlc_request* request, const std::vector<std::string>& fields);

/// MEMBER=PATH or MEMBER:TYPE=PATH; the type is guessed from the name where it is not said.
struct MemberFile {
  std::string name;
  std::string path;
  std::uint32_t type = TLC_MEMBER_OPAQUE;
};
MemberFile parse_member(const std::string& given);

}  // namespace tlc::tool
