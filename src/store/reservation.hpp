// SPDX-License-Identifier: MIT
// Reservation: bytes set aside under the limit before they are written, so that processes that publish at the same time
// cannot together exceed it.
//
// The control file has four words, one per half minute in turn: 24 bits say which half minute, 40 bits how many units
// of 64 bytes are set aside in it. A reservation is taken in the word of now and given back there. Words of more than a
// minute ago do not count: so what a killed process set aside is free again a minute later.
//
// What is read must be of one moment: a put that ends adds to used_bytes first and gives back then, so whoever reads
// the words, used_bytes, and the same words again has not missed it.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "store/control.hpp"

namespace tlc::store {

class Reservation {
 public:
  /// Nothing if used, reserved and these bytes together are over the limit.
  [[nodiscard]] static std::optional<Reservation> take(ControlHeader& control, std::uint64_t bytes,
                                                       std::uint64_t limit);
  Reservation(Reservation&& other) noexcept
      : control_(std::exchange(other.control_, nullptr)), tick_(other.tick_), units_(other.units_) {}
  Reservation& operator=(Reservation&&) = delete;
  ~Reservation();  ///< gives back what was not written

  /// The bytes were written, and so many are on disk now.
  void settle(std::uint64_t bytes);

 private:
  Reservation(ControlHeader& control, std::uint64_t tick, std::uint64_t units)
      : control_(&control), tick_(tick), units_(units) {}

  ControlHeader* control_;
  std::uint64_t tick_, units_;
};

/// What is set aside now.
[[nodiscard]] std::uint64_t reserved_bytes(const ControlHeader& control);

}  // namespace tlc::store
