// SPDX-License-Identifier: MIT
// What a look-up in the index can answer. All but hit are misses to the user; they differ in what
// the store does next.
#pragma once

namespace tlc::store {

enum class Lookup {
  hit,      ///< found; the record was copied out of one committed snapshot
  miss,     ///< not in that snapshot
  busy,     ///< writers overtook the reader every time; try later
  stale,    ///< control word and file disagree until a writer opens the index again
  corrupt,  ///< the file is damaged: the store marks the index suspect
};

}  // namespace tlc::store
