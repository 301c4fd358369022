// SPDX-License-Identifier: MIT
// Reading MessagePack, which the metadata of code objects is written in. Believes no number: whatever the bytes are,
// reading ends, and stays inside of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tlcb::hip {

class MsgPack {
 public:
  enum class Kind { none, nil, boolean, number, text, array, map, other };
  struct Item {
    Kind kind = Kind::none;  ///< none: the end, or damage
    std::uint64_t number = 0;
    std::string_view text;
    std::uint64_t count = 0;  ///< of an array's elements, or a map's pairs, which follow
  };

  explicit MsgPack(std::string_view bytes) : rest_(bytes) {}

  /// One item; of an array or a map its head only. A negative number is of kind other.
  [[nodiscard]] Item next();
  /// Leaves out one whole value; false where there is none.
  bool pass_over();
  /// What has not been read.
  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  [[nodiscard]] bool take_number(std::size_t size, std::uint64_t& value);
  [[nodiscard]] bool take_bytes(std::uint64_t size, std::string_view& bytes);
  [[nodiscard]] Item sized(Kind kind, std::size_t size_bytes);

  std::string_view rest_;
};

}  // namespace tlcb::hip
